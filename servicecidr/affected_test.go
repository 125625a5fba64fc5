package servicecidr_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// After any event, each ServiceCIDR for which the plan is another one than before is named. One
// that is not named would wait for ever.
func TestD4_EveryChangedPlanIsNamed(t *testing.T) {
	changed := map[string]int{}
	forSeeds(t, 8000, func(t *testing.T, seed uint64, r *rand.Rand) {
		before := randomSnapshot(r, nasty{specs: seed%4 == 0})
		if r.IntN(4) == 0 {
			before.IPAddresses = append(before.IPAddresses, ip("10.0.0.01"))
		}
		after, named, event := happen(r, before)
		names := map[string]bool{}
		for _, x := range slices.Concat(before.ServiceCIDRs, after.ServiceCIDRs) {
			names[x.Name] = true
		}
		for name := range names {
			was, wasErr := servicecidr.Plan(before, name, careful)
			is, isErr := servicecidr.Plan(after, name, careful)
			if diff(was, is) != "" || !cmp.Equal(wasErr, isErr, compareErrors) {
				changed[event]++
				require.Contains(t, named, name, "seed %d: %s", seed, event)
			}
		}
		require.True(t, slices.IsSorted(named), "seed %d", seed)
		require.Len(t, slices.Compact(slices.Clone(named)), len(named), "seed %d", seed)
	})
	if len(changed) > 1 {
		require.Len(t, changed, 8, "%v", changed)
		for event, n := range changed {
			require.Greater(t, n, 25, "%s is rare: %v", event, changed)
		}
	}
}

// happen is one event: the snapshot after it, and the names that the Affected functions give.
func happen(r *rand.Rand, s servicecidr.Snapshot) (after servicecidr.Snapshot, named []string, event string) {
	after = deepCopy(s)
	i := r.IntN(len(after.ServiceCIDRs))
	x := after.ServiceCIDRs[i]
	other := randomSnapshot(r, nasty{})
	if len(other.IPAddresses) == 0 {
		other.IPAddresses = ips("10.0.0.7")
	}
	switch kind := r.IntN(8); {
	case kind == 0:
		event, x = "a ServiceCIDR is added", other.ServiceCIDRs[0]
		x.Name = "z"
		after.ServiceCIDRs = append(after.ServiceCIDRs, x)
	case kind == 1:
		event = "a ServiceCIDR is gone"
		after.ServiceCIDRs = slices.Delete(after.ServiceCIDRs, i, i+1)
	case kind == 2 && len(x.Spec.CIDRs) == 1:
		event = "a ServiceCIDR grows"
		x.Spec.CIDRs = append(x.Spec.CIDRs, other.ServiceCIDRs[0].Spec.CIDRs...)
	case kind == 3 && x.DeletionTimestamp == nil:
		event = "a ServiceCIDR is to go"
		x.DeletionTimestamp = &metav1.Time{Time: second}
	case kind == 4 && slices.Contains(x.Finalizers, servicecidr.Finalizer):
		event = "a ServiceCIDR loses its finalizer"
		x.Finalizers = nil
	case kind == 5 && len(after.IPAddresses) > 0:
		event = "an IPAddress is gone"
		last := len(after.IPAddresses) - 1
		named = servicecidr.AffectedByIPAddress(after.ServiceCIDRs, after.IPAddresses[last])
		after.IPAddresses = after.IPAddresses[:last]
		return after, named, event
	case kind == 6 && len(after.IPAddresses) > 0:
		event = "the labels of an IPAddress change"
		old := after.IPAddresses[0].DeepCopy()
		after.IPAddresses[0].Labels = other.IPAddresses[0].Labels
		named = slices.Concat(servicecidr.AffectedByIPAddress(after.ServiceCIDRs, old), servicecidr.AffectedByIPAddress(after.ServiceCIDRs, after.IPAddresses[0]))
		slices.Sort(named)
		return after, slices.Compact(named), event
	default:
		event = "an IPAddress is added"
		after.IPAddresses = append(after.IPAddresses, other.IPAddresses[0])
		return after, servicecidr.AffectedByIPAddress(after.ServiceCIDRs, other.IPAddresses[0]), event
	}
	return after, servicecidr.AffectedByServiceCIDR(after.ServiceCIDRs, x), event
}
