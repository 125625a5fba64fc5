package disruption

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Plan computes the status of one budget (BR-25-01 … BR-25-04, BR-25-06).
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
// RecheckAt is when the first entry of status.disruptedPods is over. The error joins one
// [purekube.ObjectError] for each problem that the budget's status rests on, and one for each
// kind of which the snapshot holds nil pointers.
func Plan(s Snapshot, key types.NamespacedName, o Options) (Result, error) {
	c := newCount(s.in(key.Namespace), o)
	problems := c.problems
	if c.budgetNames.Ambiguous(key) {
		problems.Add(snapshot.DuplicateError(budgetKind, key))
	}
	t, found := c.only(key)
	if !found {
		return Result{}, problems.Err()
	}
	d := t.decide(c.workloads, s.Now, o)
	for _, p := range d.problems {
		problems.Add(p)
	}
	return d.result(), problems.Err()
}

// PlanAll computes the status of all budgets. It returns the outcomes of those that have
// something to say, sorted by namespace and name; each has the Result that Plan has for that
// key. What is wrong with objects that no budget's status rests on is in the outcome of the
// zero key.
//
// It costs about one pass over the pods and one over the budgets.
func PlanAll(s Snapshot, o Options) []Outcome {
	c := newCount(s, o)
	c.all()
	var outcomes []Outcome
	reported := map[place]bool{}
	for i := range c.tallies {
		t := &c.tallies[i]
		d := t.decide(c.workloads, s.Now, o)
		var problems snapshot.Problems
		for _, p := range d.problems {
			problems.Add(p)
			reported[placeOf(p)] = true
		}
		outcomes = appendOutcome(outcomes, snapshot.KeyOf(t.budget), d.result(), problems)
	}
	outcomes = appendDuplicates(outcomes, c.budgetNames.Duplicates())

	problems := c.problems
	for _, p := range slices.Concat(c.workloads.duplicates(), c.podNames.Duplicates()) {
		if !reported[placeOf(p)] {
			problems.Add(p)
		}
	}
	outcomes = appendOutcome(outcomes, types.NamespacedName{}, Result{}, problems)
	sortOutcomes(outcomes)
	return outcomes
}

// appendOutcome appends what has something to say.
func appendOutcome(outcomes []Outcome, key types.NamespacedName, r Result, problems snapshot.Problems) []Outcome {
	err := problems.Err()
	if r.Empty() && err == nil {
		return outcomes
	}
	return append(outcomes, Outcome{Key: key, Result: r, Err: err})
}

// appendDuplicates appends an outcome for each key that cannot be planned, since two objects have it.
func appendDuplicates(outcomes []Outcome, duplicates []*purekube.ObjectError) []Outcome {
	for _, p := range duplicates {
		var problems snapshot.Problems
		problems.Add(p)
		outcomes = appendOutcome(outcomes, types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, Result{}, problems)
	}
	return outcomes
}

func sortOutcomes(outcomes []Outcome) {
	slices.SortFunc(outcomes, func(a, b Outcome) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
}

// place is what a problem is about.
type place struct{ kind, namespace, name string }

func placeOf(p *purekube.ObjectError) place { return place{p.Kind, p.Namespace, p.Name} }
