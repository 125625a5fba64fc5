package lint

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/manifests"
)

// overlapping is a set of n pods and n/10 budgets in one namespace. In a group of 100 pods each of its 10 budgets selects every pod, with a selector of
// its own; the budgets of wide select the pods of all groups.
func overlapping(n, wide int) *manifests.Set {
	set := &manifests.Set{Complete: true}
	for i := range n {
		set.Pods = append(set.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("p-%d", i), Labels: map[string]string{
				"group": fmt.Sprint(i / 100), "all": "true", fmt.Sprintf("k%d", i%10): "x",
			}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		})
	}
	for i := range n / 10 {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"group": fmt.Sprint(i / 10)}, MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: fmt.Sprintf("none-%d", i), Operator: metav1.LabelSelectorOpDoesNotExist},
		}}
		if i < wide {
			selector = &metav1.LabelSelector{MatchLabels: map[string]string{"all": "true"}}
		}
		set.Budgets = append(set.Budgets, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("b-%d", i)},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector, MinAvailable: ptr.To(intstr.FromInt32(1))},
		})
	}
	return set
}

// Four times as many pods and budgets take about four times as many allocations: no pod is compared with budgets of other groups.
func TestCostOfOverlapsIsLinear(t *testing.T) {
	allocations := func(n int) float64 {
		set := overlapping(n, 0)
		return testing.AllocsPerRun(1, func() { Check(set) })
	}
	require.Less(t, allocations(8000)/allocations(2000), 5.0)
}

func BenchmarkOverlaps(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		for _, wide := range []int{0, 3} {
			if n == 100_000 && testing.Short() {
				continue
			}
			b.Run(fmt.Sprintf("pods=%d,budgets=%d,wide=%d", n, n/10, wide), func(b *testing.B) {
				set := overlapping(n, wide)
				b.ReportAllocs()
				for b.Loop() {
					Check(set)
				}
			})
		}
	}
}

// everyReplica is one Deployment and budgets that all select its pods.
func everyReplica(replicas, budgets int) *manifests.Set {
	labels := map[string]string{"app": "web"}
	set := &manifests.Set{Complete: true, Deployments: []*appsv1.Deployment{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
		},
	}}}
	for i := range budgets {
		set.Budgets = append(set.Budgets, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("b-%03d", i)},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, MaxUnavailable: ptr.To(intstr.FromInt32(1))},
		})
	}
	return set
}

// What 20 more budgets cost does not depend on the number of replicas: no replica is judged for each budget.
func TestReplicasAreJudgedOnce(t *testing.T) {
	moreBudgets := func(replicas int) float64 {
		few, many := everyReplica(replicas, 20), everyReplica(replicas, 40)
		return testing.AllocsPerRun(1, func() { Check(many) }) - testing.AllocsPerRun(1, func() { Check(few) })
	}
	require.Less(t, moreBudgets(4000)/moreBudgets(500), 1.5)
}

func BenchmarkReplicas(b *testing.B) {
	for _, size := range []struct{ replicas, budgets int }{{5000, 50}, {20_000, 50}, {5000, 200}, {20_000, 200}, {20_000, 800}} {
		b.Run(fmt.Sprintf("replicas=%d,budgets=%d", size.replicas, size.budgets), func(b *testing.B) {
			set := everyReplica(size.replicas, size.budgets)
			b.ReportAllocs()
			for b.Loop() {
				Check(set)
			}
		})
	}
}

// A pod without a controller costs something for each budget that selects it.
func BenchmarkPodsWithoutController(b *testing.B) {
	for _, pods := range []int{1000, 2000, 10_000} {
		if pods == 10_000 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprintf("pods=%d,budgets=%d", pods, pods/10), func(b *testing.B) {
			set := overlapping(pods, pods/10)
			for b.Loop() {
				Check(set)
			}
		})
	}
}

// manyRules is a ClusterRole with n rules that reach admin, each with a wildcard.
func manyRules(n int) *manifests.Set {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-admin": "true"}}}
	for i := range n {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"example.com"}, Resources: []string{fmt.Sprintf("widgets%d", i)}})
	}
	return &manifests.Set{Complete: true, ClusterRoles: []*rbacv1.ClusterRole{role}}
}

// Four times as many rules take about four times as many allocations.
func TestCostOfRulesIsLinear(t *testing.T) {
	allocations := func(n int) float64 {
		set := manyRules(n)
		return testing.AllocsPerRun(1, func() { Check(set) })
	}
	require.Less(t, allocations(800)/allocations(200), 5.0)
}

func BenchmarkRules(b *testing.B) {
	for _, n := range []int{500, 2000, 8000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			set := manyRules(n)
			b.ReportAllocs()
			for b.Loop() {
				Check(set)
			}
		})
	}
}
