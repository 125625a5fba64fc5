package snapshot

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
)

func TestSortByKey(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for size := range 40 {
		want := make([]purekube.Outcome[purekube.Action], size)
		for i := range want {
			// Kinds first, then namespaces, then names.
			want[i].Key = purekube.Key{Kind: fmt.Sprint("k", i/20), Namespace: fmt.Sprint("n", i/10), Name: fmt.Sprintf("%02d", i)}
			want[i].Err = fmt.Errorf("of %d", i)
		}
		for _, order := range [][]int{rnd.Perm(size), rnd.Perm(size), inOrder(size)} {
			got := make([]purekube.Outcome[purekube.Action], size)
			for i, at := range order {
				got[i] = want[at]
			}
			SortByKey(got)
			require.Equal(t, want, got, "%v", order)
		}
	}
}

func inOrder(size int) (order []int) {
	for i := range size {
		order = append(order, i)
	}
	return order
}
