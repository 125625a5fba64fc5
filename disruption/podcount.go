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

// podCount counts the pods that a budget covers, one at a time and in any order.
type podCount struct {
	budget *policyv1.PodDisruptionBudget
	broken *purekube.ObjectError // why the budget's selector finds no pods, if it does not compile

	pods, healthy int32
	unmanaged     int32
	refs          []reference
	refAt         map[metav1.OwnerReference]int // where in refs, once they are many
	disrupted     map[string]metav1.Time        // the entries that stay
	recheck       time.Time                     // when the first of them is over
	overdue       []*corev1.Pod
	ambiguous     map[string]bool

	// onPod and onController, if set, are told of everything that is counted, and how.
	onPod        func(pod *corev1.Pod, h Health, until time.Time)
	onController func(reference, answer)
}

// reference is a controller that pods name, and the first by name of these pods.
type reference struct {
	ref *metav1.OwnerReference
	pod string
}

// add counts a pod.
func (t *podCount) add(pod *corev1.Pod, now time.Time, o Options) {
	t.pods++
	t.addController(pod)
	e, at, until := entryOf(pod, t.budget.Status.DisruptedPods, now, o)
	switch e {
	case keptEntry:
		t.keep(pod.Name, at, until)
	case overdueEntry:
		t.overdue = append(t.overdue, pod)
	}
	h := NotReady
	switch {
	case pod.DeletionTimestamp != nil:
		h = BeingDeleted
	case e == keptEntry && until.After(now):
		h = BeingEvicted
	case podstate.Ready(pod):
		h = Healthy
		t.healthy++
	}
	if t.onPod != nil {
		t.onPod(pod, h, until)
	}
}

// addAmbiguous counts a pod whose name another object in the snapshot has too. Which of them
// is real cannot be known, so there is one pod, which is not healthy, and the controllers of
// both are expected to have their replicas.
func (t *podCount) addAmbiguous(pod *corev1.Pod, now time.Time, o Options) {
	t.addController(pod)
	if t.ambiguous[pod.Name] {
		return
	}
	if t.ambiguous == nil {
		t.ambiguous = map[string]bool{}
	}
	t.ambiguous[pod.Name] = true
	t.pods++
	if at, listed := t.budget.Status.DisruptedPods[pod.Name]; listed && at.Add(o.deletionTimeout()).After(now) {
		t.keep(pod.Name, at, at.Add(o.deletionTimeout()))
	}
	if t.onPod != nil {
		t.onPod(pod, Ambiguous, time.Time{})
	}
}

func (t *podCount) keep(name string, at metav1.Time, until time.Time) {
	if t.disrupted == nil {
		t.disrupted = map[string]metav1.Time{}
	}
	t.disrupted[name] = at
	if t.recheck.IsZero() || until.Before(t.recheck) {
		t.recheck = until
	}
}

func (t *podCount) addController(pod *corev1.Pod) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		t.unmanaged++
		return
	}
	if i, known := t.findReference(ref); known {
		t.refs[i].pod = min(t.refs[i].pod, pod.Name)
		return
	}
	if t.refAt != nil {
		t.refAt[referenceKey(ref)] = len(t.refs)
	}
	t.refs = append(t.refs, reference{ref: ref, pod: pod.Name})
}

// fewReferences are looked through faster than a map is asked. Most budgets have one or two.
const fewReferences = 8

func (t *podCount) findReference(ref *metav1.OwnerReference) (int, bool) {
	if len(t.refs) <= fewReferences {
		for i, r := range t.refs {
			if referenceKey(r.ref) == referenceKey(ref) {
				return i, true
			}
		}
		return 0, false
	}
	if t.refAt == nil {
		t.refAt = make(map[metav1.OwnerReference]int, 2*len(t.refs))
		for i, r := range t.refs {
			t.refAt[referenceKey(r.ref)] = i
		}
	}
	i, known := t.refAt[referenceKey(ref)]
	return i, known
}

// referenceKey is the reference without what does not tell controllers apart.
func referenceKey(ref *metav1.OwnerReference) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
}

// expectation is how many pods the controllers want.
type expectation struct {
	sum int64
	// problem is the first one in the order of the pods' names. Upstream stops at the
	// first one too, in an order that changes from pass to pass.
	problem *purekube.ObjectError
	needs   []purekube.Need
}

// expect adds up the scales of the distinct controllers of the pods (upstream:
// getExpectedScale).
func (t *podCount) expect(w *workloads) expectation {
	slices.SortFunc(t.refs, func(a, b reference) int {
		return cmp.Or(
			cmp.Compare(a.pod, b.pod),
			cmp.Compare(a.ref.APIVersion, b.ref.APIVersion),
			cmp.Compare(a.ref.Kind, b.ref.Kind),
			cmp.Compare(a.ref.Name, b.ref.Name),
			cmp.Compare(a.ref.UID, b.ref.UID),
		)
	})
	var x expectation
	var scales map[types.UID]int32
	var asked map[ScaleKey]bool
	if len(t.refs) > 1 {
		scales, asked = map[types.UID]int32{}, map[ScaleKey]bool{}
	}
	for _, r := range t.refs {
		// Nothing is looked up for a UID that is counted already. A ReplicaSet's UID never
		// is, if a Deployment stands for it: each of them is looked up and finds the same.
		if _, counted := scales[r.ref.UID]; counted && r.ref.UID != "" {
			continue
		}
		a := w.controllerOf(t.budget.Namespace, r.ref)
		if t.onController != nil {
			t.onController(r, a)
		}
		switch {
		case a.found.kind != "":
			uid := a.found.uid
			if uid == "" {
				// Manifests that no API server has seen have no UIDs.
				uid = types.UID(a.found.kind + "/" + a.found.name)
			}
			if scales == nil {
				x.sum = w.o.sum(0, a.found.scale)
			} else {
				scales[uid] = a.found.scale
			}
		case a.need != nil:
			key := ScaleKeyOf(*a.need)
			if !asked[key] {
				x.needs = append(x.needs, *a.need)
			}
			if asked != nil {
				asked[key] = true
			}
		case x.problem != nil:
		case a.problem != nil:
			x.problem = a.problem
		default:
			x.problem = &purekube.ObjectError{
				Kind: podKind, Namespace: t.budget.Namespace, Name: r.pod, Field: "metadata.ownerReferences",
				Err: fmt.Errorf("found no controllers for pod %q", r.pod),
			}
		}
	}
	for _, scale := range scales {
		x.sum = w.o.sum(x.sum, scale)
	}
	slices.SortFunc(x.needs, func(a, b purekube.Need) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return x
}

// ambiguities are the pods that could not be counted for sure.
func (t *podCount) ambiguities() []*purekube.ObjectError {
	var found []*purekube.ObjectError
	for _, name := range slices.Sorted(maps.Keys(t.ambiguous)) {
		found = append(found, snapshot.DuplicateError(podKind, types.NamespacedName{Namespace: t.budget.Namespace, Name: name}))
	}
	return found
}
