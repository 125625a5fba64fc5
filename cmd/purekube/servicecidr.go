package main

import (
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/servicecidr"
)

func planServiceCIDR(c *cluster, set settings) section {
	snapshot := c.ServiceCIDR(set.now)
	index := servicecidr.NewIndex(snapshot, servicecidr.Options{MatchUpstream: set.matchUpstream})
	planned, whole := index.PlanAll()
	outcomes := map[purekube.Key]servicecidr.Outcome{}
	for _, o := range planned {
		outcomes[o.Key] = o
	}
	cidrs := map[string]*networkingv1.ServiceCIDR{}
	leaving := 0
	for _, x := range c.ServiceCIDRs {
		cidrs[x.Name] = x
		if x.DeletionTimestamp != nil {
			leaving++
		}
	}

	s := section{
		Headline: fmt.Sprintf("%s, %d of them being deleted, and %s",
			message.Count(len(c.ServiceCIDRs), "ServiceCIDR"), leaving, message.Count(len(c.IPAddresses), "address")),
		Err: whole,
	}
	// Its error is the error of PlanAll.
	explanations, _ := index.ExplainAll()
	for _, e := range explanations {
		o := outcomes[e.Key]
		f := findingOf(purekube.Key{Kind: e.Key.Kind, Name: e.Key.Name}, o.Result, o.Err,
			func(a servicecidr.Action) (more, why string) {
				return "", whyServiceCIDR(a, e.Deletion)
			})
		f.Reasons = reasonsOf(e.Reasons)
		if set.explain {
			f.Explanation, f.Explained = explainServiceCIDR(cidrs[e.Key.Name], e), e
		}
		s.Findings = append(s.Findings, f)
	}
	return s
}

func whyServiceCIDR(a servicecidr.Action, d servicecidr.Deletion) string {
	switch a := a.(type) {
	case servicecidr.AddFinalizer:
		return "without the finalizer it can be deleted while it is in use"
	case servicecidr.SetCondition:
		if len(d.Orphans) > 0 && a.Condition.Status != "True" {
			return orphanText(d.Orphans, 4)
		}
		return "the condition in its status is missing or different"
	case servicecidr.RemoveFinalizer:
		return "no address would be orphaned"
	}
	return ""
}

// explainServiceCIDR has a line for each reason. A reason about an entry of spec.cidrs has the entry in it.
func explainServiceCIDR(x *networkingv1.ServiceCIDR, e servicecidr.Explanation) []string {
	var lines []string
	indent := ""
	entries := map[string]string{}
	for i, prefix := range x.Spec.CIDRs {
		entries[fmt.Sprintf("spec.cidrs[%d]", i)] = prefix
	}
	for _, r := range e.Reasons {
		line := r.Message
		prefix, ofEntry := entries[r.Field]
		if ofEntry && !strings.Contains(line, prefix) {
			line = prefix + ": " + line
		}
		if ofEntry && !e.Deleting && indent == "" {
			indent = "  "
			lines = append(lines, "if its deletion began now:")
		}
		lines = append(lines, indent+line)
	}
	return lines
}

// orphanText names the addresses with the Services that they belong to.
func orphanText(orphans []servicecidr.Orphan, most int) string {
	texts := make([]string, len(orphans))
	for i, a := range orphans {
		texts[i] = a.String()
	}
	return fmt.Sprintf("%s would be orphaned: %s", message.Count(len(orphans), "address"), list(texts, most))
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
