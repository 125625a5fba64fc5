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

// podCount counts the pods that a budget selects, at one time.
type podCount struct {
	budget *policyv1.PodDisruptionBudget
	broken *purekube.ObjectError // why the budget's selector finds no pods, if it does not compile

	pods, healthy, unmanaged int32
	// of are the references of the pods whose names no other pod has. refs is the list of all references, which the
	// method references makes. memo, if set, remembers what their controllers want.
	of   references
	refs []reference
	memo *scaleMemo
	// namePods, if set, finds the pods for references whose first pod is not known.
	namePods  func() []reference
	disrupted map[string]metav1.Time // the entries that stay
	recheck   time.Time              // when the first of them is over
	overdue   []*corev1.Pod
	ambiguous map[string]bool
	unnamed   *purekube.ObjectError // why there may be pods that are not counted

	// onController, if set, is told of every controller and what is known about it.
	onController func(reference, answer)
}

// count counts the pods of a budget now.
func (x *Index) count(st *budgetState) *podCount {
	p := &podCount{
		budget: st.budget, broken: st.broken,
		pods: st.podSums.pods, healthy: st.ready, unmanaged: st.unmanaged, of: st.refs, memo: st.refs.memo, unnamed: x.pods.Unnamed(st.budget.Namespace),
	}
	if st.selector == nil {
		return p
	}
	for name := range st.budget.Status.DisruptedPods {
		pod := x.pods.Find(types.NamespacedName{Namespace: st.budget.Namespace, Name: name})
		if pod == nil || !st.selects(pod) {
			continue
		}
		e, at, until := entryOf(pod, st.budget.Status.DisruptedPods, x.time, x.o)
		switch e {
		case keptEntry:
			p.keep(name, at, until)
			if until.After(x.time) && podstate.Ready(pod) {
				p.healthy--
			}
		case overdueEntry:
			p.overdue = append(p.overdue, pod)
		case noEntry:
		}
	}
	for _, same := range x.pods.AmbiguousIn(st.budget.Namespace) {
		for _, pod := range same {
			if st.selects(pod) {
				ambiguous := referenceList{list: p.references()}
				p.memo = nil
				p.addAmbiguous(pod, &ambiguous, x.time, x.o)
				p.refs = ambiguous.list
			}
		}
	}
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

// references returns the references of all pods, in no particular order.
func (p *podCount) references() []reference {
	if p.refs == nil {
		p.refs = p.of.list()
	}
	return p.refs
}

// addAmbiguous counts a pod whose name another pod in the snapshot has too. Nobody can know which of them is real, so
// they count as one pod, which is not healthy, and the controllers of all of them count with their replicas.
func (p *podCount) addAmbiguous(pod *corev1.Pod, refs *referenceList, now time.Time, o Options) {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		refs.add(ref, pod.Name)
	} else {
		p.unmanaged++
	}
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

func (p *podCount) keep(name string, at metav1.Time, until time.Time) {
	if p.disrupted == nil {
		p.disrupted = map[string]metav1.Time{}
	}
	p.disrupted[name] = at
	if p.recheck.IsZero() || until.Before(p.recheck) {
		p.recheck = until
	}
}

// expectation is how many pods the controllers want.
type expectation struct {
	sum int64
	// problem is the first problem in the order of the pods' names. Upstream also stops at the first problem, in an
	// order that changes from pass to pass.
	problem *purekube.ObjectError
	// needs are the needs before the problem in that order, or all needs if there is no problem: an answer may bring an
	// earlier problem.
	needs []purekube.Need
}

// expect adds up the scales of the distinct controllers of the pods (upstream:
// getExpectedScale).
func (p *podCount) expect(w *workloads) expectation {
	if p.onController != nil {
		return p.expectInOrder(w)
	}
	if p.memo != nil {
		return p.memo.wanted(w, func() *wantedScale {
			if sum := newScaleSum(w, p.budget.Namespace, p.references()); sum != nil {
				return sum.wanted()
			}
			return &wantedScale{by: w, expectation: p.expectInOrder(w)}
		})
	}
	if scales := p.scalesOfFound(w); scales != nil {
		return expectation{sum: w.o.sum(scales)}
	}
	return p.expectInOrder(w)
}

// expectInOrder handles references whose controllers are not all found, or that are alike: the result then depends on
// which pods have them.
func (p *podCount) expectInOrder(w *workloads) expectation {
	if slices.ContainsFunc(p.references(), func(r reference) bool { return r.pod == "" }) {
		p.refs = p.namePods()
	}
	slices.SortFunc(p.refs, func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.pod, b.pod), compareReferences(a.ref, b.ref))
	})
	var x expectation
	scales := map[types.UID]int32{}
	asked := map[lookup]int{}
	for _, r := range p.refs {
		// A UID that is already counted needs no lookup. The UID of a ReplicaSet with a Deployment is never counted:
		// each such ReplicaSet is looked up and leads to the same Deployment.
		if _, counted := scales[r.ref.UID]; counted {
			continue
		}
		a := w.controllerOf(p.budget.Namespace, &r.ref)
		if p.onController != nil {
			p.onController(r, a)
		}
		switch {
		case a.found.kind != "":
			scales[a.found.id()] = a.found.scale
		case x.problem != nil:
		case a.need != nil:
			at, known := asked[lookupOf(*a.need).unversioned()]
			if !known {
				asked[lookupOf(*a.need).unversioned()] = len(x.needs)
				x.needs = append(x.needs, *a.need)
			} else if a.need.APIVersion < x.needs[at].APIVersion {
				// A scale has no version: one lookup serves all of them.
				x.needs[at].APIVersion = a.need.APIVersion
			}
		case a.problem != nil:
			x.problem = a.problem
		default:
			x.problem = &purekube.ObjectError{
				Kind: podKind, Namespace: p.budget.Namespace, Name: r.pod, Field: "metadata.ownerReferences",
				Err: fmt.Errorf("found no controllers for pod %q", r.pod),
			}
		}
	}
	x.sum = w.o.sum(scales)
	slices.SortFunc(x.needs, func(a, b purekube.Need) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return x
}

// scalesOfFound returns the scales if the order of the pods does not matter: all controllers are found, and any two of
// them differ in their UID. It returns nil otherwise.
func (p *podCount) scalesOfFound(w *workloads) map[types.UID]int32 {
	refs := p.references()
	uids := make(map[types.UID]bool, len(refs))
	scales := make(map[types.UID]int32, len(refs))
	for i := range refs {
		ref := &refs[i].ref
		a := w.controllerOf(p.budget.Namespace, ref)
		known, counted := scales[a.found.id()]
		if a.found.kind == "" || uids[ref.UID] || counted && known != a.found.scale {
			return nil
		}
		uids[ref.UID] = true
		scales[a.found.id()] = a.found.scale
	}
	return scales
}

// id tells controllers apart. Manifests that no API server has seen have no UIDs.
func (c controller) id() types.UID {
	if c.uid == "" {
		return types.UID(c.kind + "." + c.group + "/" + c.name)
	}
	return c.uid
}

// ambiguities returns an error for each name that several of the budget's pods have.
func (p *podCount) ambiguities() []*purekube.ObjectError {
	var found []*purekube.ObjectError
	for _, name := range slices.Sorted(maps.Keys(p.ambiguous)) {
		found = append(found, snapshot.DuplicateError(podKind, types.NamespacedName{Namespace: p.budget.Namespace, Name: name}))
	}
	return found
}
