package drain

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
)

// of is so many pods with these labels, as the table of a test makes them.
type of struct {
	n      int
	labels []string
}

// asked are the answers of Pods with AsWritten: about each pod alone, and about all of them in order.
func asked(t *testing.T, s disruption.Snapshot) (alone, together bool) {
	t.Helper()
	x := disruption.NewIndex(s, disruption.Options{})
	var names []types.NamespacedName
	alone, together = true, true
	for _, p := range s.Pods {
		names = append(names, nn(p.Name))
		e, _, err := Pods(x, names[len(names)-1:], Options{Budgets: AsWritten})
		require.NoError(t, err)
		alone = alone && e[0].Verdict.Allowed()
	}
	evictions, _, err := Pods(x, names, Options{Budgets: AsWritten})
	require.NoError(t, err)
	for _, e := range evictions {
		together = together && e.Verdict.Allowed()
	}
	return alone, together
}

// labelledPods are pods of all these labels. change is what else they have.
func labelledPods(groups []of, change func(*corev1.Pod)) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, g := range groups {
		set := map[string]string{}
		for _, l := range g.labels {
			set[l] = "true"
		}
		for range g.n {
			pods = append(pods, pod(fmt.Sprint("p-", len(pods)), labelled(set), change))
		}
	}
	return pods
}

// TestPodsBesideRemainingPdbTracker has the facts of cluster-autoscaler's own table about CanRemovePods
// (k8s.io/autoscaler/cluster-autoscaler/core/scaledown/pdb/basic_test.go): how many pods have which labels, what the
// budgets of these labels allow, and its two answers. canRemove is Pods about each pod alone, and inParallel Pods about
// all of them.
func TestPodsBesideRemainingPdbTracker(t *testing.T) {
	for _, tc := range []struct {
		name, reason               string
		pods                       []of
		allowed                    []int32
		theirAlone, theirTogether  bool
		oursAlone, oursTogether    bool
		theirRemaining, oursRemain []int32 // what the budgets allow after RemovePods, and after Pods
	}{
		{name: "no budgets", reason: "nothing is in the way", pods: []of{{2, []string{"l1"}}, {1, []string{"l2"}}},
			theirAlone: true, theirTogether: true, oursAlone: true, oursTogether: true},
		{name: "a budget that allows none", reason: "its pod may not go", pods: []of{{2, []string{"l1"}}, {1, []string{"l2"}}}, allowed: []int32{1, 0}},
		{name: "fewer than there are pods", reason: "each alone, not all together", pods: []of{{2, []string{"l1"}}, {1, []string{"l2"}}}, allowed: []int32{1, 2},
			theirAlone: true, oursAlone: true},
		{name: "as many as there are pods", reason: "all together", pods: []of{{2, []string{"l1"}}, {3, []string{"l2"}}}, allowed: []int32{2, 4},
			theirAlone: true, theirTogether: true, oursAlone: true, oursTogether: true, theirRemaining: []int32{0, 1}, oursRemain: []int32{0, 1}},
		{name: "a pod of two budgets", reason: "the tracker takes one off each; the API server answers 500, and both keep what they have",
			pods: []of{{1, []string{"l1", "l2"}}}, allowed: []int32{1, 1},
			theirAlone: true, theirTogether: true, theirRemaining: []int32{0, 0}, oursRemain: []int32{1, 1}},
		{name: "a pod of two budgets beside others", reason: "the API server answers 500 about that one",
			pods: []of{{1, []string{"l1", "l2"}}, {1, []string{"l1"}}, {1, []string{"l2"}}}, allowed: []int32{2, 1}, theirAlone: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for name, change := range map[string]func(*corev1.Pod){
				"pods without a status, as in their table": func(p *corev1.Pod) { p.Status = corev1.PodStatus{} },
				"pods that are running and ready":          func(*corev1.Pod) {},
			} {
				s := disruption.Snapshot{Now: now, Pods: labelledPods(tc.pods, change)}
				for i, n := range tc.allowed {
					b := written(fmt.Sprint("b-", i+1), n)
					b.Status.CurrentHealthy, b.Status.DesiredHealthy = 0, 0
					b.Spec.Selector.MatchLabels = map[string]string{fmt.Sprint("l", i+1): "true"}
					s.Budgets = append(s.Budgets, b)
				}
				alone, together := asked(t, s)
				require.Equal(t, tc.oursAlone, alone, "%s: %s", name, tc.reason)
				require.Equal(t, tc.oursTogether, together, "%s: %s", name, tc.reason)

				twoBudgets := false
				for _, g := range tc.pods {
					twoBudgets = twoBudgets || len(g.labels) > 1
				}
				differs := tc.theirAlone != alone || tc.theirTogether != together
				require.Equal(t, twoBudgets, differs, "the answers differ under two budgets, and nowhere else")
				if tc.oursRemain == nil {
					continue
				}
				var names []types.NamespacedName
				for _, p := range s.Pods {
					names = append(names, nn(p.Name))
				}
				_, after, err := Pods(disruption.NewIndex(s, disruption.Options{}), names, Options{Budgets: AsWritten})
				require.NoError(t, err)
				for i, n := range tc.oursRemain {
					require.Equal(t, n, after.Budget(nn(fmt.Sprint("b-", i+1))).Status.DisruptionsAllowed)
				}
				require.Equal(t, twoBudgets, fmt.Sprint(tc.theirRemaining) != fmt.Sprint(tc.oursRemain))
			}
		})
	}
}

// TestPodsBesideLimits has the facts of karpenter's own cases about CanEvictPods (sigs.k8s.io/karpenter v1.14.1,
// pkg/utils/pdb/suite_test.go): the budgets and pods, and whether all pods of the list can be evicted, each alone. Its
// budgets have no computed status, so they allow nothing. Its pods are created in an API server without a kubelet, which
// makes them Pending: those go whatever the budgets say, and karpenter refuses them.
func TestPodsBesideLimits(t *testing.T) {
	match := []string{"l"}
	for _, tc := range []struct {
		name, reason string
		budgets      []func(*policyv1.PodDisruptionBudget)
		pods         []of
		change       func(*corev1.Pod)
		theirs, ours bool
	}{
		{name: "not ready, AlwaysAllow", reason: "the policy lets it go", pods: []of{{1, match}}, change: unready, theirs: true, ours: true,
			budgets: []func(*policyv1.PodDisruptionBudget){unhealthyPolicy(policyv1.AlwaysAllow)}},
		{name: "not ready, no policy", reason: "the budget allows none, and too few are healthy", pods: []of{{1, match}}, change: unready,
			budgets: []func(*policyv1.PodDisruptionBudget){minAvailable("100%")}},
		{name: "another label", reason: "no PodDisruptionBudget selects the pod", pods: []of{{1, []string{"x"}}}, theirs: true, ours: true,
			budgets: []func(*policyv1.PodDisruptionBudget){minAvailable("100%")}},
		{name: "minAvailable 100%", reason: "none may go", pods: []of{{2, match}}, budgets: []func(*policyv1.PodDisruptionBudget){minAvailable("100%")}},
		{name: "maxUnavailable 0%", reason: "none may go", pods: []of{{2, match}}, budgets: []func(*policyv1.PodDisruptionBudget){maxUnavailable("0%")}},
		{name: "maxUnavailable 0", reason: "none may go", pods: []of{{2, match}}, budgets: []func(*policyv1.PodDisruptionBudget){maxUnavailable("0")}},
		{name: "two budgets", reason: "both say 500 here, as the API server does", pods: []of{{2, match}},
			budgets: []func(*policyv1.PodDisruptionBudget){minAvailable("100%"), minAvailable("100%")}},
		{name: "one of two pods, minAvailable 100%", reason: "the other is free", pods: []of{{1, match}, {1, nil}}, budgets: []func(*policyv1.PodDisruptionBudget){minAvailable("100%")}},
		{name: "one of two pods, maxUnavailable 0%", reason: "the other is free", pods: []of{{1, match}, {1, nil}}, budgets: []func(*policyv1.PodDisruptionBudget){maxUnavailable("0%")}},
		{name: "one of two pods, maxUnavailable 0", reason: "the other is free", pods: []of{{1, match}, {1, nil}}, budgets: []func(*policyv1.PodDisruptionBudget){maxUnavailable("0")}},
		{name: "one of two pods, two budgets", reason: "the other is free", pods: []of{{1, match}, {1, nil}},
			budgets: []func(*policyv1.PodDisruptionBudget){minAvailable("100%"), minAvailable("100%")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			change := tc.change
			if change == nil {
				change = func(*corev1.Pod) {}
			}
			s := disruption.Snapshot{Now: now, Pods: labelledPods(tc.pods, change)}
			for i, c := range tc.budgets {
				b := &policyv1.PodDisruptionBudget{ObjectMeta: meta(fmt.Sprint("b-", i))}
				b.Spec.Selector = budget().Spec.Selector.DeepCopy()
				b.Spec.Selector.MatchLabels = map[string]string{"l": "true"}
				b.Status.ObservedGeneration = 1
				c(b)
				s.Budgets = append(s.Budgets, b)
			}
			alone, _ := asked(t, s)
			require.Equal(t, tc.ours, alone, tc.reason)
			require.Equal(t, tc.theirs, alone, "with pods that run, the answers are the same")

			for _, p := range s.Pods {
				p.Status.Phase = corev1.PodPending
			}
			alone, _ = asked(t, s)
			require.True(t, alone, "a pending pod goes whatever the budgets say")
		})
	}
}
