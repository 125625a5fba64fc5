package model

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
)

// TestOldStart lets a controller start from lists that are older than what the controller before it wrote, as an API
// server that is behind may answer. Of the promises, one needs lists of now: two claims may be made for an entry, as
// TestFindsWhatIsBrokenOnPurpose shows. All others hold.
func TestOldStart(t *testing.T) {
	team := podGroupWorld(resourceclaim.Options{}).with("team-0")
	for _, w := range []Scenario{
		serviceCIDRWorld("ServiceCIDRs, twins", servicecidr.Options{}, twins, twoAddrs),
		claimWorld(resourceclaim.Options{}),
		team,
		oneBudgetWorld(disruption.Options{}),
		clusterRoleWorld(rbacaggregate.Options{}),
	} {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			w.Lag, w.Faults.OldStart = 1, true
			w.Guarantees = slices.DeleteFunc(slices.Clone(w.Guarantees), func(p Guarantee) bool {
				return p.Name == "no claim made twice for an entry"
			})
			if w.Name == team.Name {
				w.Rest = servedByOneOfTwo
			}
			r := Search(w, true, bounds(t))
			t.Log(r)
			require.Empty(t, r.Broken)
			require.Greater(t, r.States, 100)
		})
	}
}
