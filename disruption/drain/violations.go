package drain

import (
	"errors"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/snapshot"
)

// Violations sorts the victims of a preemption into victims that would violate a budget and victims that would not, as
// kube-scheduler counts them (upstream: filterPodsWithPDBViolation in
// pkg/scheduler/framework/plugins/defaultpreemption, from v1.37 on FilterVictimsWithPDBViolation in
// pkg/scheduler/framework/preemption). Both lists are in the order of victims.
//
//  1. Each budget allows what status.disruptionsAllowed says, whatever generation the status is of.
//  2. The victims are counted in order. A victim takes one off each budget that selects it, unless the budget lists the
//     pod in status.disruptedPods. It violates if a budget is below zero then.
//  3. A budget selects the pods that [disruption.Index.BudgetsFor] says. An empty selector selects all pods of the
//     namespace, also pods without labels. For kube-scheduler, such a budget selects no pod, and no budget selects a
//     pod without labels (D-40, see docs/divergences.md).
//  4. Whether a victim is ready, pending or being deleted makes no difference. Several budgets may select a victim.
//
// If the options of the Index name a release in MatchUpstream, the victims are sorted as that release does. In both
// releases D-40 applies. In v1.37 a victim also takes nothing off the budgets after the first one below zero, so there
// may be fewer violations where several budgets select a pod. kube-scheduler goes through the budgets in the random
// order of its cache; here they are sorted by name.
//
// kube-scheduler prefers nodes with fewer violations; it does not refuse. To ask whether the victims could be
// evicted, call [Pods].
//
// A victim that is missing from the Index, or is in it twice, violates: its labels are not known. So does a victim in a
// namespace in which two budgets have one name. A victim that is named twice is counted twice. With an Index whose
// options are wrong all victims violate.
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
	upstream := x.Options().MatchUpstream
	if upstream != purekube.NoUpstream && len(pod.Labels) == 0 {
		return false // D-40
	}
	covering, err := x.BudgetsFor(pod)
	violated := errors.Is(err, purekube.ErrDuplicate)
	for _, b := range covering {
		if _, listed := b.Status.DisruptedPods[pod.Name]; listed {
			continue
		}
		if upstream != purekube.NoUpstream && selectsAll(b) {
			continue // D-40
		}
		key := snapshot.KeyOf(b)
		taken[key]++
		if b.Status.DisruptionsAllowed < taken[key] {
			violated = true
			if upstream == purekube.V1_37 {
				break
			}
		}
	}
	return violated
}

// selectsAll reports whether a budget that has a selector makes no requirement in it.
func selectsAll(b *policyv1.PodDisruptionBudget) bool {
	return len(b.Spec.Selector.MatchLabels)+len(b.Spec.Selector.MatchExpressions) == 0
}
