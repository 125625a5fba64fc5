package servicecidr_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

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
