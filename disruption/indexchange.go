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
// A workload affects only budgets that depend on scales (maxUnavailable or a percentage). Too many keys cost plans, and
// a missing key leaves a wrong status in the cluster, so every doubt adds a key. A test compares the keys with the
// difference of PlanAll before and after.

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
	derived := *x
	next = &derived
	if !by.Now.IsZero() {
		next.now = by.Now
	}
	e := &indexEdit{from: x, next: next, states: x.states.Edit(), byLabel: x.byLabel.Edit(),
		references: x.references.Edit()}
	budgets, budgetChanges := x.budgets.Changed(by.Budgets, keep)
	pods, podChanges := x.pods.Changed(by.Pods, keep)
	workloads, workloadChanges := x.workloads.changed(by, keep)
	next.budgets, next.pods, next.workloads = budgets, pods, workloads
	for _, c := range budgetChanges {
		e.budget(c)
	}
	for _, c := range podChanges {
		e.pod(c)
	}
	// addBudget reads the terms of e.from, so the terms of next are not needed before.
	next.terms.TermIndex = x.terms.With(next.pods, podChanges)
	next.states, next.byLabel, next.references = e.states.Objects(), e.byLabel.Selectors(), e.references.Map()
	next.entries = persistent.Follow(x.entries, budgetChanges,
		func(b *policyv1.PodDisruptionBudget) (_ struct{}, has bool) {
			return struct{}{}, len(b.Status.DisruptedPods) > 0
		})
	next.targets = persistent.Follow(x.targets, podChanges, func(pod *corev1.Pod) (_ struct{}, is bool) {
		return struct{}{}, hasDisruptionTarget(pod)
	})
	e.workloads(workloadChanges)
	e.unusablePods(podChanges)
	if !next.now.Equal(x.now) {
		e.time()
	}
	// Removed selectors are still found, and added ones lie in a slower tree. A new pass now keeps questions at O(log
	// n), and its cost is spread over the changes since the last pass.
	if next.byLabel.Stale() {
		var filed []*filedBudget
		for st := range next.states.All() {
			if f := st.filed; f != nil {
				filed = append(filed, &filedBudget{Scope: f.Scope, Name: f.Name, Demands: f.Demands, Value: f.Value})
			}
		}
		next.byLabel = persistent.NewSelectors(filed)
	}
	slices.SortFunc(e.affected, purekube.Key.Compare)
	return next, slices.Compact(e.affected)
}

// indexEdit is an Index under construction. One goroutine uses it. from is complete; next has the parts that are
// already finished, and the other parts of from.
type indexEdit struct {
	from, next *Index
	// The parts that budgets and pods change.
	states     *persistent.ObjectsEdit[budgetState, *budgetState]
	byLabel    *persistent.SelectorsEdit[labels.Selector]
	references *persistent.Edit[controllerName, *budgetsNaming]
	// affected may name a key several times.
	affected []purekube.Key
}

// workloads names the budgets that the changed workloads and answers concern.
func (e *indexEdit) workloads(c workloadChanges) {
	affectedByWorkloads(e, c.replicationControllers, replicationControllerKind,
		func(rc *corev1.ReplicationController) *int32 {
			return rc.Spec.Replicas
		})
	affectedByWorkloads(e, c.replicaSets, replicaSetKind, func(rs *appsv1.ReplicaSet) *int32 { return rs.Spec.Replicas })
	affectedByWorkloads(e, c.deployments, deploymentKind, func(d *appsv1.Deployment) *int32 { return d.Spec.Replicas })
	affectedByWorkloads(e, c.statefulSets, statefulSetKind, func(ss *appsv1.StatefulSet) *int32 {
		return ss.Spec.Replicas
	})
	for _, l := range c.answers {
		e.affectBudgetsOf(controllerName{l.kind, l.namespace, l.name})
	}
	for _, kind := range c.kinds {
		e.affectBudgetsNaming(controllerName{kind: kind.Kind})
	}
}

// affectedByWorkloads affects the budgets whose pods name one of the changed workloads. A workload that changed in
// nothing that a budget reads (UID, replicas and owner) affects none: a Deployment's status changes several times
// during each rollout.
func affectedByWorkloads[P metav1.Object](
	e *indexEdit, changes []persistent.Change[P], kind string, replicas func(P) *int32,
) {
	for _, c := range changes {
		if len(c.Before) == 1 && len(c.After) == 1 {
			before, after := c.Before[0], c.After[0]
			if before.GetUID() == after.GetUID() && replicasOf(replicas(before)) == replicasOf(replicas(after)) &&
				sameController(metav1.GetControllerOfNoCopy(before), metav1.GetControllerOfNoCopy(after)) {
				continue
			}
		}
		e.affectBudgetsOf(controllerName{kind, c.Name.Namespace, c.Name.Name})
	}
}

// affectBudgetsOf affects the budgets that depend on scales and select a pod with this controller. For a Deployment it
// also follows the Deployment's ReplicaSets, which pods name. It costs the budgets and ReplicaSets that it finds.
func (e *indexEdit) affectBudgetsOf(of controllerName) {
	// A Deployment can be named by pods directly, in a hand-written manifest; controllerOf then reads its scale by a
	// lookup.
	e.affectBudgetsNaming(of)
	if of.kind != deploymentKind {
		return
	}
	// The ReplicaSets after the change are enough: a ReplicaSet that leaves the Deployment is a change of its own.
	for _, name := range e.next.workloads.replicaSetsOf(of.namespace, of.name) {
		e.affectBudgetsNaming(controllerName{replicaSetKind, of.namespace, name})
	}
}

// affectBudgetsNaming affects the budgets that depend on scales and select a pod whose owner reference names this
// controller, or any of its kind if it has no name.
func (e *indexEdit) affectBudgetsNaming(of controllerName) {
	for at, budgets := range e.next.references.From(of) {
		if at.kind != of.kind || of.name != "" && at != of {
			break
		}
		for name := range budgets.All() {
			// A budget with a number as minAvailable reads no workload.
			st := e.next.states.Find(types.NamespacedName{Namespace: at.namespace, Name: name})
			if scaleDecides(&st.Spec) {
				e.affect(KeyOf(st.PodDisruptionBudget))
			}
		}
	}
}

// unusablePods affects the budgets whose status now says in other words which pod is unusable, and all budgets of a
// namespace in which a name became, or was, the name of several pods. A pod without a name is in no change, since it
// has no name that could change.
func (e *indexEdit) unusablePods(changes []persistent.Change[*corev1.Pod]) {
	ambiguous := map[string]bool{}
	for _, c := range changes {
		if c.Ambiguous() {
			ambiguous[c.Name.Namespace] = true
		}
	}
	if len(ambiguous) == 0 && !e.next.pods.MoreUnnamed(e.from.pods) {
		return
	}
	for st := range e.next.states.All() {
		before, after := e.from.unusablePod(st.Namespace), e.next.unusablePod(st.Namespace)
		if ambiguous[st.Namespace] || scaleDecides(&st.Spec) && after != nil &&
			(before == nil || before.Error() != after.Error()) {
			e.affect(KeyOf(st.PodDisruptionBudget))
		}
	}
}

// affect notes that the plans of these keys may differ. changed sorts the keys and removes repetitions.
func (e *indexEdit) affect(keys ...purekube.Key) { e.affected = append(e.affected, keys...) }

// coveredBy returns the budgets that select a pod, after the changes so far. Up to 8 candidates need no allocation.
func (e *indexEdit) coveredBy(pod *corev1.Pod) []*budgetState {
	var scratch [8]*filedBudget
	return coveredBy(e.byLabel.Append(scratch[:0], pod.Namespace, pod.Labels), e.states.Find, pod)
}

// budget applies a change of the budgets with one name. The pods are still the pods before the change. With
// MatchUpstream, a changed selector also affects the pods that any budget selects, since their plans may have an event
// about several budgets.
func (e *indexEdit) budget(c persistent.Change[*policyv1.PodDisruptionBudget]) {
	e.affect(budgetKey(c.Name))
	before, after := c.Only()
	if before != nil && after != nil && equality.Semantic.DeepEqual(before.Spec.Selector, after.Spec.Selector) {
		// The same selector selects the same pods, so the counts stay. This is the usual change of a budget: each write
		// of its status is one. An object from a cache and one from a manifest may differ in nil and empty maps, hence
		// Semantic.
		next := *e.states.Find(c.Name)
		next.PodDisruptionBudget = after
		e.states.Put(&next)
		return
	}
	var pods []*corev1.Pod
	if before != nil {
		st := e.states.Find(c.Name)
		if e.next.options.repeatsEvents() {
			pods = e.from.podsOf(st)
		}
		e.removeBudget(st)
	}
	if after != nil {
		pods = append(pods, e.addBudget(after)...)
	}
	if e.next.options.repeatsEvents() {
		for _, pod := range pods {
			if len(e.coveredBy(pod)) > 0 {
				e.affect(KeyOf(pod))
			}
		}
	}
}

// removeBudget removes a budget, with its references and its place among the selectors. The pods stay.
func (e *indexEdit) removeBudget(st *budgetState) {
	for ref := range st.refs.namings.All() {
		refer(e.references, st.PodDisruptionBudget, ref, -1)
	}
	if st.filed != nil {
		e.byLabel.Delete(st.filed)
	}
	e.states.Delete(snapshot.KeyOf(st))
}

// addBudget adds a budget and counts its pods. It returns the pods that the budget selects before the change of pods.
// It costs the pods with the rarest label that the selector requires.
func (e *indexEdit) addBudget(b *policyv1.PodDisruptionBudget) []*corev1.Pod {
	st := newBudgetState(b)
	pods, counter := e.from.podsOf(st), newPodCounter()
	for _, pod := range pods {
		counter.add(pod)
	}
	st.podSums, st.refs = counter.podSums, counter.references()
	for ref := range st.refs.namings.All() {
		refer(e.references, b, ref, 1)
	}
	if st.filed != nil {
		e.byLabel.Put(st.filed)
	}
	e.states.Put(st)
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
	before, after := c.Only() // nil for a name that several pods have, which are in no counts
	alike := before != nil && after != nil && countsAlike(before, after)
	if c.Ambiguous() {
		e.affect(podKey(c.Name))
	}
	var covering []*budgetState
	for _, pod := range []*corev1.Pod{before, after} {
		if pod == nil {
			continue
		}
		own := e.coveredBy(pod)
		if hasDisruptionTarget(pod) || e.next.options.repeatsEvents() && len(own) > 1 {
			e.affect(KeyOf(pod))
		}
		covering = append(covering, own...)
	}
	for _, st := range byName(covering) {
		// The event about an entry of status.disruptedPods names the version of the pod.
		if _, listed := st.Status.DisruptedPods[c.Name.Name]; listed || !alike || e.next.options.affectsAll() {
			e.affect(KeyOf(st.PodDisruptionBudget))
		}
		if !alike {
			e.count(st, before, after)
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

// count removes one pod from the counts of a budget and adds another. Either may be nil, or not selected. It also
// updates references, where a budget is filed once for each controller that its pods name: only the first and the last
// pod of a controller matter.
func (e *indexEdit) count(st *budgetState, before, after *corev1.Pod) {
	next := *st
	var old, ref *metav1.OwnerReference
	if before != nil && st.selects(before) {
		var own podSums
		own, old = contribution(before)
		next.podSums = next.plus(own, -1)
	}
	if after != nil && st.selects(after) {
		var own podSums
		own, ref = contribution(after)
		next.podSums = next.plus(own, 1)
	}
	// A pod that becomes ready keeps its controller. Without this condition its reference would be removed and added
	// again, and the name of the reference's first pod could be lost.
	if !sameController(old, ref) {
		var changed bool
		if old != nil {
			if next.refs, changed = next.refs.without(referenceKey(old), before.Name); changed {
				refer(e.references, st.PodDisruptionBudget, *old, -1)
			}
		}
		if ref != nil {
			if next.refs, changed = next.refs.with(referenceKey(ref), after.Name); changed {
				refer(e.references, st.PodDisruptionBudget, *ref, 1)
			}
		}
	}
	e.states.Put(&next)
}

// time affects the keys for which the time between both indexes makes a difference. Now may also go back: a test or a
// simulation may ask about an earlier time, so the range is sorted and both of its ends belong to it. The ends matter,
// because an entry expires at exactly two minutes by default and just after that with MatchUpstream (D-19).
func (e *indexEdit) time() {
	first, last := e.from.now, e.next.now
	if last.Before(first) {
		first, last = last, first
	}
	passed := func(t time.Time) bool { return !t.Before(first) && !t.After(last) }
	for key := range e.next.entries.All() {
		st := e.next.states.Find(key)
		for name, at := range st.Status.DisruptedPods {
			pod := e.next.pods.Find(types.NamespacedName{Namespace: key.Namespace, Name: name})
			// Two moments change how an entry counts: when it expires, and when a creation time is no longer in the
			// future (D-24).
			if passed(at.Add(e.next.options.deletionTimeout())) || pod != nil && passed(pod.CreationTimestamp.Time) {
				e.affect(budgetKey(key))
				break
			}
		}
	}
	for key := range e.next.targets.All() {
		if passed(e.next.options.targetStaleAt(e.next.pods.Find(key))) {
			e.affect(podKey(key))
		}
	}
}
