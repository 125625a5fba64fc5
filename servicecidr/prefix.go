package servicecidr

import (
	"net/netip"

	"go4.org/netipx"
)

// What a prefix contains
//
// A prefix contains the addresses of its family, except its network address and, for IPv4 only, its broadcast address.
// No allocator assigns these, so no Service can have them from that prefix. A /31, a /32 and a /128 therefore contain
// nothing, and a /127 contains one address.
//
// Every shorter prefix around a prefix contains everything that the prefix contains: if the network or broadcast
// address of the outer prefix is in the inner one at all, it is the inner one's network or broadcast address. So
// "another ServiceCIDR contains the whole prefix" (BR-31-05) does not depend on the addresses. Two halves do not make a
// whole: 10.0.0.0/25 and 10.0.0.128/25 lack .127 and .128, which 10.0.0.0/24 contains.
//
//   - 10.0.0.5/24, which an API server rejects but a manifest can have, is 10.0.0.0/24.
//   - An IPv4-mapped IPv6 address (::ffff:10.0.0.5) or prefix is IPv6. No IPv4 prefix contains it.
//   - An address with a zone (fe80::1%eth0) is in no prefix. A prefix with a zone does not parse.
//   - Upper case and long forms of an IPv6 address (FD00:0::5) are that address.

// PrefixContainsIP reports whether a Service may have the address a from the prefix p: p contains a, and a is neither
// p's network address nor, for IPv4 only, p's broadcast address. An IPv4 prefix contains no IPv6 address, and an IPv6
// prefix no IPv4 address. An IPv4-mapped IPv6 address is IPv6. An address with a zone is in no prefix.
func PrefixContainsIP(p netip.Prefix, a netip.Addr) bool {
	if !p.Contains(a) || a == p.Masked().Addr() {
		return false
	}
	return !a.Is4() || a != netipx.PrefixLastIP(p)
}

// usable returns the range of the addresses a for which PrefixContainsIP(p, a) is true. ok is false if there are none.
//
// For example:
//
//	10.0.0.0/24    10.0.0.1 … 10.0.0.254
//	10.0.0.0/31    none: .0 is the network address, .1 the broadcast address
//	fd00::/126     fd00::1 … fd00::3
//	fd00::/128     none
func usable(p netip.Prefix) (r netipx.IPRange, ok bool) {
	whole := netipx.RangeOfPrefix(p)
	last := whole.To()
	if last.Is4() {
		// Only IPv4 has a broadcast address.
		last = last.Prev()
	}
	r = netipx.IPRangeFrom(whole.From().Next(), last)
	// For a prefix with no usable address the range ends before it begins, or it begins behind the last address of
	// the family.
	return r, r.IsValid()
}
