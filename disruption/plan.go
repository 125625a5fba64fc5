package disruption

import (
	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Plan computes the status of one budget (BR-25-01 … BR-25-04, BR-25-06), or decides about one pod's condition
// DisruptionTarget (BR-25-05).
//
// For a budget:
//
//  1. The budget is not in the snapshot: an empty result, since the budget is gone. Two budgets have the name: an empty
//     result and an error.
//  2. The snapshot lacks the scale of a controller: all Needs at once, and nothing else. A Need is for the scale of a
//     controller, or for a ReplicaSet: the controller of the ReplicaSet decides whose scale counts (D-22). An answer
//     may bring another Need.
//  3. The status cannot be computed: UpdateStatus with disruptionsAllowed 0 and the reason in the condition, and the
//     error. The causes are a selector or a percentage that does not parse and, if the status depends on scales, a
//     controller that does not exist or has no scale, or a pod that is nil or has no name, so that its controller is
//     unknown. If several pods have no controller, the error is about the first of them by name. Needs of pods with
//     earlier names come first.
//  4. In every other case: UpdateStatus, unless the status is already right.
//
// RecheckAt is when the first entry of status.disruptedPods stops counting.
//
// For a pod:
//
//   - The condition DisruptionTarget is True, although the pod is not being deleted and has not ended: after
//     StaleDisruptionTimeout, ClearDisruptionTarget (BR-25-05); until then, RecheckAt. A condition that the kubelet set
//     (reason TerminationByKubelet) stays, since the kubelet may set it long before the pod is deleted.
//   - More than one budget selects the pod: with MatchUpstream, the event MultiplePodDisruptionBudgets (D-29). The API
//     server refuses evictions of such a pod.
//   - The pod is not in the snapshot: an empty result. Two pods have the name: an empty result and an error.
//
// The error joins one [purekube.ObjectError] for each problem that affects the decision, and one for each kind of which
// the snapshot has nil pointers or objects without a name.
func Plan(s Snapshot, key purekube.Key, o Options) (Result, error) {
	return NewIndex(s, o).Plan(key)
}

// PlanAll plans all budgets and pods. It returns the outcomes that are not empty, sorted by key; each has the Result
// that Plan has for its key. The error joins the problems of the snapshot as a whole: nil pointers, objects without a
// name, and names of several workloads that no budget's status depends on.
//
// PlanAll costs about one pass over the pods and one over the budgets, and Plan as much: use an [Index] for more than
// one question.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) { return NewIndex(s, o).PlanAll() }

// appendOutcome appends the outcome unless it is empty.
func appendOutcome(outcomes []Outcome, key purekube.Key, r Result, problems snapshot.Problems) []Outcome {
	err := problems.Err()
	if r.Empty() && err == nil {
		return outcomes
	}
	return append(outcomes, Outcome{Key: key, Result: r, Err: err})
}

// appendDuplicates appends an outcome for each key that has no plan because several objects have it.
func appendDuplicates(outcomes []Outcome, duplicates []*purekube.ObjectError) []Outcome {
	for _, e := range duplicates {
		var problems snapshot.Problems
		problems.Add(e)
		outcomes = appendOutcome(outcomes, keyOfProblem(e), Result{}, problems)
	}
	return outcomes
}

// keyOfProblem returns the key of the object that a problem is about.
func keyOfProblem(e *purekube.ObjectError) purekube.Key {
	return purekube.Key{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
}
