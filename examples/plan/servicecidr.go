package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/servicecidr"
)

func planServiceCIDR(c *cluster, set settings) section {
	snapshot := servicecidr.Snapshot{Now: set.now, ServiceCIDRs: c.serviceCIDRs, IPAddresses: c.ipAddresses}
	options := servicecidr.Options{MatchUpstream: set.matchUpstream}
	outcomes := map[string]servicecidr.Outcome{}
	var names []string
	for _, o := range servicecidr.PlanAll(snapshot, options) {
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

	s := section{Headline: fmt.Sprintf("%s, %d of them being deleted, and %s",
		count(len(c.serviceCIDRs), "ServiceCIDR"), leaving, addresses(len(c.ipAddresses)))}
	services := servicesOf(c.ipAddresses)
	for _, name := range slices.Compact(names) {
		o := outcomes[name]
		var deletion servicecidr.Deletion
		if set.explain || len(o.Result.Actions) > 0 {
			// Its error is the outcome's.
			deletion, _ = servicecidr.CheckDeletion(snapshot, name, options)
		}
		f := findingOf(reference{kind: "ServiceCIDR", name: name}, o.Result, o.Err, func(a servicecidr.Action) (more, why string) {
			return "", whyServiceCIDR(a, deletion, services)
		})
		if set.explain {
			f.Explanation = explainDeletion(cidrs[name], deletion, c.serviceCIDRs, services)
		}
		s.Findings = append(s.Findings, f)
	}
	return s
}

func whyServiceCIDR(a servicecidr.Action, d servicecidr.Deletion, services map[netip.Addr]string) string {
	switch a := a.(type) {
	case servicecidr.AddFinalizer:
		return "nothing would hold it while it is in use"
	case servicecidr.SetCondition:
		if len(d.Orphans) > 0 && a.Condition.Status != "True" {
			return orphanText(d.Orphans, services, 4)
		}
		return "its status does not say so yet"
	case servicecidr.RemoveFinalizer:
		return "no address would be left without a range"
	}
	return ""
}

// explainDeletion says for each prefix whether it can go, and why.
func explainDeletion(x *networkingv1.ServiceCIDR, d servicecidr.Deletion, all []*networkingv1.ServiceCIDR, services map[netip.Addr]string) []string {
	if x == nil {
		return nil
	}
	can, cannot := "can go", "cannot go"
	if x.DeletionTimestamp == nil {
		can, cannot = "could go", "could not go"
	}
	var lines []string
	for _, c := range d.Coverage {
		var orphans []netip.Addr
		for _, a := range d.Orphans {
			if servicecidr.PrefixContainsIP(c.Prefix, a) {
				orphans = append(orphans, a)
			}
		}
		switch {
		case len(c.By) > 0:
			lines = append(lines, fmt.Sprintf("%v %s: %s %s it", c.Prefix, can, list(c.By, 4), verb(len(c.By), "contains", "contain")))
		case len(orphans) > 0:
			lines = append(lines, fmt.Sprintf("%v %s: %s", c.Prefix, cannot, orphanText(orphans, services, 20)))
		case len(d.Orphans) == 0 && !d.Safe:
			lines = append(lines, fmt.Sprintf("%v: whether it %s is not known, see the errors", c.Prefix, can))
		default:
			lines = append(lines, fmt.Sprintf("%v %s: no address would be left without a range", c.Prefix, can))
		}
		if others := leavingToo(x, c, all); len(others) > 0 {
			lines = append(lines, fmt.Sprintf("  %s %s it too, but not for long: being deleted as well",
				list(others, 4), verb(len(others), "contains", "contain")))
		}
	}
	return lines
}

// leavingToo are the others that contain the prefix and cannot be relied on.
func leavingToo(x *networkingv1.ServiceCIDR, c servicecidr.Coverage, all []*networkingv1.ServiceCIDR) []string {
	var names []string
	for _, y := range servicecidr.ContainsPrefix(all, c.Prefix) {
		if y.Name != x.Name && y.DeletionTimestamp != nil && !slices.Contains(c.By, y.Name) {
			names = append(names, y.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// orphanText names the addresses with the Services that they belong to.
func orphanText(orphans []netip.Addr, services map[netip.Addr]string, most int) string {
	texts := make([]string, len(orphans))
	for i, a := range orphans {
		texts[i] = a.String()
		if of := services[a]; of != "" {
			texts[i] += " (" + of + ")"
		}
	}
	return fmt.Sprintf("%s would be left without a range: %s", addresses(len(orphans)), list(texts, most))
}

// servicesOf says whose an address is, from spec.parentRef.
func servicesOf(ips []*networkingv1.IPAddress) map[netip.Addr]string {
	services := map[netip.Addr]string{}
	for _, ip := range ips {
		ref := ip.Spec.ParentRef
		a, err := netip.ParseAddr(ip.Name)
		if err != nil || ref == nil {
			continue
		}
		kind := ref.Resource
		if ref.Group != "" {
			kind += "." + ref.Group
		}
		if kind == "services" {
			kind = "Service"
		}
		services[a] = strings.TrimSpace(title(kind, ref.Namespace, ref.Name))
	}
	return services
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
