package persistent

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/snapshot"
)

// labelled is a node with these terms as labels.
func labelled(name string, terms ...uint64) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, t := range terms {
		n.Labels[fmt.Sprint(t)] = ""
	}
	return n
}

func labels(n *corev1.Node, add func(uint64)) {
	for l := range n.Labels {
		var term uint64
		fmt.Sscan(l, &term)
		add(term)
	}
}

// foundBy are the names of the objects with the term: of those of the slice that are still there,
// the ones that have the label, and those put there since.
func foundBy(t *Terms[corev1.Node, *corev1.Node], term uint64, there map[string]*corev1.Node) map[string]bool {
	out := map[string]bool{}
	for n := range t.Listed(term) {
		if _, has := n.Labels[fmt.Sprint(term)]; has && there[n.Name] == n {
			out[n.Name] = true
		}
	}
	for name := range t.Changed(term) {
		out[name.Name] = true
	}
	return out
}

// A random walk over changes, with few and with many objects for a term, and with terms that differ
// in their high or low bits alone; each collection is compared with a plain map, and again at the end.
func TestTerms(t *testing.T) {
	for _, terms := range [][]uint64{
		{1, 2, 3},
		{1, 1 + 1<<32, 1 + 2<<32, 1 + 3<<32},
		{7, 7 + 1<<31, 8, 1 << 63},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		some := func(name string) *corev1.Node {
			var of []uint64
			for _, term := range terms {
				if r.IntN(2) == 0 {
					of = append(of, term)
				}
			}
			return labelled(name, of...)
		}
		var objects []*corev1.Node
		there := map[string]*corev1.Node{}
		for i := range 200 {
			n := some(fmt.Sprint("n", i))
			objects = append(objects, n)
			there[n.Name] = n
		}
		check := func(got *Terms[corev1.Node, *corev1.Node], there map[string]*corev1.Node) {
			for _, term := range append(terms, 99) {
				want := map[string]bool{}
				for name, n := range there {
					if _, has := n.Labels[fmt.Sprint(term)]; has {
						want[name] = true
					}
				}
				require.Equal(t, want, foundBy(got, term, there), "term %d", term)
			}
		}
		type version struct {
			terms *Terms[corev1.Node, *corev1.Node]
			there map[string]*corev1.Node
		}
		versions := []version{{NewTerms(objects, labels), there}}
		for range 60 {
			from := versions[r.IntN(len(versions))]
			next := map[string]*corev1.Node{}
			for name, n := range from.there {
				next[name] = n
			}
			edit := from.terms.Edit()
			for range 1 + r.IntN(5) {
				name := fmt.Sprint("n", r.IntN(220))
				if old := next[name]; old != nil {
					edit.Delete(old)
					delete(next, name)
				}
				if r.IntN(3) > 0 {
					next[name] = some(name)
					edit.Put(next[name])
				}
			}
			versions = append(versions, version{edit.Terms(), next})
		}
		for _, v := range versions {
			check(v.terms, v.there)
		}
	}
}

func TestTermsOfNothing(t *testing.T) {
	empty := NewTerms[corev1.Node](nil, labels)
	require.Empty(t, foundBy(empty, 7, nil))
	n := labelled("n", 7)
	edit := empty.Edit()
	edit.Put(n)
	require.Equal(t, map[string]bool{"n": true}, foundBy(edit.Terms(), 7, map[string]*corev1.Node{"n": n}))
	require.Empty(t, foundBy(empty, 7, nil))
	for name := range edit.from.Changed(7) {
		require.Equal(t, types.NamespacedName{}, name)
	}
	require.Equal(t, types.NamespacedName{Name: "n"}, snapshot.KeyOf(n))
}

func BenchmarkNewTerms(b *testing.B) {
	seed := maphash.MakeSeed()
	for _, size := range []int{1_000, 10_000, 100_000, 1_000_000} {
		if testing.Short() && size > 100_000 {
			continue // is there to be measured
		}
		objects := make([]*corev1.Node, size)
		for i := range objects {
			objects[i] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}}
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				// One that is its own, and one that it shares with all.
				NewTerms(objects, func(n *corev1.Node, add func(uint64)) { add(maphash.String(seed, n.Name)); add(7) })
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/object")
		})
	}
}
