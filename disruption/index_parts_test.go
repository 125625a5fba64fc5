package disruption

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
	"github.com/purekube/purekube/internal/test/seed"
)

// After any changes the parts of an Index are what its objects say, and nothing of removed objects is left. The Index
// plans what a new Index plans, and each change has named the keys whose plans differ. TestContract asks more questions
// about larger clusters. Here a few names change again and again, so that a wrong part meets the change that shows it.
func TestIndexPartsFollowChanges(t *testing.T) {
	n := 18
	if seed.Short() {
		n = 6
	}
	for seed := range seed.Each(t, n) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 78))}
		o := Contract.Options[seed%3]
		s := g.snapshot()
		s.Budgets, s.Pods = nil, nil
		x := NewIndex(s, o)
		for range 100 {
			by := g.few()
			var next *Index
			var affected []purekube.Key
			if g.in(4) {
				next, affected = x.Without(by)
				s = Contract.Without(s, by)
			} else {
				next, affected = x.With(by)
				s = Contract.With(s, by)
			}
			checkParts(t, next, s)
			Contract.CheckNamed(t, x, next, affected)
			outcomes, err := next.PlanAll()
			want, wantErr := PlanAll(s, o)
			require.Equal(t, want, outcomes)
			require.Equal(t, wantErr, err)
			x = next
		}
		checkParts(t, NewIndex(s, o), s)
	}
}

// After many changes the selectors of all budgets are arranged anew, also if a budget has none.
func TestIndexArrangesSelectorsAnew(t *testing.T) {
	s := Snapshot{Now: now, Pods: pods(2, 2, byWeb), Budgets: []*policyv1.PodDisruptionBudget{budget(), budget(named("none"), selecting(nil))}}
	for i := range 100 {
		s.Budgets = append(s.Budgets, budget(named(fmt.Sprint("web-", i))))
	}
	x, _ := NewIndex(Snapshot{Now: now, Pods: s.Pods}, Options{}).With(Snapshot{Budgets: s.Budgets})
	checkParts(t, x, s)
}

// few returns one or two objects with one of a few names, or another time.
func (g generator) few() (s Snapshot) {
	for range 1 + g.IntN(2) {
		name := g.pick("one", "two")
		m := func(kind string) metav1.ObjectMeta {
			m := g.meta(name)
			m.UID = g.uid(kind, name)
			return m
		}
		switch g.IntN(10) {
		case 0, 1, 2:
			s.Pods = append(s.Pods, g.pod(fmt.Sprint("pod-", g.IntN(6))))
		case 3, 4, 5:
			s.Budgets = append(s.Budgets, g.budget(fmt.Sprint("budget-", g.IntN(4))))
		case 6:
			s.ReplicaSets = append(s.ReplicaSets, g.replicaSet(m("ReplicaSet")))
		case 7:
			s.StatefulSets = append(s.StatefulSets, &appsv1.StatefulSet{ObjectMeta: m("StatefulSet"), Spec: appsv1.StatefulSetSpec{Replicas: g.replicas()}})
		case 8:
			s.Deployments = append(s.Deployments, &appsv1.Deployment{ObjectMeta: m("Deployment"), Spec: appsv1.DeploymentSpec{Replicas: g.replicas()}})
		default:
			s.Now = now.Add([]time.Duration{-time.Minute, 0, time.Second, time.Minute, 2 * time.Minute}[g.IntN(5)])
		}
	}
	return s
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
