package disruption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// drainer is a drain in progress.
type drainer struct {
	x *Index
	// covering are the budgets of each pod that is to be evicted. They stay the same.
	covering map[types.NamespacedName][]types.NamespacedName
	// evicted are the pods that go in this round.
	evicted []*corev1.Pod
	// unshown are those of them that x does not show as being deleted, and stale the budgets that
	// cover one of these.
	unshown []*corev1.Pod
	stale   map[types.NamespacedName]bool
}

func newDrainer(x *Index, pods []*corev1.Pod) *drainer {
	w := &drainer{
		x:        x,
		covering: make(map[types.NamespacedName][]types.NamespacedName, len(pods)),
		stale:    map[types.NamespacedName]bool{},
	}
	for _, pod := range pods {
		w.covering[snapshot.KeyOf(pod)] = x.namesOfBudgets(pod)
	}
	return w
}

// drainRound is what evicting each pod once comes to.
type drainRound struct {
	evicted []types.NamespacedName
	// left are the pods that kubectl drain tries again, and waiting the answers to them.
	left    []*corev1.Pod
	waiting []RefusedPod
	// refused are those that it gives up: the answer is not 429.
	refused []RefusedPod
	needs   []purekube.Need
}

// round evicts the pods, one after the other, each against what those before it left.
func (w *drainer) round(pods []*corev1.Pod) drainRound {
	var r drainRound
	full := map[types.NamespacedName]Eviction{}
	for _, pod := range pods {
		key := snapshot.KeyOf(pod)
		covering := w.covering[key]
		// A budget that let no ready pod go lets none go until a pod came back.
		ready := len(covering) == 1 && podstate.Ready(pod) && notCounted(pod) == ""
		e, known := Eviction{}, false
		if ready {
			e, known = full[covering[0]]
		}
		if !known {
			if slices.ContainsFunc(covering, func(b types.NamespacedName) bool { return w.stale[b] }) {
				w.x = w.shown()
				w.unshown = nil
				clear(w.stale)
			}
			// The error is about the objects that the verdict rests on, and the verdict says so.
			e, _ = w.x.checkEviction(key, true)
		}
		switch {
		case len(e.Needs) > 0:
			r.needs = append(r.needs, e.Needs...)
		case e.Verdict.Allowed():
			r.evicted = append(r.evicted, key)
			w.evict(pod, covering)
			for _, b := range covering {
				delete(full, b)
			}
		case e.Verdict == RefusedNow:
			r.left = append(r.left, pod)
			r.waiting = append(r.waiting, refusal(key, e))
			// A ready pod would get the same answer.
			full[covering[0]] = e
		default:
			r.refused = append(r.refused, refusal(key, e))
		}
	}
	return r
}

func refusal(pod types.NamespacedName, e Eviction) RefusedPod {
	e.Blocking = slices.Clone(e.Blocking)
	return RefusedPod{Pod: pod, Code: DrainEvictionRefused, Message: e.Reason, Eviction: e}
}

// evict notes a pod that goes. The index is changed when it matters.
func (w *drainer) evict(pod *corev1.Pod, covering []types.NamespacedName) {
	w.evicted = append(w.evicted, pod)
	if pod.DeletionTimestamp != nil {
		return
	}
	w.unshown = append(w.unshown, pod)
	for _, b := range covering {
		w.stale[b] = true
	}
}

// shown is the index with all evicted pods being deleted.
func (w *drainer) shown() *Index {
	deleted := ptr.To(stamp(w.x.time))
	var changed Snapshot
	for _, pod := range w.unshown {
		terminating := *pod
		terminating.DeletionTimestamp = deleted
		changed.Pods = append(changed.Pods, &terminating)
	}
	return w.x.changed(changed, Snapshot{})
}

// wait lets time pass until the disruption controller looks again at a budget that refused a pod. It
// reports whether it ever does.
func (w *drainer) wait(waiting []RefusedPod) bool {
	var first time.Time
	for _, b := range w.budgetsOf(waiting) {
		// The error is about the status, which stays as it is.
		r, _ := w.x.Plan(budgetKey(b))
		if at := r.RecheckAt; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.IsZero() {
		return false
	}
	later := w.x.changed(Snapshot{Now: first}, Snapshot{})
	var written Snapshot
	for _, key := range w.budgets() {
		if b := later.planned(key); b != nil {
			written.Budgets = append(written.Budgets, b)
		}
	}
	w.x = later.changed(written, Snapshot{})
	return true
}

// budgets are those that cover a pod to be evicted, sorted.
func (w *drainer) budgets() []types.NamespacedName {
	var budgets []types.NamespacedName
	for _, covering := range w.covering {
		budgets = append(budgets, covering...)
	}
	return sortNames(budgets)
}

// budgetsOf are the budgets that refused the pods, sorted.
func (w *drainer) budgetsOf(waiting []RefusedPod) []types.NamespacedName {
	var budgets []types.NamespacedName
	for _, p := range waiting {
		budgets = append(budgets, w.covering[p.Pod]...)
	}
	return sortNames(budgets)
}
