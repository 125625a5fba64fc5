package disruption

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/snapshot"
	"github.com/purekube/purekube/internal/test/seed"
)

// After any changes the parts of an Index are what its objects say, and nothing of what has gone is left. TestContract
// looks at the answers only: a wrong part shows in them if the right change follows, by luck.
func TestIndexPartsFollowChanges(t *testing.T) {
	for seed := range seed.Each(t, 20) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 78))}
		s := Snapshot{Now: now}
		x := NewIndex(s, Options{})
		for range 100 {
			var by Snapshot
			for range 1 + g.IntN(2) {
				if g.in(2) {
					by.Pods = append(by.Pods, g.pod(fmt.Sprint("pod-", g.IntN(6))))
				} else {
					by.Budgets = append(by.Budgets, g.budget(fmt.Sprint("budget-", g.IntN(4))))
				}
			}
			if g.in(4) {
				x, _ = x.Without(by)
				s = Contract.Without(s, by)
			} else {
				x, _ = x.With(by)
				s = Contract.With(s, by)
			}
			checkParts(t, x, s)
		}
		checkParts(t, NewIndex(s, Options{}), s)
	}
}

// checkParts compares the parts of an Index with its objects, one after the other.
func checkParts(t *testing.T, x *Index, s Snapshot) {
	t.Helper()
	allPods, budgets := byKey(s.Pods), byKey(s.Budgets)
	states, filed := 0, map[controllerName]map[string]int32{}
	entries, targets := map[types.NamespacedName]bool{}, map[types.NamespacedName]bool{}
	covering := map[types.NamespacedName][]string{}
	for name, b := range budgets {
		st := x.states.Find(name)
		require.NotNil(t, st)
		require.Same(t, b, st.PodDisruptionBudget)
		states++
		if len(b.Status.DisruptedPods) > 0 {
			entries[name] = true
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			selector = labels.Nothing()
		}
		sums, named := podSums{}, map[metav1.OwnerReference]naming{}
		var selected, deleted []*corev1.Pod
		for name, p := range allPods {
			if p.Namespace != b.Namespace || !selector.Matches(labels.Set(p.Labels)) {
				continue
			}
			covering[name] = append(covering[name], b.Name)
			if selected = append(selected, p); p.DeletionTimestamp != nil {
				deleted = append(deleted, p)
			}
			own, ref := contribution(p)
			if sums = sums.plus(own, 1); ref != nil {
				n := named[referenceKey(ref)]
				named[referenceKey(ref)] = naming{n.pods + 1, min(cmp.Or(n.first, p.Name), p.Name)}
			}
		}
		require.Equal(t, sums, st.podSums)
		require.Equal(t, sorted(selected), sorted(x.podsOf(st)))
		require.Equal(t, sorted(deleted), x.SelectedPodsBeingDeleted(name))
		for _, r := range st.refs.list() {
			want := named[r.ref]
			// Nobody knows the first pod by name once it has gone.
			if r.first == "" {
				want.first = ""
			}
			require.Equal(t, want, r.naming, "%v", r.ref)
			delete(named, r.ref)
			at := controllerName{r.ref.Kind, b.Namespace, r.ref.Name}
			if filed[at] == nil {
				filed[at] = map[string]int32{}
			}
			filed[at][b.Name]++
		}
		require.Empty(t, named, "controllers that no reference is about")
	}
	require.Equal(t, states, x.states.Len())
	for at, budgets := range x.references.All() {
		got := map[string]int32{}
		for name, n := range budgets.All() {
			got[name] = n
		}
		require.Equal(t, filed[at], got, "%v", at)
		delete(filed, at)
	}
	require.Empty(t, filed, "controllers without the budgets whose pods name them")
	for name, p := range allPods {
		if hasDisruptionTarget(p) {
			targets[name] = true
		}
		var got []string
		for _, st := range x.coveredBy(p) {
			got = append(got, st.Name)
		}
		slices.Sort(covering[name])
		require.Equal(t, covering[name], got)
	}
	for _, part := range []struct {
		want map[types.NamespacedName]bool
		got  *nameSet
	}{{entries, x.entries}, {targets, x.targets}} {
		got := map[types.NamespacedName]bool{}
		for name := range part.got.All() {
			got[name] = true
		}
		require.Equal(t, part.want, got)
	}
	require.False(t, x.byLabel.Stale())
}

// byKey are the objects whose name no other has.
func byKey[T any, P snapshot.Object[T]](objects []P) map[types.NamespacedName]P {
	found, several := map[types.NamespacedName]P{}, map[types.NamespacedName]bool{}
	for _, o := range objects {
		name := snapshot.KeyOf(o)
		several[name] = found[name] != nil || several[name]
		found[name] = o
	}
	for name, twice := range several {
		if twice {
			delete(found, name)
		}
	}
	return found
}
