package resourceclaim

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/indextest"
)

// Random changes, with nil objects, objects without a name and up to three of one name: a key that is not named
// has the same outcome before and after.
func TestIndexNamesEveryChangedOutcome(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 44))
		g := generator{r, false}
		o, s := Options{}, g.snapshot()
		if seed%2 == 0 {
			o.PodGroupOf, s = groupOfLabel, g.withGroups(s)
		}
		x := NewIndex(s, o)
		for range 12 {
			changed, _ := g.step(s)
			if o.PodGroupOf != nil && r.IntN(2) == 0 {
				changed = g.withGroups(g.joined(changed))
			}
			if r.IntN(4) == 0 {
				changed.Pods = append(changed.Pods, nil, g.pod(""), g.pod("p1"), g.pod("p1"))
			}
			if r.IntN(4) == 0 {
				changed.Claims = append(changed.Claims, nil, g.claim(""), g.claim("c1"), g.claim("c1"))
			}
			if r.IntN(4) == 0 {
				changed.Assumed = append(changed.Assumed, nil, g.claim(""))
			}
			if r.IntN(4) == 0 {
				changed.Templates = append(changed.Templates, nil, g.template(""), g.template("t1"), g.template("t1"))
			}
			change := x.With
			if r.IntN(3) == 0 {
				change = x.Without
			}
			next, affected := change(changed)
			before, _ := x.PlanAll()
			after, _ := next.PlanAll()
			require.Empty(t, indextest.Unnamed(before, after, affected), "seed %d", seed)
			x = next
		}
		_, affected := x.With(Snapshot{Claims: claims(nil, g.claim("")), Templates: templates(nil, g.template(""))})
		require.Empty(t, affected, "they are no key's")
		_, affected = x.With(Snapshot{Pods: pods(nil, g.pod(""))})
		require.False(t, o.PodGroupOf == nil && len(affected) > 0, "without PodGroups, a pod that cannot be named decides nothing")
	}
}
