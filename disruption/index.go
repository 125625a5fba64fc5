package disruption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
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
// first question that needs it (the table of podTerms, a scaleMemo) is the same whoever computes it.

// Index is a [Snapshot] arranged for many questions. An Index never changes: With and Without return another Index,
// which shares the unchanged parts with the first. Any number of goroutines may use an Index, and derive others from
// it, at the same time.
//
// For n pods and budgets, With and Without cost O(log n) for each object and for each affected budget. A budget that is
// new, or has another selector, costs the pods with the rarest label that its selector requires. Plan costs the entries
// of the budget's status. At the first plan, and at the first after a change of any workload or answer, it also costs
// the controllers of the budget's pods; so does each plan while one of these controllers is unknown, or while several of
// the budget's pods have one name. Explain costs the pods. About one change in n/2 costs n, when the Index is rebuilt.
// Until then at most n/2 replaced or removed objects stay in memory.
//
// Memory grows with each pair of a budget and a controller that its pods name, and a user of one namespace chooses how
// many there are of both. A pair needs 210 bytes, and 320 bytes after the first plan: 300 budgets over 1,000 controllers are
// 97 MB (BenchmarkMemoryOfControllers). Selecting the same pods with many budgets has no use, since the eviction API
// refuses a pod that two budgets select: a ResourceQuota for count/poddisruptionbudgets.policy is a limit.
type Index struct {
	time time.Time
	o    Options

	budgets *persistent.Objects[policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudget]
	pods    *persistent.Objects[corev1.Pod, *corev1.Pod]
	terms   podTerms
	// duplicates are the names that several pods have, by node.
	duplicates *duplicates
	workloads  *workloads

	// states are the budgets whose name no other budget has. Each has an entry, also a budget whose selector is broken
	// or empty.
	states *persistent.Objects[budgetState, *budgetState]
	// byLabel finds the budgets that select a pod. It may also return budgets that no longer exist: removing a budget
	// from the tree that the first pass made would cost a pass. coveredBy drops them.
	byLabel *byLabel
	// broken are the budgets whose selector does not compile.
	broken *nameSet
	// entries are the budgets that have entries in status.disruptedPods, and targets are the pods whose condition
	// DisruptionTarget is True. Time changes the plans of these only.
	entries, targets *nameSet

	// references are the budgets whose pods name a controller, and replicaSets are the ReplicaSets that a Deployment
	// controls. Only With and Without read them.
	references  *persistent.Map[controllerName, *budgetsNaming]
	replicaSets *persistent.Map[deploymentReplicaSet, struct{}]
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
		time: s.Now, o: o, workloads: newWorkloads(s, o),
		budgets: persistent.NewObjects(budgetKind, s.Budgets), pods: persistent.NewObjects(podKind, s.Pods),
	}
	x.terms, x.duplicates = newPodTerms(x.pods), newDuplicates(x.pods)
	compile := newCompiler()
	var states []*budgetState
	none := persistent.NewMap[types.NamespacedName, struct{}](persistent.CompareNames)
	broken, entries, targets := none.Edit(), none.Edit(), none.Edit()
	// A budget whose name another budget has is not among these: nobody knows which of the two the API server would
	// use. Plan returns an error for the name, and CheckEviction refuses the eviction of a pod that one of the two
	// selects.
	for b := range x.budgets.All() {
		st := &budgetState{Object: b}
		st.matcher, st.broken = compile.matcher(b)
		states = append(states, st)
		if st.broken != nil {
			broken.Set(snapshot.KeyOf(b), struct{}{})
		}
		if len(b.Status.DisruptedPods) > 0 {
			entries.Set(snapshot.KeyOf(b), struct{}{})
		}
	}
	x.byLabel = fileAll(states)
	sums := make(map[*filedBudget]*podSummer, len(states))
	for _, st := range states {
		sums[st.filed] = &podSummer{}
	}
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
				sums[f].add(pod)
			}
		}
	}
	references := persistent.NewMap[controllerName, *budgetsNaming](compareControllerNames).Edit()
	for _, st := range states {
		if st.filed == nil {
			continue
		}
		sum := sums[st.filed]
		st.podSums, st.refs = sum.podSums, newReferences(sum.refs.list)
		for _, r := range sum.refs.list {
			refer(references, st.budget, r.ref, 1)
		}
	}
	x.states = persistent.NewObjects(budgetKind, states)
	x.broken, x.entries, x.targets = broken.Map(), entries.Map(), targets.Map()
	x.references, x.replicaSets = references.Map(), x.workloads.byDeployment()
	return x
}

// fileAll makes the selectors of all budgets findable. It writes to the states, which must be new: an Index shares its
// states with other Indexes.
func fileAll(states []*budgetState) *byLabel {
	var all []*filedBudget
	for _, st := range states {
		if st.filed = st.file(); st.filed != nil {
			all = append(all, st.filed)
		}
	}
	return persistent.NewSelectors(all)
}

// Err returns the problems of the objects as a whole: nil pointers, objects without a name, and names that several
// objects of a kind have.
func (x *Index) Err() error {
	if err := x.o.err(); err != nil {
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

// Plan is the function [Plan] for the objects of the Index.
func (x *Index) Plan(key purekube.Key) (Result, error) {
	if err := x.o.err(); err != nil {
		return Result{}, err
	}
	problems := x.problems()
	// A kind that is neither a budget nor a pod has no plan and no error: event handlers may pass on each key that they
	// see.
	switch key.Kind {
	case budgetKind:
		// No status is written for a name that several budgets have. The write would be an update of one of them, with
		// a number that may belong to the other.
		if x.budgets.Ambiguous(key.NamespacedName()) {
			problems.Add(snapshot.DuplicateError(budgetKind, key.NamespacedName()))
		}
		st := x.states.Find(key.NamespacedName())
		if st == nil {
			return Result{}, problems.Err()
		}
		d := x.decide(st)
		problems.Add(d.problems...)
		return d.result(), problems.Err()
	case podKind:
		pod, problem := x.pods.Lookup(key.NamespacedName())
		if problem != nil {
			problems.Add(problem)
		}
		if pod == nil {
			return Result{}, problems.Err()
		}
		return x.planPod(pod), problems.Err()
	}
	return Result{}, nil
}

// PlanAll is the function [PlanAll] for the objects of the Index.
func (x *Index) PlanAll() ([]Outcome, error) {
	if err := x.o.err(); err != nil {
		return nil, err
	}
	var outcomes []Outcome
	// A duplicate workload that a budget depends on is in the budget's own error. reported keeps it out of the error of
	// the whole snapshot, so that each problem is named once.
	reported := map[purekube.Key]bool{}
	for st := range x.states.All() {
		d := x.decide(st)
		var problems snapshot.Problems
		for _, e := range d.problems {
			problems.Add(e)
			reported[keyOfProblem(e)] = true
		}
		outcomes = appendOutcome(outcomes, KeyOf(st.budget), d.result(), problems)
	}
	for _, pod := range x.podsWithPlans() {
		outcomes = appendOutcome(outcomes, KeyOf(pod), x.planPod(pod), snapshot.Problems{})
	}
	outcomes = appendDuplicates(outcomes, x.budgets.Duplicates())
	outcomes = appendDuplicates(outcomes, x.pods.Duplicates())
	snapshot.SortByKey(outcomes)
	return outcomes, x.wholeSnapshot(reported)
}

// podsWithPlans are the pods whose plan may not be empty, in no particular order. Most clusters have few pods with the
// condition DisruptionTarget at one time, so PlanAll needs no pass over the pods for them.
func (x *Index) podsWithPlans() []*corev1.Pod {
	var pods []*corev1.Pod
	if x.o.matchUpstream() {
		// Any pod can have the event MultiplePodDisruptionBudgets.
		for pod := range x.pods.All() {
			pods = append(pods, pod)
		}
		return pods
	}
	// targets has only names that one pod has, so Find returns a pod.
	for key := range x.targets.All() {
		pods = append(pods, x.pods.Find(key))
	}
	return pods
}

// wholeSnapshot returns the problems that belong to no key. reported are the objects that the errors of keys name.
// Duplicate budgets and pods are outcomes of their own keys; a duplicate workload has no key in this package.
func (x *Index) wholeSnapshot(reported map[purekube.Key]bool) error {
	problems := x.problems()
	for _, e := range x.workloads.duplicates() {
		if !reported[keyOfProblem(e)] {
			problems.Add(e)
		}
	}
	return problems.Err()
}

// decide computes the status of a budget. It truncates events to the limit of events.k8s.io/v1: the selector in the
// event UnmanagedPods is as long as a user makes it, and the API server rejects a longer note.
func (x *Index) decide(st *budgetState) decision {
	d := x.count(st).decide(x.workloads, x.time, x.o)
	if !x.o.matchUpstream() {
		for i := range d.events {
			d.events[i].Message = message.Event(d.events[i].Message)
		}
	}
	return d
}

// podsOf returns the pods that a budget selects, without pods whose name several pods have.
func (x *Index) podsOf(st *budgetState) []*corev1.Pod { return x.terms.selected(st.matcher) }
