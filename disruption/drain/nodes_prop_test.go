package drain_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/contract"
	"github.com/purekube/purekube/internal/test/samplecluster"
	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/purekubetest"
)

// forEachCluster runs the property on random clusters.
func forEachCluster(t *testing.T, property func(r *rand.Rand, c samplecluster.Cluster) error) {
	t.Helper()
	for seed := range seed.Each(t, 300) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := samplecluster.New(r, scenarioTime)
		c.WithTemplates(r)
		if err := property(r, c); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// randomOptions are everything, in one of both modes, with or without nodes for recreated pods.
func randomOptions(r *rand.Rand, c samplecluster.Cluster) drain.Options {
	o := everything
	if r.IntN(3) == 0 {
		o.Nodes = c.WithNodes(r)
	}
	if r.IntN(4) == 0 {
		o.Budgets = drain.AsWritten
	}
	return o
}

// No question about drains writes to the snapshot, shares memory with it, changes the Index or depends on the order of the
// snapshot's slices.
func TestDrainsArePure(t *testing.T) {
	for seed := range seed.Each(t, 150) {
		r := rand.New(rand.NewPCG(seed, 3))
		c := fleet(r, 2+r.IntN(5))
		o := randomWaves(r, c)
		check := contract.Core[*disruption.Index, disruption.Snapshot, disruption.Action, disruption.Options, disruption.Explanation]{
			NewIndex: disruption.NewIndex, Plan: disruption.Plan, PlanAll: disruption.PlanAll,
			Undecided: func(e disruption.Explanation) bool {
				code := e.Reasons[0].Code
				return e.Pod != nil && len(e.Pod.Budgets) < 2 && (code == disruption.ReasonNoDisruptionTarget || code == disruption.ReasonDisruptionTargetInUse)
			},
			Ask: func(x *disruption.Index, _ disruption.Snapshot) []contract.Answer { return askDrains(x, c, o) },
		}
		check.Check(t, c.Snapshot, disruption.Options{}, r)
	}
}

func askDrains(x *disruption.Index, c samplecluster.Cluster, o drain.WaveOptions) (answers []contract.Answer) {
	answer := func(question string, value any, err error) {
		answers = append(answers, contract.Answer{Question: question, Value: value, Err: err})
	}
	drains, after, err := drain.Nodes(x, c.Nodes, o.Options)
	answer("Nodes", drains, err)
	answer("Blockers", drain.Blockers(x, drains, o.Options), nil)
	outcomes, _ := after.PlanAll()
	for _, out := range outcomes {
		answer("after Nodes, "+out.Key.String(), out.Result, out.Err)
	}
	pods := namesOf(c.Pods)
	evictions, _, err := drain.Pods(x, pods, o.Options)
	answer("Pods", evictions, err)
	violating, allowed := drain.Violations(x, pods)
	answer("Violations", [][]types.NamespacedName{violating, allowed}, nil)
	plan, _, err := drain.Waves(x, c.Nodes, o)
	answer("Waves", plan, err)
	return answers
}

// The order of the nodes, and names that are there twice, make no difference.
func TestNodesInAnyOrder(t *testing.T) {
	forEachCluster(t, func(r *rand.Rand, c samplecluster.Cluster) error {
		o := randomOptions(r, c)
		x := disruption.NewIndex(c.Snapshot, disruption.Options{})
		want, after, _ := drain.Nodes(x, c.Nodes, o)
		shuffled := append(slices.Clone(c.Nodes), c.Nodes[r.IntN(3)], c.Nodes[r.IntN(3)])
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		got, other, _ := drain.Nodes(x, shuffled, o)
		if err := differ(want, got); err != nil {
			return err
		}
		plans, _ := after.PlanAll()
		otherPlans, _ := other.PlanAll()
		if err := differ(fmt.Sprint(plans), fmt.Sprint(otherPlans)); err != nil {
			return err
		}
		waves := randomWaves(r, c)
		plan, _, _ := drain.Waves(x, c.Nodes, waves)
		again, _, _ := drain.Waves(x, shuffled, waves)
		return differ(plan, again)
	})
}

// A node is as it is in the drain of that node, if the others have no pods.
func TestNodesOfOneIsNode(t *testing.T) {
	forEachCluster(t, func(r *rand.Rand, c samplecluster.Cluster) error {
		o := randomOptions(r, c)
		if o.Nodes != nil { // the others have to be known, and take no pod
			for _, name := range []string{"nowhere", "a"} {
				cordoned := purekubetest.Node(name)
				cordoned.Spec.Unschedulable = true
				o.Nodes = append(o.Nodes, cordoned)
			}
		}
		x := disruption.NewIndex(c.Snapshot, disruption.Options{})
		node := c.Nodes[r.IntN(3)]
		want, after, _ := drain.Node(x, node, o)
		got, other, _ := drain.Nodes(x, []string{"nowhere", node, "a"}, o)
		at := slices.IndexFunc(got, func(d drain.Drain) bool { return d.Node == node })
		if err := differ(want, got[at]); err != nil {
			return err
		}
		plans, _ := after.PlanAll()
		otherPlans, _ := other.PlanAll()
		return differ(fmt.Sprint(plans), fmt.Sprint(otherPlans))
	})
}

// The first round evicts what the API server lets go, asked in the order of the turns: the first pod of each node, then
// the second of each.
func TestNodesTakeTurns(t *testing.T) {
	several := 0
	forEachCluster(t, func(r *rand.Rand, c samplecluster.Cluster) error {
		o := randomOptions(r, c)
		x := disruption.NewIndex(c.Snapshot, disruption.Options{})
		drains, _, _ := drain.Nodes(x, c.Nodes, o)
		var turns []types.NamespacedName
		left := map[string][]types.NamespacedName{}
		most := 0
		for i, node := range c.Nodes {
			for _, p := range c.On(node) {
				name := nameOf(p)
				away := func(d drain.Drain) bool {
					return slices.ContainsFunc(d.Skipped, func(p drain.SkippedPod) bool { return p.Pod == name }) ||
						slices.ContainsFunc(d.Refused, func(p drain.RefusedPod) bool { return p.Pod == name && p.Code != drain.ReasonEvictionRefused })
				}
				if !away(drains[i]) {
					left[node] = append(left[node], name)
				}
			}
			most = max(most, len(left[node]))
		}
		for i := range most {
			for _, node := range c.Nodes {
				if i < len(left[node]) {
					turns = append(turns, left[node][i])
				}
			}
		}
		evictions, _, _ := drain.Pods(x, turns, o)
		allowed := map[types.NamespacedName]bool{}
		for i, e := range evictions {
			if e.Verdict.Allowed() {
				allowed[turns[i]] = true
			}
		}
		for i, node := range c.Nodes {
			var want, got []types.NamespacedName
			for _, p := range left[node] {
				if allowed[p] {
					want = append(want, p)
				}
			}
			if len(drains[i].Rounds) > 0 {
				got = drains[i].Rounds[0]
			}
			if err := differ(want, got); err != nil {
				return fmt.Errorf("%s: %w", node, err)
			}
			if len(want) > 0 && len(want) < len(left[node]) {
				several++
			}
		}
		return nil
	})
	require.Positive(t, several, "nodes of which some pods go and some wait")
}

// Every pod that Pods lets go, CheckEviction lets go as well, asked by its own recipe; and the other way round.
func TestPodsAreEvictionsInOrder(t *testing.T) {
	seen := map[disruption.Verdict]int{}
	forEachCluster(t, func(r *rand.Rand, c samplecluster.Cluster) error {
		o := randomOptions(r, c)
		by := disruption.Recomputed
		if o.Budgets == drain.AsWritten {
			by = disruption.AsWritten
		}
		x := disruption.NewIndex(c.Snapshot, disruption.Options{})
		pods := namesOf(c.Pods)
		r.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		if len(pods) > 0 {
			pods = append(pods, pods[0], types.NamespacedName{Namespace: "ns", Name: "nobody"})
		}
		evictions, after, _ := drain.Pods(x, pods, o)
		now := metav1.NewTime(c.Now)
		for i, name := range pods {
			e, _ := x.CheckEviction(name, by)
			if e.Verdict != evictions[i].Verdict || e.Reason != evictions[i].Reason {
				return fmt.Errorf("%v: %v %s, and CheckEviction says %v %s", name, evictions[i].Verdict, evictions[i].Reason, e.Verdict, e.Reason)
			}
			seen[e.Verdict]++
			if !e.Verdict.Allowed() {
				continue
			}
			var next disruption.Snapshot
			if pod := x.Pod(name); pod.DeletionTimestamp == nil {
				pod = pod.DeepCopy()
				pod.DeletionTimestamp = &now
				next.Pods = []*corev1.Pod{pod}
			}
			if e.Update != nil {
				next.Budgets = []*policyv1.PodDisruptionBudget{e.Update}
			}
			x, _ = x.With(next)
		}
		for _, p := range c.Pods {
			if (x.Pod(nameOf(p)).DeletionTimestamp == nil) != (after.Pod(nameOf(p)).DeletionTimestamp == nil) {
				return fmt.Errorf("%s: it is going in one index only", p.Name)
			}
		}
		return nil
	})
	for _, v := range []disruption.Verdict{
		disruption.AllowedNoBudget, disruption.AllowedUnhealthy, disruption.AllowedWithinBudget,
		disruption.RefusedNow, disruption.RefusedConflictingBudgets, disruption.NoVerdict,
	} {
		require.Positive(t, seen[v], v)
	}
}

// Whatever workloads and scales the snapshot lacks: no drain goes further than with all of them, and one whose outcome
// is known is what it is with all of them, where StatefulSets of which only the scale is known are OrderedReady. Nothing
// is asked for twice.
func TestNodesWithoutWorkloads(t *testing.T) {
	seen, beside := map[drain.Outcome]int{}, 0
	forEachCluster(t, func(r *rand.Rand, c samplecluster.Cluster) error {
		s, all := withoutSomeWorkloads(r, c)
		nodes := c.Nodes
		if r.IntN(3) == 0 {
			nodes = nodes[:1]
		}
		whole, _, _ := drain.Nodes(disruption.NewIndex(all, disruption.Options{}), nodes, everything)
		for range 20 {
			drains, _, _ := drain.Nodes(disruption.NewIndex(s, disruption.Options{}), nodes, everything)
			answers := map[purekube.Need]purekube.Answer{}
			for i, d := range drains {
				seen[d.Outcome]++
				if d.Outcome != drain.Unknown {
					if err := differ(whole[i], d); err != nil {
						return err
					}
					continue
				}
				if len(d.Needs) == 0 || len(d.Rounds) > 0 {
					return fmt.Errorf("unknown: %+v", d)
				}
				for _, p := range d.Refused {
					stays := func(q drain.RefusedPod) bool { return q.Pod == p.Pod && q.Code == p.Code }
					if !slices.ContainsFunc(whole[i].Refused, stays) {
						return fmt.Errorf("%v goes once %v are answered", p.Pod, d.Needs)
					}
					beside++
				}
				for _, n := range d.Needs {
					if _, answered := s.Answers[n]; answered {
						return fmt.Errorf("asked twice: %v", n)
					}
					answers[n] = lookUp(c, n)
				}
			}
			if len(answers) == 0 {
				return nil
			}
			maps.Copy(s.Answers, answers)
		}
		return fmt.Errorf("it asks and asks")
	})
	require.Positive(t, seen[drain.Unknown])
	require.Positive(t, seen[drain.InRounds])
	require.Positive(t, beside, "pods that stay whatever the answers are")
}

// A recreated pod runs on a node that takes it, and one that is Pending is taken by none: what the pods of the nodes request is
// added up from the cluster afterwards.
func TestRecreatedPodsHaveRoom(t *testing.T) {
	placed, pending := 0, 0
	forEachCluster(t, func(r *rand.Rand, c samplecluster.Cluster) error {
		o := everything
		o.Nodes = c.WithNodes(r)
		drained := c.Nodes[:1+r.IntN(2)]
		_, after, _ := drain.Nodes(disruption.NewIndex(c.Snapshot, disruption.Options{}), drained, o)
		takes := func(n *corev1.Node, p *corev1.Pod, more int64) bool {
			cpu, pods := p.Spec.Containers[0].Resources.Requests.Cpu().Value()*more, more
			there, duplicates := after.PodsOnNode(n.Name)
			for _, q := range there {
				if q.Status.Phase != corev1.PodSucceeded && q.Status.Phase != corev1.PodFailed {
					cpu += q.Spec.Containers[0].Resources.Requests.Cpu().Value()
					pods++
				}
			}
			zone, asks := p.Spec.NodeSelector[corev1.LabelTopologyZone]
			wants := p.Spec.Containers[0].Resources.Requests.Cpu().Value() > 0
			return !slices.Contains(drained, n.Name) && !n.Spec.Unschedulable && n.Status.Conditions[0].Status == corev1.ConditionTrue &&
				(!asks || n.Labels[corev1.LabelTopologyZone] == zone) && len(duplicates) == 0 &&
				pods <= n.Status.Allocatable.Pods().Value() && (!wants || cpu <= n.Status.Allocatable.Cpu().Value())
		}
		for _, was := range c.Pods {
			p := after.Pod(nameOf(was))
			if p == nil || !strings.HasSuffix(string(p.UID), "/next") || ofDaemonSetAgain(p) && p.Spec.NodeName == was.Spec.NodeName {
				continue
			}
			if i := slices.IndexFunc(o.Nodes, func(n *corev1.Node) bool { return n.Name == p.Spec.NodeName }); i >= 0 {
				placed++
				if !takes(o.Nodes[i], p, 0) {
					return fmt.Errorf("%s is on %s, which does not take it", p.Name, p.Spec.NodeName)
				}
				continue
			}
			pending++
			for _, n := range o.Nodes {
				if p.Status.Phase != corev1.PodPending || p.Spec.NodeName != "" || takes(n, p, 1) {
					return fmt.Errorf("%s is %s, and %s takes it", p.Name, p.Status.Phase, n.Name)
				}
			}
		}
		return nil
	})
	require.Positive(t, placed)
	require.Positive(t, pending)
}

// What one drain found out about the nodes does not change the next one.
func TestEachIsNodeOfEach(t *testing.T) {
	forEachCluster(t, func(r *rand.Rand, c samplecluster.Cluster) error {
		o := randomOptions(r, c)
		x := disruption.NewIndex(c.Snapshot, disruption.Options{})
		drains, err := drain.Each(x, slices.Concat(c.Nodes, c.Nodes[:1]), o)
		names := slices.Compact(slices.Sorted(slices.Values(c.Nodes)))
		require.Len(t, drains, len(names))
		for i, name := range names {
			want, _, wanted := drain.Node(x, name, o)
			if diff := cmp.Diff(want, drains[i]); diff != "" {
				return fmt.Errorf("%s (-Node +Each):\n%s", name, diff)
			}
			require.Equal(t, wanted, err)
		}
		return nil
	})
}

func namesOf(pods []*corev1.Pod) []types.NamespacedName {
	var names []types.NamespacedName
	for _, p := range pods {
		names = append(names, nameOf(p))
	}
	return names
}
