package servicecidr

import (
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
)

// KeyOf returns the key of the plan for a ServiceCIDR: its name; empty for nil.
func KeyOf(c *networkingv1.ServiceCIDR) string {
	if c == nil {
		return ""
	}
	return c.Name
}

// AffectedByServiceCIDR returns the names to plan again after a ServiceCIDR was added (oldObj is
// nil), updated or deleted (newObj is nil, oldObj the last known state), sorted, each once: its own,
// and those of the ServiceCIDRs in s that overlap it as it was or as it is (D-4). s is the snapshot
// after the event; only its ServiceCIDRs and DeletionSeen are read. An update that leaves spec.cidrs, the deletion
// timestamp and Finalizer as they were changes no other plan, and names its own only. After a change of
// DeletionSeen that no such event comes with, ask as for an addition.
//
// Under MatchUpstream the names are those that kube-controller-manager puts into its queue: the
// overlapping ones only after an addition.
func AffectedByServiceCIDR(s Snapshot, oldObj, newObj *networkingv1.ServiceCIDR, o Options) []string {
	if oldObj == nil && newObj == nil {
		return nil
	}
	seen := newDeletions(o).with(s.DeletionSeen)
	was, is := seen.ordered(oldObj), seen.ordered(newObj)
	var affected []string
	for _, c := range []*networkingv1.ServiceCIDR{oldObj, newObj} {
		if c != nil {
			affected = append(affected, c.Name)
		}
	}
	if !affectsOthers(was, is, o) {
		return sortedNames(affected)
	}
	around := append(prefixesOf(oldObj), prefixesOf(newObj)...)
	overlapping := having(s.ServiceCIDRs, func(q netip.Prefix) bool { return slices.ContainsFunc(around, q.Overlaps) })
	return sortedNames(appendNames(affected, overlapping))
}

// affectsOthers says whether the event can change the plans of other ServiceCIDRs.
func affectsOthers(was, is *object, o Options) bool {
	switch {
	case o.matchUpstream():
		return was == nil
	case was == nil || is == nil:
		return true
	}
	return was.goes.compare(is.goes) != 0 || was.covers.compare(is.covers) != 0 || was.Name != is.Name ||
		!slices.Equal(was.Spec.CIDRs, is.Spec.CIDRs)
}

// prefixesOf returns the entries of spec.cidrs that parse.
func prefixesOf(c *networkingv1.ServiceCIDR) []netip.Prefix {
	if c == nil {
		return nil
	}
	var prefixes []netip.Prefix
	for _, s := range c.Spec.CIDRs {
		if p, err := netip.ParsePrefix(s); err == nil {
			prefixes = append(prefixes, p.Masked())
		}
	}
	return prefixes
}

// AffectedByIPAddress returns the names to plan again after an IPAddress was added (oldObj is nil),
// updated or deleted (newObj is nil, oldObj the last known state): of the ServiceCIDRs in s that
// contain it, sorted, each once. s is the snapshot after the event; only its ServiceCIDRs are read.
// An address that the API server's allocator does not manage affects none, and neither does an
// update that leaves the two labels as they were.
//
// An address that is managed and whose name is not an address affects all ServiceCIDRs that are being
// deleted, since it may hold each of them back.
//
// Under MatchUpstream the names are those that kube-controller-manager puts into its queue: none
// after an update, and none for a name that is not an address.
func AffectedByIPAddress(s Snapshot, oldObj, newObj *networkingv1.IPAddress, o Options) []string {
	if !affectsCIDRs(oldObj, newObj, o) {
		return nil
	}
	var affected []string
	for _, ip := range []*networkingv1.IPAddress{oldObj, newObj} {
		if ip == nil || !managed(ip) {
			continue
		}
		a, err := netip.ParseAddr(ip.Name)
		switch {
		case err == nil:
			affected = appendNames(affected, ContainsAddress(s.ServiceCIDRs, a))
		case !o.matchUpstream():
			for _, c := range s.ServiceCIDRs {
				if c != nil && !c.DeletionTimestamp.IsZero() {
					affected = append(affected, c.Name)
				}
			}
		}
	}
	return sortedNames(affected)
}

// affectsCIDRs says whether the event can change the plan of any ServiceCIDR.
func affectsCIDRs(oldObj, newObj *networkingv1.IPAddress, o Options) bool {
	if oldObj == nil || newObj == nil {
		return oldObj != newObj
	}
	if o.matchUpstream() {
		return false // upstream does not listen to updates
	}
	return oldObj.Name != newObj.Name || managed(oldObj) != managed(newObj) || familyOf(oldObj) != familyOf(newObj)
}

func managed(ip *networkingv1.IPAddress) bool { return ip.Labels[labelManaged] == ManagedBy }

func appendNames(names []string, cidrs []*networkingv1.ServiceCIDR) []string {
	for _, c := range cidrs {
		names = append(names, c.Name)
	}
	return names
}

// sortedNames sorts the names, each once; none is empty, since no plan has that key.
func sortedNames(names []string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > 0 && names[0] == "" {
		names = names[1:]
	}
	if len(names) == 0 {
		return nil
	}
	return names
}
