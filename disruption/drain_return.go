package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// finish ends a round. The evicted pods are gone, and those that their controllers still want are
// back elsewhere. So are pods that were being deleted before, where a pod waits for their budget:
// it is only a matter of time. It reports whether any pod went.
func (w *drainer) finish() (changed bool) {
	gone := w.gone()
	if len(gone) == 0 {
		return false
	}
	back, away := w.back(gone)
	w.settle(gone, w.x.changed(Snapshot{Pods: back}, Snapshot{Pods: away}))
	w.evicted, w.unshown = nil, nil
	clear(w.stale)
	return true
}

// gone are the pods that go when the round ends, sorted. Pods of the budgets that a pod waits for were being deleted
// before the first round, if at all, and go with it.
func (w *drainer) gone() []*corev1.Pod {
	gone := w.evicted
	known := make(map[types.NamespacedName]bool, len(gone))
	for _, pod := range gone {
		known[snapshot.KeyOf(pod)] = true
	}
	add := func(pod *corev1.Pod) {
		if key := snapshot.KeyOf(pod); !known[key] && !w.o.stuck(pod, w.began) {
			known[key] = true
			gone = append(gone, pod)
		}
	}
	if !w.begun {
		w.begun = true
		for _, namespace := range w.namespacesWaitedFor() {
			for _, pod := range w.x.podsBeingDeleted(namespace) {
				if slices.ContainsFunc(w.x.namesOfBudgets(pod), w.waitsFor) {
					add(pod)
				}
			}
		}
	}
	// A StatefulSet that recreates pods in order needs those that are being deleted, too.
	for i := 0; i < len(gone); i++ {
		by := ownerOf(gone[i])
		if by == nil || w.owners[*by] != nil || !w.x.workloads.ordered(by) {
			continue
		}
		w.owners[*by] = &drainOwner{}
		for _, pod := range w.x.podsOfController(by.namespace, &by.ref) {
			if pod.DeletionTimestamp != nil {
				add(pod)
			}
		}
	}
	slices.SortFunc(gone, func(a, b *corev1.Pod) int { return persistent.CompareNames(snapshot.KeyOf(a), snapshot.KeyOf(b)) })
	return gone
}

func (w *drainer) namespacesWaitedFor() []string {
	var namespaces []string
	for name := range w.budgets {
		if w.waitsFor(name) {
			namespaces = append(namespaces, name.Namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// back are the pods that come back in the place of those that are gone, and away those that do not. A controller of
// which nothing is known makes none; it is a need where a pod waits for a budget of a pod that is gone.
func (w *drainer) back(gone []*corev1.Pod) (back, away []*corev1.Pod) {
	groups := map[owner][]*corev1.Pod{}
	for _, pod := range gone {
		if by := ownerOf(pod); by != nil {
			groups[*by] = append(groups[*by], pod)
		}
	}
	returning := make(map[*corev1.Pod]bool, len(gone))
	for by, pods := range groups {
		o := w.owners[by]
		if o == nil || !o.known {
			o = w.x.drainOwner(by, pods)
			w.owners[by] = o
		}
		for _, pod := range o.recreates(pods) {
			returning[pod] = true
		}
	}
	at := stamp(w.x.time)
	for _, pod := range gone {
		if returning[pod] {
			back = append(back, returned(pod, at))
			continue
		}
		away = append(away, pod)
		if by := ownerOf(pod); by != nil && w.owners[*by].need != nil {
			for _, b := range w.x.namesOfBudgets(pod) {
				if w.waitsFor(b) {
					w.leaveOut(b, *w.owners[*by].need)
				}
			}
		}
	}
	return back, away
}

// returned is the pod that takes the place of one that is gone. What kept that one from being ready keeps this one.
func returned(gone *corev1.Pod, at metav1.Time) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: gone.ObjectMeta, Spec: gone.Spec}
	pod.UID = gone.UID + "/next"
	pod.ResourceVersion = ""
	pod.CreationTimestamp = at
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = nil, nil
	pod.Spec.NodeName = ""
	pod.Status.Phase = corev1.PodRunning
	if gone.Status.Phase == corev1.PodPending {
		pod.Status.Phase = corev1.PodPending
	}
	ready := corev1.ConditionFalse
	if runs(gone) {
		ready = corev1.ConditionTrue
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: at}}
	return pod
}

// runs reports whether the pod is running and ready.
func runs(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning && podstate.Ready(pod) }

// settle makes the index after the round the one of the drain, with the statuses written that the disruption
// controller comes to.
func (w *drainer) settle(gone []*corev1.Pod, after *Index) {
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
		if w.waitsFor(key) {
			w.awake[key] = true
		}
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
	w.x = after.changed(written, Snapshot{})
}
