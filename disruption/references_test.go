package disruption

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// A name that several pods have may be the only pod of a controller, so no sum of scales is right.
func TestNoSumWithAmbiguousPods(t *testing.T) {
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("50%"))}}
	for i := range 10 {
		name := fmt.Sprint("rs-", i)
		s.ReplicaSets = append(s.ReplicaSets, replicaSet(name, "", ptr.To(int32(1))))
		s.Pods = append(s.Pods, pod("pod-"+name, by("apps/v1", "ReplicaSet", name)))
	}
	s.ReplicaSets = append(s.ReplicaSets, replicaSet("twins", "", ptr.To(int32(5))))
	twins := []*corev1.Pod{pod("twin", by("apps/v1", "ReplicaSet", "twins")), pod("twin", by("apps/v1", "ReplicaSet", "twins"))}
	x := NewIndex(s, Options{})
	r, err := x.Plan(key("web"))
	require.NoError(t, err)
	require.EqualValues(t, 10, written(t, r).ExpectedPods)
	with, _ := x.With(Snapshot{Pods: twins})
	r, err = with.Plan(key("web"))
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.Zero(t, written(t, r).DisruptionsAllowed)
	require.Equal(t, policyv1.SyncFailedReason, written(t, r).Conditions[0].Reason)
	without, affected := with.Without(Snapshot{Pods: twins[:1]})
	require.Contains(t, affected, key("web"))
	r, err = without.Plan(key("web"))
	require.NoError(t, err)
	require.EqualValues(t, 10, written(t, r).ExpectedPods)
}

// The controllers of a budget's pods are added up once, and again after a change of any workload or answer. A change of
// a pod leaves the sum as it is.
func TestPlanAddsUpControllersOnce(t *testing.T) {
	made := func(controllers int) (afterPod, afterWorkload float64) {
		s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("50%"))}}
		for i := range controllers {
			name := fmt.Sprint("db-", i)
			s.StatefulSets = append(s.StatefulSets, statefulSet(name, ptr.To(int32(1))))
			s.Pods = append(s.Pods, pod(name+"-0", by("apps/v1", "StatefulSet", name)))
		}
		x := NewIndex(s, Options{})
		plan := func(x *Index) {
			_, err := x.Plan(key("web"))
			require.NoError(t, err)
		}
		plan(x)
		count := func(change func(Snapshot) (*Index, []purekube.Key), by Snapshot) float64 {
			return testing.AllocsPerRun(5, func() {
				next, _ := change(by)
				plan(next)
			})
		}
		afterPod = max(count(x.With, Snapshot{Pods: []*corev1.Pod{pod("db-1-0", by("apps/v1", "StatefulSet", "db-1"), unready)}}),
			count(x.Without, Snapshot{Pods: s.Pods[2:3]}))
		return afterPod, count(x.With, Snapshot{StatefulSets: []*appsv1.StatefulSet{statefulSet("of-nobody", nil)}})
	}
	fewPod, fewWorkload := made(200)
	manyPod, manyWorkload := made(4000)
	require.Less(t, manyPod-fewPod, 60.0, "the changed paths of a few trees")
	require.GreaterOrEqual(t, manyWorkload-fewWorkload, 3800.0, "at least one for each controller")
}

// A controller leaves the remembered sum with its last pod, and returns with the next.
func TestSumOfAControllerThatReturns(t *testing.T) {
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}}
	for _, name := range []string{"a", "b"} {
		s.StatefulSets = append(s.StatefulSets, statefulSet(name, ptr.To(int32(2))))
		s.Pods = append(s.Pods, pod(name, by("apps/v1", "StatefulSet", name)))
	}
	x := NewIndex(s, Options{})
	expected := func() int32 {
		r, err := x.Plan(key("web"))
		require.NoError(t, err)
		return written(t, r).ExpectedPods
	}
	require.EqualValues(t, 4, expected())
	for range 2 {
		x, _ = x.Without(Snapshot{Pods: s.Pods[:1]})
		require.EqualValues(t, 2, expected())
		x, _ = x.With(Snapshot{Pods: s.Pods[:1]})
		require.EqualValues(t, 4, expected())
	}
}

// It stays in the sum for as long as a pod names it, and no longer.
func TestSumOfAControllerWithSeveralPods(t *testing.T) {
	more := []*corev1.Pod{pod("a-0", by("apps/v1", "StatefulSet", "a")), pod("a-1", by("apps/v1", "StatefulSet", "a"))}
	x := NewIndex(Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))},
		StatefulSets: []*appsv1.StatefulSet{statefulSet("a", ptr.To(int32(2))), statefulSet("b", ptr.To(int32(2)))},
		Pods:         []*corev1.Pod{more[0], pod("b", by("apps/v1", "StatefulSet", "b"))}}, Options{})
	expects := func(want int32) {
		t.Helper()
		r, err := x.Plan(key("web"))
		require.NoError(t, err)
		require.Equal(t, want, written(t, r).ExpectedPods)
	}
	expects(4)
	x, _ = x.With(Snapshot{Pods: more[1:]})
	expects(4)
	x, _ = x.Without(Snapshot{Pods: more[:1]})
	expects(4)
	x, _ = x.Without(Snapshot{Pods: more[1:]})
	expects(2)
}

// The needs of a result are the caller's: what is written to them is not in the next result of the Index.
func TestNeedsAreTheCallers(t *testing.T) {
	x := NewIndex(web(budget(maxUnavailable("1")), 3, pod("a", by("x/v1", "Y", "y"))), Options{})
	for range 2 {
		r, err := x.Plan(key("web"))
		require.NoError(t, err)
		require.Equal(t, []purekube.Need{scaleNeed("x", "Y", ns, "y")}, r.Needs)
		r.Needs[0].Name = "another"
	}
}

// Two references with one UID, of which one leads to a Deployment: kube-controller-manager counts whichever pod comes
// first, and the sum of many controllers does so too, built at once or a pod at a time (D-39).
func TestSumOfManyControllersWithOneUID(t *testing.T) {
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("50%"))}}
	for i := range 10 {
		name := fmt.Sprint("db-", i)
		s.StatefulSets = append(s.StatefulSets, statefulSet(name, ptr.To(int32(1))))
		s.Pods = append(s.Pods, pod("m-"+name, by("apps/v1", "StatefulSet", name)))
	}
	twin := replicaSet("twin", "web", ptr.To(int32(5)))
	twin.UID = s.StatefulSets[0].UID
	s.ReplicaSets, s.Deployments = []*appsv1.ReplicaSet{twin}, []*appsv1.Deployment{deployment("web", ptr.To(int32(5)))}
	for first, want := range map[string]int32{"a": 15, "z": 10} {
		added := pod(first, by("apps/v1", "ReplicaSet", "twin"))
		added.OwnerReferences[1].UID = twin.UID
		x := NewIndex(s, Options{MatchUpstream: purekube.V1_36})
		_, err := x.Plan(key("web"))
		require.NoError(t, err)
		grown, _ := x.With(Snapshot{Pods: []*corev1.Pod{added}})
		whole := s
		whole.Pods = append(whole.Pods[:len(whole.Pods):len(whole.Pods)], added)
		for _, x := range []*Index{grown, NewIndex(whole, Options{MatchUpstream: purekube.V1_36})} {
			r, err := x.Plan(key("web"))
			require.NoError(t, err)
			require.Equal(t, want, written(t, r).ExpectedPods, "the new pod is called %q", first)
		}
	}
}
