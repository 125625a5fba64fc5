package drain

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/snapshot"
	"github.com/purekube/purekube/internal/test/samplecluster"
	"github.com/purekube/purekube/internal/test/seed"
)

// slowDrainer plays a drain without the shortcuts of drainer: in every round it asks about every pod that waits, the
// index shows each eviction at once, and when time passes every budget is planned. Which pods are recreated at the end of
// a round is drainer's answer; recreate_test.go and return_test.go are about that.
type slowDrainer struct {
	*drainer
	// queue are the turns of the pods that wait, and answers what each was last told.
	queue   []int
	answers map[int]RefusedPod
}

func slowNodes(x *disruption.Index, nodes []string, o Options) ([]Drain, *disruption.Index) {
	o.inventory, _ = newInventory(x, o)
	drains := make([]Drain, len(nodes))
	left := make([][]*corev1.Pod, len(nodes))
	for i, name := range nodes {
		if drains[i], left[i] = sorted(x, name, o); drains[i].Outcome == NotStarted {
			left[i] = nil
		}
	}
	w := &slowDrainer{drainer: newDrainer(x, nodes, left, o), answers: map[int]RefusedPod{}}
	for i := range w.turns {
		w.queue = append(w.queue, i)
	}
	stuck := w.play()
	if !w.settleOutcomes(drains, stuck) {
		return drains, x
	}
	return drains, w.x
}

func (w *slowDrainer) play() (stuck bool) {
	for round := 0; w.waiting > 0 && (w.o.MaxRounds <= 0 || round < w.o.MaxRounds); round++ {
		waited := make([]bool, len(w.nodes))
		for i, n := range w.nodes {
			waited[i] = n.waiting > 0
		}
		for _, i := range slices.Clone(w.queue) {
			w.try(i)
		}
		w.showQueue()
		if w.o.checksNodes() { // nothing is known of the nodes from rounds before
			fresh, _ := newInventory(w.x, w.o)
			w.placement = newPlacement(fresh, w.byName)
		}
		changed := w.finish()
		w.queue = nil
		for _, b := range w.budgets {
			for _, p := range b.queues[0].pods {
				w.queue = append(w.queue, p.turn)
			}
		}
		slices.Sort(w.queue)
		if !changed && !w.wait() {
			return true
		}
		for i, n := range w.nodes {
			if waited[i] {
				n.rounds = append(n.rounds, sortNames(n.going))
				n.going = nil
			}
		}
	}
	return false
}

// showQueue tells drainer which pods wait for which budgets, with what they were told.
func (w *slowDrainer) showQueue() {
	for _, b := range w.budgets {
		b.queues = [2]waitingPods{}
	}
	for _, i := range w.queue {
		q := &w.budget(w.covering[snapshot.KeyOf(w.turns[i].pod)][0]).queues[0]
		q.pods = append(q.pods, waitingPod{RefusedPod: w.answers[i], turn: i})
	}
}

// try asks for the eviction of the pod of a turn.
func (w *slowDrainer) try(i int) {
	if !slices.Contains(w.queue, i) {
		return // given up in this round
	}
	leave := func(i int) {
		w.queue = slices.DeleteFunc(w.queue, func(other int) bool { return other == i })
	}
	t := w.turns[i]
	key := snapshot.KeyOf(t.pod)
	covering := w.covering[key]
	switch e, _ := w.x.CheckEviction(key, w.o.status()); {
	case len(e.Needs) > 0:
		b := w.budget(covering[0])
		b.unknown, b.needs = true, append(b.needs, e.Needs...)
		for _, j := range slices.Clone(w.queue) {
			if of := w.covering[snapshot.KeyOf(w.turns[j].pod)]; j == i || j < i && of[0] == covering[0] {
				leave(j)
				w.leavesOut(w.turns[j].node, covering[0])
			}
		}
	case e.Verdict.Allowed():
		leave(i)
		w.goes(w.x.Pod(key), e.Update)
		t.node.going = append(t.node.going, key)
		w.done(t.node, 1)
	case e.Verdict == disruption.RefusedNow:
		w.answers[i] = refusal(key, e)
	default:
		leave(i)
		t.node.refused = append(t.node.refused, refusal(key, e))
		w.done(t.node, 1)
	}
}

// goes shows the eviction in the index.
func (w *slowDrainer) goes(pod *corev1.Pod, written *policyv1.PodDisruptionBudget) {
	w.evicted = append(w.evicted, pod)
	if pod.DeletionTimestamp != nil {
		return
	}
	terminating := *pod
	terminating.DeletionTimestamp = ptr.To(stamp(w.x.Now()))
	shown := disruption.Snapshot{Pods: []*corev1.Pod{&terminating}}
	if w.o.Budgets == AsWritten && written != nil {
		shown.Budgets = append(shown.Budgets, written)
	}
	w.x, _ = w.x.With(shown)
}

// wait lets time pass to the first entry of a status that a pod waits for, and then nanosecond by nanosecond while the
// disruption controller wants to look again.
func (w *slowDrainer) wait() bool {
	if w.o.Budgets == AsWritten {
		return false
	}
	next := func(onlyWaitedFor bool) (first time.Time) {
		for name := range w.budgets {
			if r, _ := w.x.Plan(disruption.BudgetKey(name.Namespace, name.Name)); !r.RecheckAt.IsZero() && (!onlyWaitedFor || w.waitsFor(name)) &&
				(first.IsZero() || r.RecheckAt.Before(first)) {
				first = r.RecheckAt
			}
		}
		return first
	}
	at := next(true)
	if at.IsZero() {
		return false
	}
	for ; ; at = at.Add(1) {
		w.x, _ = w.x.With(disruption.Snapshot{Now: at})
		for name := range w.budgets {
			if b := planned(w.x, name); b != nil {
				w.x, _ = w.x.With(disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{b}})
			}
		}
		if soon := next(false); !soon.Equal(at.Add(1)) {
			return true
		}
	}
}

// unsettled is the snapshot of a cluster in which evictions may have been granted whose pods are still there, and in
// which some scales may not be known.
func unsettled(r *rand.Rand, c samplecluster.Cluster) disruption.Snapshot {
	s := c.Snapshot
	if r.IntN(3) == 0 {
		// Such pods count again one after the other.
		for _, b := range s.Budgets {
			b.Status.ObservedGeneration, b.Status.DisruptedPods = b.Generation, map[string]metav1.Time{}
			for _, p := range s.Pods {
				if p.Namespace == b.Namespace && r.IntN(2) == 0 {
					b.Status.DisruptedPods[p.Name] = ago(time.Duration(r.IntN(4)) * 30 * time.Second)
				}
			}
		}
	}
	if r.IntN(3) == 0 {
		s.ReplicaSets, s.StatefulSets = samplecluster.SomeOf(r, s.ReplicaSets), samplecluster.SomeOf(r, s.StatefulSets)
		for _, n := range sortedNeeds(slices.Collect(maps.Keys(s.Answers))) { // in one order, so that a seed repeats the cluster
			if r.IntN(2) == 0 {
				delete(s.Answers, n)
			}
		}
	}
	return s
}

// What a drain remembers changes nothing of what it answers.
func TestDrainWithoutShortcuts(t *testing.T) {
	outcomes, waited := map[Outcome]int{}, 0
	for seed := range seed.Each(t, 1500) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := samplecluster.New(r, now)
		c.WithTemplates(r)
		s := unsettled(r, c)
		o := Options{IgnoreDaemonSets: true, DeleteEmptyDirData: true, Force: true, MaxRounds: max(0, r.IntN(10)-6)}
		if r.IntN(6) == 0 {
			o.Budgets = AsWritten
		}
		if r.IntN(3) == 0 {
			o.Nodes = c.WithNodes(r)
		}
		nodes := c.Nodes[:1+r.IntN(len(c.Nodes))]
		x := disruption.NewIndex(s, disruption.Options{})
		got, after, _ := Nodes(x, nodes, o)
		want, wanted := slowNodes(x, nodes, o)
		if diff := gocmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
			t.Fatalf("seed %d, %v, %+v: -without shortcuts +with:\n%s", seed, nodes, o, diff)
		}
		if diff := gocmp.Diff(contents(wanted, c), contents(after, c), cmpopts.EquateErrors()); diff != "" {
			t.Fatalf("seed %d, %v, %+v, the index afterwards: -without shortcuts +with:\n%s", seed, nodes, o, diff)
		}
		for _, d := range got {
			outcomes[d.Outcome]++
			for _, round := range d.Rounds {
				if len(round) == 0 {
					waited++
				}
			}
		}
	}
	for _, o := range []Outcome{Now, InRounds, Never, Unknown, RoundsExhausted, LeavesPending} {
		require.Positive(t, outcomes[o], o)
	}
	require.Positive(t, waited, "rounds in which a node waits")
	t.Log(outcomes, waited)
}

// contents are the time and the pods of an index, what its budgets should say, and what is wrong with all of them. When a
// budget is written is not compared, and so its conditions are not.
func contents(x *disruption.Index, c samplecluster.Cluster) []any {
	all := []any{x.Now()}
	if err := x.Err(); err != nil {
		all = append(all, err.Error())
	}
	for _, p := range c.Pods {
		all = append(all, x.Pod(snapshot.KeyOf(p)))
	}
	for _, b := range c.Budgets {
		key := snapshot.KeyOf(b)
		status := cmp.Or(planned(x, key), x.Budget(key)).Status
		status.Conditions = nil
		all = append(all, status)
	}
	return all
}

// slowWaves forms waves without what a planner remembers. Each wave has a planner of its own, which knows nothing of
// earlier waves, asks about each node, and simulates it beside all nodes that the wave has.
func slowWaves(x *disruption.Index, nodes []string, o WaveOptions) (Plan, *disruption.Index) {
	o.inventory, _ = newInventory(x, o.Options)
	left, _, _ := o.known(x, sortedOnce(nodes))
	planners := func() *planner {
		p := newPlanner(x, left, o)
		for _, c := range p.left() {
			clear(c.asks)
			c.sharesRoom = true
		}
		return p
	}
	var plan Plan
	most := map[string]int{}
	for more := true; more; {
		more = false
		for _, of := range planners().groups {
			for {
				p := planners()
				i := slices.IndexFunc(p.groups, func(g *group) bool { return g.name == of.name })
				if i < 0 {
					break
				}
				p.groups[i].most = most[of.name]
				wave, formed := p.next(p.groups[i])
				most[of.name] = p.groups[i].most
				if !formed {
					break
				}
				plan.Waves = append(plan.Waves, wave)
				more = true
				x, o.inventory = p.x, p.o.inventory
				left = slices.DeleteFunc(left, func(n string) bool { return slices.Contains(wave.Nodes, n) })
			}
		}
	}
	plan.Blocked = each(x, left, o.Options)
	return plan, x
}

// crowded is a cluster of a few workloads with pods on many nodes, and budgets that keep most nodes apart.
func crowded(r *rand.Rand) samplecluster.Cluster {
	c := samplecluster.Cluster{Snapshot: disruption.Snapshot{Now: now}}
	for i := range 1 + r.IntN(4) {
		name := "w" + string(rune('0'+i))
		labels := map[string]string{"app": name}
		meta := metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}
		pods := 2 + r.IntN(6)
		set := &appsv1.ReplicaSet{ObjectMeta: meta}
		set.Spec.Replicas = ptr.To(int32(max(1, pods-r.IntN(4)/3)))
		set.Spec.Template.Labels = labels
		c.ReplicaSets = append(c.ReplicaSets, set)
		for range 1 + r.IntN(4)/3 {
			b := &policyv1.PodDisruptionBudget{ObjectMeta: meta}
			b.Name += string(rune('a' + len(c.Budgets)))
			b.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
			b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(1 + r.Int32N(2)))
			c.Budgets = append(c.Budgets, b)
		}
		for n := range pods {
			p := &corev1.Pod{ObjectMeta: meta}
			p.Name += "-" + string(rune('0'+n))
			p.UID = types.UID(p.Name)
			p.Labels = labels
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
			p.Status.Phase = corev1.PodRunning
			ready := corev1.ConditionTrue
			if r.IntN(6) == 0 {
				ready = corev1.ConditionFalse
			}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
			c.Pods = append(c.Pods, p)
		}
	}
	return c
}

// unsettledWaves draws a cluster whose pods run on two to eight nodes, and options for waves of these.
func unsettledWaves(r *rand.Rand) (c samplecluster.Cluster, s disruption.Snapshot, o WaveOptions) {
	if r.IntN(2) == 0 {
		c = crowded(r)
	} else {
		c = samplecluster.New(r, now)
		c.WithTemplates(r)
	}
	c.Nodes = nil
	for i := range 2 + r.IntN(7) {
		c.Nodes = append(c.Nodes, "node-"+string(rune('a'+i)))
	}
	for _, p := range c.Pods {
		p.Spec.NodeName = c.Nodes[r.IntN(len(c.Nodes))]
	}
	o = WaveOptions{Options: Options{IgnoreDaemonSets: true, DeleteEmptyDirData: true, Force: r.IntN(8) > 0},
		MaxNodes: max(0, r.IntN(6)-2), Rounds: r.IntN(5) - 1}
	if r.IntN(6) == 0 {
		o.Budgets = AsWritten
	}
	if r.IntN(3) == 0 {
		o.Options.Nodes = c.WithNodes(r)
	}
	if r.IntN(3) == 0 {
		o.GroupOf = func(node string) string { return []string{"east", "west"}[node[len(node)-1]%2] }
	}
	s = unsettled(r, c)
	if r.IntN(3) == 0 {
		for _, rs := range s.ReplicaSets { // which may have more pods than they want
			rs.Spec.Replicas = ptr.To(int32(r.IntN(3)))
		}
	}
	return c, s, o
}

// What a planner remembers changes nothing of the waves.
func TestWavesWithoutShortcuts(t *testing.T) {
	waves, blocked, several := 0, 0, 0
	seeds := func(yield func(uint64) bool) {
		// A pod that was being deleted goes with a wave of its StatefulSet, and its node needs a round less. The other node needs
		// a round less since a budget that lets its pods go in the end has changed.
		if !yield(9300779) || !yield(20970690) {
			return
		}
		seed.Each(t, 1000)(yield)
	}
	for seed := range seeds {
		c, s, o := unsettledWaves(rand.New(rand.NewPCG(seed, 4)))
		x := disruption.NewIndex(s, disruption.Options{})
		got, after, _ := Waves(x, c.Nodes, o)
		want, wanted := slowWaves(x, c.Nodes, o)
		if diff := gocmp.Diff(want, got, cmpopts.EquateErrors(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d, %+v: -without shortcuts +with:\n%s", seed, o, diff)
		}
		if diff := gocmp.Diff(contents(wanted, c), contents(after, c), cmpopts.EquateErrors()); diff != "" {
			t.Fatalf("seed %d, %+v, the index afterwards: -without shortcuts +with:\n%s", seed, o, diff)
		}
		waves, blocked = waves+len(got.Waves), blocked+len(got.Blocked)
		for _, w := range got.Waves {
			several += min(1, len(w.Nodes)-1)
		}
	}
	require.Positive(t, waves)
	require.Positive(t, blocked)
	require.Positive(t, several, "waves of several nodes")
}

// However many simulations may fail, every wave drains as a whole, and what is blocked does not drain alone.
func TestWavesOfUnsettledClusters(t *testing.T) {
	inVain := 0
	for seed := range seed.Each(t, 1000) {
		for _, bound := range []int{0, mayFail} {
			c, s, o := unsettledWaves(rand.New(rand.NewPCG(seed, 4)))
			x := disruption.NewIndex(s, disruption.Options{})
			o.inventory, _ = newInventory(x, o.Options)
			p := newPlanner(x, c.Nodes, o)
			p.mayFail = bound
			waves := p.waves()
			inVain += min(1, p.failed)

			limited := o.Options
			limited.MaxRounds = p.rounds
			drains := func(nodes ...string) (after *disruption.Index, whole bool) {
				played, after, err := Nodes(x, nodes, limited)
				require.NoError(t, err)
				return after, !slices.ContainsFunc(played, func(d Drain) bool { return d.Outcome != Now && d.Outcome != InRounds })
			}
			for _, w := range waves {
				after, whole := drains(w.Nodes...)
				require.True(t, whole, "seed %d, bound %d, %+v: %v", seed, bound, o, w.Nodes)
				x = after
			}
			for _, c := range p.left() {
				_, whole := drains(c.name)
				require.False(t, whole, "seed %d, bound %d, %+v: %s is blocked, and drains", seed, bound, o, c.name)
			}
		}
	}
	if !seed.Chosen() { // it is one plan in 200
		require.Positive(t, inVain, "plans with simulations in vain")
	}
}

// Only where room is short, the next wave is limited: a wave that has all nodes says nothing about room.
func TestWavesAreLimitedWhereRoomIsShort(t *testing.T) {
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(3)))}}
	var fleet []*corev1.Node
	for i := range 4 { // n3 is empty, and the others are full
		fleet = append(fleet, node(fmt.Sprint("n", i), allocatable("pods", "1")))
		if i < 3 {
			s.Pods = append(s.Pods, pod(fmt.Sprint("p", i), by("apps/v1", "ReplicaSet", "rs"), on(fmt.Sprint("n", i))))
		}
	}
	x := disruption.NewIndex(s, disruption.Options{})
	for _, tc := range []struct {
		nodes      []*corev1.Node
		size, most int
	}{{nil, 3, 0}, {fleet, 1, largerWave}} {
		o := WaveOptions{Options: Options{Nodes: tc.nodes}}
		o.inventory, _ = newInventory(x, o.Options)
		p := newPlanner(x, []string{"n0", "n1", "n2"}, o)
		wave, formed := p.next(p.groups[0])
		require.True(t, formed)
		require.Len(t, wave.Nodes, tc.size)
		require.Equal(t, tc.most, p.groups[0].most)
	}
}
