package disruption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// How an Index is built and asked.
//
//	snapshot ──NewIndex──▶ Index ──Plan, Explain, CheckEviction──▶ results
//	                        │ ▲
//	            With, Without │ the next Index, and the keys whose plans may differ (indexchange.go)
//
// An Index has four layers, each derived from the layer before: the objects by name (budgets, pods, workloads); the
// pods by term and the budgets by label, to find one from the other; a budgetState for each budget, with its counts;
// and a few lists of budgets and pods whose plans the time changes. Plans only read. What an Index computes at the
// first question that needs it (the table of podTerms, a wantedScale) is the same whoever computes it.

// Index is a [Snapshot] arranged for many questions. An Index never changes: With and Without return another Index,
// which shares the unchanged parts with the first. Any number of goroutines may use an Index, and derive others from
// it, at the same time.
//
// For n pods and budgets, With and Without cost O(log n) for each object and for each affected budget. A budget that is
// new, or has another selector, costs the pods with the rarest label that its selector requires. Plan costs the entries
// of the budget's status. At the first plan, and at the first after a change of any workload or answer, it also costs
// the controllers of the budget's pods; so does each plan after a change of its pods while one of these controllers is
// unknown, and with MatchUpstream. Explain costs the pods. About one change in n/2 costs n, when the Index is rebuilt.
// Indexes that are derived from one share that cost. Until then at most n/2 replaced or removed objects stay in memory.
//
// Memory grows with each pair of a budget and a controller that its pods name, and a user of one namespace chooses how
// many there are of both. A pair needs 210 bytes, and 320 bytes after the first plan: 300 budgets over 1,000
// controllers are 97 MB (BenchmarkMemoryOfControllers). Selecting the same pods with many budgets has no use, since the
// eviction API refuses a pod that two budgets select: a ResourceQuota for count/poddisruptionbudgets.policy is a limit.
type Index struct {
	now     time.Time
	options Options

	budgets *persistent.Objects[policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudget]
	pods    *persistent.Objects[corev1.Pod, *corev1.Pod]
	terms   podTerms

	workloads *workloads

	// states are the budgets whose name no other budget has. Each has an entry, also a budget whose selector is broken
	// or empty.
	states *persistent.Objects[budgetState, *budgetState]
	// byLabel finds the budgets that select a pod. It may also return budgets that no longer exist: removing a budget
	// from the tree that the first pass made would cost a pass. coveredBy drops them.
	byLabel *byLabel
	// entries are the budgets that have entries in status.disruptedPods, and targets are the pods whose condition
	// DisruptionTarget is True. Time changes the plans of these only.
	entries, targets *nameSet

	// references are the budgets whose pods name a controller. Only With and Without read them.
	references *persistent.Map[controllerName, *budgetsNaming]
}

// nameSet is a sorted set of names.
type nameSet = persistent.Map[types.NamespacedName, struct{}]

// NewIndex arranges the snapshot, in about one pass over it. The Index keeps pointers to the objects, so do not write
// to them. It keeps none of the slices and maps. It never fails: [Index.Err] has the problems of the objects, and an
// unknown option is the error of each question.
//
// It walks the budgets first and then the pods, once each. For each pod it asks byLabel for candidates instead of
// trying all budgets: 5,000 budgets over 100,000 pods would otherwise be half a billion comparisons.
func NewIndex(s Snapshot, o Options) *Index {
	x := &Index{
		now: s.Now, options: o, workloads: newWorkloads(s, o),
		budgets: persistent.NewObjects(budgetKind, s.Budgets), pods: persistent.NewObjects(podKind, s.Pods),
	}
	x.terms = newPodTerms(x.pods)
	var states []*budgetState
	none := persistent.NewMap[types.NamespacedName, struct{}](persistent.CompareNames)
	entries, targets := none.Edit(), none.Edit()
	var filed []*filedBudget
	counters := map[*filedBudget]*podCounter{}
	for b := range x.budgets.All() {
		st := newBudgetState(b)
		states = append(states, st)
		if st.filed != nil {
			filed, counters[st.filed] = append(filed, st.filed), newPodCounter()
		}
		if len(b.Status.DisruptedPods) > 0 {
			entries.Set(snapshot.KeyOf(b), struct{}{})
		}
	}
	x.byLabel = persistent.NewSelectors(filed)
	var candidates []*filedBudget
	for pod := range x.pods.All() {
		if hasDisruptionTarget(pod) {
			targets.Set(snapshot.KeyOf(pod), struct{}{})
		}
		// Labels are found by hashes, and a tree leaf has several budgets, so each candidate's selector has the last
		// word.
		candidates = x.byLabel.Append(candidates[:0], pod.Namespace, pod.Labels)
		for _, f := range candidates {
			if f.Value.Matches(labels.Set(pod.Labels)) {
				counters[f].add(pod)
			}
		}
	}
	references := persistent.NewMap[controllerName, *budgetsNaming](compareControllerNames).Edit()
	for _, st := range states {
		if counter := counters[st.filed]; counter != nil {
			st.podSums, st.refs = counter.podSums, counter.references()
		}
		for ref := range st.refs.namings.All() {
			refer(references, st.PodDisruptionBudget, ref, 1)
		}
	}
	x.states = persistent.NewObjects(budgetKind, states)
	x.entries, x.targets, x.references = entries.Map(), targets.Map(), references.Map()
	return x
}

// Err returns the problems of the objects as a whole: nil pointers, objects without a name, and names that several
// objects of a kind have.
func (x *Index) Err() error {
	if err := x.options.err(); err != nil {
		return err
	}
	problems := x.problems()
	problems.Add(slices.Concat(x.budgets.Duplicates(), x.pods.Duplicates(), x.workloads.duplicates())...)
	return problems.Err()
}

// problems are the nil pointers and objects without a name. They belong to no key, so every plan returns them: a caller
// that plans single keys would otherwise never see them.
func (x *Index) problems() snapshot.Problems {
	var problems snapshot.Problems
	x.budgets.AddTo(&problems)
	x.pods.AddTo(&problems)
	x.workloads.addTo(&problems)
	return problems
}

// podsOf returns the pods that a budget selects, without pods whose name several pods have.
func (x *Index) podsOf(st *budgetState) []*corev1.Pod { return x.terms.selected(st) }
