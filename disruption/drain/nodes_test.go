package drain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

// Nodes that are drained at the same time share the budgets of their pods.
func TestNodesShareBudgets(t *testing.T) {
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	bare := func(*corev1.Pod) {}
	for _, tc := range []struct {
		name, reason string
		budgets      []*policyv1.PodDisruptionBudget
		pods         []*corev1.Pod
		m, n         Outcome
		onM, onN     [][]string
	}{
		{name: "no budget", reason: "nothing is shared", pods: []*corev1.Pod{pod("a", ofRS, on("m")), pod("b", ofRS, on("n"))},
			m: Now, onM: [][]string{{"a"}}, n: Now, onN: [][]string{{"b"}}},
		{name: "one at a time", reason: "the first node by name has the first turn, and n waits until a is back",
			budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, pods: []*corev1.Pod{pod("b", ofRS, on("m")), pod("a", ofRS, on("n"))},
			m: Now, onM: [][]string{{"b"}}, n: InRounds, onN: [][]string{{}, {"a"}}},
		{name: "two at a time", reason: "each node evicts one and then each its second",
			budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("2"))},
			pods:    []*corev1.Pod{pod("a", ofRS, on("m")), pod("b", ofRS, on("m")), pod("c", ofRS, on("n")), pod("d", ofRS, on("n"))},
			m:       InRounds, onM: [][]string{{"a"}, {"b"}}, n: InRounds, onN: [][]string{{"c"}, {"d"}}},
		{name: "three at a time", reason: "the first node has the third turn",
			budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("3"))},
			pods:    []*corev1.Pod{pod("a", ofRS, on("m")), pod("b", ofRS, on("m")), pod("c", ofRS, on("n")), pod("d", ofRS, on("n"))},
			m:       Now, onM: [][]string{{"a", "b"}}, n: InRounds, onN: [][]string{{"c"}, {"d"}}},
		{name: "a pod keeps its turn", reason: "c is the first pod of n and comes before b, the second of m",
			budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))},
			pods:    []*corev1.Pod{pod("a", ofRS, on("m")), pod("b", ofRS, on("m")), pod("c", ofRS, on("n"))},
			m:       InRounds, onM: [][]string{{"a"}, {}, {"b"}}, n: InRounds, onN: [][]string{{}, {"c"}}},
		{name: "nothing comes back", reason: "the pod of m has no controller, so the one of n waits for ever",
			budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("1"))}, pods: []*corev1.Pod{pod("a", bare, on("m")), pod("b", ofRS, on("n"))},
			m: Now, onM: [][]string{{"a"}}, n: Never, onN: [][]string{{}}},
		{name: "none may go", reason: "the budget forbids it", budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("0"))},
			pods: []*corev1.Pod{pod("a", ofRS, on("m")), pod("b", ofRS, on("n"))}, m: Never, n: Never},
		{name: "a node that waits beside one that is stuck", reason: "n goes on while m never ends",
			budgets: []*policyv1.PodDisruptionBudget{perTier("never", maxUnavailable("0")), perTier("slow", minAvailable("1"))},
			pods:    []*corev1.Pod{pod("a", ofRS, tier("never"), on("m")), pod("b", ofRS, tier("slow"), on("n")), pod("c", ofRS, tier("slow"), on("n"))},
			m:       Never, onM: [][]string{{}, {}}, n: InRounds, onN: [][]string{{"b"}, {"c"}}},
		{name: "a node that does not start", reason: "a DaemonSet's pod keeps m, and n has the budget for itself",
			budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))},
			pods:    []*corev1.Pod{pod("a", ofRS, on("m")), pod("ds", by("apps/v1", "DaemonSet", "ds"), labelled(nil), on("m")), pod("b", ofRS, on("n"))},
			m:       NotStarted, n: Now, onN: [][]string{{"b"}}},
		{name: "two budgets", reason: "the API server answers 500, and kubectl gives the pod up",
			budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1")), budget(named("other"), maxUnavailable("1"))},
			pods:    []*corev1.Pod{pod("a", ofRS, on("m")), pod("b", ofRS, labelled(nil), on("n"))},
			m:       Never, onM: [][]string{{}}, n: Now, onN: [][]string{{"b"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			replicas := int32(0)
			for _, p := range tc.pods {
				if ref := metav1.GetControllerOfNoCopy(p); ref != nil && ref.Kind == "ReplicaSet" {
					replicas++
				}
			}
			s := disruption.Snapshot{Now: now, Pods: tc.pods, Budgets: tc.budgets, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", &replicas)}}
			drains, after, err := Nodes(disruption.NewIndex(s, disruption.Options{}), []string{"n", "m", "n"}, Options{Force: true})
			require.NoError(t, err)
			require.Len(t, drains, 2, "each node once, sorted")
			for i, want := range []struct {
				node    string
				outcome Outcome
				rounds  [][]string
			}{{"m", tc.m, tc.onM}, {"n", tc.n, tc.onN}} {
				require.Equal(t, want.node, drains[i].Node)
				require.Equal(t, want.outcome, drains[i].Outcome, "%s: %s", want.node, tc.reason)
				require.Equal(t, want.rounds, drained(drains[i]), "%s: %s", want.node, tc.reason)
				require.Equal(t, drains[i].Outcome == Now || drains[i].Outcome == InRounds, len(podsOn(after, want.node)) == 0)
			}
		})
	}
}

// A drain that needs a lookup hides neither the others that do not, nor what is in their way.
func TestNodesNeeds(t *testing.T) {
	s := disruption.Snapshot{Now: now,
		ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(5)))},
		Budgets: []*policyv1.PodDisruptionBudget{
			perTier("known", maxUnavailable("1")), perTier("unknown", maxUnavailable("1"))},
		Pods: []*corev1.Pod{
			pod("a", by("apps/v1", "StatefulSet", "nobody"), tier("unknown"), on("asks")),
			pod("b", by("apps/v1", "ReplicaSet", "rs"), tier("known"), on("now")),
			pod("c", by("apps/v1", "ReplicaSet", "rs"), tier("known"), on("waits")),
			pod("d", by("apps/v1", "ReplicaSet", "rs"), tier("known"), on("waits")),
			pod("e", by("apps/v1", "ReplicaSet", "rs"), tier("known"), on("waits-too")),
			pod("f", by("apps/v1", "ReplicaSet", "rs"), tier("known"), on("waits-too")),
		},
	}
	x := disruption.NewIndex(s, disruption.Options{})
	needs := []purekube.Need{scaleNeed("apps", "StatefulSet", ns, "nobody")}
	drains, after, err := Nodes(x, []string{"asks", "now", "waits", "waits-too"}, Options{})
	require.NoError(t, err)
	require.Same(t, x, after)
	require.Equal(t, Drain{Node: "asks", Outcome: Unknown, Needs: needs}, drains[0])
	require.Equal(t, Now, drains[1].Outcome, "nothing in the first round rests on the answer")
	require.Empty(t, drains[1].Needs)
	require.Equal(t, Drain{Node: "waits", Outcome: Unknown, Needs: needs}, drains[2], "in later rounds it may")
	require.Same(t, &drains[2].Needs[0], &drains[3].Needs[0], "each node that waits would have a copy of all lookups")
}

// AsWritten reads the status of the snapshot, and no workload.
func TestNodesAsWritten(t *testing.T) {
	of := by("apps/v1", "ReplicaSet", "nobody-knows")
	allows := func(n int32) *policyv1.PodDisruptionBudget {
		b := budget(maxUnavailable("1"))
		b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: n, CurrentHealthy: 5, DesiredHealthy: 4}
		return b
	}
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{allows(2)},
		Pods: []*corev1.Pod{pod("a", of, on("m")), pod("b", of, on("n")), pod("c", of, on("n"))}}
	x := disruption.NewIndex(s, disruption.Options{})
	drains, after, err := Nodes(x, []string{"m", "n"}, Options{Budgets: AsWritten})
	require.NoError(t, err)
	require.Equal(t, Drain{Node: "m", Outcome: Now, Rounds: drains[0].Rounds}, drains[0])
	require.Equal(t, [][]string{{"a"}}, drained(drains[0]))
	require.Equal(t, Never, drains[1].Outcome, "the status allows two, and nobody computes it anew")
	require.Equal(t, [][]string{{"b"}}, drained(drains[1]))
	require.Equal(t, []string{"c"}, refusedPods(drains[1]))
	require.NotNil(t, after.Pod(nn("a")).DeletionTimestamp, "nothing is recreated")
	written := after.Budget(nn("web")).Status
	require.Zero(t, written.DisruptionsAllowed)
	require.Len(t, written.DisruptedPods, 2)
	require.EqualValues(t, 2, x.Budget(nn("web")).Status.DisruptionsAllowed)

	_, after, err = Node(disruption.NewIndex(disruption.Snapshot{Pods: []*corev1.Pod{pod("free", of, on("n"))}}, disruption.Options{}), "n", Options{Budgets: AsWritten})
	require.NoError(t, err)
	require.NoError(t, after.Err(), "a pod without a budget")

	recomputed, _, err := Nodes(x, []string{"m", "n"}, Options{})
	require.NoError(t, err)
	require.Equal(t, Unknown, recomputed[0].Outcome, "the same without the workload")

	s.Budgets[0] = allows(3)
	drains, after, err = Nodes(disruption.NewIndex(s, disruption.Options{}), []string{"m", "n"}, Options{Budgets: AsWritten})
	require.NoError(t, err)
	require.Equal(t, Now, drains[1].Outcome)
	require.NotNil(t, after.Pod(nn("c")).DeletionTimestamp, "also the last pod, after which nobody asks")
	require.Len(t, after.Budget(nn("web")).Status.DisruptedPods, 3)
}

func TestNodesOptions(t *testing.T) {
	x := disruption.NewIndex(disruption.Snapshot{Pods: []*corev1.Pod{pod("a", on("n"))}}, disruption.Options{})
	drains, after, err := Nodes(x, []string{"n", "m"}, Options{Budgets: "written"})
	require.ErrorIs(t, err, ErrUnknownBudgets)
	require.Equal(t, []Drain{{Node: "m"}, {Node: "n"}}, drains)
	require.Same(t, x, after)
	drains, err = Each(x, []string{"n", "m"}, Options{Budgets: "written"})
	require.ErrorIs(t, err, ErrUnknownBudgets)
	require.Equal(t, []Drain{{Node: "m"}, {Node: "n"}}, drains)

	bad := disruption.NewIndex(disruption.Snapshot{Pods: []*corev1.Pod{pod("a", on("n"))}}, disruption.Options{MaxUnavailableRounding: "Sideways"})
	drains, _, err = Nodes(bad, []string{"n"}, Options{})
	require.ErrorIs(t, err, disruption.ErrUnknownRounding)
	require.Equal(t, []Drain{{Node: "n"}}, drains)

	drains, after, err = Nodes(x, nil, Options{})
	require.NoError(t, err)
	require.Empty(t, drains)
	require.Same(t, x, after)

	drains, _, err = Nodes(x, []string{"", "nowhere", ""}, Options{MaxRounds: -1})
	require.NoError(t, err)
	require.Equal(t, []Drain{{Node: "", Outcome: Now}, {Node: "nowhere", Outcome: Now}}, drains)
}

// Time passes for all nodes, in a round that brings nothing on any of them.
func TestNodesWait(t *testing.T) {
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(4)))},
		Budgets: []*policyv1.PodDisruptionBudget{
			perTier("x", minAvailable("1")), perTier("y", minAvailable("2"), disrupted(map[string]metav1.Time{"other": ago(time.Minute)})),
		},
		Pods: []*corev1.Pod{
			pod("a", ofRS, tier("x"), on("m")), pod("b", ofRS, tier("x"), on("m")),
			pod("c", ofRS, tier("y"), on("n")), pod("other", ofRS, tier("y"), on("else")), pod("third", ofRS, tier("y"), on("else"), unready),
		},
	}
	s.ReplicaSets[0].Spec.Replicas = ptr.To(int32(5))
	drains, _, err := Nodes(disruption.NewIndex(s, disruption.Options{}), []string{"m", "n"}, Options{})
	require.NoError(t, err)
	require.Equal(t, Never, drains[1].Outcome, "other counts again after two minutes, and two have to stay")
	s.Pods[4] = pod("third", ofRS, tier("y"), on("else"))
	drains, _, err = Nodes(disruption.NewIndex(s, disruption.Options{}), []string{"m", "n"}, Options{})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a"}, {"b"}}, drained(drains[0]))
	require.Equal(t, [][]string{{}, {}, {}, {"c"}}, drained(drains[1]), "rounds 1 and 2 bring m forward; in round 3 the entry expires")
}

// The nodes of all pods that a budget selects have to wait for the lookups of the budget.
func TestDrainOfTwoNodesBehindOneLookup(t *testing.T) {
	of := by("x/v1", "Y", "y")
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))},
		Pods: []*corev1.Pod{pod("a", of, on("m")), pod("b", of, on("n")), pod("c", of, on("n"))}}
	drains, after, err := Nodes(disruption.NewIndex(s, disruption.Options{}), []string{"m", "n"}, Options{})
	require.NoError(t, err)
	for _, d := range drains {
		require.Equal(t, Unknown, d.Outcome, d.Node)
		require.Len(t, d.Needs, 1, d.Node)
		require.Empty(t, d.Rounds, d.Node)
		require.Empty(t, d.Refused, d.Node)
	}
	require.Equal(t, []string{"a", "b", "c"}, podNames(s, after))
}

// Which pods of a ReplicaSet that has too many come back depends on their names, and not on their nodes.
func TestDrainOfTwoNodesOneTooMany(t *testing.T) {
	of := by("apps/v1", "ReplicaSet", "rs")
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(1)))},
		Pods: []*corev1.Pod{pod("b", of, on("m")), pod("a", of, on("n"))}}
	_, after, err := Nodes(disruption.NewIndex(s, disruption.Options{}), []string{"m", "n"}, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, podNames(s, after))
}

// With Options.Nodes, a node that is not among them and that no pod names has no outcome: its name may be misspelt. The
// others are drained all the same.
func TestNodeThatIsNotKnown(t *testing.T) {
	x := disruption.NewIndex(threeNodes(maxUnavailable("3")), disruption.Options{})
	notKnown := func(t *testing.T, err error, name string) {
		t.Helper()
		var e *purekube.ObjectError
		require.ErrorAs(t, err, &e)
		require.Equal(t, purekube.ObjectError{Kind: "Node", Name: name, Err: purekube.ErrNotFound}, *e)
	}
	for _, budgets := range []Budgets{Recomputed, AsWritten} {
		o := Options{Nodes: append(nodes(2), node("empty")), Budgets: budgets}
		d, after, err := Node(x, "n00", o)
		notKnown(t, err, "n00")
		require.Equal(t, Drain{Node: "n00"}, d)
		require.Same(t, x, after)
		_, _, err = Node(x, "", o)
		notKnown(t, err, "")

		for name, play := range map[string]func(...string) ([]Drain, error){
			"Nodes": func(names ...string) ([]Drain, error) {
				drains, after, err := Nodes(x, names, o)
				if err != nil {
					require.Same(t, x, after)
				}
				return drains, err
			},
			"Each": func(names ...string) ([]Drain, error) { return Each(x, names, o) },
			"Waves": func(names ...string) ([]Drain, error) {
				plan, _, err := Waves(x, names, WaveOptions{Options: o})
				drains := plan.Blocked
				for _, w := range plan.Waves {
					drains = append(drains, w.Drains...)
				}
				return drains, err
			},
		} {
			drains, err := play("n0", "n00")
			notKnown(t, err, "n00")
			require.Len(t, drains, 2, name)
			for _, d := range drains {
				require.Equal(t, d.Node == "n00", d.Outcome == NoOutcome, "%s: %s", name, d.Node)
			}
			drains, err = play("empty")
			require.NoError(t, err, "%s: it is a node without pods", name)
			require.Equal(t, Now, drains[0].Outcome, name)
			_, err = play("n2")
			require.NoError(t, err, "%s: a pod names it", name)
			if drains, err = play("n0", "n"); name != "Waves" {
				notKnown(t, err, "n")
				require.Equal(t, []string{"n", "n0"}, []string{drains[0].Node, drains[1].Node}, "%s: sorted", name)
			}
		}
		_, err = Each(x, []string{"n00"}, Options{Budgets: budgets})
		require.NoError(t, err, "without Nodes, a node without pods may exist")
	}
	require.Empty(t, Blockers(x, []Drain{{Node: "n00"}}, Options{Nodes: nodes(2)}))
	twice := disruption.NewIndex(disruption.Snapshot{Pods: []*corev1.Pod{pod("a", on("n")), pod("b", on("n")), pod("b", on("n"))}}, disruption.Options{})
	drains, err := Each(twice, []string{"n"}, Options{Nodes: nodes(1)})
	require.NotErrorIs(t, err, purekube.ErrNotFound)
	require.Equal(t, ReasonDuplicate, drains[0].Refused[1].Code)
}
