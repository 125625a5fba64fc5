package servicecidr_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/servicecidr"
)

// Plan and PlanAll leave out addresses that decide nothing. They answer as an Index of all of them does.
func TestPropPlansReadEnoughAddresses(t *testing.T) {
	blocked, free := 0, 0
	forSeeds(t, 1500, func(t *testing.T, seed uint64, r *rand.Rand) {
		s := randomSnapshot(r, nasty{specs: seed%2 == 0, objects: seed%3 == 0})
		for _, o := range []servicecidr.Options{careful, upstream} {
			all := servicecidr.NewIndex(s, o)
			want, wantErr := all.PlanAll()
			got, err := servicecidr.PlanAll(s, o)
			require.Empty(t, cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(sameText)), "seed %d", seed)
			require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), "seed %d", seed)
			for _, c := range s.ServiceCIDRs {
				want, wantErr := all.Plan(servicecidr.KeyOf(c))
				got, err := servicecidr.Plan(s, servicecidr.KeyOf(c), o)
				require.Empty(t, cmp.Diff(want, got), "seed %d", seed)
				require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), "seed %d", seed)
			}
			for _, out := range got {
				for _, a := range out.Result.Actions {
					switch a := a.(type) {
					case servicecidr.SetCondition:
						if a.Condition.Reason != "" {
							blocked++
						}
					case servicecidr.RemoveFinalizer:
						free++
					}
				}
			}
		}
	})
	require.Greater(t, blocked, 100, "too few deletions are blocked")
	require.Greater(t, free, 100, "too few finalizers go")
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
