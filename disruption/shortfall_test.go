package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"
)

// An eviction that is refused says how many healthy pods are missing, as the explanation of the budget does.
func TestEvictionShortfall(t *testing.T) {
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	for _, tc := range []struct {
		name, reason string
		spec         func(*policyv1.PodDisruptionBudget)
		ready        int
		want         int32
	}{
		{name: "one is not ready", reason: "it has to be ready again", spec: maxUnavailable("1"), ready: 3, want: 1},
		{name: "two are not ready", reason: "both have to be", spec: maxUnavailable("1"), ready: 2, want: 2},
		{name: "minAvailable", reason: "four are needed so that one may go", spec: minAvailable("3"), ready: 1, want: 3},
		{name: "maxUnavailable 0", reason: "no number suffices", spec: maxUnavailable("0"), ready: 4},
		{name: "minAvailable 100%", reason: "no number suffices", spec: minAvailable("100%"), ready: 3},
		{name: "allowed", reason: "nothing is missing", spec: minAvailable("1"), ready: 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(tc.spec)}, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(4)))},
				Pods: pods(4, tc.ready, ofRS)}
			x := NewIndex(s, Options{})
			e, err := x.CheckEviction(nn(s.Pods[0].Name), Recomputed)
			require.NoError(t, err)
			require.Equal(t, tc.want, e.Shortfall, tc.reason)
			explained, err := x.Explain(BudgetKey(ns, "web"))
			require.NoError(t, err)
			require.Equal(t, explained.Budget.Shortfall, e.Shortfall)
		})
	}
	old := budget(maxUnavailable("1"))
	old.Generation++
	e, err := NewIndex(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{old}, Pods: []*corev1.Pod{pod("a")}}, Options{}).CheckEviction(nn("a"), AsWritten)
	require.NoError(t, err)
	require.Equal(t, RefusedNow, e.Verdict)
	require.Zero(t, e.Shortfall, "the numbers are not in the way")
}
