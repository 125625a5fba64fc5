package disruption_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/purekubetest"
)

// shop is a namespace with a StatefulSet of three pods, the last of which is not ready, and a budget
// that allows one to be missing.
func shop() disruption.Snapshot {
	db := purekubetest.StatefulSet("shop/db", 3, "node-0", "node-1", "node-2")
	purekubetest.NotReady(db.Pods[2])
	return purekubetest.NewCluster(&testing.T{}, db.Objects(purekubetest.MaxUnavailable("shop/db", "1"))...).Disruption()
}

// dbUID is the UID of the StatefulSet, which its pods name.
const dbUID = "StatefulSet/shop/db"

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
	key := disruption.BudgetKey("shop", "db")
	for _, pod := range s.Pods {
		pod.OwnerReferences[0].APIVersion, pod.OwnerReferences[0].Kind = "db.example.com/v1", "Cluster"
	}
	result, _ := disruption.Plan(s, key, disruption.Options{})
	s.Answers = map[purekube.Need]purekube.Answer{}
	for _, need := range result.Needs {
		fmt.Printf("GET %s %s/%s, subresource %s\n", need.Kind, need.Namespace, need.Name, need.Subresource)
		s.Answers[need] = purekube.Answer{Object: &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: dbUID}, Spec: autoscalingv1.ScaleSpec{Replicas: 3}}}
	}
	result, _ = disruption.Plan(s, key, disruption.Options{})
	fmt.Println(result.Actions[0])
	// Output:
	// GET Cluster shop/db, subresource scale
	// UpdateStatus shop/db: 0 allowed, 2 healthy, 2 desired, 3 expected
}

// Why can node-0 not be drained?
func ExampleIndex_Explain() {
	e, _ := disruption.NewIndex(shop(), disruption.Options{}).Explain(disruption.BudgetKey("shop", "db"))
	fmt.Printf("%s (%s): %s\n", e.Key, e.Budget.Rule, e.Reasons[0].Message)
	for _, c := range e.Budget.Controllers {
		fmt.Printf("  %s %s wants %d\n", c.Kind, c.Name, c.Scale)
	}
	for _, p := range e.Budget.Pods {
		fmt.Printf("  %s on %s: %s\n", p.Name, p.Node, p.Health)
	}
	// Output:
	// PodDisruptionBudget/shop/db (maxUnavailable 1): nothing may be disrupted: 2 healthy, 2 desired
	//   StatefulSet db wants 3
	//   db-0 on node-0: Healthy
	//   db-1 on node-1: Healthy
	//   db-2 on node-2: NotReady
}

func ExampleDesiredHealthy() {
	spec := policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromString("30%"))}
	up, _ := disruption.DesiredHealthy(spec, 7, disruption.RoundUp)
	down, _ := disruption.DesiredHealthy(spec, 7, disruption.RoundDown)
	fmt.Println(up, down)
	// Output:
	// 4 5
}

// A manifest is checked before there are any pods: a budget of all three replicas blocks every drain.
func ExampleAllowedAtFullHealth() {
	for _, minAvailable := range []intstr.IntOrString{intstr.FromInt32(3), intstr.FromString("67%"), intstr.FromInt32(2)} {
		spec := policyv1.PodDisruptionBudgetSpec{MinAvailable: &minAvailable}
		n, err := disruption.AllowedAtFullHealth(spec, 3, disruption.RoundUp)
		fmt.Println(minAvailable.String(), "of 3:", n, err)
	}
	// Output:
	// 3 of 3: 0 <nil>
	// 67% of 3: 0 <nil>
	// 2 of 3: 1 <nil>
}

// All budgets that allow nothing, with the conclusion about each.
func ExampleIndex_ExplainAll() {
	explanations, _ := disruption.NewIndex(shop(), disruption.Options{}).ExplainAll()
	for _, e := range explanations {
		if e.Budget != nil && e.Budget.Blocks() {
			fmt.Printf("%s: %s; never: %t, short of %d\n", e.Key, e.Reasons[0].Code, e.Budget.Never, e.Budget.Shortfall)
		}
	}
	// Output:
	// PodDisruptionBudget/shop/db: InsufficientPods; never: false, short of 1
}

// A pod that the snapshot names a ReplicaSet for which it does not hold: the object is asked for, since
// its controller decides whose scale counts.
func ExamplePlan_replicaSet() {
	s := shop()
	s.StatefulSets = nil
	for _, pod := range s.Pods {
		pod.OwnerReferences[0].Kind = "ReplicaSet"
	}
	key := disruption.BudgetKey("shop", "db")
	inCluster := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", UID: dbUID}, Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(int32(3))}}

	result, _ := disruption.Plan(s, key, disruption.Options{})
	for _, need := range result.Needs {
		fmt.Printf("GET %s %s/%s %q\n", need.Kind, need.Namespace, need.Name, need.Subresource)
		s.Answers = map[purekube.Need]purekube.Answer{need: {Object: inCluster}}
	}
	result, _ = disruption.Plan(s, key, disruption.Options{})
	fmt.Println(result.Actions[0])
	// Output:
	// GET ReplicaSet shop/db ""
	// UpdateStatus shop/db: 0 allowed, 2 healthy, 2 desired, 3 expected
}

func ExampleIndex_BudgetsFor() {
	s := shop()
	budgets, err := disruption.NewIndex(s, disruption.Options{}).BudgetsFor(s.Pods[0])
	fmt.Println(budgets[0].Name, err)
	// Output:
	// db <nil>
}

func ExampleKeyOf() {
	s := shop()
	fmt.Println(disruption.KeyOf(s.Budgets[0]), disruption.KeyOf(s.Pods[0]))
	// Output:
	// PodDisruptionBudget/shop/db Pod/shop/db-0
}

// A StatefulSet is scaled: its budget is planned again.
func ExampleIndex_With_workload() {
	s := shop()
	x := disruption.NewIndex(s, disruption.Options{})
	scaled := s.StatefulSets[0].DeepCopy()
	scaled.Spec.Replicas = ptr.To(int32(5))
	_, affected := x.With(disruption.Snapshot{StatefulSets: []*appsv1.StatefulSet{scaled}})
	fmt.Println(affected)
	// Output:
	// [PodDisruptionBudget/shop/db]
}

// An informer's handler on an index is one call, and each key that it names is planned again.
func ExampleIndex_With() {
	s := shop()
	x := disruption.NewIndex(s, disruption.Options{})
	ready := s.Pods[2].DeepCopy()
	ready.Status.Conditions[0].Status = corev1.ConditionTrue

	x, affected := x.With(disruption.Snapshot{Pods: []*corev1.Pod{ready}})
	for _, key := range affected {
		result, _ := x.Plan(key)
		fmt.Println(key, result.Actions)
	}
	// Output:
	// PodDisruptionBudget/shop/db [UpdateStatus shop/db: 1 allowed, 3 healthy, 2 desired, 3 expected]
}

func ExampleIndex_Without() {
	s := shop()
	x := disruption.NewIndex(s, disruption.Options{})
	next, affected := x.Without(disruption.Snapshot{Pods: s.Pods[:1]})
	fmt.Println(affected)
	_, err := next.CheckEviction(types.NamespacedName{Namespace: "shop", Name: "db-0"}, disruption.AsWritten)
	fmt.Println(err)
	_, err = x.CheckEviction(types.NamespacedName{Namespace: "shop", Name: "db-0"}, disruption.AsWritten)
	fmt.Println(err, "from the index before")
	// Output:
	// [PodDisruptionBudget/shop/db]
	// Pod shop/db-0: not in the snapshot
	// <nil> from the index before
}

// Evictions one after the other, without a cluster: an evicted pod stays until the one that takes its place is
// there.
func ExampleIndex_CheckEviction() {
	s := shop()
	s.Pods[2].Status.Conditions[0].Status = corev1.ConditionTrue
	x := disruption.NewIndex(s, disruption.Options{})
	for _, pod := range s.Pods {
		e, _ := x.CheckEviction(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, disruption.Recomputed)
		fmt.Println(pod.Name, e.Verdict, e.Verdict.StatusCode(), e.Blocking)
		if e.Verdict.Allowed() {
			terminating := pod.DeepCopy()
			terminating.DeletionTimestamp = &metav1.Time{Time: s.Now}
			x, _ = x.With(disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{e.Update}, Pods: []*corev1.Pod{terminating}})
		}
	}
	// Output:
	// db-0 AllowedWithinBudget 201 []
	// db-1 RefusedNow 429 [shop/db]
	// db-2 RefusedNow 429 [shop/db]
}

func ExampleBudgetKey() {
	fmt.Println(disruption.BudgetKey("shop", "db"))
	// Output:
	// PodDisruptionBudget/shop/db
}

func ExamplePodKey() {
	fmt.Println(disruption.PodKey("shop", "db-0"))
	// Output:
	// Pod/shop/db-0
}
