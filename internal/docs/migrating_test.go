package docs_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/purekubetest"
)

func Example_whereTheAnswerDiffers() {
	ask := func(title string, pod *corev1.Pod, budgets ...*policyv1.PodDisruptionBudget) {
		s := disruption.Snapshot{Pods: []*corev1.Pod{pod}, Budgets: budgets}
		eviction, err := disruption.CheckEviction(s, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, disruption.Options{})
		alone := "yes" // what status.disruptionsAllowed alone says
		for _, b := range budgets {
			if b.Status.DisruptionsAllowed < 1 {
				alone = "no"
			}
		}
		fmt.Println(title+":", eviction.Verdict, eviction.Verdict.StatusCode(), err, "(the status alone:", alone+")")
	}
	budget := func(name string, allowed int32) *policyv1.PodDisruptionBudget {
		b := purekubetest.MaxUnavailable("shop/web", "1")
		b.Name = name
		b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, DisruptionsAllowed: allowed, CurrentHealthy: 2, DesiredHealthy: 2}
		return b
	}
	pod := func() *corev1.Pod { return purekubetest.Deployment("shop/web", 1).Pods[0] }

	ask("two budgets that each allow one", pod(), budget("a", 1), budget("b", 1))

	pending := pod()
	pending.Status = corev1.PodStatus{Phase: corev1.PodPending}
	ask("pending, the budget allows none", pending, budget("a", 0))

	ask("ready, the budget allows none", pod(), budget("a", 0))
	ask("not ready, enough others are healthy", purekubetest.NotReady(pod()), budget("a", 0))

	short := budget("a", 0)
	short.Status.CurrentHealthy = 1
	ask("not ready, too few are healthy", purekubetest.NotReady(pod()), short)

	always := short.DeepCopy()
	always.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
	ask("the same with AlwaysAllow", purekubetest.NotReady(pod()), always)

	changed := budget("a", 1)
	changed.Generation++
	ask("the status is older than the spec", pod(), changed)
	// Output:
	// two budgets that each allow one: RefusedConflictingBudgets 500 <nil> (the status alone: yes)
	// pending, the budget allows none: AllowedNoBudget 201 <nil> (the status alone: no)
	// ready, the budget allows none: RefusedNow 429 <nil> (the status alone: no)
	// not ready, enough others are healthy: AllowedUnhealthy 201 <nil> (the status alone: no)
	// not ready, too few are healthy: RefusedNow 429 <nil> (the status alone: no)
	// the same with AlwaysAllow: AllowedUnhealthy 201 <nil> (the status alone: no)
	// the status is older than the spec: RefusedNow 429 <nil> (the status alone: yes)
}
