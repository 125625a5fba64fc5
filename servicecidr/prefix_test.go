package servicecidr_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/servicecidr"
)

// addressAt and prefixAt place a small address space, numbered from 0, at the start of base.
func addressAt(base netip.Addr, i int) netip.Addr {
	b := base.AsSlice()
	b[len(b)-1] += byte(i)
	a, _ := netip.AddrFromSlice(b)
	return a
}

func prefixAt(base netip.Addr, p smallPrefix) netip.Prefix {
	bits := base.BitLen()
	for size := p.size; size > 1; size /= 2 {
		bits--
	}
	return netip.PrefixFrom(addressAt(base, p.from), bits)
}

func TestPrefixContainsIP(t *testing.T) {
	for _, space := range []struct {
		base string
		v4   bool
	}{{"10.0.0.16", true}, {"fd00::10", false}, {"::ffff:10.0.0.16", false}, {"255.255.255.240", true}, {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0", false}} {
		base := netip.MustParseAddr(space.base)
		for _, p := range smallPrefixes(16) {
			for i := range 16 {
				prefix, a := prefixAt(base, p), addressAt(base, i)
				require.Equal(t, p.contains(i, space.v4), servicecidr.PrefixContainsIP(prefix, a), "%v in %v", a, prefix)
			}
		}
	}
	for _, tc := range []struct{ prefix, address, reason string }{
		{"10.0.0.0/24", "::ffff:10.0.0.7", "an IPv4-mapped address is IPv6"},
		{"::ffff:10.0.0.0/120", "10.0.0.7", "an IPv4-mapped prefix is IPv6"},
		{"fd00::/64", "10.0.0.7", "families do not mix"},
		{"0.0.0.0/0", "fd00::7", "families do not mix"},
		{"fe80::/64", "fe80::7%eth0", "an address with a zone is in no prefix"},
		{"fe80::/64", "fe80::%eth0", "nor is it the network address"},
	} {
		require.False(t, servicecidr.PrefixContainsIP(netip.MustParsePrefix(tc.prefix), netip.MustParseAddr(tc.address)), tc.reason)
	}
	require.True(t, servicecidr.PrefixContainsIP(netip.MustParsePrefix("10.0.0.5/24"), netip.MustParseAddr("10.0.0.5")), "10.0.0.5/24 is 10.0.0.0/24")
	require.False(t, servicecidr.PrefixContainsIP(netip.MustParsePrefix("10.0.0.5/24"), netip.MustParseAddr("10.0.0.0")), "10.0.0.5/24 is 10.0.0.0/24")
	require.False(t, servicecidr.PrefixContainsIP(netip.Prefix{}, netip.MustParseAddr("10.0.0.5")), "the zero prefix")
	require.False(t, servicecidr.PrefixContainsIP(netip.MustParsePrefix("10.0.0.0/24"), netip.Addr{}), "the zero address")
}

func TestWhoOverlapsAndWhoContains(t *testing.T) {
	all := cidrs(
		cidr("z-wide", of("10.0.0.0/16")),
		nil,
		cidr("dual", of("10.0.0.0/24", "fd00::/112")),
		cidr("half", of("10.0.0.128/25")),
		cidr("bad", of("nonsense", "10.0.0.0/24")),
		cidr("empty", nil),
		cidr("twice", of("10.0.0.0/24", "10.0.0.0/25")),
		cidr("leaving", of("10.0.0.99/24"), deletedAt(longAgo)),
		cidr("mapped", of("::ffff:10.0.0.0/120")),
		cidr("far", of("11.0.0.0/8")),
	)
	for _, tc := range []struct {
		name, reason string
		got          []*networkingv1.ServiceCIDR
		want         []string
	}{
		{"overlap", "in the order given, each once", servicecidr.CIDRsOverlapping(all, netip.MustParsePrefix("10.0.0.0/24")), of("z-wide", "dual", "half", "bad", "twice", "leaving")},
		{"overlap of one not canonical", "is that of the canonical one", servicecidr.CIDRsOverlapping(all, netip.MustParsePrefix("10.0.0.200/25")), of("z-wide", "dual", "half", "bad", "twice", "leaving")},
		{"overlap, IPv6", "dual stack", servicecidr.CIDRsOverlapping(all, netip.MustParsePrefix("fd00::/8")), of("dual")},
		{"overlap, mapped", "IPv6 as well", servicecidr.CIDRsOverlapping(all, netip.MustParsePrefix("::/0")), of("dual", "mapped")},
		{"overlap, zero", "nothing", servicecidr.CIDRsOverlapping(all, netip.Prefix{}), nil},
		{"contain a prefix", "equal ones do", servicecidr.CIDRsContaining(all, netip.MustParsePrefix("10.0.0.0/24")), of("z-wide", "dual", "bad", "twice", "leaving")},
		{"contain a shorter prefix", "only the wide one", servicecidr.CIDRsContaining(all, netip.MustParsePrefix("10.0.0.0/20")), of("z-wide")},
		{"contain a prefix of IPv6", "as short, other family", servicecidr.CIDRsContaining(all, netip.MustParsePrefix("fd00::/120")), of("dual")},
		{"contain a prefix, zero", "nothing", servicecidr.CIDRsContaining(all, netip.Prefix{}), nil},
		{"contain an address", "each once", servicecidr.CIDRsWithAddress(all, netip.MustParseAddr("10.0.0.7")), of("z-wide", "dual", "bad", "twice", "leaving")},
		{"contain a network address", "none begins before it", servicecidr.CIDRsWithAddress(all, netip.MustParseAddr("10.0.0.0")), nil},
		{"contain the middle", ".128 is the network address of one", servicecidr.CIDRsWithAddress(all, netip.MustParseAddr("10.0.0.128")), of("z-wide", "dual", "bad", "twice", "leaving")},
		{"contain a broadcast address", "only the wide one goes on after it", servicecidr.CIDRsWithAddress(all, netip.MustParseAddr("10.0.0.255")), of("z-wide")},
		{"contain a mapped address", "mapped only", servicecidr.CIDRsWithAddress(all, netip.MustParseAddr("::ffff:10.0.0.7")), of("mapped")},
		{"contain an address, zero", "nothing", servicecidr.CIDRsWithAddress(all, netip.Addr{}), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var names []string
			for _, c := range tc.got {
				names = append(names, c.Name)
			}
			require.Equal(t, tc.want, names, tc.reason)
		})
	}
	require.Same(t, all[2], servicecidr.CIDRsContaining(all, netip.MustParsePrefix("fd00::/120"))[0], "the caller's own object")
}
