package disruption

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// How an Index changes, and which plans may differ afterwards. The affected keys are what makes an event cheap: a
// controller plans these keys and no others.
//
//	change                     budgets affected                              pods affected
//	budget                     itself                                        –
//	pod                        budgets that select it, before or after       itself, if it has or had a plan
//	ReplicaSet, StatefulSet    budgets with a pod that names it              –
//	Deployment                 budgets with a pod that names its ReplicaSets –
//	answer                     budgets that read it                          –
//	Now                        budgets with an entry that expires            pods whose condition expires
//
// "Budgets that depend on scales" (maxUnavailable or a percentage) are the only ones that a workload affects. Too many
// keys cost plans, and a missing key leaves a wrong status in the cluster, so every doubt adds a key. A test compares
// the keys with the difference of PlanAll before and after.

// With returns the Index with the objects of changed added, or replacing the objects of the same kind, namespace and
// name. It also returns the affected keys, sorted, each once. It adds or replaces answers in the same way. A Now that
// is not zero is the new time.
//
// With and Without name every key whose [Outcome] in PlanAll may differ: its Result, or the text of its Err. The time
// that a plan writes into a condition is no difference. Nil objects and objects without a name belong to no key. Err,
// the error of PlanAll and the error of every Plan name them, and nothing removes them from an Index.
//
// While there is a nil pod or a pod without a name, budgets that depend on scales allow no disruption (see
// [Snapshot].Pods), so With names these budgets.
func (x *Index) With(changed Snapshot) (next *Index, affected []purekube.Key) {
	return x.changed(changed, true)
}

// Without returns the Index without the objects with these names and without the answers to these needs, and the
// affected keys, as With does. Names that are not in the Index change nothing.
func (x *Index) Without(gone Snapshot) (next *Index, affected []purekube.Key) {
	gone.Now = time.Time{}
	return x.changed(gone, false)
}

// changed is With for keep, and Without for !keep. by.Now counts if it is not zero.
//
// The order of the steps matters. Budgets change first, over the pods before the change, so that each budget that
// exists afterwards has a state. Pods change next, and correct the counts of these states; a new budget is counted over
// the old pods and then follows like the others. Workloads and time come last: they only look for keys, in the finished
// parts.
func (x *Index) changed(by Snapshot, keep bool) (next *Index, affected []purekube.Key) {
	copied := *x
	e := &indexEdit{from: x, next: &copied}
	if next = e.next; !by.Now.IsZero() {
		next.time = by.Now
	}
	var workloads workloadChanges
	budgets, budgetChanges := x.budgets.Changed(by.Budgets, keep)
	pods, podChanges := x.pods.Changed(by.Pods, keep)
	next.budgets, next.pods = budgets, pods
	next.workloads, workloads = x.workloads.changed(by, keep)
	for _, c := range budgetChanges {
		e.budget(c)
	}
	for _, c := range podChanges {
		e.pod(c)
	}
	// addBudget reads the terms of e.from, so the terms of next are not needed before.
	next.terms.TermIndex = x.terms.With(next.pods, podChanges)
	next.duplicates = changedDuplicates(x.duplicates, podChanges)
	e.settle()
	// Follow removes names that no budget or several budgets have. These functions see only the single budget of a
	// name, which has a state.
	next.broken = persistent.Follow(x.broken, budgetChanges, func(b *policyv1.PodDisruptionBudget) (_ struct{}, is bool) {
		return struct{}{}, next.states.Find(snapshot.KeyOf(b)).broken != nil
	})
	next.entries = persistent.Follow(x.entries, budgetChanges, func(b *policyv1.PodDisruptionBudget) (_ struct{}, has bool) {
		return struct{}{}, len(b.Status.DisruptedPods) > 0
	})
	next.targets = persistent.Follow(x.targets, podChanges, func(pod *corev1.Pod) (_ struct{}, is bool) {
		return struct{}{}, hasDisruptionTarget(pod)
	})
	e.workloads(workloads)
	// A pod without a name is in no change, since it has no name that could change.
	if next.pods.MoreUnnamed(x.pods) {
		e.podsUnnamed()
	}
	if !next.time.Equal(x.time) {
		e.time()
	}
	// Removed selectors are still found, and added ones lie in a slower tree. A new pass now keeps questions at O(log
	// n), and its cost is spread over the changes since the last pass.
	if next.byLabel.Stale() {
		next.arrangeByLabel()
	}
	return next, sortedKeys(e.affected)
}

// indexEdit is an Index under construction. One goroutine uses it. from is complete; next has the parts that are
// already finished, and the other parts of from.
type indexEdit struct {
	from, next *Index
	// What follows is nil until the first change. compile remembers well-formed labels for all budgets of one change.
	// affected may name a key several times.
	states     *persistent.ObjectsEdit[budgetState, *budgetState]
	byLabel    *persistent.SelectorsEdit[labels.Selector]
	references *persistent.Edit[controllerName, *budgetsNaming]
	compile    *compiler
	affected   []purekube.Key
}

// settle ends the edits of the parts that the budgets and pods change. From then on next.states is complete, and
// neither state nor put may be called.
func (e *indexEdit) settle() {
	if e.states != nil {
		e.next.states = e.states.Objects()
	}
	if e.byLabel != nil {
		e.next.byLabel = e.byLabel.Selectors()
	}
	if e.references != nil {
		e.next.references = e.references.Map()
	}
}

// workloads names the budgets that the changed workloads and answers concern. It first brings next.replicaSets up to
// date: a ReplicaSet that a Deployment has just adopted leads from the Deployment to its budgets in the same call.
func (e *indexEdit) workloads(c workloadChanges) {
	if len(c.replicaSets)+len(c.answers) > 0 {
		replicaSets := e.next.replicaSets.Edit()
		for _, c := range c.replicaSets {
			placeReplicaSets(replicaSets, c.Before, c.After, snapshotObject)
		}
		for _, c := range c.answers {
			placeReplicaSets(replicaSets, replicaSetOf(c.lookup, c.before), replicaSetOf(c.lookup, c.after), lookedUp)
		}
		e.next.replicaSets = replicaSets.Map()
	}
	affectedByWorkloads(e, c.replicationControllers, source{kind: replicationControllerKind, groups: []string{""}},
		func(rc *corev1.ReplicationController) *int32 { return rc.Spec.Replicas })
	affectedByWorkloads(e, c.replicaSets, source{kind: replicaSetKind, groups: appsGroups},
		func(rs *appsv1.ReplicaSet) *int32 { return rs.Spec.Replicas })
	affectedByWorkloads(e, c.deployments, source{kind: deploymentKind, groups: appsGroups, replicaSets: true},
		func(d *appsv1.Deployment) *int32 { return d.Spec.Replicas })
	affectedByWorkloads(e, c.statefulSets, source{kind: statefulSetKind, groups: []string{"apps"}},
		func(ss *appsv1.StatefulSet) *int32 { return ss.Spec.Replicas })
	for _, c := range c.answers {
		if c.counts {
			e.affectBudgetsOf(c.namespace, c.source())
		}
	}
	for _, kind := range c.kinds {
		// The answer counts for all objects of the kind, whatever their names and namespaces.
		e.affectBudgetsNaming(controllerName{kind: kind.Kind}, func(c controllerName) bool { return c.kind == kind.Kind }, kind.Group)
	}
}

// affectedByWorkloads affects the budgets whose pods name one of the changed workloads. A workload that changed in
// nothing that a budget reads affects none: a Deployment's status changes several times during each rollout.
func affectedByWorkloads[P metav1.Object](e *indexEdit, changes []persistent.Change[P], of source, replicas func(P) *int32) {
	for _, c := range changes {
		if len(c.Before) == 1 && len(c.After) == 1 &&
			scaledOf(c.Before[0], replicas(c.Before[0])) == scaledOf(c.After[0], replicas(c.After[0])) {
			continue
		}
		of.name = c.Name.Name
		e.affectBudgetsOf(c.Name.Namespace, of)
	}
}

// scaled is what budgets read of a workload: UID, replicas and owner. Two versions with equal values give equal plans.
type scaled struct {
	uid      types.UID
	replicas int32
	owner    metav1.OwnerReference
}

// scaledOf reads absent replicas as 1, as foundAnswer does (D-12).
func scaledOf(o metav1.Object, replicas *int32) scaled {
	x := scaled{uid: o.GetUID(), replicas: ptr.Deref(replicas, 1)}
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		x.owner = referenceKey(owner)
	}
	return x
}

// source is a controller, as the owner references of pods name it. It has no UID: a change from one UID to another
// affects the pods of both objects, since one reference finds its controller and the other loses it.
type source struct {
	kind, name string
	groups     []string
	// replicaSets: the controller is a Deployment, and pods name its ReplicaSets.
	replicaSets bool
}

// source returns the controller that an answer is about. Its name is the name that was asked for.
func (l lookup) source() source {
	of := source{kind: l.kind, name: l.name, groups: []string{l.group}, replicaSets: l.kind == deploymentKind && appsGroup(l.group)}
	if l.kind == replicaSetKind && l.group == "apps" {
		// A ReplicaSet is looked up in this group, whatever the group that pods name it by.
		of.groups = appsGroups
	}
	return of
}

// affectBudgetsOf affects the budgets that depend on scales and select a pod with this controller. For a Deployment it
// also follows the Deployment's ReplicaSets. It costs the budgets and ReplicaSets that it finds.
func (e *indexEdit) affectBudgetsOf(namespace string, of source) {
	named := func(kind, name string, groups []string) {
		e.affectBudgetsNaming(controllerName{kind: kind, namespace: namespace, name: name}, func(c controllerName) bool {
			return c.kind == kind && c.namespace == namespace && c.name == name
		}, groups...)
	}
	// A Deployment can be named by pods directly, in a hand-written manifest; controllerOf then reads its scale by a
	// lookup.
	named(of.kind, of.name, of.groups)
	if !of.replicaSets {
		return
	}
	// The ReplicaSets after the change are enough: a ReplicaSet that leaves the Deployment is a change of its own.
	for rs := range e.next.replicaSets.From(deploymentReplicaSet{namespace: namespace, deployment: of.name}) {
		if rs.namespace != namespace || rs.deployment != of.name {
			break
		}
		named(replicaSetKind, rs.replicaSet, appsGroups)
	}
}

// affectBudgetsNaming affects the budgets that depend on scales and select a pod whose owner reference matches such and
// has one of these groups. All matching references follow each other in the order of references, the first at or after
// from. The group is not part of that order, because references are sorted by apiVersion, and one group has several
// versions.
func (e *indexEdit) affectBudgetsNaming(from controllerName, such func(controllerName) bool, groups ...string) {
	for c, budgets := range e.next.references.From(from) {
		if !such(c) {
			break
		}
		if !slices.Contains(groups, groupOf(c.apiVersion)) {
			continue
		}
		for name := range budgets.All() {
			e.affectScaled(e.next.states.Find(types.NamespacedName{Namespace: c.namespace, Name: name}))
		}
	}
	// Pods whose name another pod has are in no references, and yet their controllers count; see podCount.addAmbiguous.
	// The loop is empty for a live cluster.
	for _, versions := range e.next.pods.AmbiguousNames() {
		for _, pod := range versions {
			ref := metav1.GetControllerOfNoCopy(pod)
			if ref != nil && such(nameOf(pod.Namespace, *ref)) && slices.Contains(groups, groupOf(ref.APIVersion)) {
				e.affectScaled(e.next.coveredBy(pod)...)
			}
		}
	}
}

// affectScaled affects the budgets that depend on scales. A budget with a number as minAvailable reads no workload.
func (e *indexEdit) affectScaled(states ...*budgetState) {
	for _, st := range states {
		if scaleDecides(&st.budget.Spec) {
			e.affect(KeyOf(st.budget))
		}
	}
}

// podsUnnamed affects the budgets whose status now says, for the first time or in other words, that there are nil pods
// or pods without a name. The words change when a nil pod joins a pod without a name.
func (e *indexEdit) podsUnnamed() {
	for st := range e.next.states.All() {
		before, after := e.from.pods.Unnamed(st.budget.Namespace), e.next.pods.Unnamed(st.budget.Namespace)
		if after != nil && (before == nil || before.Error() != after.Error()) && e.next.o.needsAllNames(&st.budget.Spec) {
			e.affect(KeyOf(st.budget))
		}
	}
}

// affect notes that the plans of these keys may differ. changed sorts the keys and removes repetitions.
func (e *indexEdit) affect(keys ...purekube.Key) { e.affected = append(e.affected, keys...) }

// state returns the state of the only budget with the name, after the changes so far, or nil.
func (e *indexEdit) state(name types.NamespacedName) *budgetState {
	if e.states != nil {
		return e.states.Find(name)
	}
	return e.from.states.Find(name)
}

// put replaces the state of the budget's name. States are never written to, since e.from has the same pointers.
func (e *indexEdit) put(st *budgetState) { begun(&e.states, e.from.states.Edit).Put(st) }

// begun starts an edit at the first change: most events change few parts of an Index.
func begun[E any](edit **E, begin func() *E) *E {
	if *edit == nil {
		*edit = begin()
	}
	return *edit
}

// coveredBy returns the budgets that select a pod, after the changes so far. Up to 8 candidates need no allocation.
func (e *indexEdit) coveredBy(pod *corev1.Pod) []*budgetState {
	var scratch [8]*filedBudget
	if e.byLabel != nil {
		return coveredBy(e.byLabel.Append(scratch[:0], pod.Namespace, pod.Labels), e.state, pod)
	}
	return coveredBy(e.from.byLabel.Append(scratch[:0], pod.Namespace, pod.Labels), e.state, pod)
}

// budget applies a change of the budgets with one name. The pods are still the pods before the change. With
// MatchUpstream, a changed selector also affects the pods that any budget selects, since their plans may have an event
// about several budgets.
func (e *indexEdit) budget(c persistent.Change[*policyv1.PodDisruptionBudget]) {
	e.affect(budgetKey(c.Name))
	before, after := c.Only()
	if before != nil && after != nil && equality.Semantic.DeepEqual(before.Spec.Selector, after.Spec.Selector) {
		st := e.state(c.Name)
		// The same selector selects the same pods, so the counts stay. This is the usual change of a budget: each write
		// of its status is one. An object from a cache and one from a manifest may differ in nil and empty maps, hence
		// Semantic.
		next := *st
		next.Object, next.budget = after, after
		if st.broken != nil {
			// The error names the budget, so it is made again for the new object.
			_, next.broken = begun(&e.compile, newCompiler).matcher(after)
		}
		e.put(&next)
		return
	}
	var pods []*corev1.Pod
	if before != nil {
		st := e.state(c.Name)
		if e.next.o.matchUpstream() {
			pods = e.from.podsOf(st)
		}
		e.removeBudget(c.Name, st)
	}
	if after != nil {
		pods = append(pods, e.addBudget(after)...)
	}
	if e.next.o.matchUpstream() {
		for _, pod := range pods {
			if len(e.coveredBy(pod)) > 0 {
				e.affect(KeyOf(pod))
			}
		}
	}
}

// removeBudget removes a budget, with its references and its place among the selectors. The pods stay.
func (e *indexEdit) removeBudget(name types.NamespacedName, st *budgetState) {
	for _, r := range st.refs.list() {
		e.refer(st.budget, r.ref, -1)
	}
	if st.filed != nil {
		begun(&e.byLabel, e.from.byLabel.Edit).Delete(st.filed)
	}
	begun(&e.states, e.from.states.Edit).Delete(name)
}

// addBudget adds a budget and counts its pods. It returns the pods that the budget selects before the change of pods.
// It costs the pods with the rarest label that the selector requires.
func (e *indexEdit) addBudget(b *policyv1.PodDisruptionBudget) []*corev1.Pod {
	m, broken := begun(&e.compile, newCompiler).matcher(b)
	st := &budgetState{Object: b, matcher: m, broken: broken, filed: m.file()}
	pods := e.from.podsOf(st)
	var sum podSummer
	for _, pod := range pods {
		sum.add(pod)
	}
	st.podSums, st.refs = sum.podSums, newReferences(sum.refs.list)
	for _, r := range sum.refs.list {
		e.refer(b, r.ref, 1)
	}
	if st.filed != nil {
		begun(&e.byLabel, e.from.byLabel.Edit).Put(st.filed)
	}
	e.put(st)
	return pods
}

// pod applies a change of the pods with one name. It affects the budgets that select the pod before or after the
// change, if anything changed that they count: labels, readiness, deletion or controller. It affects the pod's own key
// if the pod has or had a plan. Kubelets write pods often without such a change, for example an address or the status
// of a container; such an event usually affects no key.
//
// Upstream plans only one of these budgets, whichever its cache returns first, and only if it selects the new pod. With
// MatchUpstream every event of a pod names all its budgets.
func (e *indexEdit) pod(c persistent.Change[*corev1.Pod]) {
	before, after := c.Only()
	alike := before != nil && after != nil && countsAlike(before, after)
	for _, pod := range slices.Concat(c.Before, c.After) {
		covering := e.coveredBy(pod)
		if c.Ambiguous() || hasDisruptionTarget(pod) || e.next.o.matchUpstream() && len(covering) > 1 {
			e.affect(KeyOf(pod))
		}
		for _, st := range covering {
			// The event about an entry of status.disruptedPods names the version of the pod.
			if _, listed := st.budget.Status.DisruptedPods[pod.Name]; listed || !alike || e.next.o.matchUpstream() {
				e.affect(KeyOf(st.budget))
			}
		}
	}
	switch {
	case alike:
	// Equal labels mean equal budgets: one step instead of two keeps a reference that both versions name.
	case before != nil && after != nil && maps.Equal(before.Labels, after.Labels):
		for _, st := range e.coveredBy(after) {
			e.count(st, before, after)
		}
	// The labels differ, or the pod is new or gone, or its name is or was ambiguous. Only returns nil for an ambiguous
	// name, whose pods are in no counts.
	default:
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
}

// countsAlike reports whether every budget counts both pods in the same way. The node and the resourceVersion do not
// matter to a budget. The condition DisruptionTarget matters only to the pod's own key.
func countsAlike(a, b *corev1.Pod) bool {
	return (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		podstate.Ready(a) == podstate.Ready(b) &&
		podstate.Terminal(a) == podstate.Terminal(b) &&
		maps.Equal(a.Labels, b.Labels) &&
		sameController(metav1.GetControllerOfNoCopy(a), metav1.GetControllerOfNoCopy(b))
}

// sameController compares by what identifies a controller; both may be nil.
func sameController(a, b *metav1.OwnerReference) bool {
	return (a == nil) == (b == nil) && (a == nil || referenceKey(a) == referenceKey(b))
}

// count removes one pod from the counts of a budget and adds another. Either may be nil. It also updates references,
// where a budget is filed once for each controller that its pods name: only the first and the last pod of a controller
// matter.
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
	// A pod that becomes ready keeps its controller. Without this condition its reference would be removed and added
	// again, and the name of the reference's first pod could be lost.
	if !(old != nil && ref != nil && referenceKey(old) == referenceKey(ref)) {
		if old != nil {
			var last bool
			if next.refs, last = next.refs.without(referenceKey(old), before.Name); last {
				e.refer(st.budget, *old, -1)
			}
		}
		if ref != nil {
			var first bool
			if next.refs, first = next.refs.with(referenceKey(ref), after.Name); first {
				e.refer(st.budget, *ref, 1)
			}
		}
	}
	e.put(&next)
}

// refer counts a reference of the budget more or fewer.
func (e *indexEdit) refer(b *policyv1.PodDisruptionBudget, ref metav1.OwnerReference, by int32) {
	refer(begun(&e.references, e.from.references.Edit), b, ref, by)
}

// time affects the keys for which the time between both indexes makes a difference. Now may also go back: a test or a
// simulation may ask about an earlier time, so the range is sorted and both of its ends belong to it. The ends matter,
// because an entry expires at exactly two minutes by default and just after that with MatchUpstream (D-19).
func (e *indexEdit) time() {
	first, last := e.from.time, e.next.time
	if last.Before(first) {
		first, last = last, first
	}
	passed := func(t time.Time) bool { return !t.Before(first) && !t.After(last) }
	for key := range e.next.entries.All() {
		st := e.next.states.Find(key)
		for name, at := range st.budget.Status.DisruptedPods {
			pod := e.next.pods.Find(types.NamespacedName{Namespace: key.Namespace, Name: name})
			// Two moments change how an entry counts: when it expires, and when a creation time is no longer in the
			// future (D-24).
			if passed(at.Add(e.next.o.deletionTimeout())) || pod != nil && passed(pod.CreationTimestamp.Time) {
				e.affect(budgetKey(key))
				break
			}
		}
	}
	for key := range e.next.targets.All() {
		c := podstate.Condition(e.next.pods.Find(key), corev1.DisruptionTarget)
		if passed(c.LastTransitionTime.Add(e.next.o.staleDisruptionTimeout())) {
			e.affect(PodKey(key.Namespace, key.Name))
		}
	}
}

// arrangeByLabel rebuilds byLabel from the budgets that exist now. It copies the states, because fileAll writes to them
// and the Index before shares them. It is called only while x is being made.
func (x *Index) arrangeByLabel() {
	var states []*budgetState
	for st := range x.states.All() {
		next := *st
		states = append(states, &next)
	}
	x.byLabel = fileAll(states)
	x.states = persistent.NewObjects(budgetKind, states)
}
