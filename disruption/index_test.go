package disruption

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

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
	// There are so many other pods that the values are the quicker way to these.
	for i := range 3 {
		s.Pods = append(s.Pods, pod(fmt.Sprint("other-", i), labelled(map[string]string{"app": "other"})))
	}
	x := NewIndex(s, Options{})
	for _, app := range []string{"db", "web", "db"} {
		changed := pod("web-a", byWeb, labelled(map[string]string{"app": app}))
		x, _ = x.With(Snapshot{Pods: []*corev1.Pod{changed}})
		s.Pods[0] = changed
	}
	// A selector may also name a value twice.
	either := budget(named("either"), minAvailable("1"), selecting(expression("app", metav1.LabelSelectorOpIn, "web", "db", "web")))
	x, _ = x.With(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{either}})
	s.Budgets = append(s.Budgets, either)
	for _, x := range []*Index{x, NewIndex(s, Options{})} {
		e, err := x.Explain(key("either"))
		require.NoError(t, err)
		require.Len(t, e.Budget.Pods, 3)
		require.EqualValues(t, 3, e.Budget.Computed.ExpectedPods)
	}
}

// An error names the first pod by name of those that are there, whichever have gone.
func TestIndexNamesTheFirstPodThatIsThere(t *testing.T) {
	s := web(budget(maxUnavailable("1")), 3, pods(3, 3, by("x/v1", "Y", "y"))...)
	s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, "y"): {}}
	x := NewIndex(s, Options{})
	changed, _ := x.With(Snapshot{Pods: pods(1, 0, by("x/v1", "Y", "y"))})
	require.Equal(t, "web-a", changed.states.Find(nn("web")).refs.list()[0].first, "it is there, and no pass over the pods finds its name")
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

	// An entry that came later, and one whose pod was created at a time that is not there yet (D-24).
	x, _ = NewIndex(web(budget(minAvailable("1")), 2, pods(2, 2, byWeb)...), Options{}).With(Snapshot{Budgets: s.Budgets[:1]})
	require.Equal(t, []purekube.Key{key("web")}, at(time.Minute))
	s.Pods[0].CreationTimestamp = ago(-10 * time.Second)
	x = NewIndex(s, Options{})
	require.Empty(t, at(9*time.Second))
	next, affected := x.With(Snapshot{Now: now.Add(10 * time.Second)})
	require.Equal(t, []purekube.Key{key("web")}, affected)
	Contract.CheckNamed(t, x, next, affected)
	_, affected = next.With(Snapshot{})
	require.Empty(t, affected, "no time passes")
}

// Pods are found by their node and by their controller, sorted by name. A name that several pods have is not a pod of
// either: it is named. TestContract changes such an Index.
func TestPodsByNodeAndController(t *testing.T) {
	on := func(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
	set := by("apps/v1", "StatefulSet", "db")
	a, b, c := pod("a", set, on("n")), pod("b", on("n")), pod("c", set, on("m"))
	x := NewIndex(Snapshot{Pods: []*corev1.Pod{b, nil, c, a, pod("twin", set, on("m")), pod("twin", on("n")), pod("", set, on("n")), pod("pending")}}, Options{})
	twin := []types.NamespacedName{nn("twin")}
	for node, want := range map[string][]*corev1.Pod{"n": {a, b}, "m": {c}} {
		pods, duplicates := x.PodsOnNode(node)
		require.Equal(t, want, pods)
		require.Equal(t, twin, duplicates)
	}
	pods, duplicates := x.PodsOfController(ns, metav1.GetControllerOf(a))
	require.Equal(t, []*corev1.Pod{a, c}, pods)
	require.Equal(t, twin, duplicates)
	other := *metav1.GetControllerOf(a)
	other.UID = "another"
	pods, duplicates = x.PodsOfController(ns, &other)
	require.Empty(t, pods, "another StatefulSet of that name")
	require.Empty(t, duplicates)
	pods, duplicates = x.PodsOnNode("")
	require.Empty(t, pods, "pods without a node are on none")
	require.Empty(t, duplicates)
}
