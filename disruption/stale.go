package disruption

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// PlanPod decides what a pod asks for by itself.
//
//   - Its condition DisruptionTarget is True though it is not being deleted and has not ended:
//     after StaleDisruptionTimeout, ClearDisruptionTarget (BR-25-05); until then, RecheckAt. The
//     kubelet's own (reason TerminationByKubelet) stays, since it may be there long before the
//     pod goes.
//   - More than one budget covers it: the event MultiplePodDisruptionBudgets. Evictions
//     of such a pod are refused.
//
// A pod that is not in the snapshot asks for nothing. Two of that name: nothing but an error. The
// error also joins what is wrong with the budgets of the pod's namespace.
func PlanPod(s Snapshot, pod types.NamespacedName, o Options) (Result, error) {
	s = s.in(pod.Namespace)
	c := newCount(Snapshot{Now: s.Now, Budgets: s.Budgets, Pods: s.Pods}, o)
	problems := c.problems
	for _, p := range c.budgetProblems() {
		problems.Add(p)
	}
	if c.podNames.Ambiguous(pod) {
		problems.Add(snapshot.DuplicateError(podKind, pod))
	}
	p := c.podNames.Find(pod)
	if p == nil {
		return Result{}, problems.Err()
	}
	return c.planPod(p, c.covering(p)), problems.Err()
}

// PlanAllPods decides what all pods ask for by themselves. It returns the outcomes of the pods
// that have something to say, sorted by namespace and name; each has the Result that PlanPod
// has for that pod. What is wrong with budgets is in the outcome of the zero key.
func PlanAllPods(s Snapshot, o Options) []Outcome {
	c := newCount(Snapshot{Now: s.Now, Budgets: s.Budgets, Pods: s.Pods}, o)
	x := newIndex(c.guards)
	var outcomes []Outcome
	var hits []int
	for _, pod := range c.pods {
		if c.podNames.Ambiguous(snapshot.KeyOf(pod)) {
			continue
		}
		hits = x.covering(hits[:0], pod)
		outcomes = appendOutcome(outcomes, snapshot.KeyOf(pod), c.planPod(pod, hits), snapshot.Problems{})
	}
	outcomes = appendDuplicates(outcomes, c.podNames.Duplicates())
	problems := c.problems
	for _, p := range c.budgetProblems() {
		problems.Add(p)
	}
	outcomes = appendOutcome(outcomes, types.NamespacedName{}, Result{}, problems)
	sortOutcomes(outcomes)
	return outcomes
}

// planPod decides for one pod, given the positions of the budgets that cover it.
func (c *count) planPod(pod *corev1.Pod, covering []int) Result {
	var result Result
	if len(covering) > 1 {
		names := make([]string, len(covering))
		for i, at := range covering {
			names[i] = c.guards[at].budget.Name
		}
		// Upstream names whichever its cache returns first.
		result.Events = append(result.Events, podEvent(pod, "MultiplePodDisruptionBudgets", fmt.Sprintf(
			"Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.", pod.Namespace, pod.Name, slices.Min(names))))
	}

	condition := podstate.Condition(pod, corev1.DisruptionTarget)
	if condition == nil || condition.Status != corev1.ConditionTrue ||
		condition.Reason == corev1.PodReasonTerminationByKubelet ||
		pod.DeletionTimestamp != nil || podstate.Terminal(pod) {
		return result
	}
	if over := condition.LastTransitionTime.Add(StaleDisruptionTimeout); over.After(c.now) {
		result.RecheckAt = over
		return result
	}
	updated := pod.DeepCopy()
	setPodCondition(updated, corev1.PodCondition{
		Type:               corev1.DisruptionTarget,
		Status:             corev1.ConditionFalse,
		ObservedGeneration: pod.Generation,
		LastTransitionTime: stamp(c.now),
	})
	result.Actions = append(result.Actions, ClearDisruptionTarget{Pod: updated})
	return result
}

// budgetProblems are the budgets that cannot be told to cover a pod or not.
func (c *count) budgetProblems() []*purekube.ObjectError {
	var found []*purekube.ObjectError
	for i := range c.tallies {
		if broken := c.tallies[i].broken; broken != nil {
			found = append(found, broken)
		}
	}
	return append(found, c.budgetNames.Duplicates()...)
}

// covering are the positions of the budgets that cover the pod.
func (c *count) covering(pod *corev1.Pod) []int {
	var hits []int
	for i, g := range c.guards {
		if g.covers(pod) {
			hits = append(hits, i)
		}
	}
	return hits
}
