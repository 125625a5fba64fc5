package servicecidr_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/servicecidr"
)

// The same with every address of a small space alone, and with a few of them, most of which are the network or broadcast
// address of some prefix. IPv4-mapped prefixes have the numbers of IPv4 ones. Some labels name another family.
func TestPlansReadEnoughAddressesOfASmallSpace(t *testing.T) {
	spaces := of("10.0.0.0/28", "fd00::/124", "::ffff:10.0.0.0/124")
	n := decisions{}
	forSeeds(t, 30, func(t *testing.T, seed uint64, r *rand.Rand) {
		s := servicecidr.Snapshot{Now: now}
		for _, name := range of("a", "b", "c", "d")[:1+r.IntN(4)] {
			var spec []string
			for range 1 + r.IntN(2) {
				space := netip.MustParsePrefix(spaces[r.IntN(len(spaces))])
				p, err := nth(space, r.IntN(16)).Prefix(space.Bits() + r.IntN(5))
				require.NoError(t, err)
				spec = append(spec, p.String())
			}
			c := cidr(name, spec)
			if r.IntN(4) > 0 {
				deletedAt([]time.Time{first, second, third}[r.IntN(3)])(c)
			}
			s.ServiceCIDRs = append(s.ServiceCIDRs, c)
		}
		unusable := unusableOf(s.ServiceCIDRs)
		check := func(addresses ...netip.Addr) {
			s.IPAddresses = nil
			for _, a := range addresses {
				address := ip(a.String())
				if r.IntN(4) == 0 {
					address.Labels[networkingv1.LabelIPAddressFamily] = of("IPv4", "IPv6", "")[r.IntN(3)]
				}
				s.IPAddresses = append(s.IPAddresses, address)
			}
			for _, o := range modes() {
				n.count(requireReadEnough(t, s, o, fmt.Sprintf("seed %d, %v", seed, addresses)))
			}
		}
		for _, space := range spaces {
			for i := range 16 {
				a := nth(netip.MustParsePrefix(space), i)
				check(a)
				check(unusable[r.IntN(len(unusable))], a, unusable[r.IntN(len(unusable))], a.Next())
			}
		}
	})
	require.Greater(t, n.blocked, 100, "too few deletions are blocked")
	require.Greater(t, n.free, 100, "too few finalizers go")
}

// nth is the address with this number in a prefix.
func nth(p netip.Prefix, i int) netip.Addr {
	a := p.Addr()
	for range i {
		a = a.Next()
	}
	return a
}

// requireReadEnough compares Plan and PlanAll with those of an Index, and returns the outcomes.
func requireReadEnough(t *testing.T, s servicecidr.Snapshot, o servicecidr.Options, at string) []servicecidr.Outcome {
	t.Helper()
	all := servicecidr.NewIndex(s, o)
	want, wantErr := all.PlanAll()
	got, err := servicecidr.PlanAll(s, o)
	require.Empty(t, cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(sameText)), at)
	require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), at)
	for _, c := range s.ServiceCIDRs {
		want, wantErr := all.Plan(servicecidr.KeyOf(c))
		got, err := servicecidr.Plan(s, servicecidr.KeyOf(c), o)
		require.Empty(t, cmp.Diff(want, got), at)
		require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), at)
	}
	return got
}

// decisions counts deletions that are blocked, and finalizers that go.
type decisions struct{ blocked, free int }

func (n *decisions) count(outcomes []servicecidr.Outcome) {
	for _, out := range outcomes {
		for _, a := range out.Result.Actions {
			switch a := a.(type) {
			case servicecidr.SetCondition:
				if a.Condition.Reason != "" {
					n.blocked++
				}
			case servicecidr.RemoveFinalizer:
				n.free++
			}
		}
	}
}

func sameText(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// The first and the last address of an IPv4 prefix are in no ServiceCIDR, and stand for no other address.
func TestPlansOfUnusableAddresses(t *testing.T) {
	for _, names := range [][]string{
		{"10.0.0.0", "10.0.0.7"}, {"10.0.0.255", "10.0.0.7"}, {"10.0.0.64", "10.0.0.7"}, {"10.0.0.127", "10.0.0.7"},
	} {
		s := servicecidr.Snapshot{Now: now, ServiceCIDRs: []*networkingv1.ServiceCIDR{
			cidr("dying", of("10.0.0.0/24"), deletedAt(longAgo)),
			cidr("inside", of("10.0.0.64/26")),
		}}
		for _, name := range names {
			s.IPAddresses = append(s.IPAddresses, ip(name))
		}
		want, err := servicecidr.NewIndex(s, careful).Plan(servicecidr.Key("dying"))
		require.NoError(t, err)
		one, err := servicecidr.Plan(s, servicecidr.Key("dying"), careful)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, one), names)
		require.Contains(t, fmt.Sprint(want.Actions), "Ready=False", names)
		outcomes, err := servicecidr.PlanAll(s, careful)
		require.NoError(t, err)
		require.Equal(t, servicecidr.Key("dying"), outcomes[0].Key)
		require.Empty(t, cmp.Diff(want, outcomes[0].Result), names)
	}
}

// Of one stretch of addresses, one of each family decides: who asks for one family only is not answered by another.
func TestPlansOfAddressesOfTwoFamilies(t *testing.T) {
	other := ip("10.0.0.7")
	other.Labels[networkingv1.LabelIPAddressFamily] = "IPv6"
	s := servicecidr.Snapshot{
		Now: now,
		ServiceCIDRs: []*networkingv1.ServiceCIDR{
			cidr("both", of("10.0.0.0/24", "fd00::/120"), deletedAt(longAgo)),
			cidr("four", of("10.0.0.0/24"), deletedAt(longAgo.Add(time.Second))),
		},
		IPAddresses: []*networkingv1.IPAddress{other, ip("10.0.0.8")},
	}
	n := decisions{}
	n.count(requireReadEnough(t, s, careful, "the last one has none to rely on"))
	require.Equal(t, 1, n.blocked)
}
