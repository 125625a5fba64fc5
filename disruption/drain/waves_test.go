package drain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

func waveNodes(p Plan) [][]string {
	var waves [][]string
	for _, w := range p.Waves {
		waves = append(waves, w.Nodes)
	}
	return waves
}

func blockedNodes(p Plan) []string {
	var nodes []string
	for _, d := range p.Blocked {
		nodes = append(nodes, d.Node)
	}
	return nodes
}

// Waves takes whatever names and options it gets.
func TestWavesOfBadInput(t *testing.T) {
	s := disruption.Snapshot{Now: now, Pods: []*corev1.Pod{nil, {}, pod("a", on("n")), pod("twice", on("m")), pod("twice", on("m"))}, Budgets: []*policyv1.PodDisruptionBudget{nil, {}}}
	x := disruption.NewIndex(s, disruption.Options{})
	for _, o := range []WaveOptions{{}, {MaxNodes: -4, Rounds: -4}, {Options: Options{MaxRounds: -1}, Rounds: 1}} {
		o.Force = true
		plan, _, err := Waves(x, []string{"n", "", "nowhere", "n", "m"}, o)
		require.Error(t, err, "the pods that are not right")
		require.Equal(t, [][]string{{"", "n", "nowhere"}}, waveNodes(plan))
		require.Len(t, plan.Blocked, 1)
		require.Equal(t, "m", plan.Blocked[0].Node)
	}
	plan, after, err := Waves(x, nil, WaveOptions{})
	require.Error(t, err)
	require.Equal(t, Plan{}, plan)
	require.Same(t, x, after)
	plan, after, err = Waves(x, []string{"n"}, WaveOptions{Options: Options{Budgets: "?"}})
	require.ErrorIs(t, err, ErrUnknownBudgets)
	require.Equal(t, Plan{}, plan)
	require.Same(t, x, after)
}

// A wave takes at most Rounds rounds, and no more than Options.MaxRounds.
func TestWavesRounds(t *testing.T) {
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(3)))}, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))},
		Pods: []*corev1.Pod{pod("a", ofRS, on("m")), pod("b", ofRS, on("m")), pod("c", ofRS, on("n"))}}
	x := disruption.NewIndex(s, disruption.Options{})
	for _, tc := range []struct {
		name, reason string
		o            WaveOptions
		waves        [][]string
		blocked      Outcome
	}{
		{name: "one by default", reason: "m needs two", waves: [][]string{{"n"}}, blocked: InRounds},
		{name: "two", reason: "m and n together need three", o: WaveOptions{Rounds: 2}, waves: [][]string{{"m"}, {"n"}}},
		{name: "three", reason: "both", o: WaveOptions{Rounds: 3}, waves: [][]string{{"m", "n"}}},
		{name: "any", reason: "both", o: WaveOptions{Rounds: -1}, waves: [][]string{{"m", "n"}}},
		{name: "any, but MaxRounds", reason: "two rounds", o: WaveOptions{Rounds: -1, Options: Options{MaxRounds: 2}}, waves: [][]string{{"m"}, {"n"}}},
		{name: "two, and a larger MaxRounds", reason: "the smaller counts", o: WaveOptions{Rounds: 2, Options: Options{MaxRounds: 3}}, waves: [][]string{{"m"}, {"n"}}},
		{name: "one by MaxRounds", reason: "the smaller counts", o: WaveOptions{Rounds: 3, Options: Options{MaxRounds: 1}}, waves: [][]string{{"n"}}, blocked: RoundsExhausted},
		{name: "groups", reason: "one of each node", o: WaveOptions{Rounds: 3, GroupOf: func(n string) string { return "of " + n }}, waves: [][]string{{"m"}, {"n"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan, _, err := Waves(x, []string{"n", "m"}, tc.o)
			require.NoError(t, err)
			require.Equal(t, tc.waves, waveNodes(plan), tc.reason)
			if tc.blocked == "" {
				require.Empty(t, plan.Blocked)
				return
			}
			require.Len(t, plan.Blocked, 1)
			require.Equal(t, tc.blocked, plan.Blocked[0].Outcome)
		})
	}
}

// What takes a look-up is blocked, and the rest is planned.
func TestWavesNeeds(t *testing.T) {
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{perTier("x", maxUnavailable("1"))},
		Pods: []*corev1.Pod{pod("a", by("apps/v1", "StatefulSet", "nobody"), tier("x"), on("m")), pod("b", by("apps/v1", "StatefulSet", "nobody"), on("n"))}}
	plan, _, err := Waves(disruption.NewIndex(s, disruption.Options{}), []string{"m", "n"}, WaveOptions{})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"n"}}, waveNodes(plan))
	require.Equal(t, []Drain{{Node: "m", Outcome: Unknown, Needs: []purekube.Need{scaleNeed("apps", "StatefulSet", ns, "nobody")}}}, plan.Blocked)
}

// A node that drains only after another one is planned after it: the ReplicaSet has a pod too many, which goes with the
// other node and is not recreated.
func TestWavesGoOnAfterOthers(t *testing.T) {
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))}, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("1"))},
		Pods: []*corev1.Pod{pod("a", ofRS, on("a-late")), pod("b", ofRS, on("a-late")), pod("c", ofRS, labelled(nil), on("z-early"))}}
	groups := func(n string) string { return n[:1] }
	plan, _, err := Waves(disruption.NewIndex(s, disruption.Options{}), []string{"a-late", "z-early"}, WaveOptions{Rounds: 2, GroupOf: groups})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"z-early"}, {"a-late"}}, waveNodes(plan))
	require.Empty(t, plan.Blocked)
}

// A pod that was being deleted makes room when its node is drained: its budget has another healthy pod then.
func TestWavesAfterAPodThatWasBeingDeleted(t *testing.T) {
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))}, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))},
		Pods: []*corev1.Pod{pod("going", ofRS, deleting, on("m")), pod("healthy", ofRS, on("n"))}}
	plan, _, err := Waves(disruption.NewIndex(s, disruption.Options{}), []string{"m", "n"}, WaveOptions{})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"m"}, {"n"}}, waveNodes(plan))
	require.Empty(t, plan.Blocked)
}

// A pod that is being deleted is stuck by the time that a wave before has waited for an entry of status.disruptedPods: its node does
// not drain any more.
func TestWavesOfAPodThatIsStuckLater(t *testing.T) {
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	b := budget(minAvailable("1"))
	b.Status.DisruptedPods = map[string]metav1.Time{"granted": metav1.NewTime(now.Add(-time.Minute))}
	ending := pod("ending", on("b"), labelled(nil))
	ending.DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(5 * time.Second)))
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))}, Budgets: []*policyv1.PodDisruptionBudget{b},
		Pods: []*corev1.Pod{pod("waits", ofRS, on("a")), pod("granted", ofRS, on("elsewhere")), ending}}
	o := WaveOptions{Options: Options{Force: true, Stuck: 10 * time.Second}, Rounds: 2, MaxNodes: 1}
	plan, _, err := Waves(disruption.NewIndex(s, disruption.Options{}), []string{"a", "b"}, o)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a"}}, waveNodes(plan))
	require.Len(t, plan.Blocked, 1)
	require.Equal(t, Never, plan.Blocked[0].Outcome)
	require.Equal(t, ReasonStuckPod, plan.Blocked[0].Refused[0].Code)

	// b is the third of four nodes that are tried together.
	var names []string
	for _, name := range []string{"a1", "a2", "a3", "aa", "ab", "c"} {
		s.Pods = append(s.Pods, pod("on-"+name, on(name), labelled(nil)))
		names = append(names, name)
	}
	o.Rounds, o.MaxNodes = 3, 4
	plan, _, err = Waves(disruption.NewIndex(s, disruption.Options{}), append(names, "a", "b"), o)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a", "a1", "a2", "a3"}, {"aa", "ab", "c"}}, waveNodes(plan))
	require.Len(t, plan.Blocked, 1)
	require.Equal(t, Never, plan.Blocked[0].Outcome)
}

// Groups are sorted by their names. Blocked nodes are sorted by the names of the nodes, whatever their groups are.
func TestGroupsOfWaves(t *testing.T) {
	alone := func(name string) *corev1.Pod { return pod(name, on(name), by("v1", "Node", name), labelled(nil)) }
	stop := func(name string) *corev1.Pod { return pod(name, on(name)) }
	s := disruption.Snapshot{Now: now, Pods: []*corev1.Pod{alone("a"), alone("b"), alone("c"), stop("d"), stop("e"), stop("f")}}
	o := WaveOptions{GroupOf: func(node string) string {
		return map[string]string{"a": "z", "b": "y", "c": "x", "d": "z", "e": "y", "f": "z"}[node]
	}}
	plan, _, err := Waves(disruption.NewIndex(s, disruption.Options{}), []string{"a", "b", "c", "d", "e", "f"}, o)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"c"}, {"b"}, {"a"}}, waveNodes(plan))
	require.Equal(t, []string{"d", "e", "f"}, blockedNodes(plan))
}

// A pod whose eviction was granted takes nothing more from its budget. A node with such a pod is asked although the budget refused as
// many pods of another node.
func TestWavesOfAGrantedPod(t *testing.T) {
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	b := budget(maxUnavailable("2"))
	b.Status.DisruptedPods = map[string]metav1.Time{"0": metav1.NewTime(now)}
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(4)))}, Budgets: []*policyv1.PodDisruptionBudget{b},
		Pods: []*corev1.Pod{pod("1", ofRS, on("a")), pod("2", ofRS, on("a")), pod("0", ofRS, on("b")), pod("3", ofRS, on("b"))}}
	plan, _, err := Waves(disruption.NewIndex(s, disruption.Options{}), []string{"a", "b"}, WaveOptions{})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"b"}, {"a"}}, waveNodes(plan))
}

// With AsWritten a wave has one round, whatever WaveOptions.Rounds says. The budget allows two disruptions: the second node would need
// one more, and the third node takes what is left.
func TestWavesAsWrittenHaveOneRound(t *testing.T) {
	b := budget(maxUnavailable("2"))
	b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, ExpectedPods: 4, CurrentHealthy: 4, DesiredHealthy: 2, DisruptionsAllowed: 2}
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{b},
		Pods: []*corev1.Pod{pod("1", on("a")), pod("2", on("b")), pod("3", on("b")), pod("4", on("c"))}}
	for _, rounds := range []int{1, 2, -1} {
		plan, _, err := Waves(disruption.NewIndex(s, disruption.Options{}), []string{"a", "b", "c"}, WaveOptions{
			Options: Options{Force: true, Budgets: AsWritten}, Rounds: rounds})
		require.NoError(t, err)
		require.Equal(t, [][]string{{"a", "c"}}, waveNodes(plan))
	}
}

// A node that waits for an entry of status.disruptedPods takes a round more beside a node that does not wait, since time passes in
// a round that brings nothing. It drains in the wave after that.
func TestWavesOfANodeThatWaits(t *testing.T) {
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	b := budget(minAvailable("1"))
	b.Status.DisruptedPods = map[string]metav1.Time{"granted": metav1.NewTime(now.Add(-time.Minute))}
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))}, Budgets: []*policyv1.PodDisruptionBudget{b},
		Pods: []*corev1.Pod{pod("free", on("a"), labelled(nil)), pod("waits", ofRS, on("b")), pod("granted", ofRS, on("elsewhere"))}}
	plan, _, err := Waves(disruption.NewIndex(s, disruption.Options{}), []string{"a", "b"}, WaveOptions{Options: Options{Force: true}, Rounds: 2})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a"}, {"b"}}, waveNodes(plan))
	require.Empty(t, plan.Blocked)
}

// A budget is in the way if a pod waits for it, ready or not, if it refuses a pod for good, or if it needs a lookup. A budget that lets
// its pod go is not.
func TestBudgetsInTheWay(t *testing.T) {
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	unready := func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(9)))},
		Budgets: []*policyv1.PodDisruptionBudget{perTier("ready", minAvailable("1")), perTier("unready", minAvailable("1")), perTier("twice", minAvailable("1")), perTier("lookup", maxUnavailable("1")),
			perTier("free", minAvailable("0"))},
		Pods: []*corev1.Pod{pod("ready", ofRS, on("n"), tier("ready")), pod("unready", ofRS, on("n"), tier("unready"), unready), pod("twice", ofRS, on("n"), tier("twice")),
			pod("lookup", by("apps/v1", "StatefulSet", "nobody"), on("n"), tier("lookup")), pod("free", ofRS, on("n"), tier("free"))}}
	again := s.Budgets[2].DeepCopy()
	again.Name = "again"
	s.Budgets = append(s.Budgets, again)
	x := disruption.NewIndex(s, disruption.Options{})
	p := newPlanner(x, []string{"n"}, WaveOptions{})
	w := p.drainer(x, p.left())
	w.first()
	require.Equal(t, map[types.NamespacedName]bool{nn("ready"): true, nn("unready"): true, nn("twice"): true, nn("again"): true, nn("lookup"): true},
		w.inTheWay())
}
