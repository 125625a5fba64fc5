package servicecidr_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/servicecidr"
)

// PlanAll leaves out addresses that decide nothing. It answers as an Index of all of them does.
func TestPropPlanAllReadsEnoughAddresses(t *testing.T) {
	blocked, free := 0, 0
	forSeeds(t, 1500, func(t *testing.T, seed uint64, r *rand.Rand) {
		s := randomSnapshot(r, nasty{specs: seed%2 == 0, objects: seed%3 == 0})
		for _, o := range []servicecidr.Options{careful, upstream} {
			want, wantErr := servicecidr.NewIndex(s, o).PlanAll()
			got, err := servicecidr.PlanAll(s, o)
			require.Empty(t, cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(sameText)), "seed %d", seed)
			require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), "seed %d", seed)
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
