package drain

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// drainer is a drain in progress. A round costs the pods that go in it and the budgets of these, not the pods and
// budgets that wait.
type drainer struct {
	x     *disruption.Index
	o     Options
	began time.Time
	begun bool // the first round is over
	// covering are the budgets of each pod that is to be evicted. They stay the same.
	covering map[types.NamespacedName][]types.NamespacedName
	budgets  map[types.NamespacedName]*budgetQueues
	owners   map[owner]*ownerState
	// waiting is how many pods wait for budgets. awake are the budgets that may answer something else than before.
	waiting int
	awake   map[types.NamespacedName]bool
	// refused are the pods that kubectl drain gives up, since the answer is not 429.
	refused []RefusedPod
	needs   []purekube.Need
	// rechecks are when budgets let go of entries of their status.
	rechecks *persistent.Edit[recheck, struct{}]

	// evicted are the pods that go in this round.
	evicted []*corev1.Pod
	// unshown are those of them that x does not show as being deleted, and stale the budgets that
	// cover one of these.
	unshown []*corev1.Pod
	stale   map[types.NamespacedName]bool
}

func newDrainer(x *disruption.Index, pods []*corev1.Pod, o Options) *drainer {
	w := &drainer{
		x: x, o: o, began: x.Now(),
		covering: make(map[types.NamespacedName][]types.NamespacedName, len(pods)),
		budgets:  map[types.NamespacedName]*budgetQueues{},
		owners:   map[owner]*ownerState{},
		awake:    map[types.NamespacedName]bool{},
		stale:    map[types.NamespacedName]bool{},
	}
	for _, pod := range pods {
		w.covering[snapshot.KeyOf(pod)] = budgetsOf(x, pod)
	}
	return w
}

// budgetQueues is a budget that covers a pod to be evicted.
type budgetQueues struct {
	// queues are the pods that wait for it, by their readiness: it answers alike about those of one queue.
	queues [2]waitingPods
	// unknown: its status takes a lookup, and its pods are left out.
	unknown bool
}

// waitingPods are sorted by name.
type waitingPods struct {
	pods []RefusedPod
	// refusal is the answer about all of them since the last pod of the budget went, and last the one of the last
	// round that asked. Before there was one, each pod has its own.
	refusal, last *disruption.Eviction
}

// queueOf is the one that the pod waits in.
func queueOf(pod *corev1.Pod) int {
	if podstate.Ready(pod) {
		return 0
	}
	return 1
}

func (w *drainer) budget(name types.NamespacedName) *budgetQueues {
	b := w.budgets[name]
	if b == nil {
		b = &budgetQueues{}
		w.budgets[name] = b
	}
	return b
}

// waitsFor reports whether a pod waits for the budget.
func (w *drainer) waitsFor(name types.NamespacedName) bool {
	b := w.budgets[name]
	return b != nil && len(b.queues[0].pods)+len(b.queues[1].pods) > 0
}

// leaveOut gives the pods of the budget up: the needs have to be answered first.
func (w *drainer) leaveOut(name types.NamespacedName, needs ...purekube.Need) {
	b := w.budget(name)
	b.unknown = true
	w.needs = append(w.needs, needs...)
	for i := range b.queues {
		w.waiting -= len(b.queues[i].pods)
		b.queues[i] = waitingPods{}
	}
}

// first evicts each pod once, in order, each against what those before it left. It returns those that go.
func (w *drainer) first(pods []*corev1.Pod) []types.NamespacedName {
	for _, pod := range pods {
		key := snapshot.KeyOf(pod)
		covering := w.covering[key]
		var q *waitingPods
		if len(covering) == 1 && active(pod) && pod.Status.Phase != corev1.PodPending {
			b := w.budget(covering[0])
			if b.unknown {
				continue
			}
			q = &b.queues[queueOf(pod)]
		}
		var e disruption.Eviction
		if q != nil && q.refusal != nil {
			e = *q.refusal
		} else {
			e = w.ask(pod, covering)
		}
		switch {
		case len(e.Needs) > 0:
			w.leaveOut(covering[0], e.Needs...)
		case e.Verdict.Allowed():
			w.evict(pod, covering)
			for _, b := range covering {
				w.budget(b).queues[0].refusal, w.budget(b).queues[1].refusal = nil, nil
			}
		case e.Verdict == disruption.RefusedNow:
			q.refusal = &e
			q.pods = append(q.pods, refusal(key, e))
			w.waiting++
		default:
			w.refused = append(w.refused, refusal(key, e))
		}
	}
	return w.going()
}

// again evicts the pods that wait for budgets that may let them go now, and returns those that go. The budgets do
// not depend on one another: a pod that waits has one.
func (w *drainer) again() []types.NamespacedName {
	awake := slices.SortedFunc(maps.Keys(w.awake), persistent.CompareNames)
	clear(w.awake)
	for _, name := range awake {
		b := w.budget(name)
		b.queues[0].refusal, b.queues[1].refusal = nil, nil
		for q := b.next(); q != nil; q = b.next() {
			pod := w.x.Pod(q.pods[0].Pod)
			switch e := w.ask(pod, w.covering[q.pods[0].Pod]); {
			case len(e.Needs) > 0:
				w.leaveOut(name, e.Needs...)
			case e.Verdict.Allowed():
				w.evict(pod, w.covering[q.pods[0].Pod])
				q.pods = q.pods[1:]
				w.waiting--
			case e.Verdict == disruption.RefusedNow:
				q.refusal, q.last = &e, &e
			default:
				for _, p := range q.pods {
					w.refused = append(w.refused, refusal(p.Pod, e))
				}
				w.waiting -= len(q.pods)
				q.pods = nil
			}
		}
	}
	return w.going()
}

// next is the queue of the first pod by name that the budget has not answered about, and nil if there is none.
func (b *budgetQueues) next() *waitingPods {
	var next *waitingPods
	for i := range b.queues {
		q := &b.queues[i]
		if len(q.pods) > 0 && q.refusal == nil && (next == nil || q.pods[0].Pod.Name < next.pods[0].Pod.Name) {
			next = q
		}
	}
	return next
}

// ask is the answer of the API server to the eviction of the pod.
func (w *drainer) ask(pod *corev1.Pod, covering []types.NamespacedName) disruption.Eviction {
	if slices.ContainsFunc(covering, func(b types.NamespacedName) bool { return w.stale[b] }) {
		w.x = w.shown()
		w.unshown = nil
		clear(w.stale)
	}
	// The problems are about the objects that the verdict rests on, and the verdict says so.
	e, _ := w.x.CheckEviction(snapshot.KeyOf(pod), disruption.Recomputed)
	return e
}

func refusal(pod types.NamespacedName, e disruption.Eviction) RefusedPod {
	e.Blocking = slices.Clone(e.Blocking)
	return RefusedPod{Pod: pod, Code: ReasonEvictionRefused, Message: e.Reason, Eviction: e}
}

// stay are the pods that have not gone.
func (w *drainer) stay() []RefusedPod {
	stay := slices.Clone(w.refused)
	for _, b := range w.budgets {
		for _, q := range b.queues {
			for _, p := range q.pods {
				if q.last != nil {
					p = refusal(p.Pod, *q.last)
				}
				stay = append(stay, p)
			}
		}
	}
	return stay
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

// going are the names of the pods that go in this round, sorted.
func (w *drainer) going() []types.NamespacedName {
	var names []types.NamespacedName
	for _, pod := range w.evicted {
		names = append(names, snapshot.KeyOf(pod))
	}
	return sortNames(names)
}

// shown is the index with all evicted pods being deleted.
func (w *drainer) shown() *disruption.Index {
	deleted := ptr.To(stamp(w.x.Now()))
	var changed disruption.Snapshot
	for _, pod := range w.unshown {
		terminating := *pod
		terminating.DeletionTimestamp = deleted
		changed.Pods = append(changed.Pods, &terminating)
	}
	shown, _ := w.x.With(changed)
	return shown
}

// recheck is when a budget lets go of an entry of status.disruptedPods.
type recheck struct {
	at     time.Time
	budget types.NamespacedName
}

func compareRechecks(a, b recheck) int {
	return cmp.Or(a.at.Compare(b.at), persistent.CompareNames(a.budget, b.budget))
}

// noteRecheck notes when the budget lets go of its next entry, if it has one.
func (w *drainer) noteRecheck(budget types.NamespacedName) {
	// The error is about the status, which stays as it is.
	r, _ := w.x.Plan(disruption.BudgetKey(budget.Namespace, budget.Name))
	if !r.RecheckAt.IsZero() {
		w.rechecks.Set(recheck{r.RecheckAt, budget}, struct{}{})
	}
}

// wait lets time pass until the disruption controller looks again at a budget that refused a pod. It
// reports whether it ever does.
func (w *drainer) wait() bool {
	if w.rechecks == nil {
		w.rechecks = persistent.NewMap[recheck, struct{}](compareRechecks).Edit()
		for name := range w.budgets {
			w.noteRecheck(name)
		}
	}
	first, due := w.nextRecheck()
	if first.IsZero() {
		return false
	}
	w.x, _ = w.x.With(disruption.Snapshot{Now: first})
	var written disruption.Snapshot
	for _, name := range due {
		if b := planned(w.x, name); b != nil {
			written.Budgets = append(written.Budgets, b)
		}
	}
	w.x, _ = w.x.With(written)
	for _, name := range due {
		w.noteRecheck(name)
		if w.waitsFor(name) {
			w.awake[name] = true
		}
	}
	return true
}

// nextRecheck is the first time at which a budget that a pod waits for lets go of an entry, zero if there is none, and
// the budgets that do so until then. It takes what it has looked at out of the rechecks.
func (w *drainer) nextRecheck() (first time.Time, due []types.NamespacedName) {
	for {
		var next recheck
		for r := range w.rechecks.From(recheck{}) {
			next = r
			break
		}
		if next.at.IsZero() || !first.IsZero() && next.at.After(first) {
			return first, due
		}
		w.rechecks.Delete(next)
		// The entry may be gone with its pod since.
		switch r, _ := w.x.Plan(disruption.BudgetKey(next.budget.Namespace, next.budget.Name)); {
		case r.RecheckAt.After(next.at):
			w.rechecks.Set(recheck{r.RecheckAt, next.budget}, struct{}{})
		case !r.RecheckAt.IsZero():
			due = append(due, next.budget)
			if w.waitsFor(next.budget) {
				first = next.at
			}
		}
	}
}
