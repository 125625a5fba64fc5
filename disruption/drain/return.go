package drain

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// finish ends a round. The evicted pods are gone, and the pods that their controllers still want are recreated
// elsewhere. The same happens to pods that were being deleted before, if a pod waits for their budget: it is only a
// matter of time. It reports whether any pod went.
func (w *drainer) finish() (changed bool) {
	if w.o.Budgets == AsWritten {
		// Nothing is recreated, and nobody computes a status.
		changed = len(w.evicted) > 0
		w.show()
		w.evicted = nil
		return changed
	}
	gone := w.gone()
	if len(gone) == 0 {
		return false
	}
	back, away := w.back(gone)
	w.settle(gone, back, replaced(w.x, back, away))
	w.evicted, w.unshown = nil, nil
	clear(w.stale)
	return true
}

// gone are the pods that go when the round ends, sorted. Pods that were being deleted before the drain go with the
// first round, if a pod waits for their budget.
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
		for name := range w.budgets {
			if w.waitsFor(name) {
				for _, pod := range w.x.SelectedPodsBeingDeleted(name) {
					add(pod)
				}
			}
		}
	}
	// A StatefulSet that recreates pods in order needs the pods that are being deleted, too.
	for i := 0; i < len(gone); i++ {
		by := ownerOf(gone[i])
		if by == nil || w.owners[*by] != nil || !by.ordered(w.x) {
			continue
		}
		w.owners[*by] = &ownerState{}
		pods, _ := w.x.PodsOfController(by.namespace, &by.ref)
		for _, pod := range pods {
			if pod.DeletionTimestamp != nil {
				add(pod)
			}
		}
	}
	slices.SortFunc(gone, func(a, b *corev1.Pod) int {
		return persistent.CompareNames(snapshot.KeyOf(a), snapshot.KeyOf(b))
	})
	return gone
}

// back returns the pods that replace pods that are gone, and as away the gone pods that nothing replaces. A controller
// whose replicas are not known recreates no pod; it is a need if a pod waits for a budget of a pod that is gone. If a
// lookup has no answer, its pods are recreated and never ready.
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
			o = stateOf(w.x, by, pods)
			w.owners[by] = o
		}
		for _, pod := range o.recreates(pods) {
			returning[pod] = true
		}
	}
	at := stamp(w.x.Now())
	if w.o.checksNodes() {
		if w.placement == nil {
			w.placement = newPlacement(w.o.inventory, w.byName)
		}
		w.placement.roundEnds(w.x, gone)
	}
	for _, pod := range w.inTurn(gone) {
		if returning[pod] && !w.owners[*ownerOf(pod)].stopsBefore(pod) {
			again := returned(pod, at)
			again.Labels = w.owners[*ownerOf(pod)].labels(pod)
			back = append(back, w.placed(again, pod))
			continue
		}
		by := ownerOf(pod)
		if by != nil && w.owners[*by].perhaps && !(by.ref.Kind == "Job" && podstate.Terminal(pod)) {
			// Budgets keep counting it as expected but not as healthy: that is the stricter assumption.
			again := returned(pod, at)
			again.Status.Conditions[0].Status = corev1.ConditionFalse
			back = append(back, w.placed(again, pod))
			continue
		}
		away = append(away, pod)
		if by != nil && w.owners[*by].need != nil {
			for _, b := range budgetsOf(w.x, pod) {
				if w.waitsFor(b) {
					w.leaveOut(b, *w.owners[*by].need)
				}
			}
		}
	}
	return back, away
}

// inTurn are the pods in the order in which they are recreated and look for a node. A StatefulSet waits until a pod is
// gone, and other controllers do not. With OrderedReady, it waits for each pod to be ready before it recreates the next
// one. Of the others, it is not known which come first: pods that were not ready take room from pods that were.
func (w *drainer) inTurn(gone []*corev1.Pod) []*corev1.Pod {
	// A name with more digits has a higher ordinal.
	pods := slices.SortedFunc(slices.Values(gone), func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), persistent.CompareNames(snapshot.KeyOf(a), snapshot.KeyOf(b)))
	})
	turns := make(map[*corev1.Pod]int, len(pods))
	before := map[owner]int{}
	for _, pod := range pods {
		by := ownerOf(pod)
		switch {
		case by != nil && w.owners[*by].parallel:
			turns[pod] = 2
		case by != nil && w.owners[*by].numbered:
			turns[pod] = 2 + before[*by]
			before[*by]++
		case runs(pod):
			turns[pod] = 1
		}
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(turns[a], turns[b]) })
	return pods
}

// placed is the recreated pod on the node that takes it, or Pending.
func (w *drainer) placed(pod, gone *corev1.Pod) *corev1.Pod {
	if w.placement == nil {
		return pod
	}
	if ofDaemonSet(gone) && w.byName[gone.Spec.NodeName] != nil { // its DaemonSet puts it on a cordoned node, too
		pod.Spec.NodeName = gone.Spec.NodeName
		return pod
	}
	node, none := w.placement.place(pod)
	if pod.Spec.NodeName = node; node != "" {
		return pod
	}
	pod.Status.Phase, pod.Status.Conditions[0].Status = corev1.PodPending, corev1.ConditionFalse
	if n := w.byName[gone.Spec.NodeName]; n != nil {
		n.pending = append(n.pending, PendingPod{snapshot.KeyOf(gone), none.message})
		n.homeless = n.homeless || none.always
	}
	w.owners[*ownerOf(gone)].waitsFor(gone)
	return pod
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

// settle replaces the index of the drain by after, the index after the round, and writes the statuses that the
// disruption controller computes.
func (w *drainer) settle(gone, back []*corev1.Pod, after *disruption.Index) {
	var touched []types.NamespacedName
	listed := map[types.NamespacedName]bool{}
	for _, pod := range gone {
		if w.byName[pod.Spec.NodeName] == nil {
			w.otherNodes[pod.Spec.NodeName] = true
		}
		covering, known := w.covering[snapshot.KeyOf(pod)]
		if !known {
			covering = budgetsOf(w.x, pod)
		}
		touched = append(touched, covering...)
		for _, key := range covering {
			if _, found := w.x.Budget(key).Status.DisruptedPods[pod.Name]; found {
				listed[key] = true
			}
		}
	}
	for _, pod := range back {
		if was := w.x.Pod(snapshot.KeyOf(pod)); was == nil || !maps.Equal(was.Labels, pod.Labels) {
			touched = append(touched, budgetsOf(after, pod)...)
		}
	}
	var shown *disruption.Index
	if len(listed) > 0 {
		shown = w.shown()
	}
	var written disruption.Snapshot
	for _, key := range sortNames(touched) {
		w.touched[key] = true
		if w.waitsFor(key) {
			w.awake[key] = true
		}
		b := planned(after, key)
		// The controller syncs while the pods are terminating, too. It drops the entries of pods that go, which would
		// count for the pods that are recreated under the same name.
		if listed[key] {
			if between := planned(shown, key); between != nil {
				after, _ = after.With(disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{between}})
				b = planned(after, key)
			}
		}
		if b != nil {
			written.Budgets = append(written.Budgets, b)
		}
	}
	w.x, _ = after.With(written)
}

// budgetsOf are the names of the budgets that select the pod, sorted.
func budgetsOf(x *disruption.Index, pod *corev1.Pod) []types.NamespacedName {
	// The error is about other budgets, which select no pod.
	covering, _ := x.BudgetsFor(pod)
	names := make([]types.NamespacedName, len(covering))
	for i, b := range covering {
		names[i] = snapshot.KeyOf(b)
	}
	return names
}

// replaced is the index with the recreated pods, and without the pods in away.
func replaced(x *disruption.Index, back, away []*corev1.Pod) *disruption.Index {
	if len(away) > 0 {
		x, _ = x.Without(disruption.Snapshot{Pods: away})
	}
	if len(back) > 0 {
		x, _ = x.With(disruption.Snapshot{Pods: back})
	}
	return x
}

// planned is the budget as the disruption controller writes it, nil if it would not.
func planned(x *disruption.Index, budget types.NamespacedName) *policyv1.PodDisruptionBudget {
	// The error is about the status, which is the fail-safe one then.
	r, _ := x.Plan(disruption.BudgetKey(budget.Namespace, budget.Name))
	for _, a := range r.Actions {
		if update, ok := a.(disruption.UpdateStatus); ok {
			return update.Budget
		}
	}
	return nil
}

// writtenBy is the index with the statuses of the budgets that the disruption controller writes.
func writtenBy(x *disruption.Index, budgets []types.NamespacedName) *disruption.Index {
	var written disruption.Snapshot
	for _, name := range budgets {
		if b := planned(x, name); b != nil {
			written.Budgets = append(written.Budgets, b)
		}
	}
	x, _ = x.With(written)
	return x
}

func sortNames(names []types.NamespacedName) []types.NamespacedName {
	slices.SortFunc(names, persistent.CompareNames)
	return slices.Compact(names)
}

// stamp is the time as the API keeps it, in whole seconds, and never zero.
func stamp(now time.Time) metav1.Time {
	if now.IsZero() {
		return metav1.Unix(0, 0)
	}
	return metav1.NewTime(now.Truncate(time.Second))
}
