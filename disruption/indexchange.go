package disruption

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// With returns the index with these objects added, or put in the place of those of the same name, and
// the affected keys, sorted, each once. Answers in changed.Scales are put there as well; a Now that is not
// zero is the new time.
//
// With and Without name every key whose [Outcome] in PlanAll may differ: its Result, or the text of its Err.
// Nil objects and objects without a name belong to no key. They are in Err, in the error of PlanAll and in
// that of every Plan, and name no key unless they change an outcome. Nothing takes them out of an Index again.
//
// Here they change outcomes: as long as there is a nil pod or a pod without a name, budgets that depend on
// scales allow no disruption (see [Snapshot].Pods), so those budgets are named. The time that a plan writes
// into a condition is no difference.
func (x *Index) With(changed Snapshot) (next *Index, affected []Key) {
	e := x.edit()
	var budgets []change[*policyv1.PodDisruptionBudget]
	var pods []change[*corev1.Pod]
	var l workloadChanges
	e.next.budgets, budgets = x.budgets.with(changed.Budgets)
	e.next.pods, pods = x.pods.with(changed.Pods)
	e.next.workloads, l = x.workloads.with(changed)
	if !changed.Now.IsZero() {
		e.next.time = changed.Now
	}
	return e.finish(budgets, pods, l)
}

// Without returns the index without the objects of these names and without the answers under these keys of
// Scales, and the affected keys, as With does. What is not there changes nothing.
func (x *Index) Without(gone Snapshot) (next *Index, affected []Key) {
	e := x.edit()
	var budgets []change[*policyv1.PodDisruptionBudget]
	var pods []change[*corev1.Pod]
	var l workloadChanges
	e.next.budgets, budgets = x.budgets.without(gone.Budgets)
	e.next.pods, pods = x.pods.without(gone.Pods)
	e.next.workloads, l = x.workloads.without(gone)
	return e.finish(budgets, pods, l)
}

// with are the workloads with the changed ones and answers. They are the same if there are none, so that what is
// remembered by them still counts.
func (w *workloads) with(changed Snapshot) (*workloads, workloadChanges) {
	var l workloadChanges
	if !changed.hasWorkloads() {
		return w, l
	}
	next := *w
	next.replicationControllers, l.replicationControllers = w.replicationControllers.with(changed.ReplicationControllers)
	next.replicaSets, l.replicaSets = w.replicaSets.with(changed.ReplicaSets)
	next.deployments, l.deployments = w.deployments.with(changed.Deployments)
	next.statefulSets, l.statefulSets = w.statefulSets.with(changed.StatefulSets)
	if len(changed.Scales) > 0 {
		scales := w.scales.Edit()
		for key, scale := range changed.Scales {
			before, known := w.scales.Get(key)
			l.scales = append(l.scales, scaleChange{key, before, scale, !known || before != scale})
			scales.Set(key, scale)
		}
		next.scales = scales.Map()
		next.scaleless, l.scalelessKinds = w.changeScaleless(l.scales)
	}
	return &next, l
}

// without are the workloads without these and without these answers.
func (w *workloads) without(gone Snapshot) (*workloads, workloadChanges) {
	var l workloadChanges
	if !gone.hasWorkloads() {
		return w, l
	}
	next := *w
	next.replicationControllers, l.replicationControllers = w.replicationControllers.without(gone.ReplicationControllers)
	next.replicaSets, l.replicaSets = w.replicaSets.without(gone.ReplicaSets)
	next.deployments, l.deployments = w.deployments.without(gone.Deployments)
	next.statefulSets, l.statefulSets = w.statefulSets.without(gone.StatefulSets)
	if len(gone.Scales) > 0 {
		scales := w.scales.Edit()
		for key := range gone.Scales {
			if before, known := w.scales.Get(key); known {
				l.scales = append(l.scales, scaleChange{key, before, Scale{}, true})
				scales.Delete(key)
			}
		}
		next.scales = scales.Map()
		next.scaleless, l.scalelessKinds = w.changeScaleless(l.scales)
	}
	return &next, l
}

// hasWorkloads reports whether the snapshot has workloads or answers about them.
func (s Snapshot) hasWorkloads() bool {
	return len(s.ReplicationControllers)+len(s.ReplicaSets)+len(s.Deployments)+len(s.StatefulSets)+len(s.Scales) > 0
}

type workloadChanges struct {
	replicationControllers []change[*corev1.ReplicationController]
	replicaSets            []change[*appsv1.ReplicaSet]
	deployments            []change[*appsv1.Deployment]
	statefulSets           []change[*appsv1.StatefulSet]
	scales                 []scaleChange
	// scalelessKinds are the kinds of which the answers say something else now.
	scalelessKinds []schema.GroupKind
}

type scaleChange struct {
	key           ScaleKey
	before, after Scale
	counts        bool
}

// indexEdit is an index in the making. It belongs to one goroutine.
type indexEdit struct {
	from, next  *Index
	states      *persistent.ObjectsEdit[budgetState, *budgetState] // nil until the first change
	byLabel     *persistent.SelectorsEdit[filedSelector]           // nil until the first change
	broken      lazyEdit[types.NamespacedName, struct{}]
	entries     lazyEdit[types.NamespacedName, struct{}]
	targets     lazyEdit[types.NamespacedName, struct{}]
	added       lazyEdit[addedTerm, struct{}]
	references  lazyEdit[budgetReference, struct{}]
	replicaSets lazyEdit[deploymentReplicaSet, struct{}]
	compile     *compiler
	affected    []Key
}

func (x *Index) edit() *indexEdit {
	next := *x
	return &indexEdit{
		from: x, next: &next, broken: lazily(x.broken),
		entries: lazily(x.entries), targets: lazily(x.targets), added: lazily(x.terms.added),
		references: lazily(x.references), replicaSets: lazily(x.replicaSets),
	}
}

func (e *indexEdit) finish(budgets []change[*policyv1.PodDisruptionBudget], pods []change[*corev1.Pod], l workloadChanges) (*Index, []Key) {
	for _, c := range budgets {
		e.budget(c)
	}
	for _, c := range pods {
		e.pod(c)
	}
	for _, c := range l.replicaSets {
		e.replicaSet(c)
	}
	for _, c := range l.scales {
		e.answer(c)
	}
	for _, c := range l.replicationControllers {
		e.workload(len(c.before), len(c.after), replicationControllerChange(either(c)))
	}
	for _, c := range l.replicaSets {
		e.workload(len(c.before), len(c.after), replicaSetChange(either(c)))
	}
	for _, c := range l.deployments {
		e.workload(len(c.before), len(c.after), deploymentChange(either(c)))
	}
	for _, c := range l.statefulSets {
		e.workload(len(c.before), len(c.after), statefulSetChange(either(c)))
	}
	for _, c := range l.scales {
		if c.counts {
			e.affect(e.budgetsOfControllers(c.key.Namespace, scaleSources(c.key))...)
		}
	}
	for _, kind := range l.scalelessKinds {
		e.affect(e.budgetsOfKind(kind)...)
	}
	x := e.next
	if e.states != nil {
		x.states = e.states.Objects()
	}
	if e.byLabel != nil {
		x.byLabel = e.byLabel.Selectors()
	}
	x.broken = e.broken.result()
	x.entries, x.targets = e.entries.result(), e.targets.result()
	x.references, x.replicaSets = e.references.result(), e.replicaSets.result()
	if e.added.edit != nil {
		terms := *x.terms
		terms.added = e.added.result()
		x.terms = &terms
	}
	if x.pods.hasNil != e.from.pods.hasNil || len(x.pods.nameless) != len(e.from.pods.nameless) {
		e.podsUnnamed()
	}
	x.arrangeAnew(e.from)
	if !x.time.Equal(e.from.time) {
		e.time()
	}
	return x, sortedKeys(e.affected)
}

// podsUnnamed affects the budgets whose status says that there are pods which cannot be named, where it now
// says so for the first time or in other words: a nil pod comes before one without a name.
func (e *indexEdit) podsUnnamed() {
	for st := range e.next.states.All() {
		before, after := e.from.pods.unnamed(st.budget.Namespace), e.next.pods.unnamed(st.budget.Namespace)
		if after != nil && (before == nil || before.Error() != after.Error()) && e.next.o.needsAllNames(&st.budget.Spec) {
			e.affect(KeyOf(st.budget))
		}
	}
}

func (e *indexEdit) affect(keys ...Key) { e.affected = append(e.affected, keys...) }

// either is one of the objects before and one of those after.
func either[P any](c change[P]) (before, after P) {
	if len(c.before) > 0 {
		before = c.before[0]
	}
	if len(c.after) > 0 {
		after = c.after[0]
	}
	return before, after
}

// state is that of the only budget of the name, as the changes so far leave it, or nil.
func (e *indexEdit) state(name types.NamespacedName) *budgetState {
	if e.states != nil {
		return e.states.Find(name)
	}
	return e.from.states.Find(name)
}

func (e *indexEdit) put(st *budgetState) { e.changeStates().Put(st) }

func (e *indexEdit) changeStates() *persistent.ObjectsEdit[budgetState, *budgetState] {
	if e.states == nil {
		e.states = e.from.states.Edit()
	}
	return e.states
}

// coveredBy are the budgets that cover a pod, as the changes so far leave them.
func (e *indexEdit) coveredBy(pod *corev1.Pod) []*budgetState {
	var scratch [8]*filedBudget
	candidates := scratch[:0]
	if e.byLabel != nil {
		candidates = e.byLabel.Append(candidates, pod.Namespace, pod.Labels)
	} else {
		candidates = e.next.byLabel.Append(candidates, pod.Namespace, pod.Labels)
	}
	return coveredBy(candidates, e.state, pod)
}

// budget takes in what became of a budget's name. The pods are still those of before.
func (e *indexEdit) budget(c change[*policyv1.PodDisruptionBudget]) {
	before, after := only(c.before), only(c.after)
	for _, b := range slices.Concat(c.before, c.after) {
		e.affect(KeyOf(b))
	}
	name := snapshot.KeyOf(slices.Concat(c.after, c.before)[0])
	if before != nil && after != nil && sameSelector(before, after) {
		st := e.state(name)
		next := *st
		next.Object, next.budget = after, after
		if st.broken != nil {
			_, next.broken = e.compiler().matcher(after)
		}
		e.put(&next)
		e.noteEntries(name, after)
		return
	}
	var pods []*corev1.Pod
	if before != nil {
		st := e.state(name)
		if e.next.o.matchUpstream() {
			pods = e.podsCovered(st.matcher)
		}
		e.removeBudget(name, st)
	}
	if after != nil {
		pods = append(pods, e.addBudget(name, after)...)
	}
	if e.next.o.matchUpstream() {
		for _, pod := range pods {
			if len(e.coveredBy(pod)) > 0 {
				e.affect(KeyOf(pod))
			}
		}
	}
}

func (e *indexEdit) changeByLabel() *persistent.SelectorsEdit[filedSelector] {
	if e.byLabel == nil {
		e.byLabel = e.next.byLabel.Edit()
	}
	return e.byLabel
}

func (e *indexEdit) compiler() *compiler {
	if e.compile == nil {
		e.compile = newCompiler()
	}
	return e.compile
}

func (e *indexEdit) removeBudget(name types.NamespacedName, st *budgetState) {
	for _, r := range st.refs.list() {
		e.references.delete(referenceOf(st.budget, r.ref))
	}
	if st.filed != nil {
		e.changeByLabel().Delete(st.filed)
	}
	e.changeStates().Delete(name)
	e.broken.delete(name)
	e.entries.delete(name)
}

// addBudget adds a budget and counts its pods.
func (e *indexEdit) addBudget(name types.NamespacedName, b *policyv1.PodDisruptionBudget) []*corev1.Pod {
	m, broken := e.compiler().matcher(b)
	st := &budgetState{Object: b, matcher: m, broken: broken, filed: m.file(0)}
	pods := e.podsCovered(m)
	var sum podSummer
	for _, pod := range pods {
		sum.add(pod)
	}
	st.podSums, st.refs = sum.podSums, newReferences(sum.refs.list)
	for _, r := range sum.refs.list {
		e.references.set(referenceOf(b, r.ref), struct{}{})
	}
	if st.filed != nil {
		e.changeByLabel().Put(st.filed)
	}
	e.put(st)
	if broken != nil {
		e.broken.set(name, struct{}{})
	}
	e.noteEntries(name, b)
	return pods
}

func (e *indexEdit) noteEntries(name types.NamespacedName, b *policyv1.PodDisruptionBudget) {
	if len(b.Status.DisruptedPods) == 0 {
		e.entries.delete(name)
	} else if _, noted := e.entries.get(name); !noted {
		e.entries.set(name, struct{}{})
	}
}

// podsCovered are the pods that a budget covers, as they were before.
func (e *indexEdit) podsCovered(m matcher) []*corev1.Pod {
	return podsCovered(e.next.terms, &e.added, e.from.pods.unique.Find, m)
}

// pod takes in what became of a pod's name.
func (e *indexEdit) pod(c change[*corev1.Pod]) {
	e.affect(affectedByPod(e.next.o, c, e.coveredBy)...)
	before, after := only(c.before), only(c.after)
	if before != nil && after != nil && before.Spec.NodeName == after.Spec.NodeName && countsAlike(before, after) {
		e.noteTarget(snapshot.KeyOf(after), after)
		return
	}
	name := snapshot.KeyOf(slices.Concat(c.after, c.before)[0])
	e.changeTerms(name, before, after)
	e.noteTarget(name, after)
	if before != nil && after != nil && sameCoverage(before, after) {
		for _, st := range e.coveredBy(after) {
			e.count(st, before, after)
		}
		return
	}
	if before != nil {
		for _, st := range e.coveredBy(before) {
			e.count(st, before, nil)
		}
	}
	if after != nil {
		for _, st := range e.coveredBy(after) {
			e.count(st, nil, after)
		}
	}
}

// count takes one pod out of the counts of a budget and another one in.
func (e *indexEdit) count(st *budgetState, before, after *corev1.Pod) {
	next := *st
	var old, ref *metav1.OwnerReference
	if before != nil {
		var own podSums
		own, old = contribution(before)
		next.podSums = next.minus(own)
	}
	if after != nil {
		var own podSums
		own, ref = contribution(after)
		next.podSums = next.plus(own)
	}
	if !(old != nil && ref != nil && referenceKey(old) == referenceKey(ref)) {
		if old != nil {
			var last bool
			if next.refs, last = next.refs.without(referenceKey(old), before.Name); last {
				e.references.delete(referenceOf(st.budget, referenceKey(old)))
			}
		}
		if ref != nil {
			var first bool
			if next.refs, first = next.refs.with(referenceKey(ref), after.Name); first {
				e.references.set(referenceOf(st.budget, referenceKey(ref)), struct{}{})
			}
		}
	}
	e.put(&next)
}

func (e *indexEdit) changeTerms(name types.NamespacedName, before, after *corev1.Pod) {
	var had, has []uint64
	if before != nil {
		had = e.next.terms.of(nil, before)
	}
	if after != nil {
		has = e.next.terms.of(nil, after)
	}
	for _, term := range had {
		if !slices.Contains(has, term) && e.added.any() {
			e.added.delete(addedTerm{term, name})
		}
	}
	for _, term := range has {
		if !slices.Contains(had, term) {
			e.added.set(addedTerm{term, name}, struct{}{})
		}
	}
}

func (e *indexEdit) noteTarget(name types.NamespacedName, pod *corev1.Pod) {
	if pod == nil || !hasDisruptionTarget(pod) {
		if e.targets.any() {
			e.targets.delete(name)
		}
	} else if _, noted := e.targets.get(name); !noted {
		e.targets.set(name, struct{}{})
	}
}

// replicaSet notes under which Deployment it is found.
func (e *indexEdit) replicaSet(c change[*appsv1.ReplicaSet]) {
	e.placeReplicaSets(c.before, c.after, snapshotObject)
}

// answer notes it of one that was looked up.
func (e *indexEdit) answer(c scaleChange) {
	var before, after []*appsv1.ReplicaSet
	if rs := answeredReplicaSet(c.key, c.before); rs != nil {
		before = append(before, rs)
	}
	if rs := answeredReplicaSet(c.key, c.after); rs != nil {
		after = append(after, rs)
	}
	e.placeReplicaSets(before, after, lookedUp)
}

func (e *indexEdit) placeReplicaSets(before, after []*appsv1.ReplicaSet, from origin) {
	for _, rs := range before {
		if at := placeOfReplicaSet(rs, from); at != nil {
			e.replicaSets.delete(*at)
		}
	}
	for _, rs := range after {
		if at := placeOfReplicaSet(rs, from); at != nil {
			e.replicaSets.set(*at, struct{}{})
		}
	}
}

// workload names the budgets that a workload's event concerns, given how many had the name before and after.
func (e *indexEdit) workload(before, after int, c workloadChange) {
	if c.counts() || before != after || before > 1 {
		e.affect(e.budgetsOfControllers(c.name().Namespace, c.sources)...)
	}
}

// budgetsOfControllers are the keys of the budgets that ask for a scale and cover a pod whose
// controller it is.
func (e *indexEdit) budgetsOfControllers(namespace string, sources []source) []Key {
	var keys []Key
	named := func(kind, name string, groups []string) {
		from := budgetReference{namespace: namespace, kind: kind, name: name}
		for r := range e.references.since(from) {
			if r.namespace != namespace || r.kind != kind || r.name != name {
				break
			}
			if !slices.Contains(groups, groupOf(r.apiVersion)) {
				continue
			}
			if st := e.state(types.NamespacedName{Namespace: namespace, Name: r.budget}); st != nil {
				keys = append(keys, scaleKeysOf([]*budgetState{st})...)
			}
		}
		for _, same := range e.next.pods.doubles(namespace) {
			for _, pod := range same {
				if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && names(ref, kind, name, groups...) {
					keys = append(keys, scaleKeysOf(e.coveredBy(pod))...)
				}
			}
		}
	}
	for _, src := range sources {
		if !src.replicaSets {
			named(src.kind, src.name, src.groups)
			continue
		}
		for rs := range e.replicaSets.since(deploymentReplicaSet{namespace: namespace, deployment: src.name}) {
			if rs.namespace != namespace || rs.deployment != src.name {
				break
			}
			named(replicaSetKind, rs.replicaSet, appsGroups)
		}
	}
	return keys
}

// time names the keys that the time from the one index to the next makes a difference for.
func (e *indexEdit) time() {
	first, last := e.from.time, e.next.time
	if last.Before(first) {
		first, last = last, first
	}
	passed := func(t time.Time) bool { return !t.Before(first) && !t.After(last) }
	for key := range e.next.entries.All() {
		st := e.next.states.Find(key)
		for name, at := range st.budget.Status.DisruptedPods {
			pod := e.next.pod(types.NamespacedName{Namespace: key.Namespace, Name: name})
			if passed(at.Add(e.next.o.deletionTimeout())) || pod != nil && passed(pod.CreationTimestamp.Time) {
				e.affect(budgetKey(key))
				break
			}
		}
	}
	for key := range e.next.targets.All() {
		c := podstate.Condition(e.next.pods.unique.Find(key), corev1.DisruptionTarget)
		if passed(c.LastTransitionTime.Add(e.next.o.staleDisruptionTimeout())) {
			e.affect(podKey(key))
		}
	}
}

// arrangeAnew makes the parts of the index anew that have changed too much since they were made.
func (x *Index) arrangeAnew(from *Index) {
	// The terms hold the pods that they were made from.
	if n := x.terms.added.Len(); x.pods.unique.Renewed(from.pods.unique) || n > fewAdded && n > len(x.terms.positions)/2 {
		x.arrangeTerms()
	}
	if x.byLabel.Stale() {
		x.arrangeByLabel()
	}
}

// So few changes are not worth a pass over the others.
const fewAdded = 4096

// arrangeByLabel makes the index by labels of the budgets that are there now.
func (x *Index) arrangeByLabel() {
	var states []*budgetState
	for st := range x.states.All() {
		next := *st
		states = append(states, &next)
	}
	x.byLabel = fileAll(states)
	x.states = persistent.NewObjects(budgetKind, states)
}

// budgetReference says that pods of a budget name a controller.
type budgetReference struct{ namespace, kind, name, apiVersion, uid, budget string }

func referenceOf(b *policyv1.PodDisruptionBudget, ref metav1.OwnerReference) budgetReference {
	return budgetReference{b.Namespace, ref.Kind, ref.Name, ref.APIVersion, string(ref.UID), b.Name}
}

func compareBudgetReferences(a, b budgetReference) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name),
		cmp.Compare(a.apiVersion, b.apiVersion), cmp.Compare(a.uid, b.uid), cmp.Compare(a.budget, b.budget))
}
