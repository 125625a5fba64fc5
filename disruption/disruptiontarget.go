package disruption

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/internal/podstate"
)

// planPod decides for one pod, given the positions of the budgets that cover it.
func (p *planner) planPod(pod *corev1.Pod, covering []int) Result {
	var result Result
	if len(covering) > 1 {
		names := make([]string, len(covering))
		for i, at := range covering {
			names[i] = p.matchers[at].budget.Name
		}
		// Upstream names whichever its cache returns first.
		result.Events = append(result.Events, podEvent(pod, "MultiplePodDisruptionBudgets", fmt.Sprintf(
			"Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.", pod.Namespace, pod.Name, slices.Min(names))))
	}
	if !hasDisruptionTarget(pod) {
		return result
	}
	condition := podstate.Condition(pod, corev1.DisruptionTarget)
	if over := condition.LastTransitionTime.Add(p.o.staleDisruptionTimeout()); over.After(p.now) {
		result.RecheckAt = over
		return result
	}
	updated := pod.DeepCopy()
	setPodCondition(updated, corev1.PodCondition{
		Type:               corev1.DisruptionTarget,
		Status:             corev1.ConditionFalse,
		ObservedGeneration: pod.Generation,
		LastTransitionTime: stamp(p.now),
	})
	result.Actions = append(result.Actions, ClearDisruptionTarget{Pod: updated})
	return result
}

// hasDisruptionTarget reports whether the pod says that it is about to be deleted, though it is not
// being deleted and has not ended (upstream: nonTerminatingPodHasStaleDisruptionCondition).
func hasDisruptionTarget(pod *corev1.Pod) bool {
	condition := podstate.Condition(pod, corev1.DisruptionTarget)
	return condition != nil && condition.Status == corev1.ConditionTrue &&
		// The kubelet sets it long before the pod is deleted.
		condition.Reason != corev1.PodReasonTerminationByKubelet &&
		pod.DeletionTimestamp == nil && !podstate.Terminal(pod)
}
