package disruption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// Index is a [Snapshot] arranged for many questions. It never changes: With and Without return
// another one, which shares with it what is the same in both. Any number of goroutines may use one,
// and derive others from it, at the same time.
//
// Every method answers what the function of that name answers for the same objects.
//
// For n pods and budgets, NewIndex costs about one pass over the snapshot. With and Without cost O(log n) for
// each object and for each budget that it concerns; a budget that is new or has another selector, the pods that
// have the rarest label which it demands.
// A plan costs the controllers of the budget's pods and the entries of its status, an explanation
// its pods. One change in about n/2 costs n, when what was changed since is arranged anew. Until then objects that
// were replaced or taken away stay in memory, at most n/2 of them.
type Index struct {
	time time.Time
	o    Options

	budgets   objects[policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudget]
	pods      objects[corev1.Pod, *corev1.Pod]
	workloads *workloads

	// states are those of the budgets whose name no other one has.
	states *persistent.Objects[budgetState, *budgetState]
	// byLabel finds the budgets that cover a pod, and perhaps some that are gone.
	byLabel *byLabel
	// broken are the budgets whose selector does not compile.
	broken *persistent.Map[types.NamespacedName, struct{}]
	// entries are the budgets that have entries in status.disruptedPods, and targets the pods whose
	// condition DisruptionTarget is True: the time matters to these only.
	entries, targets *persistent.Map[types.NamespacedName, struct{}]

	// terms, and what follows, are only there in an index that NewIndex made.
	terms *podTerms
	// references are the budgets whose pods name a controller.
	references *persistent.Map[budgetReference, struct{}]
	// replicaSets are those that a Deployment controls.
	replicaSets *persistent.Map[deploymentReplicaSet, struct{}]
}

// NewIndex arranges the snapshot.
func NewIndex(s Snapshot, o Options) *Index {
	x := arrange(s, o, everyBudget)
	x.arrangeTerms()
	x.arrangeReferences()
	return x
}

// counting says for which budgets an index counts the pods.
type counting func(types.NamespacedName) bool

func everyBudget(types.NamespacedName) bool { return true }

func noBudget(types.NamespacedName) bool { return false }

func oneBudget(budget types.NamespacedName) counting {
	return func(b types.NamespacedName) bool { return b == budget }
}

// arrange makes an index that answers questions about the budgets whose pods it counts, and cannot
// be changed.
func arrange(s Snapshot, o Options, counts counting) *Index {
	x := &Index{time: s.Now, o: o, workloads: newWorkloads(s, o)}
	var budgets []*policyv1.PodDisruptionBudget
	var pods []*corev1.Pod
	x.budgets, budgets = newObjects(budgetKind, s.Budgets)
	x.pods, pods = newObjects(podKind, s.Pods)
	compile := newCompiler()
	states := make([]*budgetState, 0, len(budgets))
	// countedOnes are those whose pods are counted.
	countedOnes := make([]*filedBudget, 0, len(budgets))
	sums := make([]podSummer, 0, len(budgets))
	counted := 0
	for _, b := range budgets {
		key := snapshot.KeyOf(b)
		if x.budgets.ambiguous(key) {
			continue
		}
		m, broken := compile.matcher(b)
		st := &budgetState{Object: b, matcher: m, broken: broken, filed: m.file(len(states))}
		states = append(states, st)
		if counts(key) {
			counted++
			countedOnes = append(countedOnes, st.filed)
		}
	}
	sums = sums[:len(states)]

	targets := newNameSet().Edit()
	x.byLabel = newByLabel(countedOnes)
	doubled := x.pods.double.Len() > 0
	var candidates []*filedBudget
	for _, pod := range pods {
		if hasDisruptionTarget(pod) && !(doubled && x.pods.ambiguous(snapshot.KeyOf(pod))) {
			targets.Set(snapshot.KeyOf(pod), struct{}{})
		}
		if counted == 0 {
			continue
		}
		candidates = x.byLabel.Append(candidates[:0], pod.Namespace, pod.Labels)
		if len(candidates) == 0 || doubled && x.pods.ambiguous(snapshot.KeyOf(pod)) {
			continue
		}
		for _, f := range candidates {
			if f.Value.covers(pod) {
				sums[f.Value.at].add(pod)
			}
		}
	}
	x.targets = targets.Map()
	if counted < len(states) {
		x.byLabel = fileAll(states)
	}

	broken, entries := newNameSet().Edit(), newNameSet().Edit()
	for i, st := range states {
		key := snapshot.KeyOf(st.budget)
		st.podSums, st.refs = sums[i].podSums, newReferences(sums[i].refs.list)
		if st.broken != nil {
			broken.Set(key, struct{}{})
		}
		if len(st.budget.Status.DisruptedPods) > 0 {
			entries.Set(key, struct{}{})
		}
	}
	x.states, x.broken, x.entries = persistent.NewObjects(budgetKind, states), broken.Map(), entries.Map()
	return x
}

// fileAll makes the selectors of all budgets findable.
func fileAll(states []*budgetState) *byLabel {
	all := make([]*filedBudget, len(states))
	for i, st := range states {
		st.filed = st.file(i)
		all[i] = st.filed
	}
	return newByLabel(all)
}

func newNameSet() *persistent.Map[types.NamespacedName, struct{}] {
	return persistent.NewMap[types.NamespacedName, struct{}](persistent.CompareNames)
}

// arrangeTerms makes pods findable by what they have.
func (x *Index) arrangeTerms() {
	var pods []*corev1.Pod
	for pod := range x.pods.unique.All() {
		pods = append(pods, pod)
	}
	x.terms = newPodTerms(pods)
}

// arrangeReferences makes budgets findable by the controllers of their pods.
func (x *Index) arrangeReferences() {
	references := persistent.NewMap[budgetReference, struct{}](compareBudgetReferences).Edit()
	for st := range x.states.All() {
		for _, r := range st.refs.list() {
			references.Set(referenceOf(st.budget, r.ref), struct{}{})
		}
	}
	x.references = references.Map()
	x.replicaSets = x.workloads.byDeployment()
}

// Err is what is wrong with the objects as a whole: nil pointers, objects without a name, and names that
// more than one object of a kind has.
func (x *Index) Err() error {
	if err := x.o.err(); err != nil {
		return err
	}
	problems := x.problems()
	for _, e := range slices.Concat(x.budgets.duplicates(), x.pods.duplicates(), x.workloads.duplicates()) {
		problems.Add(e)
	}
	return problems.Err()
}

// problems are the nil pointers and objects without a name.
func (x *Index) problems() snapshot.Problems {
	var problems snapshot.Problems
	x.budgets.addTo(&problems)
	x.pods.addTo(&problems)
	x.workloads.addTo(&problems)
	return problems
}

// Plan is the method of [Plan].
func (x *Index) Plan(key Key) (Result, error) {
	if err := x.o.err(); err != nil {
		return Result{}, err
	}
	problems := x.problems()
	switch key.Kind {
	case BudgetKey:
		if x.budgets.ambiguous(key.object()) {
			problems.Add(snapshot.DuplicateError(budgetKind, key.object()))
		}
		st := x.states.Find(key.object())
		if st == nil {
			return Result{}, problems.Err()
		}
		d := x.decide(st)
		for _, e := range d.problems {
			problems.Add(e)
		}
		return d.result(), problems.Err()
	case PodKey:
		pod, problem := x.pods.find(key.object())
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

// PlanAll is the method of [PlanAll].
func (x *Index) PlanAll() ([]Outcome, error) {
	if err := x.o.err(); err != nil {
		return nil, err
	}
	var outcomes []Outcome
	reported := map[place]bool{}
	for st := range x.states.All() {
		d := x.decide(st)
		var problems snapshot.Problems
		for _, e := range d.problems {
			problems.Add(e)
			reported[placeOf(e)] = true
		}
		outcomes = appendOutcome(outcomes, KeyOf(st.budget), d.result(), problems)
	}
	for _, pod := range x.podsWithPlans() {
		outcomes = appendOutcome(outcomes, KeyOf(pod), x.planPod(pod), snapshot.Problems{})
	}
	outcomes = appendDuplicates(outcomes, BudgetKey, x.budgets.duplicates())
	outcomes = appendDuplicates(outcomes, PodKey, x.pods.duplicates())
	slices.SortFunc(outcomes, func(a, b Outcome) int { return compareKeys(a.Key, b.Key) })
	return outcomes, x.wholeSnapshot(reported)
}

// podsWithPlans are the pods whose plan may not be empty.
func (x *Index) podsWithPlans() []*corev1.Pod {
	var pods []*corev1.Pod
	if x.o.matchUpstream() {
		// The event MultiplePodDisruptionBudgets can be about any.
		for pod := range x.pods.unique.All() {
			pods = append(pods, pod)
		}
		return pods
	}
	for key := range x.targets.All() {
		pods = append(pods, x.pods.unique.Find(key))
	}
	return pods
}

// wholeSnapshot is what is wrong with the objects and with no key in particular. reported are the
// objects that the errors of keys name.
func (x *Index) wholeSnapshot(reported map[place]bool) error {
	problems := x.problems()
	for _, e := range x.workloads.duplicates() {
		if !reported[placeOf(e)] {
			problems.Add(e)
		}
	}
	return problems.Err()
}

// decide computes the status of a budget.
func (x *Index) decide(st *budgetState) decision {
	d := x.count(st).decide(x.workloads, x.time, x.o)
	if !x.o.matchUpstream() {
		for i := range d.events {
			d.events[i].Message = message.Event(d.events[i].Message)
		}
	}
	return d
}

// podsOf are the pods that a budget covers, those whose name another one has left out.
func (x *Index) podsOf(st *budgetState) []*corev1.Pod {
	if st.selector == nil {
		return nil
	}
	if x.terms == nil {
		var pods []*corev1.Pod
		for pod := range x.pods.unique.All() {
			if st.covers(pod) {
				pods = append(pods, pod)
			}
		}
		return pods
	}
	added := lazily(x.terms.added)
	return podsCovered(x.terms, &added, x.pods.unique.Find, st.matcher)
}

// podsCovered finds the pods that a budget covers by the rarest label that it demands.
func podsCovered(terms *podTerms, added *lazyEdit[addedTerm, struct{}], find func(types.NamespacedName) *corev1.Pod, m matcher) []*corev1.Pod {
	if m.selector == nil || m.budget.Spec.Selector == nil {
		return nil
	}
	best := []uint64{terms.namespace(m.budget.Namespace)}
	cost := terms.baseCount(best[0])
	for _, d := range demandsOf(m.budget) {
		var candidates []uint64
		sum := int32(0)
		for _, v := range d.Values {
			term := terms.label(m.budget.Namespace, d.Key, v)
			candidates = append(candidates, term)
			sum += terms.baseCount(term)
		}
		// Of terms that no pod had, any label is better than the whole namespace.
		if len(candidates) > 0 && sum <= cost {
			best, cost = candidates, sum
		}
	}
	var pods []*corev1.Pod
	for _, term := range best {
		pods = append(pods, terms.withTerm(term, find, added, m.covers)...)
	}
	if len(best) > 1 && added.any() {
		// A pod whose label changed from one of the values to another is found by both.
		sortPods(pods)
		pods = slices.Compact(pods)
	}
	return pods
}

// pod returns the only pod of that name, or nil.
func (x *Index) pod(name types.NamespacedName) *corev1.Pod {
	if x.pods.ambiguous(name) {
		return nil
	}
	return x.pods.unique.Find(name)
}

// podsOnNode returns the pods with that spec.nodeName, sorted by namespace and name. Those whose name another pod
// has are not among them.
func (x *Index) podsOnNode(node string) []*corev1.Pod {
	added := lazily(x.terms.added)
	pods := x.terms.withTerm(x.terms.node(node), x.pods.unique.Find, &added, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node })
	sortPods(pods)
	return pods
}

// podsOfController returns the pods of that namespace with an equal controller reference, sorted by name. Those
// whose name another pod has are not among them.
func (x *Index) podsOfController(namespace string, ref *metav1.OwnerReference) []*corev1.Pod {
	added := lazily(x.terms.added)
	pods := x.terms.withTerm(x.terms.controller(namespace, ref), x.pods.unique.Find, &added, func(pod *corev1.Pod) bool {
		return pod.Namespace == namespace && sameController(metav1.GetControllerOfNoCopy(pod), ref)
	})
	sortPods(pods)
	return pods
}
