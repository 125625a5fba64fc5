package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// finish ends a round. The evicted pods are gone, and those that their controllers still want are
// back elsewhere. So are pods that were being deleted before, where a pod waits for their budget:
// it is only a matter of time. It reports whether any pod went. The needs are the controllers that it
// takes to say how it goes on.
func (w *drainer) finish(waiting []RefusedPod) (changed bool, needs []purekube.Need) {
	budgets := w.budgetsOf(waiting)
	gone := w.gone(budgets)
	if len(gone) == 0 {
		return false, nil
	}
	back, away, needs := w.back(gone, budgets)
	if len(needs) > 0 {
		return false, needs
	}
	w.x = w.settle(gone, w.x.changed(Snapshot{Pods: back}, Snapshot{Pods: away}))
	w.evicted, w.unshown = nil, nil
	clear(w.stale)
	return true, nil
}

// gone are the pods that go when the round ends, sorted.
func (w *drainer) gone(waitedFor []types.NamespacedName) []*corev1.Pod {
	gone := w.evicted
	known := make(map[types.NamespacedName]bool, len(gone))
	for _, pod := range gone {
		known[snapshot.KeyOf(pod)] = true
	}
	for _, b := range waitedFor {
		for _, pod := range w.x.beingDeleted(b) {
			if key := snapshot.KeyOf(pod); !known[key] {
				known[key] = true
				gone = append(gone, pod)
			}
		}
	}
	slices.SortFunc(gone, func(a, b *corev1.Pod) int { return persistent.CompareNames(snapshot.KeyOf(a), snapshot.KeyOf(b)) })
	return gone
}

// owner is a controller of pods.
type owner struct {
	namespace string
	ref       metav1.OwnerReference
}

// ownerOf is nil for a pod without a controller.
func ownerOf(pod *corev1.Pod) *owner {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return nil
	}
	return &owner{pod.Namespace, referenceKey(ref)}
}

// back are the pods that come back in the place of those that are gone, and away those that do not.
// Of one controller the first by name come back. The needs are the controllers that it takes to say what
// becomes of a pod that waits.
func (w *drainer) back(gone []*corev1.Pod, waitedFor []types.NamespacedName) (back, away []*corev1.Pod, needs []purekube.Need) {
	type group struct {
		gone, unshown, back int
		need                *purekube.Need
	}
	groups := make(map[owner]*group, len(gone))
	for i, pod := range slices.Concat(gone, w.unshown) {
		by := ownerOf(pod)
		if by == nil {
			continue
		}
		g := groups[*by]
		if g == nil {
			g = &group{}
			groups[*by] = g
		}
		switch {
		case i < len(gone):
			g.gone++
		case !podstate.Terminal(pod):
			g.unshown++
		}
	}
	for by, g := range groups {
		g.back, g.need = w.x.comeBack(by.namespace, &by.ref, g.gone, g.unshown)
	}
	at := stamp(w.x.time)
	for _, pod := range gone {
		by := ownerOf(pod)
		if by == nil {
			away = append(away, pod)
			continue
		}
		switch g := groups[*by]; {
		case g.need != nil && slices.ContainsFunc(w.x.namesOfBudgets(pod), func(b types.NamespacedName) bool { return slices.Contains(waitedFor, b) }):
			needs = append(needs, *g.need)
		case g.back > 0:
			g.back--
			back = append(back, returned(pod, at))
		default:
			away = append(away, pod)
		}
	}
	return back, away, needs
}

// returned is the pod that takes the place of one that is gone.
func returned(gone *corev1.Pod, at metav1.Time) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: gone.ObjectMeta, Spec: gone.Spec}
	pod.UID = gone.UID + "/next"
	pod.ResourceVersion = ""
	pod.CreationTimestamp = at
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = nil, nil
	pod.Spec.NodeName = ""
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at}}
	return pod
}

// settle is the index after the round, with the statuses written that the disruption controller
// comes to.
func (w *drainer) settle(gone []*corev1.Pod, after *Index) *Index {
	var touched []types.NamespacedName
	listed := map[types.NamespacedName]bool{}
	for _, pod := range gone {
		covering, known := w.covering[snapshot.KeyOf(pod)]
		if !known {
			covering = w.x.namesOfBudgets(pod)
		}
		touched = append(touched, covering...)
		for _, key := range covering {
			if _, found := w.x.budget(key).Status.DisruptedPods[pod.Name]; found {
				listed[key] = true
			}
		}
	}
	var written Snapshot
	for _, key := range sortNames(touched) {
		b := after.planned(key)
		// The controller looks while the pods are terminating, too. It drops the entries of pods that go,
		// which would count for those that take their place under the same name.
		if listed[key] {
			if between := w.shown().planned(key); between != nil {
				after = after.changed(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{between}}, Snapshot{})
				b = after.planned(key)
			}
		}
		if b != nil {
			written.Budgets = append(written.Budgets, b)
		}
	}
	return after.changed(written, Snapshot{})
}
