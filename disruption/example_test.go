package disruption_test

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
)

// shop is a namespace with a StatefulSet of three pods, the last of which is not ready, and a budget
// that allows one to be missing.
func shop() disruption.Snapshot {
	s := disruption.Snapshot{
		Now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		Budgets: []*policyv1.PodDisruptionBudget{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: ptr.To(intstr.FromInt32(1)),
				Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
			},
		}},
		StatefulSets: []*appsv1.StatefulSet{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", UID: "1"},
			Spec:       appsv1.StatefulSetSpec{Replicas: ptr.To(int32(3))},
		}},
	}
	for i, ready := range []corev1.ConditionStatus{"True", "True", "False"} {
		s.Pods = append(s.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: fmt.Sprintf("db-%d", i), Labels: map[string]string{"app": "db"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "1", Controller: ptr.To(true)}},
			},
			Spec:   corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i)},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		})
	}
	return s
}

func ExamplePlanAll() {
	outcomes, err := disruption.PlanAll(shop(), disruption.Options{})
	if err != nil {
		fmt.Println(err) // nil pointers, objects without a name: the rest is planned all the same
	}
	for _, outcome := range outcomes {
		for _, action := range outcome.Result.Actions {
			fmt.Println(action)
		}
	}
	// Output:
	// UpdateStatus shop/db: 0 allowed, 2 healthy, 2 desired, 3 expected
}

// A controller that is not one of the built-in ones is asked for once.
func ExamplePlan_needs() {
	s := shop()
	key := disruption.Key{Kind: disruption.BudgetKey, Namespace: "shop", Name: "db"}
	for _, pod := range s.Pods {
		pod.OwnerReferences[0].APIVersion, pod.OwnerReferences[0].Kind = "db.example.com/v1", "Cluster"
	}
	result, _ := disruption.Plan(s, key, disruption.Options{})
	s.Scales = map[disruption.ScaleKey]disruption.Scale{}
	for _, need := range result.Needs {
		fmt.Printf("GET %s %s/%s, subresource %s\n", need.Kind, need.Namespace, need.Name, need.Subresource)
		s.Scales[disruption.ScaleKeyOf(need)] = disruption.Scale{Found: true, UID: "1", Replicas: 3}
	}
	result, _ = disruption.Plan(s, key, disruption.Options{})
	fmt.Println(result.Actions[0])
	// Output:
	// GET Cluster shop/db, subresource scale
	// UpdateStatus shop/db: 0 allowed, 2 healthy, 2 desired, 3 expected
}

// Why can node-0 not be drained?
func ExampleExplain() {
	e, _ := disruption.Explain(shop(), disruption.Key{Kind: disruption.BudgetKey, Namespace: "shop", Name: "db"}, disruption.Options{})
	fmt.Printf("%s (%s): %s\n", e.Key, e.Rule, e.Reasons[0].Message)
	for _, c := range e.Controllers {
		fmt.Printf("  %s %s wants %d\n", c.Kind, c.Name, c.Scale)
	}
	for _, p := range e.Pods {
		fmt.Printf("  %s on %s: %s\n", p.Name, p.Node, p.Health)
	}
	// Output:
	// budget:shop/db (maxUnavailable 1): nothing may be disrupted: 2 healthy, 2 desired
	//   StatefulSet db wants 3
	//   db-0 on node-0: healthy
	//   db-1 on node-1: healthy
	//   db-2 on node-2: not ready
}

// The pods of the example are evicted one after the other, without a cluster. Recompute does the
// disruption controller's part.
func ExampleCheckEviction() {
	s := shop()
	for _, pod := range s.Pods {
		e, _ := disruption.CheckEviction(s, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, disruption.Options{Recompute: true})
		fmt.Printf("%s: %s\n  %s\n", pod.Name, e.Verdict, e.Reason)
		if e.Update != nil {
			s.Budgets[0] = e.Update
		}
	}
	// Output:
	// db-0: RefusedNow
	//   Cannot evict pod as it would violate the pod's disruption budget. The disruption budget db needs 2 healthy pods and has 2 currently
	// db-1: RefusedNow
	//   Cannot evict pod as it would violate the pod's disruption budget. The disruption budget db needs 2 healthy pods and has 2 currently
	// db-2: AllowedUnhealthy
	//   the pod is not ready, and currentHealthy is no less than desiredHealthy
}

func ExampleDesiredHealthy() {
	spec := policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromString("30%"))}
	up, _ := disruption.DesiredHealthy(spec, 7, disruption.RoundUp)
	down, _ := disruption.DesiredHealthy(spec, 7, disruption.RoundDown)
	fmt.Println(up, down)
	// Output:
	// 4 5
}
