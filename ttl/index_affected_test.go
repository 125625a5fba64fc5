package ttl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/internal/test/indextest"
)

// Random changes, with nil nodes, nodes without a name and up to three of one name: a key that is not named has
// the same outcome before and after.
func TestIndexNamesEveryChangedOutcome(t *testing.T) {
	steps := table{Boundary{0, 6, 0}, Boundary{4, 12, 15e9}, Boundary{10, math.MaxInt32, 30e9}}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 41))
		some := func(n int) (nodes []*corev1.Node) {
			for range n {
				nodes = append(nodes, node(fmt.Sprintf("n%d", r.IntN(16)), []string{absent, "0", "15", "x"}[r.IntN(4)]))
			}
			return nodes
		}
		x := NewIndex(Snapshot{Nodes: some(r.IntN(16)), Step: r.IntN(3)}, Options{steps: steps})
		for range 12 {
			changed := some(r.IntN(4))
			for _, bad := range []*corev1.Node{nil, node("", "0"), node("n1", "0"), node("n1", "15")} {
				if r.IntN(3) == 0 {
					changed = append(changed, bad)
				}
			}
			change := x.With
			if r.IntN(3) == 0 {
				change = x.Without
			}
			next, affected := change(Snapshot{Nodes: changed})
			before, _ := x.PlanAll()
			after, _ := next.PlanAll()
			require.Empty(t, indextest.Unnamed(before, after, affected), "seed %d, %v", seed, changed)
			x = next
		}
		_, affected := x.With(Snapshot{Nodes: []*corev1.Node{nil, node("", "0")}})
		require.Empty(t, affected, "they are no key's")
	}
}
