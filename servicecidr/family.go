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
	// noFamily is the empty value. Upstream looks for this value for a CIDR that does not parse (D-2), since such a
	// CIDR has no family.
	noFamily

	none        family = 0
	everyFamily        = ipv4 | ipv6 | noFamily
)

// familyOfPrefix returns the families of the addresses that may block the deletion of a ServiceCIDR with this prefix.
// For an IPv4-mapped IPv6 prefix both families count: upstream treats the prefix as IPv4, but its addresses are IPv6.
// The API accepts no such prefix.
func familyOfPrefix(p netip.Prefix) family {
	switch {
	case p.Addr().Is4():
		return ipv4
	case p.Addr().Is4In6():
		return ipv4 | ipv6
	}
	return ipv6
}

// familyOfText is familyOfPrefix for an entry of spec.cidrs that does not parse. Upstream gets the family from a more
// lenient parser, for which 10.00.0.0/24 is IPv4.
func familyOfText(cidr string) family {
	switch netutils.IPFamilyOfCIDRString(cidr) {
	case netutils.IPv4:
		return ipv4
	case netutils.IPv6:
		return ipv6
	}
	return noFamily
}

// familyOf returns the family in the label of a Service's IPAddress. It returns none for an IPAddress that does not
// count, because another allocator manages it or a label is missing.
func familyOf(ip *networkingv1.IPAddress) family {
	if !managed(ip) {
		return none
	}
	value, labelled := ip.Labels[networkingv1.LabelIPAddressFamily]
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

// managed reports whether the API server's allocator manages the address.
func managed(ip *networkingv1.IPAddress) bool {
	return ip.Labels[networkingv1.LabelManagedBy] == ManagedBy
}
