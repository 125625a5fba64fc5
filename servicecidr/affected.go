package servicecidr

import (
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
)

// AffectedByServiceCIDR returns the names to plan again after a ServiceCIDR was added, updated or
// deleted (D-4): its own, and those of cidrs that overlap it. Sorted, each once. After an update
// pass the new object (spec.cidrs can only grow), after a deletion the last known one. A nil
// changed affects nobody.
func AffectedByServiceCIDR(cidrs []*networkingv1.ServiceCIDR, changed *networkingv1.ServiceCIDR) []string {
	if changed == nil {
		return nil
	}
	affected := []string{changed.Name}
	var prefixes []netip.Prefix
	for _, s := range changed.Spec.CIDRs {
		if p, err := netip.ParsePrefix(s); err == nil {
			prefixes = append(prefixes, p)
		}
	}
	overlaps := func(q netip.Prefix) bool { return slices.ContainsFunc(prefixes, q.Overlaps) }
	return names(affected, having(cidrs, overlaps))
}

// AffectedByIPAddress returns the names to plan again after an IPAddress was added or deleted, or
// its labels changed (pass the old and the new one then): of the ServiceCIDRs that contain it,
// sorted, each once; none for an address that the API server's allocator does not manage.
//
// Beyond upstream, which ignores it: one that is managed and whose name is not an address affects
// all that are being deleted, since it may hold each of them back.
func AffectedByIPAddress(cidrs []*networkingv1.ServiceCIDR, ip *networkingv1.IPAddress) []string {
	if ip == nil || ip.Labels[labelManaged] != ManagedBy {
		return nil
	}
	a, err := netip.ParseAddr(ip.Name)
	if err != nil {
		var leaving []*networkingv1.ServiceCIDR
		for _, c := range cidrs {
			if c != nil && !c.DeletionTimestamp.IsZero() {
				leaving = append(leaving, c)
			}
		}
		return names(nil, leaving)
	}
	return names(nil, ContainsAddress(cidrs, a))
}

// names appends the names to given and sorts all of them, each once.
func names(given []string, cidrs []*networkingv1.ServiceCIDR) []string {
	for _, c := range cidrs {
		given = append(given, c.Name)
	}
	slices.Sort(given)
	return slices.Compact(given)
}
