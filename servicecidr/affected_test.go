package servicecidr_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/servicecidr"
)

func TestD4_AffectedByServiceCIDR(t *testing.T) {
	all := cidrs(
		cidr("wide", of("10.0.0.0/16")), nil,
		cidr("a", of("10.0.0.0/24", "fd00::/112")),
		cidr("six", of("fd00::/64")),
		cidr("inner", of("10.0.0.64/28")), cidr("inner", of("10.0.0.64/28")),
		cidr("far", of("10.1.0.0/24")),
		cidr("bad", of("nonsense")),
	)
	for _, tc := range []struct {
		name, reason string
		changed      *networkingv1.ServiceCIDR
		want         []string
	}{
		{"in the cluster", "itself, and those that overlap, sorted, each once", all[2], of("a", "inner", "six", "wide")},
		{"gone", "itself too: its plan is empty", cidr("gone", of("10.1.0.0/25")), of("far", "gone")},
		{"grown to dual stack", "by the new object", cidr("far", of("10.1.0.0/24", "fd00::/120")), of("a", "far", "six")},
		{"overlaps nobody", "itself", cidr("new", of("192.168.0.0/24")), of("new")},
		{"does not parse", "itself, and what the rest overlaps", cidr("bad", of("nonsense", "10.1.0.0/16")), of("bad", "far")},
		{"nil", "nobody", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, servicecidr.AffectedByServiceCIDR(all, tc.changed), tc.reason)
		})
	}
}

func TestAffectedByIPAddress(t *testing.T) {
	all := cidrs(
		cidr("wide", of("10.0.0.0/16")), nil,
		cidr("a", of("10.0.0.0/24", "fd00::/112")),
		cidr("leaving", of("10.0.0.0/24"), deletedAt(longAgo)),
		cidr("six", of("fd00::/64"), deletedAt(longAgo)),
		cidr("bad", of("nonsense")),
	)
	managed := map[string]string{"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}
	for _, tc := range []struct {
		name, reason string
		ip           *networkingv1.IPAddress
		want         []string
	}{
		{"IPv4", "those that contain it, sorted", ip("10.0.0.7"), of("a", "leaving", "wide")},
		{"IPv6", "those that contain it", ip("fd00::7"), of("a", "six")},
		{"network address", "those that do not begin there", ip("10.0.0.255"), of("wide")},
		{"nowhere", "nobody", ip("192.168.0.1"), nil},
		{"without a family", "upstream asks for the manager only", labelled("10.0.0.7", managed), of("a", "leaving", "wide")},
		{"unmanaged", "nobody", labelled("10.0.0.7", nil), nil},
		{"no address", "it may hold back everything that is being deleted", labelled("nonsense", managed), of("leaving", "six")},
		{"unmanaged and no address", "nobody", labelled("nonsense", nil), nil},
		{"nil", "nobody", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, servicecidr.AffectedByIPAddress(all, tc.ip), tc.reason)
		})
	}
}
