package drain

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/snapshot"
)

// Violations sorts the victims of a preemption into victims that would violate a budget and victims that would not, as
// kube-scheduler counts them (upstream: filterPodsWithPDBViolation in
// pkg/scheduler/framework/plugins/defaultpreemption). Both lists are in the order of victims.
//
//  1. Each budget allows what status.disruptionsAllowed says, whatever generation the status is of.
//  2. The victims are counted in order. A victim takes one off each budget that selects it, unless the budget lists the
//     pod in status.disruptedPods. It violates if a budget is below zero then. (That is v1.36. v1.37 takes nothing off
//     the budgets after the first one below zero, so it may count fewer violations where several budgets select a pod.)
//  3. An empty selector selects no pod, and no budget selects a pod without labels. Evictions differ: there an empty
//     selector selects all pods of the namespace.
//  4. Whether a victim is ready, pending or being deleted makes no difference, and neither do several budgets.
//
// kube-scheduler prefers nodes with fewer violations; it does not refuse. Whether the victims could be evicted is
// [Pods].
//
// A victim that is missing from the Index, or is in it twice, violates: its labels are not known. So does a victim with
// labels in a namespace in which two budgets have one name. A victim that is named twice is counted twice. With an
// Index whose options are wrong all victims violate.
//
// It costs the budgets of the victims.
func Violations(x *disruption.Index, victims []types.NamespacedName) (violating, allowed []types.NamespacedName) {
	taken := map[types.NamespacedName]int32{}
	if optionsErr(x, Options{}) != nil {
		return slices.Clone(victims), nil
	}
	for _, name := range victims {
		if violates(x, name, taken) {
			violating = append(violating, name)
		} else {
			allowed = append(allowed, name)
		}
	}
	return violating, allowed
}

// violates counts the pod as taken from its budgets.
func violates(x *disruption.Index, name types.NamespacedName, taken map[types.NamespacedName]int32) bool {
	pod := x.Pod(name)
	if pod == nil {
		return true
	}
	if len(pod.Labels) == 0 {
		return false
	}
	covering, err := x.BudgetsFor(pod)
	violated := errors.Is(err, purekube.ErrDuplicate)
	for _, b := range covering {
		if counts(b, pod) {
			key := snapshot.KeyOf(b)
			taken[key]++
			violated = violated || b.Status.DisruptionsAllowed < taken[key]
		}
	}
	return violated
}

// counts reports whether kube-scheduler takes the pod, which the budget selects, off the budget.
func counts(b *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	selector := b.Spec.Selector
	_, listed := b.Status.DisruptedPods[pod.Name]
	return !listed && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0
}
