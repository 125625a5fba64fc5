package disruption

import (
	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Plan computes the status of one budget (BR-25-01 … BR-25-04, BR-25-06), or decides what one pod
// asks for by itself (BR-25-05).
//
// For a budget:
//
//  1. The budget is not in the snapshot: nothing, it is gone. Two budgets have the name:
//     nothing but an error.
//  2. Controllers whose scale the snapshot does not hold: Needs, all at once, and nothing else. A
//     Need is for the scale of a controller, or for a ReplicaSet: what controls that decides
//     whose scale counts (D-22). An answer may bring another Need.
//  3. The status cannot be computed: UpdateStatus with disruptionsAllowed 0 and the reason in the
//     condition, and the error. This is so if a selector or percentage does not parse; and, for a
//     budget whose status rests on scales, if a controller is gone or has no scale, or if a pod is nil
//     or has no name, so that its controller is not known. Where several pods have no controller, the
//     error is about the first of them by name; Needs of pods before that one are asked first.
//  4. Otherwise UpdateStatus, unless the status is right already.
//
// RecheckAt is when the first entry of status.disruptedPods is over.
//
// For a pod:
//
//   - Its condition DisruptionTarget is True though it is not being deleted and has not ended:
//     after StaleDisruptionTimeout, ClearDisruptionTarget (BR-25-05); until then, RecheckAt. The
//     kubelet's own (reason TerminationByKubelet) stays, since it may be there long before the
//     pod is deleted.
//   - More than one budget covers it: with MatchUpstream, the event
//     MultiplePodDisruptionBudgets (D-29). Evictions of such a pod are refused.
//   - A pod that is not in the snapshot asks for nothing. Two of that name: nothing but an error.
//
// The error joins one [purekube.ObjectError] for each problem that the key's decision rests on, and
// one for each kind of which the snapshot holds nil pointers or objects without a name.
func Plan(s Snapshot, key purekube.Key, o Options) (Result, error) {
	return arrange(s, o, onlyBudget(key)).Plan(key)
}

// PlanAll plans all budgets and pods. It returns the outcomes of those that have something to say,
// sorted by key; each has the Result that Plan has for that key. The error joins what is wrong with
// the snapshot as a whole: nil pointers, objects without a name, and workloads of one name that
// no budget's status rests on.
//
// It costs about one pass over the pods and one over the budgets.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) { return arrange(s, o, everyBudget).PlanAll() }

// appendOutcome appends what has something to say.
func appendOutcome(outcomes []Outcome, key purekube.Key, r Result, problems snapshot.Problems) []Outcome {
	err := problems.Err()
	if r.Empty() && err == nil {
		return outcomes
	}
	return append(outcomes, Outcome{Key: key, Result: r, Err: err})
}

// appendDuplicates appends an outcome for each key that cannot be planned, since two objects have it.
func appendDuplicates(outcomes []Outcome, duplicates []*purekube.ObjectError) []Outcome {
	for _, e := range duplicates {
		var problems snapshot.Problems
		problems.Add(e)
		outcomes = appendOutcome(outcomes, keyOfProblem(e), Result{}, problems)
	}
	return outcomes
}

// keyOfProblem names what a problem is about.
func keyOfProblem(e *purekube.ObjectError) purekube.Key {
	return purekube.Key{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
}
