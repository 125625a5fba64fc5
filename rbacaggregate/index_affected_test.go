package rbacaggregate

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/internal/test/indextest"
)

// Random changes, with nil ClusterRoles, ClusterRoles without a name and up to three of one name: a key that is
// not named has the same outcome before and after.
func TestIndexNamesEveryChangedOutcome(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 43))
		x := NewIndex(Snapshot{ClusterRoles: randomRoles(r, true)}, Options{})
		for range 12 {
			changed := randomChange(r)
			for _, bad := range []*rbacv1.ClusterRole{nil, plain("", "a b c", pods), plain("r01", "a b", pods), plain("r01", "c")} {
				if r.IntN(5) == 0 {
					changed.ClusterRoles = append(changed.ClusterRoles, bad)
				}
			}
			change := x.With
			if r.IntN(3) == 0 {
				change = x.Without
			}
			next, affected := change(changed)
			before, _ := x.PlanAll()
			after, _ := next.PlanAll()
			require.Empty(t, indextest.Unnamed(before, after, affected), "seed %d, %+v", seed, changed)
			x = next
		}
		_, affected := x.With(Snapshot{ClusterRoles: []*rbacv1.ClusterRole{nil, plain("", "a b c", pods)}})
		require.Empty(t, affected, "they are no key's")
	}
}
