package persistent

import (
	"cmp"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// check counts the nodes of a tree and fails where two siblings are out of balance.
func check(t *testing.T, n *node[int, string]) int {
	t.Helper()
	if n == nil {
		return 0
	}
	size := check(t, n.left) + 1 + check(t, n.right)
	require.Equal(t, size, n.size)
	left, right := n.left.weight(), n.right.weight()
	require.LessOrEqual(t, left, maxRatio*right)
	require.LessOrEqual(t, right, maxRatio*left)
	return size
}

// The tree is in balance after every change, whatever the order: sorted, sorted the other way, at random with
// deletions, and taken down from either end.
func TestTreeStaysInBalance(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	orders := map[string]func(i int) int{
		"ascending":  func(i int) int { return i },
		"descending": func(i int) int { return -i },
		"random":     func(int) int { return r.IntN(1000) },
		"zigzag":     func(i int) int { return i * (1 - 2*(i%2)) },
	}
	for name, key := range orders {
		t.Run(name, func(t *testing.T) {
			m := NewMap[int, string](cmp.Compare[int])
			for i := range 200 {
				m = m.With(key(i), "")
				check(t, m.root)
			}
			for m.Len() > 0 {
				keys := []int{}
				for k := range m.All() {
					keys = append(keys, k)
				}
				k := keys[0]
				switch name {
				case "descending":
					k = keys[len(keys)-1]
				case "random":
					k = keys[r.IntN(len(keys))]
				}
				m = m.Without(k)
				check(t, m.root)
			}
		})
	}
}
