package disruption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// How the pods of a budget are counted.
//
// An Index keeps, for each budget, sums that no clock changes (podSums) and the controllers that its pods name
// (references). Both are updated at each change of a pod. What depends on the time, on names that several pods have, or
// on workloads is added when somebody asks. That is the work of this file:
//
//	podSums                      6 pods, 5 ready, 0 unmanaged
//	− entries that still count   1 of the ready pods is being evicted            → 4 healthy
//	+ ambiguous names            2 pods are called web-7: one more pod, not ready → 7 pods
//	references → workloads       2 ReplicaSets → 1 Deployment with scale 7        → 7 expected
//
// The cost grows with the entries, the ambiguous names and the references, and not with the pods: a budget over the
// 100,000 pods of a namespace is planned at each event of each pod.

// podCount counts the pods that a budget selects, at one time. count makes it, and decide and outlook read it. It
// belongs to one goroutine and one question.
type podCount struct {
	budget *policyv1.PodDisruptionBudget
	broken *purekube.ObjectError // why the budget's selector finds no pods, if it does not compile

	// pods includes pods of every phase: upstream counts a Succeeded pod as a selected pod, and its readiness keeps it
	// from being healthy. healthy may be smaller than podSums.ready by the entries. unmanaged pods have no controller.
	pods, healthy, unmanaged int32
	// lasting and added are the sums of podSums. Pods whose names several pods have are in neither.
	lasting, added int32
	// of are the references of the pods whose names no other pod has. refs is the list of all references, which the
	// method references makes. memo, if set, remembers what their controllers want.
	of   references
	refs []reference
	memo *scaleMemo
	// namePods, if set, finds the pods for references whose first pod is not known. It costs one pass over the budget's
	// pods, so it is a function that only an error message or an open lookup calls.
	namePods  func() []reference
	disrupted map[string]metav1.Time // the entries that stay
	recheck   time.Time              // when the first of them is over
	overdue   []*corev1.Pod
	ambiguous map[string]bool
	unnamed   *purekube.ObjectError // why there may be pods that are not counted

	// onController, if set, is told of every controller and what is known about it, in the order of the pods. Explain
	// sets it, and expect then takes no shortcut.
	onController func(reference, answer)
}

// count counts the pods of a budget at the Index's time. It changes neither st nor the Index.
func (x *Index) count(st *budgetState) *podCount {
	p := &podCount{
		budget: st.budget, broken: st.broken,
		pods: st.podSums.pods, healthy: st.ready, unmanaged: st.unmanaged, lasting: st.lasting, added: st.added,
		of: st.refs, memo: st.refs.memo, unnamed: x.pods.Unnamed(st.budget.Namespace),
	}
	// The selector does not compile. decide reports that, so no further number is needed.
	if st.selector == nil {
		return p
	}
	// The loop is over the entries and not over the pods. There are few: the eviction handler refuses at more than
	// 2,000 entries. The order of the map does not matter, because keep takes a minimum and overdueEvents sorts.
	for name := range st.budget.Status.DisruptedPods {
		pod := x.pods.Find(types.NamespacedName{Namespace: st.budget.Namespace, Name: name})
		// The entry has done its work: the pod is gone, or has lost the label. It is not kept, so the next status lacks
		// it. Find returns nil for a name that several pods have, too; addAmbiguous handles the entry of such a name.
		if pod == nil || !st.selects(pod) {
			continue
		}
		e, at, until := entryOf(pod, st.budget.Status.DisruptedPods, x.time, x.o)
		switch e {
		case keptEntry:
			p.keep(name, at, until)
			// BR-25-04: a pod that is about to be deleted is not healthy. podSums counted it as ready, so it is taken
			// out again. With MatchUpstream an entry that is exactly two minutes old is kept although its pod counts
			// (D-19). entryOf returns keptEntry only for pods that are not being deleted, so podSums.ready has the pod.
			if until.After(x.time) && podstate.Ready(pod) {
				p.healthy--
			}
		case overdueEntry:
			p.overdue = append(p.overdue, pod)
		// The entry is a predecessor's (D-14), or the pod is being deleted and podSums does not count it as ready.
		case noEntry:
		}
	}
	// Names that several pods have are in no podSums. An API server never has two pods of one name, but two manifests
	// or two merged dumps can. The loop is empty for a snapshot of a live cluster.
	for _, same := range x.pods.AmbiguousIn(st.budget.Namespace) {
		for _, pod := range same {
			if st.selects(pod) {
				// The remembered sum lacks the controllers of these pods, so it does not count for this question.
				ambiguous := referenceList{list: p.references()}
				p.memo = nil
				p.addAmbiguous(pod, &ambiguous, x.time, x.o)
				p.refs = ambiguous.list
			}
		}
	}
	// Only a change that removes a reference's first pod makes a name unknown; see references.without. A pass over the
	// budget's pods finds all names again.
	p.namePods = func() []reference {
		var named referenceList
		for _, pod := range x.podsOf(st) {
			if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
				named.add(ref, pod.Name)
			}
		}
		for _, same := range x.pods.AmbiguousIn(st.budget.Namespace) {
			for _, pod := range same {
				if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && st.selects(pod) {
					named.add(ref, pod.Name)
				}
			}
		}
		return named.list
	}
	return p
}

// references returns the references of all pods, in no particular order. The slice is the podCount's own: the caller
// may sort it, but must not change its elements' refs.
func (p *podCount) references() []reference {
	if p.refs == nil {
		p.refs = p.of.list()
	}
	return p.refs
}

// addAmbiguous counts a pod whose name another pod in the snapshot has too. Nobody can know which of the pods is real,
// so they count as one pod, which is not healthy, and the controllers of all of them count with their replicas. Each
// part is the stricter reading: fewer healthy pods, and more expected pods.
//
// An entry of the name is kept until it expires, whatever the creation times of the pods are. D-14 needs to know which
// pod the entry is about.
func (p *podCount) addAmbiguous(pod *corev1.Pod, refs *referenceList, now time.Time, o Options) {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		refs.add(ref, pod.Name)
	} else {
		p.unmanaged++
	}
	// The name was counted with the first of its pods. Only the controller differs from pod to pod.
	if p.ambiguous[pod.Name] {
		return
	}
	if p.ambiguous == nil {
		p.ambiguous = map[string]bool{}
	}
	p.ambiguous[pod.Name] = true
	p.pods++
	if at, listed := p.budget.Status.DisruptedPods[pod.Name]; listed && at.Add(o.deletionTimeout()).After(now) {
		p.keep(pod.Name, at, at.Add(o.deletionTimeout()))
	}
}

// keep notes an entry that stays in the status, and lowers recheck to the time at which it expires.
func (p *podCount) keep(name string, at metav1.Time, until time.Time) {
	if p.disrupted == nil {
		p.disrupted = map[string]metav1.Time{}
	}
	p.disrupted[name] = at
	if p.recheck.IsZero() || until.Before(p.recheck) {
		p.recheck = until
	}
}

// expectation is how many pods the controllers want. If problem is nil and needs is empty, sum is the answer. Otherwise
// sum is the part that was found, and no status uses it.
type expectation struct {
	sum int64
	// problem is the first problem in the order of the pods' names. Upstream also stops at the first problem, in an
	// order that changes from pass to pass.
	problem *purekube.ObjectError
	// needs are the needs before the problem in that order, or all needs if there is no problem: an answer may bring an
	// earlier problem.
	needs []purekube.Need
}

// expect adds up the scales of the distinct controllers of the pods (upstream: getExpectedScale). Two ReplicaSets of
// one Deployment count once:
//
//	web-5d4f-a, web-5d4f-b   → ReplicaSet web-5d4f ┐
//	web-77c9-x               → ReplicaSet web-77c9 ┴→ Deployment web, scale 3   sum 3, and not 6
//
// The result does not depend on how it is computed. The four ways differ in cost:
//
//  1. Explain wants to see each controller, in order.
//  2. Many references: a sum that is kept from plan to plan.
//  3. Few references, all found: a sum in any order.
//  4. Otherwise: in the order of the pods' names, as long as that order decides which problem comes first.
func (p *podCount) expect(w *workloads) expectation {
	if p.onController != nil {
		return p.expectInOrder(w)
	}
	if p.memo != nil {
		return p.memo.wanted(w, func() *wantedScale {
			// A sum that does not depend on the order can follow later changes; see references.with and without.
			if sum := newScaleSum(w, p.budget.Namespace, p.references()); sum != nil {
				return sum.wanted()
			}
			// With open lookups or problems, the result holds for exactly these pods and workloads. It is remembered as
			// well: a budget with thousands of unanswered lookups is asked several times between two changes.
			return &wantedScale{by: w, expectation: p.expectInOrder(w)}
		})
	}
	if scales := p.scalesOfFound(w); scales != nil {
		return expectation{sum: w.o.sum(scales)}
	}
	return p.expectInOrder(w)
}

// expectInOrder handles references whose controllers are not all found, or that are alike: the result then depends on
// which pods have them. The order is the first pod by name of each reference, then the reference. Upstream follows the
// random order of its cache's map, so its status can name another pod on each pass, and each such change of the message
// is a write.
//
// It costs n log n for n references, and a pass over the pods if the first pod of a reference is unknown.
func (p *podCount) expectInOrder(w *workloads) expectation {
	// The error "found no controllers for pod" needs the pod's name, and the order needs all names.
	if slices.ContainsFunc(p.references(), func(r reference) bool { return r.pod == "" }) {
		p.refs = p.namePods()
	}
	slices.SortFunc(p.refs, func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.pod, b.pod), compareReferences(a.ref, b.ref))
	})
	var x expectation
	// scales has the found controllers by identity. asked has the position in x.needs of each lookup without its
	// version: a pod that names "apps/v1beta1 Deployment web" needs no lookup of its own beside "apps/v1 Deployment
	// web".
	scales := map[controller]int32{}
	asked := map[lookup]int{}
	for _, r := range p.refs {
		a := w.controllerOf(p.budget.Namespace, &r.ref)
		// A controller that is counted already needs no lookup. Upstream looks at nothing but the UID then (D-39). A
		// ReplicaSet with a Deployment is never counted: each such ReplicaSet leads to the same Deployment.
		if a.need != nil || w.o.matchUpstream() {
			if _, counted := scales[controllerNamed(groupOf(r.ref.APIVersion), &r.ref).id(w.o)]; counted {
				continue
			}
		}
		if p.onController != nil {
			p.onController(r, a)
		}
		switch {
		case a.found.kind != "":
			id := a.found.id(w.o)
			// One controller of two scales, one of which is from a lookup, has the larger one.
			if known, counted := scales[id]; !counted || w.o.matchUpstream() || a.found.scale > known {
				scales[id] = a.found.scale
			}
		// The first problem decides the status. The loop goes on, because onController wants every controller; needs
		// after the problem are not asked for, since no answer to them removes the problem.
		case x.problem != nil:
		case a.need != nil:
			l := lookupOf(*a.need).unversioned()
			if at, known := asked[l]; !known {
				asked[l] = len(x.needs)
				x.needs = append(x.needs, *a.need)
			} else if a.need.APIVersion < x.needs[at].APIVersion {
				// A scale has no version: one lookup serves all of them.
				x.needs[at].APIVersion = a.need.APIVersion
			}
		// The kind has no scale, the lookup failed, or the object exists twice. The error names the controller.
		case a.problem != nil:
			x.problem = a.problem
		default:
			// The lookup has shown that the controller does not exist, or that another object has its name (the UIDs
			// differ). The text is upstream's: tools search the condition for it.
			x.problem = &purekube.ObjectError{
				Kind: podKind, Namespace: p.budget.Namespace, Name: r.pod, Field: "metadata.ownerReferences",
				Err: fmt.Errorf("found no controllers for pod %q", r.pod),
			}
		}
	}
	// Needs are sorted by what a caller looks up and not by pod, so that equal snapshots give equal results.
	x.sum = w.o.sum(scales)
	slices.SortFunc(x.needs, func(a, b purekube.Need) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return x
}

// scalesOfFound returns the scales if the order of the pods does not matter: all controllers are found, and any two of
// the references differ in their UID. It returns nil otherwise, and for no reference an empty map.
//
// Two references with one UID come only from made-up objects, for example ReplicaSets "a" and "b" that both say uid
// "1". Upstream then counts the one whose pod it visits first (D-39). The order decides as well where two references lead
// to one controller with different scales: one was read from the object, the other from a lookup.
func (p *podCount) scalesOfFound(w *workloads) map[controller]int32 {
	refs := p.references()
	uids := make(map[types.UID]bool, len(refs))
	scales := make(map[controller]int32, len(refs))
	for i := range refs {
		ref := &refs[i].ref
		a := w.controllerOf(p.budget.Namespace, ref)
		id := a.found.id(w.o)
		known, counted := scales[id]
		if a.found.kind == "" || uids[ref.UID] || counted && known != a.found.scale {
			return nil
		}
		uids[ref.UID], scales[id] = true, a.found.scale
	}
	return scales
}

// id tells controllers apart, by all but the scale. Upstream does so by the UID (D-39). Manifests that no API server has
// seen have no UIDs: there, kind, group and name do it in any case. Without that, a Deployment and a StatefulSet in one
// file would be one controller, and the sum would be too small.
func (c controller) id(o Options) controller {
	if o.matchUpstream() && c.uid != "" {
		return controller{uid: c.uid}
	}
	c.scale = 0
	return c
}

// ambiguities returns an error for each name that several of the budget's pods have, sorted by name. The status is
// computed nevertheless, strictly; the error tells the caller why it is strict.
func (p *podCount) ambiguities() []*purekube.ObjectError {
	var found []*purekube.ObjectError
	for _, name := range slices.Sorted(maps.Keys(p.ambiguous)) {
		found = append(found, snapshot.DuplicateError(podKind, types.NamespacedName{Namespace: p.budget.Namespace, Name: name}))
	}
	return found
}
