package servicecidr_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/contract"
	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/servicecidr"
)

func TestD4_AServiceCIDRAffectsThoseThatOverlap(t *testing.T) {
	all := cidrs(
		cidr("wide", of("10.0.0.0/16")), nil,
		cidr("a", of("10.0.0.0/24", "fd00::/112")),
		cidr("six", of("fd00::/64")),
		cidr("inner", of("10.0.0.64/28")), cidr("inner", of("10.0.0.64/28")),
		cidr("far", of("10.1.0.0/24")),
		cidr("bad", of("nonsense")),
	)
	far, grown := cidr("far", of("10.1.0.0/24")), cidr("far", of("10.1.0.0/24", "fd00::/120"))
	for _, tc := range []struct {
		name, reason   string
		oldObj, newObj *networkingv1.ServiceCIDR
		o              servicecidr.Options
		want           []purekube.Key
	}{
		{"added", "itself, and those that overlap, sorted, each once", nil, all[2], careful, keys("a", "inner", "six", "wide")},
		{"added, upstream", "the same", nil, all[2], upstream, keys("a", "inner", "six", "wide")},
		{"deleted", "itself too: its plan is empty", cidr("gone", of("10.1.0.0/25")), nil, careful, keys("far", "gone")},
		{"deleted, upstream", "itself only", cidr("gone", of("10.1.0.0/25")), nil, upstream, keys("gone")},
		{"grown to dual stack", "by both of its prefixes", far, grown, careful, keys("a", "far", "six")},
		{"grown, upstream", "itself only", far, grown, upstream, keys("far")},
		{"shrunk", "by both of its prefixes: a manifest may do that", grown, far, careful, keys("a", "far", "six")},
		{"its condition", "no other plan rests on it", all[2], cidr("a", of("10.0.0.0/24", "fd00::/112"), conditions()), careful, keys("a")},
		{"a finalizer of others", "no other plan rests on it", all[2], cidr("a", of("10.0.0.0/24", "fd00::/112"), finalizers("b", servicecidr.Finalizer)), careful, keys("a")},
		{"D-25 gets the finalizer", "it covers others from now on", cidr("a", of("10.0.0.0/24", "fd00::/112"), finalizers()), all[2], careful, keys("a", "inner", "six", "wide")},
		{"is to be deleted", "it covers others no longer", all[2], cidr("a", of("10.0.0.0/24", "fd00::/112"), deletedAt(now)), careful, keys("a", "inner", "six", "wide")},
		{"overlaps none", "itself", nil, cidr("new", of("192.168.0.0/24")), careful, keys("new")},
		{"does not parse", "itself, and what the rest overlaps", nil, cidr("bad", of("nonsense", "10.1.0.0/16")), careful, keys("bad", "far")},
		{"without a name", "it covers nothing, and no plan has the empty key", nil, cidr("", of("10.1.0.0/16")), careful, nil},
		{"nil", "none", nil, nil, careful, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, affectedByServiceCIDR(t, servicecidr.Snapshot{ServiceCIDRs: all}, tc.oldObj, tc.newObj, tc.o), tc.reason)
		})
	}
}

func TestAnIPAddressAffectsWhatContainsIt(t *testing.T) {
	all := cidrs(
		cidr("wide", of("10.0.0.0/16")), nil,
		cidr("a", of("10.0.0.0/24", "fd00::/112")),
		cidr("leaving", of("10.0.0.0/24"), deletedAt(longAgo)),
		cidr("six", of("fd00::/64"), deletedAt(longAgo)),
		cidr("bad", of("nonsense")),
		cidr("link", of("fe80::/64")),
	)
	s := servicecidr.Snapshot{ServiceCIDRs: all}
	managed := map[string]string{"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}
	for _, tc := range []struct {
		name, reason string
		ip           *networkingv1.IPAddress
		want         []purekube.Key
		upstream     []purekube.Key
	}{
		{"IPv4", "those that contain it, sorted", ip("10.0.0.7"), keys("a", "leaving", "wide"), keys("a", "leaving", "wide")},
		{"IPv6", "those that contain it", ip("fd00::7"), keys("a", "six"), keys("a", "six")},
		{"network address", "those that do not begin there", ip("10.0.0.255"), keys("wide"), keys("wide")},
		{"nowhere", "none", ip("192.168.0.1"), nil, nil},
		{"with a zone", "no prefix contains it", ip("fe80::1%eth0"), nil, nil},
		{"without a family", "upstream asks for the manager only", labelled("10.0.0.7", managed), keys("a", "leaving", "wide"), keys("a", "leaving", "wide")},
		{"unmanaged", "none", labelled("10.0.0.7", nil), nil, nil},
		{"no address", "it may hold back everything that is being deleted; upstream passes over it", labelled("nonsense", managed), keys("leaving", "six"), nil},
		{"unmanaged and no address", "none", labelled("nonsense", nil), nil, nil},
		{"nil", "none", nil, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, affectedByIPAddress(t, s, nil, tc.ip, careful), "added: %s", tc.reason)
			require.Equal(t, tc.want, affectedByIPAddress(t, s, tc.ip, nil, careful), "deleted: %s", tc.reason)
			require.Equal(t, tc.upstream, affectedByIPAddress(t, s, nil, tc.ip, upstream), "added, upstream: %s", tc.reason)
			require.Equal(t, tc.upstream, affectedByIPAddress(t, s, tc.ip, nil, upstream), "deleted, upstream: %s", tc.reason)
			require.Empty(t, affectedByIPAddress(t, s, tc.ip, tc.ip, careful), "an update without a change")
		})
	}
	was, is := labelled("10.0.0.7", nil), ip("10.0.0.7")
	require.Equal(t, keys("a", "leaving", "wide"), affectedByIPAddress(t, s, was, is, careful), "the labels say now that it counts")
	require.Equal(t, keys("a", "leaving", "wide"), affectedByIPAddress(t, s, is, was, careful), "the labels say no longer that it counts")
	require.Empty(t, affectedByIPAddress(t, s, was, is, upstream), "upstream does not hear of updates")
}

func TestKeyOf(t *testing.T) {
	require.Equal(t, purekube.Key{Kind: "ServiceCIDR", Name: "x"}, servicecidr.KeyOf(cidr("x", nil)))
	require.Equal(t, servicecidr.KeyOf(cidr("x", nil)), servicecidr.Key("x"))
	require.Empty(t, servicecidr.KeyOf(nil))
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
		after, named, event := happen(t, r, before)
		names := map[string]bool{}
		for _, x := range slices.Concat(before.ServiceCIDRs, after.ServiceCIDRs) {
			names[x.Name] = true
		}
		for name := range names {
			was, wasErr := servicecidr.Plan(before, servicecidr.Key(name), careful)
			is, isErr := servicecidr.Plan(after, servicecidr.Key(name), careful)
			if diff(was, is) != "" || fmt.Sprint(wasErr) != fmt.Sprint(isErr) {
				changed[event]++
				require.Contains(t, named, servicecidr.Key(name), "seed %d: %s", seed, event)
			}
		}
		require.True(t, slices.IsSortedFunc(named, purekube.Key.Compare), "seed %d", seed)
		require.Len(t, slices.Compact(slices.Clone(named)), len(named), "seed %d", seed)
	})
	if len(changed) > 1 && !seed.Short() {
		require.Len(t, changed, 9, "%v", changed)
		for event, n := range changed {
			require.Greater(t, n, 25, "%s is rare: %v", event, changed)
		}
	}
}

// happen is one event: the snapshot after it, and the keys that an Index names for it.
func happen(t *testing.T, r *rand.Rand, s servicecidr.Snapshot) (after servicecidr.Snapshot, named []purekube.Key, event string) {
	after = contract.Copy(s)
	i := r.IntN(len(after.ServiceCIDRs))
	x := after.ServiceCIDRs[i]
	oldObj, newObj := s.ServiceCIDRs[i], x
	other := randomSnapshot(r, nasty{})
	if len(other.IPAddresses) == 0 {
		other.IPAddresses = ips("10.0.0.7")
	}
	switch kind := r.IntN(9); {
	case kind == 0:
		event, x = "a ServiceCIDR is added", other.ServiceCIDRs[0]
		x.Name = "z"
		oldObj, newObj = nil, x
		after.ServiceCIDRs = append(after.ServiceCIDRs, x)
	case kind == 1:
		event = "a ServiceCIDR is gone"
		after.ServiceCIDRs = slices.Delete(after.ServiceCIDRs, i, i+1)
		newObj = nil
	case kind == 2 && len(x.Spec.CIDRs) == 1:
		event = "a ServiceCIDR grows"
		x.Spec.CIDRs = append(x.Spec.CIDRs, other.ServiceCIDRs[0].Spec.CIDRs...)
	case kind == 3 && x.DeletionTimestamp == nil:
		event = "a ServiceCIDR is to go"
		x.DeletionTimestamp = &metav1.Time{Time: second}
	case kind == 4 && slices.Contains(x.Finalizers, servicecidr.Finalizer):
		event = "a ServiceCIDR loses its finalizer"
		x.Finalizers = nil
	case kind == 8 && !slices.Contains(x.Finalizers, servicecidr.Finalizer):
		event = "a ServiceCIDR gets its finalizer"
		x.Finalizers = append(x.Finalizers, servicecidr.Finalizer)
	case kind == 5 && len(after.IPAddresses) > 0:
		event = "an IPAddress is gone"
		last := len(after.IPAddresses) - 1
		gone := after.IPAddresses[last]
		after.IPAddresses = after.IPAddresses[:last]
		named = affectedByIPAddress(t, after, gone, nil, careful)
		return after, named, event
	case kind == 6 && len(after.IPAddresses) > 0:
		event = "the labels of an IPAddress change"
		after.IPAddresses[0].Labels = other.IPAddresses[0].Labels
		return after, affectedByIPAddress(t, after, s.IPAddresses[0], after.IPAddresses[0], careful), event
	default:
		event = "an IPAddress is added"
		after.IPAddresses = append(after.IPAddresses, other.IPAddresses[0])
		return after, affectedByIPAddress(t, after, nil, other.IPAddresses[0], careful), event
	}
	return after, affectedByServiceCIDR(t, after, oldObj, newObj, careful), event
}
