package drain

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// drainer is the drain of several nodes in progress. A round costs the pods that go in it and the budgets of these, not
// the pods and budgets that wait.
type drainer struct {
	x     *disruption.Index
	o     Options
	began time.Time
	begun bool // the first round is over
	nodes []*nodeDrain
	// byName are the nodes of the drain, and placement finds others for the recreated pods. Nil: they find one.
	byName    map[string]*nodeDrain
	placement *placement
	// never: a node has a pod that a drain neither evicts nor skips.
	never bool
	// turns are the pods to be evicted, in the order of a round.
	turns []turn
	// The budgets that select each pod to be evicted. They stay the same.
	covering map[types.NamespacedName][]types.NamespacedName
	budgets  map[types.NamespacedName]*budgetQueues
	owners   map[owner]*ownerState
	// waiting is how many pods wait for budgets. awake are the budgets that may answer something else than before.
	waiting int
	awake   map[types.NamespacedName]bool
	// touched are the budgets that lost pods, and otherNodes the nodes outside the drain that lost pods.
	touched    map[types.NamespacedName]bool
	otherNodes map[string]bool
	// rechecks are when budgets let go of entries of their status.
	rechecks *persistent.Edit[recheck, struct{}]

	// evicted are the pods that go in this round.
	evicted []*corev1.Pod
	// unshown are the evicted pods that x does not show as being deleted, and stale the budgets that select an unshown
	// pod. counted are the budgets as the evictions leave them, with AsWritten.
	unshown []*corev1.Pod
	stale   map[types.NamespacedName]bool
	counted []*policyv1.PodDisruptionBudget
}

// nodeDrain is what becomes of one node.
type nodeDrain struct {
	// waiting is how many of its pods are to be evicted yet.
	waiting int
	rounds  [][]types.NamespacedName
	// going are the node's pods that go in this round.
	going []types.NamespacedName
	// refused are the pods that kubectl drain gives up, since the answer is not 429. stay are the pods that wait when
	// all is over.
	refused, stay []RefusedPod
	// pending are its pods whose replacement finds no node. homeless: one would find none with more room either.
	pending  []PendingPod
	homeless bool
	// unknown are the budgets that keep pods of the node and need a lookup.
	unknown map[types.NamespacedName]bool
}

// turn is a pod to be evicted, and the node that it is on.
type turn struct {
	pod  *corev1.Pod
	node *nodeDrain
}

// newDrainer begins the drain of nodes that have these pods to evict.
func newDrainer(x *disruption.Index, names []string, pods [][]*corev1.Pod, o Options) *drainer {
	w := &drainer{
		x: x, o: o, began: x.Now(),
		covering: map[types.NamespacedName][]types.NamespacedName{},
		budgets:  map[types.NamespacedName]*budgetQueues{},
		owners:   map[owner]*ownerState{},
		awake:    map[types.NamespacedName]bool{},
		stale:    map[types.NamespacedName]bool{},
		touched:  map[types.NamespacedName]bool{},
		byName:   map[string]*nodeDrain{},

		otherNodes: map[string]bool{},
	}
	for i, on := range pods {
		n := &nodeDrain{waiting: len(on)}
		w.nodes = append(w.nodes, n)
		w.byName[names[i]] = n
		w.waiting += len(on)
		for _, pod := range on {
			w.covering[snapshot.KeyOf(pod)] = budgetsOf(x, pod)
		}
	}
	w.turns = takeTurns(w.nodes, pods)
	return w
}

// takeTurns are the first pods of all nodes, then the second ones, and so on.
func takeTurns(nodes []*nodeDrain, pods [][]*corev1.Pod) []turn {
	var turns []turn
	left := make([]int, len(nodes))
	for i := range left {
		left[i] = i
	}
	for n := 0; len(left) > 0; n++ {
		left = slices.DeleteFunc(left, func(i int) bool { return len(pods[i]) <= n })
		for _, i := range left {
			turns = append(turns, turn{pods[i][n], nodes[i]})
		}
	}
	return turns
}

// budgetQueues is a budget that selects a pod to be evicted.
type budgetQueues struct {
	// queues are the pods that wait for the budget, by their readiness: it gives all pods of a queue the same answer.
	queues [2]waitingPods
	// unknown: its status needs a lookup, and its pods are left out. needs are the lookups.
	unknown bool
	needs   []purekube.Need
}

// waitingPods are in the order of their turns.
type waitingPods struct {
	pods []waitingPod
	// refusal is the answer about all of the pods since the last pod of the budget went, and last the answer of the
	// last round that asked. Before there is an answer for all, each pod has its own.
	refusal, last *disruption.Eviction
}

// waitingPod is the pod of a turn, with the last answer to its eviction.
type waitingPod struct {
	RefusedPod
	turn int
}

// queueOf is the index of the queue that the pod waits in.
func queueOf(pod *corev1.Pod) int {
	if podstate.Ready(pod) {
		return 0
	}
	return 1
}

// asks reports whether a pod that one budget selects goes only if the budget allows it.
func asks(pod *corev1.Pod) bool { return active(pod) && pod.Status.Phase != corev1.PodPending }

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

// leaveOut gives up the pods of the budget: the needs must be answered first.
func (w *drainer) leaveOut(name types.NamespacedName, needs ...purekube.Need) {
	b := w.budget(name)
	b.unknown = true
	b.needs = append(b.needs, needs...)
	for i := range b.queues {
		for _, p := range b.queues[i].pods {
			w.leavesOut(w.turns[p.turn].node, name)
		}
		b.queues[i] = waitingPods{}
	}
}

// leavesOut gives up a pod of the node, since the budget needs lookups.
func (w *drainer) leavesOut(n *nodeDrain, budget types.NamespacedName) {
	if n.unknown == nil {
		n.unknown = map[types.NamespacedName]bool{}
	}
	n.unknown[budget] = true
	w.done(n, 1)
}

// done counts pods of the node that wait no more.
func (w *drainer) done(n *nodeDrain, pods int) {
	n.waiting -= pods
	w.waiting -= pods
}

// allNeeds are the needs of all budgets.
func (w *drainer) allNeeds() []purekube.Need {
	var needs []purekube.Need
	for _, b := range w.budgets {
		needs = append(needs, b.needs...)
	}
	return sortedNeeds(needs)
}

// needsOf are the needs of the budgets that keep pods of the node.
func (w *drainer) needsOf(n *nodeDrain) []purekube.Need {
	var needs []purekube.Need
	for name := range n.unknown {
		needs = append(needs, w.budgets[name].needs...)
	}
	return sortedNeeds(needs)
}

// first evicts each pod once, in order. Each eviction is decided after the evictions before it.
func (w *drainer) first() {
	for i, t := range w.turns {
		key := snapshot.KeyOf(t.pod)
		covering := w.covering[key]
		var q *waitingPods
		if len(covering) == 1 && asks(t.pod) {
			b := w.budget(covering[0])
			if b.unknown {
				w.leavesOut(t.node, covering[0])
				continue
			}
			q = &b.queues[queueOf(t.pod)]
		}
		var e disruption.Eviction
		if q != nil && q.refusal != nil {
			e = *q.refusal
		} else {
			e, _ = w.ask(key, covering)
		}
		switch {
		case len(e.Needs) > 0:
			w.leaveOut(covering[0], e.Needs...)
			w.leavesOut(t.node, covering[0])
		case e.Verdict.Allowed():
			w.evict(t.pod, covering, e.Update)
			t.node.going = append(t.node.going, key)
			w.done(t.node, 1)
			for _, b := range covering {
				w.budget(b).queues[0].refusal, w.budget(b).queues[1].refusal = nil, nil
			}
		case e.Verdict == disruption.RefusedNow:
			q.refusal = &e
			q.pods = append(q.pods, waitingPod{refusal(key, e), i})
		default:
			if q != nil {
				q.refusal = &e // 403: the same for all pods of the queue
			}
			t.node.refused = append(t.node.refused, refusal(key, e))
			w.done(t.node, 1)
		}
	}
}

// again evicts the pods that wait for budgets that may let them go now. The budgets do not depend on one another: a pod
// that waits has one.
func (w *drainer) again() {
	awake := slices.SortedFunc(maps.Keys(w.awake), persistent.CompareNames)
	clear(w.awake)
	for _, name := range awake {
		b := w.budget(name)
		b.queues[0].refusal, b.queues[1].refusal = nil, nil
		for q := b.next(); q != nil; q = b.next() {
			t, key := w.turns[q.pods[0].turn], q.pods[0].Pod
			switch e, _ := w.ask(key, w.covering[key]); {
			case len(e.Needs) > 0:
				w.leaveOut(name, e.Needs...)
			case e.Verdict.Allowed():
				w.evict(w.x.Pod(key), w.covering[key], e.Update)
				t.node.going = append(t.node.going, key)
				w.done(t.node, 1)
				q.pods = q.pods[1:]
			default:
				q.refusal, q.last = &e, &e
			}
		}
	}
}

// next is the queue of the first pod by turn that the budget has not answered about, and nil if there is none.
func (b *budgetQueues) next() *waitingPods {
	var next *waitingPods
	for i := range b.queues {
		q := &b.queues[i]
		if len(q.pods) > 0 && q.refusal == nil && (next == nil || q.pods[0].turn < next.pods[0].turn) {
			next = q
		}
	}
	return next
}

// ask is the answer of the API server to the eviction of the pod.
func (w *drainer) ask(pod types.NamespacedName, covering []types.NamespacedName) (disruption.Eviction, error) {
	if slices.ContainsFunc(covering, func(b types.NamespacedName) bool { return w.stale[b] }) {
		w.show()
	}
	return w.x.CheckEviction(pod, w.o.status())
}

func refusal(pod types.NamespacedName, e disruption.Eviction) RefusedPod {
	e.Blocking = slices.Clone(e.Blocking)
	return RefusedPod{Pod: pod, Code: ReasonEvictionRefused, Message: e.Reason, Eviction: e}
}

// stay tells the nodes which of their pods have not gone.
func (w *drainer) stay() {
	for _, b := range w.budgets {
		for _, q := range b.queues {
			for _, p := range q.pods {
				if q.last != nil {
					p.RefusedPod = refusal(p.Pod, *q.last)
				}
				n := w.turns[p.turn].node
				n.stay = append(n.stay, p.RefusedPod)
			}
		}
	}
}

// evict notes a pod that goes. The index is changed when it matters.
func (w *drainer) evict(pod *corev1.Pod, covering []types.NamespacedName, counted *policyv1.PodDisruptionBudget) {
	w.evicted = append(w.evicted, pod)
	if pod.DeletionTimestamp != nil {
		return
	}
	w.unshown = append(w.unshown, pod)
	for _, b := range covering {
		w.stale[b] = true
		w.touched[b] = true
	}
	if w.o.Budgets == AsWritten && counted != nil {
		w.counted = append(w.counted, counted)
	}
}

// show updates the index: all evicted pods are being deleted in it.
func (w *drainer) show() {
	w.x = w.shown()
	w.unshown, w.counted = nil, nil
	clear(w.stale)
}

func (w *drainer) shown() *disruption.Index {
	deleted := ptr.To(stamp(w.x.Now()))
	changed := disruption.Snapshot{Budgets: w.counted}
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
	if w.o.Budgets == AsWritten {
		return false
	}
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
	if !w.look(first, due) {
		// With MatchUpstream, the controller keeps an entry that expires at this very moment, and looks again at once
		// (D-19).
		w.look(first.Add(1), due)
	}
	for _, name := range due {
		w.noteRecheck(name)
		if w.waitsFor(name) {
			w.awake[name] = true
		}
	}
	return true
}

// look lets the disruption controller write the budgets at this time. It reports whether it need not look again at the
// next instant.
func (w *drainer) look(at time.Time, due []types.NamespacedName) bool {
	w.x, _ = w.x.With(disruption.Snapshot{Now: at})
	w.x = writtenBy(w.x, due)
	return !slices.ContainsFunc(due, func(name types.NamespacedName) bool {
		r, _ := w.x.Plan(disruption.BudgetKey(name.Namespace, name.Name))
		return r.RecheckAt.Equal(at.Add(1))
	})
}

// nextRecheck is the first time at which a budget that a pod waits for lets go of an entry, zero if there is none, and
// the budgets that do so until then. It takes what it has looked at out of the rechecks.
func (w *drainer) nextRecheck() (first time.Time, due []types.NamespacedName) {
	for {
		next, _, _ := w.rechecks.Ceiling(recheck{})
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
