package drain

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

func verdicts(evictions []disruption.Eviction) []disruption.Verdict {
	var all []disruption.Verdict
	for _, e := range evictions {
		all = append(all, e.Verdict)
	}
	return all
}

// written is a budget with the label of the pods and this status.
func written(name string, allowed int32, change ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	b := budget(named(name), minAvailable("1"))
	b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: allowed, CurrentHealthy: 5, DesiredHealthy: 5 - allowed}
	for _, c := range change {
		c(b)
	}
	return b
}

// Pods answers about each pod in order, against what those before it left.
func TestPodsInOrder(t *testing.T) {
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	s := disruption.Snapshot{
		Now:         now,
		ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(3)))},
		Budgets:     []*policyv1.PodDisruptionBudget{written("web", 0, maxUnavailable("2"), func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = nil })},
		Pods:        []*corev1.Pod{pod("a", ofRS), pod("b", ofRS), pod("c", ofRS), pod("free", labelled(nil))},
	}
	x := disruption.NewIndex(s, disruption.Options{})
	const (
		within = disruption.AllowedWithinBudget
		free   = disruption.AllowedNoBudget
		later  = disruption.RefusedNow
	)
	for _, tc := range []struct {
		name, reason string
		pods         []string
		budgets      Budgets
		want         []disruption.Verdict
	}{
		{name: "none", reason: "nothing is asked"},
		{name: "two", reason: "two may be unavailable", pods: []string{"a", "b"}, want: []disruption.Verdict{within, within}},
		{name: "three", reason: "nothing is recreated in between", pods: []string{"c", "a", "b"}, want: []disruption.Verdict{within, within, later}},
		{name: "after a refusal", reason: "the next pod is asked about all the same", pods: []string{"c", "a", "b", "free"}, want: []disruption.Verdict{within, within, later, free}},
		{name: "the same pod again", reason: "it is being deleted", pods: []string{"a", "a", "b", "b", "c"}, want: []disruption.Verdict{within, free, within, free, later}},
		{name: "the same pod without a budget", reason: "it is being deleted", pods: []string{"free", "free"}, want: []disruption.Verdict{free, free}},
		{name: "as written", reason: "the status allows none", pods: []string{"a", "free"}, budgets: AsWritten, want: []disruption.Verdict{later, free}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var names []types.NamespacedName
			for _, p := range tc.pods {
				names = append(names, nn(p))
			}
			evictions, after, _ := Pods(x, names, Options{Budgets: tc.budgets})
			require.Equal(t, tc.want, verdicts(evictions), tc.reason)
			for i, name := range names {
				require.Equal(t, evictions[i].Verdict.Allowed(), after.Pod(name).DeletionTimestamp != nil)
				require.Nil(t, x.Pod(name).DeletionTimestamp, "the index stays as it is")
			}
		})
	}

	twice, _ := x.With(disruption.Snapshot{Pods: []*corev1.Pod{pod("twice"), pod("twice")}})
	evictions, _, err := Pods(twice, []types.NamespacedName{nn("nobody"), nn("free"), nn("twice")}, Options{})
	require.Equal(t, []disruption.Verdict{"", free, ""}, verdicts(evictions), "a pod that is not known may not go")
	require.ErrorIs(t, err, purekube.ErrNotFound)
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.Equal(t, 1, strings.Count(err.Error(), purekube.ErrNotFound.Error()), "only nobody is not there: %v", err)
	evictions, after, err := Pods(x, []types.NamespacedName{nn("a")}, Options{Budgets: "some"})
	require.ErrorIs(t, err, ErrUnknownBudgets)
	require.Equal(t, []disruption.Eviction{{}}, evictions)
	require.Same(t, x, after)
	_, after, _ = Pods(x, []types.NamespacedName{nn("b"), nn("a")}, Options{})
	again, _, _ := Pods(after, []types.NamespacedName{nn("c"), nn("free")}, Options{})
	require.Equal(t, []disruption.Verdict{later, free}, verdicts(again), "the index returned remembers what is going")
	require.EqualValues(t, 1, after.Budget(nn("web")).Status.CurrentHealthy, "its status is the one that the controller computes")
	require.Empty(t, after.Budget(nn("web")).Status.DisruptedPods)
}

// A budget that takes a lookup has no verdict, and nothing goes under it.
func TestPodsNeeds(t *testing.T) {
	s := disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{written("web", 5, maxUnavailable("2"), func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = nil })},
		Pods: []*corev1.Pod{pod("a", by("apps/v1", "StatefulSet", "db")), pod("b", by("apps/v1", "StatefulSet", "db"))}}
	x := disruption.NewIndex(s, disruption.Options{})
	names := []types.NamespacedName{nn("a"), nn("b")}
	evictions, _, err := Pods(x, names, Options{})
	require.NoError(t, err)
	for _, e := range evictions {
		require.Empty(t, e.Verdict)
		require.Equal(t, []purekube.Need{scaleNeed("apps", "StatefulSet", ns, "db")}, e.Needs)
	}
	evictions, _, err = Pods(x, names, Options{Budgets: AsWritten})
	require.NoError(t, err)
	require.Equal(t, []disruption.Verdict{disruption.AllowedWithinBudget, disruption.AllowedWithinBudget}, verdicts(evictions))
}

// With AsWritten each eviction counts the status down and lists the pod, as the API server does.
func TestPodsAsWritten(t *testing.T) {
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{written("web", 2)},
		Pods: []*corev1.Pod{pod("a"), pod("b"), pod("c"), pod("sick", unready)}}
	evictions, after, err := Pods(disruption.NewIndex(s, disruption.Options{}), []types.NamespacedName{nn("sick"), nn("b"), nn("a"), nn("c")}, Options{Budgets: AsWritten})
	require.NoError(t, err)
	require.Equal(t, []disruption.Verdict{disruption.AllowedUnhealthy, disruption.AllowedWithinBudget, disruption.AllowedWithinBudget, disruption.RefusedNow}, verdicts(evictions))
	require.EqualValues(t, 1, evictions[1].Update.Status.DisruptionsAllowed)
	require.EqualValues(t, 0, evictions[2].Update.Status.DisruptionsAllowed)
	status := after.Budget(nn("web")).Status
	require.Equal(t, evictions[2].Update.Status, status)
	require.Contains(t, status.DisruptedPods, "a")
	require.Contains(t, status.DisruptedPods, "b")
}

// An eviction that changes no status leaves a sound index.
func TestPodsWhoseBudgetStaysAsItIs(t *testing.T) {
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("1"))}, Pods: []*corev1.Pod{pod("a"), pod("b", unready)}}
	s = withStatuses(t, s, disruption.Options{})
	_, after, err := Pods(disruption.NewIndex(s, disruption.Options{}), []types.NamespacedName{nn("b")}, Options{})
	require.NoError(t, err)
	require.NoError(t, after.Err())
	require.Equal(t, s.Budgets[0].Status, after.Budget(nn("web")).Status)
	require.NotNil(t, after.Pod(nn("b")).DeletionTimestamp)
}
