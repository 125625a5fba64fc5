package drain

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

// kube-scheduler counts otherwise than evictions do, but a budget selects the same pods for both (D-40).
func TestViolations(t *testing.T) {
	allows := func(name string, n int32, change ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
		return written(name, n, change...)
	}
	empty := func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} }
	none := func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = nil }
	broken := func(b *policyv1.PodDisruptionBudget) {
		b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}
	}
	expression := func(b *policyv1.PodDisruptionBudget) {
		b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}
	}
	for _, tc := range []struct {
		name, reason string
		budgets      []*policyv1.PodDisruptionBudget
		pods         []*corev1.Pod
		victims      []string
		violating    []string
		// upstream are those that violate with MatchUpstream, and v137 with v1.37, where this differs.
		upstream, v137 []string
	}{
		{name: "no budget", reason: "nothing is violated", pods: []*corev1.Pod{pod("a")}, victims: []string{"a"}},
		{name: "within the budget", reason: "two may go", budgets: []*policyv1.PodDisruptionBudget{allows("x", 2)}, pods: []*corev1.Pod{pod("a"), pod("b")}, victims: []string{"a", "b"}},
		{name: "beyond the budget", reason: "the second by order violates, not by name", budgets: []*policyv1.PodDisruptionBudget{allows("x", 1)},
			pods: []*corev1.Pod{pod("a"), pod("b")}, victims: []string{"b", "a"}, violating: []string{"a"}},
		{name: "a violating victim counts", reason: "it takes one off the other budget as well",
			budgets: []*policyv1.PodDisruptionBudget{allows("x", 0), allows("y", 1, func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels = map[string]string{"tier": "y"} })},
			pods:    []*corev1.Pod{pod("both", labelled(map[string]string{"app": "web", "tier": "y"})), pod("a", tier("y"))}, victims: []string{"both", "a"}, violating: []string{"both", "a"}, v137: []string{"both"}},
		{name: "two budgets that allow one", reason: "the scheduler does not mind, the API server answers 500",
			budgets: []*policyv1.PodDisruptionBudget{allows("x", 1), allows("y", 1)}, pods: []*corev1.Pod{pod("a")}, victims: []string{"a"}},
		{name: "listed in disruptedPods", reason: "its eviction is counted already", budgets: []*policyv1.PodDisruptionBudget{allows("x", 0, disruptedNow("a"))},
			pods: []*corev1.Pod{pod("a"), pod("b")}, victims: []string{"a", "b"}, violating: []string{"b"}},
		{name: "pending, ended, not ready", reason: "readiness makes no difference", budgets: []*policyv1.PodDisruptionBudget{allows("x", 1)},
			pods: []*corev1.Pod{pod("a", phase(corev1.PodPending)), pod("b", phase(corev1.PodFailed)), pod("c", unready)}, victims: []string{"a", "b", "c"}, violating: []string{"b", "c"}},
		{name: "an old generation", reason: "the scheduler does not look at it", budgets: []*policyv1.PodDisruptionBudget{allows("x", 1, func(b *policyv1.PodDisruptionBudget) { b.Generation = 9 })},
			pods: []*corev1.Pod{pod("a")}, victims: []string{"a"}},
		{name: "less than none", reason: "it is violated all the more", budgets: []*policyv1.PodDisruptionBudget{allows("x", -3)}, pods: []*corev1.Pod{pod("a")}, victims: []string{"a"}, violating: []string{"a"}},
		{name: "D-40 an empty selector", reason: "it covers every pod", budgets: []*policyv1.PodDisruptionBudget{allows("x", 0, empty)},
			pods: []*corev1.Pod{pod("a"), pod("b", labelled(nil))}, victims: []string{"a", "b"}, violating: []string{"a", "b"}, upstream: []string{}},
		{name: "no selector", reason: "it covers nothing", budgets: []*policyv1.PodDisruptionBudget{allows("x", 0, none)}, pods: []*corev1.Pod{pod("a")}, victims: []string{"a"}},
		{name: "an expression", reason: "it is no empty selector", budgets: []*policyv1.PodDisruptionBudget{allows("x", 0, expression)}, pods: []*corev1.Pod{pod("a")}, victims: []string{"a"}, violating: []string{"a"}},
		{name: "a label and an expression", reason: "it is no empty selector", budgets: []*policyv1.PodDisruptionBudget{allows("x", 0, expression, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.Selector.MatchLabels = map[string]string{"app": "web"}
		})}, pods: []*corev1.Pod{pod("a")}, victims: []string{"a"}, violating: []string{"a"}},
		{name: "a selector that does not compile", reason: "it covers nothing", budgets: []*policyv1.PodDisruptionBudget{allows("x", 0, broken)}, pods: []*corev1.Pod{pod("a")}, victims: []string{"a"}},
		{name: "D-40 no labels", reason: "the selector asks for that", budgets: []*policyv1.PodDisruptionBudget{allows("x", 0, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist}}}
		})},
			pods: []*corev1.Pod{pod("a", labelled(nil))}, victims: []string{"a"}, violating: []string{"a"}, upstream: []string{}},
		{name: "named twice", reason: "it is counted twice", budgets: []*policyv1.PodDisruptionBudget{allows("x", 1)}, pods: []*corev1.Pod{pod("a")}, victims: []string{"a", "a"}, violating: []string{"a"}},
		{name: "nobody", reason: "the labels of a pod that is not there are not known", pods: []*corev1.Pod{pod("a")}, victims: []string{"nobody", "a"}, violating: []string{"nobody"}},
		{name: "two pods of one name", reason: "nor are these", pods: []*corev1.Pod{pod("a"), pod("a")}, victims: []string{"a"}, violating: []string{"a"}},
		{name: "two budgets of one name", reason: "either may cover the pod", budgets: []*policyv1.PodDisruptionBudget{allows("x", 1), allows("x", 1)}, pods: []*corev1.Pod{pod("a")}, victims: []string{"a"}, violating: []string{"a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var victims []types.NamespacedName
			for _, v := range tc.victims {
				victims = append(victims, nn(v))
			}
			for release, want := range map[purekube.Upstream][]string{
				purekube.NoUpstream: tc.violating, purekube.V1_36: tc.violating, purekube.V1_37: tc.violating,
			} {
				if release != purekube.NoUpstream && tc.upstream != nil {
					want = tc.upstream
				}
				if release == purekube.V1_37 && tc.v137 != nil {
					want = tc.v137
				}
				s := disruption.Snapshot{Now: now, Budgets: tc.budgets, Pods: tc.pods}
				violating, allowed := Violations(disruption.NewIndex(s, disruption.Options{MatchUpstream: release}), victims)
				got := []string{}
				for _, v := range violating {
					got = append(got, v.Name)
				}
				require.Equal(t, append([]string{}, want...), got, "%q: %s", release, tc.reason)
				require.Len(t, allowed, len(victims)-len(violating))
			}
		})
	}
	violating, allowed := Violations(disruption.NewIndex(disruption.Snapshot{}, disruption.Options{}), nil)
	require.Empty(t, violating)
	require.Empty(t, allowed)
}

func disruptedNow(pod string) func(*policyv1.PodDisruptionBudget) {
	return disrupted(map[string]metav1.Time{pod: ago(0)})
}

// With options that are wrong, nothing is known of any victim.
func TestViolationsWithWrongOptions(t *testing.T) {
	x := disruption.NewIndex(disruption.Snapshot{Pods: []*corev1.Pod{pod("a")}}, disruption.Options{MaxUnavailableRounding: "Sideways"})
	violating, allowed := Violations(x, []types.NamespacedName{nn("a")})
	require.Equal(t, []types.NamespacedName{nn("a")}, violating)
	require.Empty(t, allowed)
}
