package servicecidr

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	netutils "k8s.io/utils/net"
)

// family is a set of values of the label networkingv1.LabelIPAddressFamily.
type family uint8

const (
	ipv4 family = 1 << iota
	ipv6
	// noFamily is the empty value. Upstream looks for it on behalf of a CIDR that does not
	// parse (D-2), since such a CIDR has no family.
	noFamily

	none         family = 0
	everyFamily         = ipv4 | ipv6 | noFamily
	labelManaged        = networkingv1.LabelManagedBy
	labelFamily         = networkingv1.LabelIPAddressFamily
)

// familyOfCIDR is the family of the addresses that may stand in the way of a ServiceCIDR with
// this entry in spec.cidrs. Upstream takes an IPv4-mapped IPv6 prefix for IPv4; the addresses in
// it are IPv6, so both count. The API accepts no such prefix.
func familyOfCIDR(cidr string) family {
	var f family
	switch netutils.IPFamilyOfCIDRString(cidr) {
	case netutils.IPv4:
		f = ipv4
	case netutils.IPv6:
		f = ipv6
	default:
		f = noFamily
	}
	if p, err := netip.ParsePrefix(cidr); err == nil && p.Addr().Is4In6() {
		f |= ipv6
	}
	return f
}

// familyOf is the family that a Service's IPAddress is labelled with; none for one that does not
// count, because another allocator manages it or a label is missing.
func familyOf(ip *networkingv1.IPAddress) family {
	if ip.Labels[labelManaged] != ManagedBy {
		return none
	}
	value, labelled := ip.Labels[labelFamily]
	switch corev1.IPFamily(value) {
	case corev1.IPv4Protocol:
		return ipv4
	case corev1.IPv6Protocol:
		return ipv6
	case corev1.IPFamilyUnknown:
		if labelled {
			return noFamily
		}
	}
	return none
}
