package model

import (
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
)

// bounds of a search: a few seconds, or what PUREKUBE_MODEL_TIME says (10m, for example) and 4 GB.
func bounds(t *testing.T) Bounds {
	b := Bounds{Time: 5 * time.Second, Memory: 4 << 30}
	if testing.Short() {
		b.Time = time.Second
	}
	if long := os.Getenv("PUREKUBE_MODEL_TIME"); long != "" {
		d, err := time.ParseDuration(long)
		require.NoError(t, err)
		b.Time = d
	}
	return b
}

// holds searches a world in which no promise may be broken.
func holds(t *testing.T, w World) {
	t.Helper()
	r := Search(w, true, bounds(t))
	t.Log(r)
	require.Empty(t, r.Broken)
	require.Greater(t, r.States, 100)
}

// finds searches a world in which a promise is broken, and returns the story of it.
func finds(t *testing.T, w World) Report {
	t.Helper()
	r := Search(w, true, bounds(t))
	t.Log(r)
	require.NotEmpty(t, r.Broken)
	return r
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func TestClusterRoles(t *testing.T) {
	holds(t, clusterRoleWorld(rbacaggregate.Options{}))
}

func TestClusterRolesUpstream(t *testing.T) {
	finds(t, clusterRoleWorld(rbacaggregate.Options{MatchUpstream: matching(true)}))
}

func TestBudgets(t *testing.T) {
	holds(t, budgetWorld(disruption.Options{}))
}

func TestBudgetsUpstream(t *testing.T) {
	finds(t, budgetWorld(disruption.Options{MatchUpstream: matching(true)}))
}

func TestClaims(t *testing.T) {
	holds(t, claimWorld(resourceclaim.Options{}))
}

func TestClaimsUpstream(t *testing.T) {
	finds(t, claimWorld(resourceclaim.Options{MatchUpstream: matching(true)}))
}

func TestServiceCIDRs(t *testing.T) {
	for _, w := range []World{
		serviceCIDRWorld("ServiceCIDRs, twins", servicecidr.Options{}, twins, twoAddrs),
		serviceCIDRWorld("ServiceCIDRs, nested", servicecidr.Options{}, nested, twoAddrs),
		serviceCIDRWorld("ServiceCIDRs, dual stack", servicecidr.Options{}, dualIn, dualAddr),
	} {
		t.Run(w.Name, func(t *testing.T) { holds(t, w) })
	}
}

func TestServiceCIDRsUpstream(t *testing.T) {
	finds(t, serviceCIDRWorld("ServiceCIDRs, twins", servicecidr.Options{MatchUpstream: matching(true)}, twins, twoAddrs))
}
