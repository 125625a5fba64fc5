package disruption

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
	"github.com/purekube/purekube/internal/test/seed"
)

// step is one call of With, or of Without.
type step struct {
	objects Snapshot
	gone    bool
}

func (st step) on(x *Index) (*Index, []purekube.Key) {
	if st.gone {
		return x.Without(st.objects)
	}
	return x.With(st.objects)
}

// applied is what the step does to a snapshot, the plain way.
func (st step) applied(s Snapshot) Snapshot {
	s.Budgets = replaced(s.Budgets, st.objects.Budgets, st.gone)
	s.Pods = replaced(s.Pods, st.objects.Pods, st.gone)
	s.ReplicationControllers = replaced(s.ReplicationControllers, st.objects.ReplicationControllers, st.gone)
	s.ReplicaSets = replaced(s.ReplicaSets, st.objects.ReplicaSets, st.gone)
	s.Deployments = replaced(s.Deployments, st.objects.Deployments, st.gone)
	s.StatefulSets = replaced(s.StatefulSets, st.objects.StatefulSets, st.gone)
	s.Answers = maps.Clone(s.Answers)
	for key, scale := range st.objects.Answers {
		if st.gone {
			delete(s.Answers, key)
		} else {
			s.Answers[key] = scale
		}
	}
	if !st.gone && !st.objects.Now.IsZero() {
		s.Now = st.objects.Now
	}
	return s
}

func replaced[T any, P snapshot.Object[T]](objects, by []P, gone bool) []P {
	var kept []P
	for _, o := range objects {
		if !slices.ContainsFunc(by, func(b P) bool {
			return o != nil && b != nil && b.GetName() != "" && snapshot.KeyOf(b) == snapshot.KeyOf(o)
		}) {
			kept = append(kept, o)
		}
	}
	if gone {
		return kept
	}
	return append(kept, by...)
}

// step picks a few objects of another snapshot, in which the same names are.
func (g generator) step() step {
	other := g.snapshot()
	st := step{gone: g.in(4)}
	for range 1 + g.IntN(2)*g.IntN(3) {
		switch g.IntN(10) {
		case 0, 1:
			st.objects.Budgets = append(st.objects.Budgets, any1(g, other.Budgets)...)
		case 2, 3, 4:
			st.objects.Pods = append(st.objects.Pods, any1(g, other.Pods)...)
		case 5:
			st.objects.ReplicaSets = append(st.objects.ReplicaSets, any1(g, other.ReplicaSets)...)
		case 6:
			st.objects.Deployments = append(st.objects.Deployments, any1(g, other.Deployments)...)
		case 7:
			st.objects.StatefulSets = append(st.objects.StatefulSets, any1(g, other.StatefulSets)...)
		case 8:
			st.objects.ReplicationControllers = append(st.objects.ReplicationControllers, any1(g, other.ReplicationControllers)...)
		case 9:
			if g.in(2) {
				st.objects.Now = now.Add(g.age().Sub(now))
				break
			}
			keys := sortedNeeds(other.Answers)
			if len(keys) > 0 {
				key := keys[g.IntN(len(keys))]
				st.objects.Answers = map[purekube.Need]purekube.Answer{key: other.Answers[key]}
			}
		}
	}
	return st
}

func any1[T any](g generator, objects []T) []T {
	if len(objects) == 0 {
		return nil
	}
	i := g.IntN(len(objects))
	return objects[i : i+1]
}

func TestIndexBadInput(t *testing.T) {
	x := NewIndex(web(budget(maxUnavailable("1")), 2, pods(2, 2, byWeb)...), Options{})
	require.NoError(t, x.Err())

	next, affected := x.With(Snapshot{Pods: []*corev1.Pod{nil, pod(""), pod("web-b", byWeb, unready)}, Deployments: []*appsv1.Deployment{nil}})
	require.Equal(t, []purekube.Key{key("web")}, affected, "the rest counts")
	require.EqualError(t, next.Err(), "Deployment: nil object in the snapshot\nPod: nil object in the snapshot\nPod: metadata.name: required")
	_, err := next.PlanAll()
	require.EqualError(t, err, next.Err().Error())
	require.NoError(t, x.Err(), "of the index before nothing is known to be wrong")

	same, affected := x.Without(Snapshot{Pods: []*corev1.Pod{nil, pod(""), pod("gone")}, Budgets: []*policyv1.PodDisruptionBudget{budget(named("gone"))},
		Answers: map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, "y"): {}}})
	require.Empty(t, affected, "what is not there changes nothing")
	require.NoError(t, same.Err())

	twice, affected := x.With(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{budget(), budget()}, Pods: []*corev1.Pod{pod("web-a"), pod("web-a")}})
	require.Equal(t, []purekube.Key{podNamed("web-a"), key("web")}, affected)
	require.ErrorIs(t, twice.Err(), purekube.ErrDuplicate)
	_, err = twice.Plan(key("web"))
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	once, affected := twice.With(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: []*corev1.Pod{pod("web-a", byWeb)}})
	require.Equal(t, []purekube.Key{podNamed("web-a"), key("web")}, affected)
	require.NoError(t, once.Err(), "one of that name takes the place of both")

	empty := NewIndex(Snapshot{}, Options{})
	require.NoError(t, empty.Err())
	e, err := empty.CheckEviction(nn("a"), AsWritten)
	require.ErrorIs(t, err, purekube.ErrNotFound)
	require.Zero(t, e)
}

// A pod that went from one of the values that a selector takes to another is found by both, and counted once.
func TestIndexNewBudgetCountsAPodOnce(t *testing.T) {
	s := web(budget(minAvailable("1")), 3, pods(3, 3, byWeb)...)
	x := NewIndex(s, Options{})
	for _, app := range []string{"db", "web", "db"} {
		changed := pod("web-a", byWeb, labelled(map[string]string{"app": app}))
		x, _ = x.With(Snapshot{Pods: []*corev1.Pod{changed}})
	}
	either := budget(named("either"), minAvailable("1"), selecting(expression("app", metav1.LabelSelectorOpIn, "web", "db")))
	x, _ = x.With(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{either}})
	e, err := x.Explain(key("either"))
	require.NoError(t, err)
	require.Len(t, e.Budget.Pods, 3)
	require.EqualValues(t, 3, e.Budget.Computed.ExpectedPods)
}

// An error names the first pod by name of those that are there, whichever have gone.
func TestIndexNamesTheFirstPodThatIsThere(t *testing.T) {
	s := web(budget(maxUnavailable("1")), 3, pods(3, 3, by("x/v1", "Y", "y"))...)
	s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, "y"): {}}
	x := NewIndex(s, Options{})
	for i, want := range []string{"web-a", "web-b", "web-c"} {
		_, err := x.Plan(key("web"))
		require.ErrorContains(t, err, fmt.Sprintf("found no controllers for pod %q", want))
		x, _ = x.Without(Snapshot{Pods: s.Pods[i : i+1]})
	}
}

// The time concerns those keys only that wait for it.
func TestIndexTimePasses(t *testing.T) {
	s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"web-a": ago(time.Minute)})), 2, pods(2, 2, byWeb)...)
	s.Budgets = append(s.Budgets, budget(named("other"), minAvailable("1")))
	s.Pods = append(s.Pods, pod("z", labelled(nil), target("True", "x", 90*time.Second)))
	x := NewIndex(s, Options{})
	at := func(d time.Duration) []purekube.Key {
		_, affected := x.With(Snapshot{Now: now.Add(d)})
		return affected
	}
	require.Empty(t, at(0))
	require.Empty(t, at(29*time.Second), "nothing is over")
	require.Equal(t, []purekube.Key{podNamed("z")}, at(30*time.Second))
	require.Equal(t, []purekube.Key{podNamed("z"), key("web")}, at(time.Minute))
	require.Equal(t, []purekube.Key{podNamed("z"), key("web")}, at(time.Hour))
}

// Pods are found by their node and by their controller, whatever became of them.
func TestPropPodsByNodeAndController(t *testing.T) {
	ambiguous := 0
	forEachSnapshot(t, 40, true, func(g generator, s Snapshot, o Options) error {
		place := func(pods []*corev1.Pod) {
			for _, p := range pods {
				if p != nil {
					p.Spec.NodeName = g.pick("", "a", "b")
				}
			}
		}
		place(s.Pods)
		x := NewIndex(s, o)
		for range 8 {
			st := g.step()
			place(st.objects.Pods)
			x, _ = st.on(x)
			s = st.applied(s)
			plain := NewIndex(s, o)
			for _, node := range []string{"a", "b", "c"} {
				var want []*corev1.Pod
				var twice []types.NamespacedName
				for _, p := range s.Pods {
					if p != nil && p.Spec.NodeName == node && p.Name != "" && plain.Pod(snapshot.KeyOf(p)) == nil {
						twice = append(twice, snapshot.KeyOf(p))
					}
					if p != nil && p.Spec.NodeName == node && plain.Pod(snapshot.KeyOf(p)) != nil && p.Name != "" {
						want = append(want, p)
					}
				}
				sorted(want)
				slices.SortFunc(twice, persistent.CompareNames)
				twice = slices.Compact(twice)
				got, duplicates := x.PodsOnNode(node)
				if !slices.Equal(want, got) {
					return fmt.Errorf("on %s: %d wanted, %d found", node, len(want), len(got))
				}
				if !slices.Equal(twice, duplicates) {
					return fmt.Errorf("on %s: names that several pods have: %v wanted, %v found", node, twice, duplicates)
				}
				ambiguous += len(twice)
			}
			for _, p := range s.Pods {
				if p == nil || metav1.GetControllerOf(p) == nil {
					continue
				}
				ref := metav1.GetControllerOf(p)
				var want []*corev1.Pod
				for _, q := range s.Pods {
					if q != nil && q.Namespace == p.Namespace && q.Name != "" && plain.Pod(snapshot.KeyOf(q)) != nil && sameController(metav1.GetControllerOf(q), ref) {
						want = append(want, q)
					}
				}
				sorted(want)
				if got, _ := x.PodsOfController(p.Namespace, ref); !slices.Equal(want, got) {
					return fmt.Errorf("of %v: %d wanted, %d found", ref, len(want), len(got))
				}
			}
		}
		return nil
	})
	if !seed.Chosen() { // 40 other snapshots may have none
		require.Positive(t, ambiguous)
	}
}
