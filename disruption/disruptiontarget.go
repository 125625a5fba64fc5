package disruption

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/internal/podstate"
)

// planPod decides what a pod asks for by itself. The condition DisruptionTarget announces a deletion: the eviction
// handler, the scheduler's preemption and others set it before they delete the pod. If the deletion fails, the
// condition stays True, and whoever reads it, for example a Job with a podFailurePolicy, mistakes a later failure for a
// disruption.
func (x *Index) planPod(pod *corev1.Pod) Result {
	var result Result
	// D-29: nothing is written with this event, so nothing would show that it was already recorded. CheckEviction and
	// Explain give the same information.
	if x.o.matchUpstream() {
		if covering := x.coveredBy(pod); len(covering) > 1 {
			// Upstream names the budget that its cache happens to return first.
			result.Events = append(result.Events, podEvent(pod, "MultiplePodDisruptionBudgets", fmt.Sprintf(
				"Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.", pod.Namespace, pod.Name, covering[0].budget.Name)))
		}
	}
	if !hasDisruptionTarget(pod) {
		return result
	}
	condition := podstate.Condition(pod, corev1.DisruptionTarget)
	// At exactly two minutes the condition is stale, so RecheckAt is always later than Now.
	if over := condition.LastTransitionTime.Add(x.o.staleDisruptionTimeout()); over.After(x.time) {
		result.RecheckAt = over
		return result
	}
	updated := pod.DeepCopy()
	// No reason and no message, as upstream: the new condition replaces the whole old one.
	setPodCondition(updated, corev1.PodCondition{
		Type:               corev1.DisruptionTarget,
		Status:             corev1.ConditionFalse,
		ObservedGeneration: pod.Generation,
		LastTransitionTime: stamp(x.time),
	})
	result.Actions = append(result.Actions, ClearDisruptionTarget{Pod: updated})
	return result
}

// hasDisruptionTarget reports whether the pod's condition says that it is about to be deleted, although the pod is not
// being deleted and has not ended (upstream: nonTerminatingPodHasStaleDisruptionCondition).
func hasDisruptionTarget(pod *corev1.Pod) bool {
	condition := podstate.Condition(pod, corev1.DisruptionTarget)
	return condition != nil && condition.Status == corev1.ConditionTrue &&
		// The kubelet sets it long before the pod is deleted.
		condition.Reason != corev1.PodReasonTerminationByKubelet &&
		pod.DeletionTimestamp == nil && !podstate.Terminal(pod)
}
