package persistent

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHashTellsTextsApart(t *testing.T) {
	h := NewHash()
	terms := map[uint64]bool{}
	for about := range uint64(3) {
		for _, texts := range [][]string{{}, {""}, {"a"}, {"a", ""}, {"", "a"}, {"a", "b"}, {"b", "a"}, {"ab"}} {
			term := h.Term(about, texts...)
			require.False(t, terms[term], "%d %q", about, texts)
			terms[term] = true
			require.Equal(t, term, h.Term(about, texts...))
		}
	}
	require.Equal(t, h.Term(1, "a", "b"), Mix(1, h.Text("a"), h.Text("b")))
	require.NotEqual(t, h.Text("a"), NewHash().Text("a"))
}

// More terms than there are objects, each of them found.
func TestTermIndexGrows(t *testing.T) {
	o := NewObjects("Pod", []*corev1.Pod{pod("a", ""), pod("b", "")})
	x := NewTermIndex(o, func(terms []uint64, p *corev1.Pod) []uint64 {
		for i := range uint64(1000) {
			terms = append(terms, uint64(p.Name[0])<<40+i, i)
		}
		return terms
	})
	for i := range uint64(1000) {
		require.Len(t, slices.Collect(x.Find(i)), 2)
		require.Equal(t, []*corev1.Pod{o.Find(named("b"))}, slices.Collect(x.Find('b'<<40+i)))
		require.Equal(t, 1, x.Rarest([][]uint64{{i}, {'b'<<40 + i}, {'a'<<40 + i, 'a'<<40 + i + 1}}))
	}
	require.Empty(t, slices.Collect(x.Find(1000)))
	for range x.Versions(1, 2) {
		break // is heeded
	}
}

// Any number of goroutines may ask an index for the first time.
func TestTermIndexIsArrangedOnce(t *testing.T) {
	x := NewTermIndex(NewObjects("Pod", []*corev1.Pod{pod("a", "")}), func(terms []uint64, _ *corev1.Pod) []uint64 { return append(terms, 1) })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			next := x.With(x.objects, nil)
			if n := x.Count(1, 9) + next.Count(1, 9); n != 2 {
				t.Error(n)
			}
		})
	}
	wg.Wait()
}

func BenchmarkTermIndex(b *testing.B) {
	hash := NewHash()
	for _, size := range []int{1_000, 10_000, 100_000, 1_000_000} {
		if testing.Short() && size > 100_000 {
			continue // is there to be measured
		}
		objects := make([]*corev1.Node, size)
		for i := range objects {
			objects[i] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}}
		}
		o := NewClusterObjects("Node", objects)
		// One that is its own, and one that it shares with all.
		of := func(terms []uint64, n *corev1.Node) []uint64 { return append(terms, hash.Text(n.Name), 7) }
		b.Run(fmt.Sprintf("New/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewTermIndex(o, of).Count(7, 1)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/object")
		})
		x := NewTermIndex(o, of)
		b.Run(fmt.Sprintf("With/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				next, changes := o.With(objects[i%size : i%size+1])
				x.With(next, changes)
			}
		})
	}
}
