package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// finish ends a round. The evicted pods are gone, and those that their controllers still want are
// back elsewhere. So are pods that were being deleted before, where a pod waits for their budget:
// it is only a matter of time. It reports whether any pod went. The needs are the controllers that it
// takes to say how it goes on.
func (w *drainer) finish(waiting []RefusedPod) (changed bool, needs []purekube.Need) {
	gone := w.evicted
	budgets := w.budgetsOf(waiting)
	waitedFor := map[types.NamespacedName]bool{}
	for _, b := range budgets {
		waitedFor[b] = true
	}
	touched := map[types.NamespacedName]bool{}
	evicted := make(map[types.NamespacedName]bool, len(gone))
	for _, pod := range gone {
		evicted[snapshot.KeyOf(pod)] = true
		for _, b := range w.covering[snapshot.KeyOf(pod)] {
			touched[b] = true
		}
	}
	for _, b := range budgets {
		for _, pod := range w.state.beingDeleted(b) {
			if evicted[snapshot.KeyOf(pod)] {
				continue
			}
			evicted[snapshot.KeyOf(pod)] = true
			gone = append(gone, pod)
			for _, b := range w.state.covering(pod) {
				touched[b] = true
			}
		}
	}
	if len(gone) == 0 {
		return false, nil
	}
	slices.SortFunc(gone, func(a, b *corev1.Pod) int { return comparePods(snapshot.KeyOf(a), snapshot.KeyOf(b)) })
	back, stay, needs := w.back(gone, waitedFor)
	if len(needs) > 0 {
		return false, needs
	}
	before := w.shown // not before it is needed, which is rare
	after := w.state.with(Snapshot{Pods: back}, Snapshot{Pods: stay})
	w.state = settled(before, after, touched)
	w.evicted, w.unshown = nil, nil
	clear(w.stale)
	return true, nil
}

// owner is a controller of pods.
type owner struct {
	namespace string
	ref       metav1.OwnerReference
}

// back are the pods that come back in the place of those that are gone, and away those that do not.
// A controller makes as many as it is short of, the first by name. One whose replicas cannot be
// known makes none.
func (w *drainer) back(gone []*corev1.Pod, waitedFor map[types.NamespacedName]bool) (back, away []*corev1.Pod, needs []purekube.Need) {
	short := map[owner]int{}
	asked := map[owner]*purekube.Need{}
	for _, pod := range gone {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil {
			away = append(away, pod)
			continue
		}
		by := owner{pod.Namespace, referenceKey(ref)}
		if _, known := short[by]; !known {
			n, need := w.state.missing(pod.Namespace, ref)
			short[by], asked[by] = n+w.unshownOf(by), need
		}
		if need := asked[by]; need != nil && slices.ContainsFunc(w.state.covering(pod), func(b types.NamespacedName) bool { return waitedFor[b] }) {
			// Whether it comes back decides about a pod that waits.
			needs = append(needs, *need)
			continue
		}
		if asked[by] != nil || short[by] <= 0 {
			away = append(away, pod)
			continue
		}
		short[by]--
		back = append(back, returned(pod, stamp(w.state.now())))
	}
	return back, away, needs
}

// unshownOf are the evicted pods of a controller that the state still counts as its own.
func (w *drainer) unshownOf(by owner) int {
	n := 0
	for _, pod := range w.unshown {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref != nil && (owner{pod.Namespace, referenceKey(ref)}) == by && !podstate.Terminal(pod) {
			n++
		}
	}
	return n
}

// returned is the pod that takes the place of one that is gone. It is ready, and on a node that is not
// known: that is for the scheduler to say. It has the name of the one before, which only a
// StatefulSet's really has; names decide nothing here.
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

// settled is the state after the disruption controller wrote the statuses of the budgets.
func settled(before func() drainState, after drainState, touched map[types.NamespacedName]bool) drainState {
	var written Snapshot
	for _, b := range sortedPods(touched) {
		st := after.status(b)
		if st.failed {
			// Figures that cannot be computed stay as they were, and they were computed while the
			// pods were still going.
			if last := before().status(b); last.budget != nil && !last.failed {
				after = after.with(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{last.budget}}, Snapshot{})
				st = after.status(b)
			}
		}
		if st.budget != nil {
			written.Budgets = append(written.Budgets, st.budget)
		}
	}
	if len(written.Budgets) == 0 {
		return after
	}
	return after.with(written, Snapshot{})
}

func sortedPods(set map[types.NamespacedName]bool) []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, comparePods)
	return keys
}

// replicas is how many pods the controller of that reference itself wants: a ReplicaSet what it says,
// whatever its Deployment does. known is false where that cannot be known, with a Need if it can be
// looked up.
func (w *workloads) replicas(namespace string, ref *metav1.OwnerReference) (n int32, known bool, need *purekube.Need) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return 0, false, nil
	}
	key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	var spec *int32
	switch {
	case ref.Kind == replicationControllerKind && gv.Group == "":
		if rc := w.replicationControllers.Find(key); rc != nil && rc.UID == ref.UID {
			spec, known = rc.Spec.Replicas, true
		}
	case ref.Kind == replicaSetKind && appsGroup(gv.Group):
		if rs := w.replicaSets.Find(key); rs != nil && rs.UID == ref.UID {
			spec, known = rs.Spec.Replicas, true
		}
	case ref.Kind == statefulSetKind && gv.Group == "apps":
		if ss := w.statefulSets.Find(key); ss != nil && ss.UID == ref.UID {
			spec, known = ss.Spec.Replicas, true
		}
	}
	if known {
		return ptr.Deref(spec, 1), true, nil
	}
	a := w.scaleOf(gv.Group, namespace, ref)
	return a.found.scale, a.found.kind != "", a.need
}
