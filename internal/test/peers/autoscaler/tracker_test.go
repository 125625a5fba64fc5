package autoscaler

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func counting(tb testing.TB, budgets []*policyv1.PodDisruptionBudget) Counting {
	tb.Helper()
	all, err := NewCounting(budgets)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// Counting has the answers of the table of cluster-autoscaler's own test (basic_test.go, of the same commit): how
// many pods have which labels, what the budgets of l1 and l2 allow, and both answers.
func TestCounting(t *testing.T) {
	for _, tc := range []struct {
		name, reason   string
		pods           map[string]int
		allowed        []int32
		each, together bool
		remaining      []int32
	}{
		{name: "no budgets", reason: "nothing is in the way", pods: map[string]int{"l1": 2, "l2": 1}, each: true,
			together: true},
		{name: "a budget that allows none", reason: "its pod may not go", pods: map[string]int{"l1": 2, "l2": 1},
			allowed: []int32{1, 0}},
		{name: "fewer than there are pods", reason: "each alone", pods: map[string]int{"l1": 2, "l2": 1},
			allowed: []int32{1, 2}, each: true},
		{name: "as many as there are pods", reason: "all together", pods: map[string]int{"l1": 2, "l2": 3},
			allowed: []int32{2, 4},
			each:    true, together: true, remaining: []int32{0, 1}},
		{name: "a pod of two budgets", reason: "it takes one off each", pods: map[string]int{"l1,l2": 1},
			allowed: []int32{1, 1},
			each:    true, together: true, remaining: []int32{0, 0}},
		{name: "a pod of two budgets beside others", reason: "each alone",
			pods: map[string]int{"l1,l2": 1, "l1": 1, "l2": 1}, allowed: []int32{2, 1}, each: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var pods []*corev1.Pod
			for set, n := range tc.pods {
				for range n {
					p := &corev1.Pod{}
					p.Namespace, p.Labels = "ns", map[string]string{}
					for _, l := range []string{"l1", "l2"} {
						if set == l || set == "l1,l2" {
							p.Labels[l] = "true"
						}
					}
					pods = append(pods, p)
				}
			}
			var budgets []*policyv1.PodDisruptionBudget
			for i, n := range tc.allowed {
				b := &policyv1.PodDisruptionBudget{}
				b.Namespace, b.Status.DisruptionsAllowed = "ns", n
				b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{[]string{"l1", "l2"}[i]: "true"}}
				budgets = append(budgets, b)
			}
			all := counting(t, budgets)
			if each, together := all.CanRemovePods(pods); each != tc.each || together != tc.together {
				t.Errorf("each %t, together %t; want %t, %t: %s", each, together, tc.each, tc.together, tc.reason)
			}
			all.RemovePods(pods)
			for i, n := range tc.remaining {
				if all[i].allowed != n {
					t.Errorf("budget %d allows %d, want %d", i, all[i].allowed, n)
				}
			}
		})
	}
}
