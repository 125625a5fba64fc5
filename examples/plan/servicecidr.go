package main

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/servicecidr"
)

func planServiceCIDR(c *cluster, set settings) section {
	snapshot := servicecidr.Snapshot{Now: set.now, ServiceCIDRs: c.serviceCIDRs, IPAddresses: c.ipAddresses}
	options := servicecidr.Options{MatchUpstream: set.matchUpstream}
	outcomes := map[string]servicecidr.Outcome{}
	var names []string
	planned, whole := servicecidr.PlanAll(snapshot, options)
	for _, o := range planned {
		outcomes[o.Key] = o
		names = append(names, o.Key)
	}
	cidrs := map[string]*networkingv1.ServiceCIDR{}
	leaving := 0
	for _, x := range c.serviceCIDRs {
		cidrs[x.Name] = x
		names = append(names, x.Name)
		if x.DeletionTimestamp != nil {
			leaving++
		}
	}
	slices.Sort(names)

	s := section{
		Headline: fmt.Sprintf("%s, %d of them being deleted, and %s",
			count(len(c.serviceCIDRs), "ServiceCIDR"), leaving, addresses(len(c.ipAddresses))),
		Err: whole,
	}
	// Its error is that of PlanAll.
	explanations, _ := servicecidr.ExplainAll(snapshot, options)
	reasons := map[string][]servicecidr.Reason{}
	for _, e := range explanations {
		reasons[e.Key] = e.Reasons
	}
	for _, name := range slices.Compact(names) {
		o := outcomes[name]
		var deletion servicecidr.Deletion
		if set.explain || len(o.Result.Actions) > 0 {
			// Its error is the outcome's.
			deletion, _ = servicecidr.CheckDeletion(snapshot, name, options)
		}
		f := findingOf(reference{kind: "ServiceCIDR", name: name}, o.Result, o.Err, func(a servicecidr.Action) (more, why string) {
			return "", whyServiceCIDR(a, deletion)
		})
		f.Reasons = reasonsOf(reasons[name])
		if set.explain {
			f.Explanation = explainDeletion(cidrs[name], deletion)
		}
		s.Findings = append(s.Findings, f)
	}
	return s
}

func whyServiceCIDR(a servicecidr.Action, d servicecidr.Deletion) string {
	switch a := a.(type) {
	case servicecidr.AddFinalizer:
		return "nothing would hold it while it is in use"
	case servicecidr.SetCondition:
		if len(d.Orphans) > 0 && a.Condition.Status != "True" {
			return orphanText(d.Orphans, 4)
		}
		return "its status does not say so yet"
	case servicecidr.RemoveFinalizer:
		return "no address would be left without a range"
	}
	return ""
}

// explainDeletion says for each prefix whether it can go, and why.
func explainDeletion(x *networkingv1.ServiceCIDR, d servicecidr.Deletion) []string {
	if x == nil {
		return nil
	}
	can, cannot := "can go", "cannot go"
	if x.DeletionTimestamp == nil {
		can, cannot = "could go", "could not go"
	}
	var lines []string
	for _, c := range d.Coverage {
		var orphans []servicecidr.Orphan
		for _, a := range d.Orphans {
			if servicecidr.PrefixContainsIP(c.Prefix, a.Address) {
				orphans = append(orphans, a)
			}
		}
		switch {
		case len(c.By) > 0:
			lines = append(lines, fmt.Sprintf("%v %s: %s %s it", c.Prefix, can, list(c.By, 4), verb(len(c.By), "contains", "contain")))
		case len(orphans) > 0:
			lines = append(lines, fmt.Sprintf("%v %s: %s", c.Prefix, cannot, orphanText(orphans, 20)))
		case len(d.Orphans) == 0 && !d.Safe:
			lines = append(lines, fmt.Sprintf("%v: whether it %s is not known, see the errors", c.Prefix, can))
		default:
			lines = append(lines, fmt.Sprintf("%v %s: no address would be left without a range", c.Prefix, can))
		}
		if others := c.Unreliable; len(others) > 0 {
			lines = append(lines, fmt.Sprintf("  %s %s it too, but may be gone first",
				list(others, 4), verb(len(others), "contains", "contain")))
		}
	}
	return lines
}

// orphanText names the addresses with the Services that they belong to.
func orphanText(orphans []servicecidr.Orphan, most int) string {
	texts := make([]string, len(orphans))
	for i, a := range orphans {
		texts[i] = a.String()
	}
	return fmt.Sprintf("%s would be left without a range: %s", addresses(len(orphans)), list(texts, most))
}

func addresses(n int) string {
	return fmt.Sprintf("%d %s", n, verb(n, "address", "addresses"))
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
