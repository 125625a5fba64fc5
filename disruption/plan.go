package disruption

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

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
//  2. Controllers whose scale the snapshot does not hold: Needs, one per controller, all at
//     once, and nothing else.
//  3. The status cannot be computed (a selector or percentage that does not parse, a
//     controller that is gone or has no scale): UpdateStatus with disruptionsAllowed 0 and the
//     reason in the condition, and the error. This comes before 2: whatever the needs would
//     bring, the answer stays the same.
//  4. Otherwise UpdateStatus, unless the status is right already.
//
// Where several pods have no controller, the error is about the first of them by name.
//
// RecheckAt is when the first entry of status.disruptedPods is over.
//
// For a pod:
//
//   - Its condition DisruptionTarget is True though it is not being deleted and has not ended:
//     after StaleDisruptionTimeout, ClearDisruptionTarget (BR-25-05); until then, RecheckAt. The
//     kubelet's own (reason TerminationByKubelet) stays, since it may be there long before the
//     pod is deleted.
//   - More than one budget covers it: the event MultiplePodDisruptionBudgets. Evictions
//     of such a pod are refused.
//   - A pod that is not in the snapshot asks for nothing. Two of that name: nothing but an error.
//
// The error joins one [purekube.ObjectError] for each problem that the key's decision rests on, and
// one for each kind of which the snapshot holds nil pointers or objects without a name.
func Plan(s Snapshot, key Key, o Options) (Result, error) {
	switch key.Kind {
	case BudgetKey:
		return planBudget(s, key.object(), o)
	case PodKey:
		return planPod(s, key.object(), o)
	}
	return Result{}, nil
}

func planBudget(s Snapshot, key types.NamespacedName, o Options) (Result, error) {
	p := newPlanner(s.in(key.Namespace), o)
	problems := p.problems
	if p.budgetNames.Ambiguous(key) {
		problems.Add(snapshot.DuplicateError(budgetKind, key))
	}
	t, found := p.only(key)
	if !found {
		return Result{}, problems.Err()
	}
	d := t.decide(p.workloads, s.Now, o)
	for _, e := range d.problems {
		problems.Add(e)
	}
	return d.result(), problems.Err()
}

func planPod(s Snapshot, key types.NamespacedName, o Options) (Result, error) {
	p := newPlanner(s.in(key.Namespace), o)
	problems := p.problems
	if p.podNames.Ambiguous(key) {
		problems.Add(snapshot.DuplicateError(podKind, key))
	}
	pod := p.podNames.Find(key)
	if pod == nil {
		return Result{}, problems.Err()
	}
	return p.planPod(pod, p.covering(pod)), problems.Err()
}

// PlanAll plans all budgets and pods. It returns the outcomes of those that have something to say,
// sorted by key; each has the Result that Plan has for that key. The error joins what is wrong with
// the snapshot as a whole: nil pointers, objects without a name, and workloads of one name that
// no budget's status rests on.
//
// It costs about one pass over the pods and one over the budgets.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) {
	p := newPlanner(s, o)
	var outcomes []Outcome
	x := newBudgetIndex(p.matchers)
	var hits []int
	for _, pod := range p.pods {
		hits = x.covering(hits[:0], pod)
		for _, i := range hits {
			p.add(&p.counts[i], pod)
		}
		if key := snapshot.KeyOf(pod); !p.ambiguousPod(key) {
			outcomes = appendOutcome(outcomes, podKey(key), p.planPod(pod, hits), snapshot.Problems{})
		}
	}
	outcomes = appendDuplicates(outcomes, PodKey, p.podNames.Duplicates())

	reported := map[place]bool{}
	for i := range p.counts {
		t := &p.counts[i]
		d := t.decide(p.workloads, s.Now, o)
		var problems snapshot.Problems
		for _, e := range d.problems {
			problems.Add(e)
			reported[placeOf(e)] = true
		}
		outcomes = appendOutcome(outcomes, KeyOf(t.budget), d.result(), problems)
	}
	outcomes = appendDuplicates(outcomes, BudgetKey, p.budgetNames.Duplicates())
	slices.SortFunc(outcomes, func(a, b Outcome) int { return compareKeys(a.Key, b.Key) })
	return outcomes, p.wholeSnapshot(reported)
}

// wholeSnapshot is what is wrong with the snapshot and with no key in particular. reported are the
// objects that the errors of keys name.
func (p *planner) wholeSnapshot(reported map[place]bool) error {
	problems := p.problems
	for _, e := range p.workloads.duplicates() {
		if !reported[placeOf(e)] {
			problems.Add(e)
		}
	}
	return problems.Err()
}

// appendOutcome appends what has something to say.
func appendOutcome(outcomes []Outcome, key Key, r Result, problems snapshot.Problems) []Outcome {
	err := problems.Err()
	if r.Empty() && err == nil {
		return outcomes
	}
	return append(outcomes, Outcome{Key: key, Result: r, Err: err})
}

// appendDuplicates appends an outcome for each key that cannot be planned, since two objects have it.
func appendDuplicates(outcomes []Outcome, kind Kind, duplicates []*purekube.ObjectError) []Outcome {
	for _, e := range duplicates {
		var problems snapshot.Problems
		problems.Add(e)
		outcomes = appendOutcome(outcomes, Key{Kind: kind, Namespace: e.Namespace, Name: e.Name}, Result{}, problems)
	}
	return outcomes
}

// place is what a problem is about.
type place struct{ kind, namespace, name string }

func placeOf(e *purekube.ObjectError) place { return place{e.Kind, e.Namespace, e.Name} }
