package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
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

func ownerOf(pod *corev1.Pod) (owner, bool) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return owner{}, false
	}
	return owner{pod.Namespace, referenceKey(ref)}, true
}

// back are the pods that come back in the place of those that are gone, and away those that do not.
// A controller makes as many as it is short of, the first by name. One whose replicas cannot be
// known makes none.
func (w *drainer) back(gone []*corev1.Pod, waitedFor []types.NamespacedName) (back, away []*corev1.Pod, needs []purekube.Need) {
	short := map[owner]int{}
	asked := map[owner]*purekube.Need{}
	for _, pod := range gone {
		by, controlled := ownerOf(pod)
		if !controlled {
			away = append(away, pod)
			continue
		}
		if _, known := short[by]; !known {
			n, need := w.x.shortOf(by.namespace, &by.ref)
			short[by], asked[by] = n, need
			if need == nil {
				short[by] += w.unshownOf(by)
			}
		}
		switch need := asked[by]; {
		case need != nil && slices.ContainsFunc(w.x.covering(pod), func(b *policyv1.PodDisruptionBudget) bool {
			return slices.Contains(waitedFor, snapshot.KeyOf(b))
		}):
			// Whether it comes back decides about a pod that waits.
			needs = append(needs, *need)
		case need != nil || short[by] <= 0:
			away = append(away, pod)
		default:
			short[by]--
			back = append(back, returned(pod, stamp(w.x.now())))
		}
	}
	return back, away, needs
}

// unshownOf are the evicted pods of a controller that the index still counts as its own.
func (w *drainer) unshownOf(by owner) int {
	n := 0
	for _, pod := range w.unshown {
		if of, controlled := ownerOf(pod); controlled && of == by && !podstate.Terminal(pod) {
			n++
		}
	}
	return n
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
	touched := map[types.NamespacedName]*policyv1.PodDisruptionBudget{}
	listed := map[types.NamespacedName]bool{}
	for _, pod := range gone {
		for _, b := range w.x.covering(pod) {
			key := snapshot.KeyOf(b)
			touched[key] = b
			if _, found := b.Status.DisruptedPods[pod.Name]; found {
				listed[key] = true
			}
		}
	}
	var written Snapshot
	for _, key := range sortedNames(touched) {
		b := after.planned(key)
		// The controller looks while the pods are terminating, too. Mostly that leaves no trace. It
		// drops the entries of pods that go, which would count for those that take their place under the same
		// name; and a status that cannot be computed any more keeps figures of that moment.
		if listed[key] || syncFailed(b) || b == nil && syncFailed(touched[key]) {
			if between := w.shown().planned(key); between != nil {
				after = after.changed(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{between}}, Snapshot{})
				b = after.planned(key)
			}
		}
		if b != nil {
			written.Budgets = append(written.Budgets, b)
		}
	}
	if len(written.Budgets) == 0 {
		return after
	}
	return after.changed(written, Snapshot{})
}

// planned is the budget as the disruption controller writes it, nil if it would not.
func (x *Index) planned(budget types.NamespacedName) *policyv1.PodDisruptionBudget {
	// The error is in the status, too.
	r, _ := x.Plan(budgetKey(budget))
	for _, a := range r.Actions {
		if update, ok := a.(UpdateStatus); ok {
			return update.Budget
		}
	}
	return nil
}

// syncFailed reports whether the budget's status is the fail-safe one.
func syncFailed(b *policyv1.PodDisruptionBudget) bool {
	if b == nil {
		return false
	}
	c := apimeta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
	return c != nil && c.Reason == policyv1.SyncFailedReason
}

func sortedNames[V any](m map[types.NamespacedName]V) []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, persistent.CompareNames)
	return keys
}
