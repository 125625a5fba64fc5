package bounds

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/largecluster"
)

const podsPerNode = 30

// drained is a cluster of so many pods to drain. The questions are added by the caller.
func drained(n int, shared bool, at largecluster.Spread) (c Cluster, x *disruption.Index, s disruption.Snapshot, nodes []string) {
	l := largecluster.Workloads(n/podsPerNode, shared, at)
	s = disruption.Snapshot{Now: largecluster.Now, Pods: l.Pods, Budgets: l.Budgets, ReplicaSets: l.ReplicaSets}
	x = disruption.NewIndex(s, disruption.Options{})
	for i := range n / podsPerNode {
		nodes = append(nodes, fmt.Sprint("node-", i))
	}
	c.Objects = len(s.Pods) + len(s.Budgets) + len(s.ReplicaSets)
	return c, x, s, nodes
}

// outcome is the number of pods that go.
func outcome(d drain.Drain, _ *disruption.Index, err error) (keys, actions int) {
	must(err)
	for _, round := range d.Rounds {
		actions += len(round)
	}
	return 1, actions
}

func each(drains []drain.Drain, _ *disruption.Index, err error) (keys, actions int) {
	for _, d := range drains {
		_, pods := outcome(d, nil, err)
		actions += pods
	}
	return len(drains), actions
}

// drains has three pods of each budget on a node, which go in three rounds.
var drains = Subject{Name: "disruption/drain", Slow: true, Cluster: func(n int) Cluster {
	c, x, s, nodes := drained(n, false, func(workload, pod, nodes int) int { return (workload + pod%10) % nodes })
	victims := func(i int) []types.NamespacedName {
		on, _ := x.PodsOnNode(nodes[at(i, len(nodes))])
		var names []types.NamespacedName
		for _, p := range on {
			names = append(names, nameOf(p))
		}
		return names
	}
	c.NewIndex = func() any { return disruption.NewIndex(s, disruption.Options{}) }
	c.Updated = func() any { return updated(s) }
	c.Questions = []Question{
		{Name: "Node", Growth: Logarithmic, Ask: func(i int) (int, int) { return outcome(drain.Node(x, nodes[at(i, len(nodes))], drain.Options{})) }},
		{Name: "Node, AsWritten", Growth: Logarithmic, Ask: func(i int) (int, int) {
			return outcome(drain.Node(x, nodes[at(i, len(nodes))], drain.Options{Budgets: drain.AsWritten}))
		}},
		{Name: "Pods of a node", Growth: Logarithmic, Ask: func(i int) (int, int) {
			evictions, _, err := drain.Pods(x, victims(i), drain.Options{})
			must(err)
			return len(evictions), 0
		}},
		{Name: "Violations of a node's pods", Growth: Logarithmic, Ask: func(i int) (int, int) {
			violating, allowed := drain.Violations(x, victims(i))
			return len(violating), len(allowed)
		}},
		{Name: "each node alone", Growth: Linearithmic, Once: true, Ask: func(int) (keys, actions int) {
			for _, node := range nodes {
				k, a := outcome(drain.Node(x, node, drain.Options{}))
				keys, actions = keys+k, actions+a
			}
			return keys, actions
		}},
		{Name: "Nodes, all of them", Growth: Linearithmic, Once: true, Ask: func(int) (int, int) { return each(drain.Nodes(x, nodes, drain.Options{})) }},
		{Name: "Waves of three rounds", Growth: Linearithmic, Once: true, Ask: func(int) (int, int) {
			plan, _, err := drain.Waves(x, nodes, drain.WaveOptions{Rounds: 3})
			must(err)
			return len(plan.Waves), len(nodes) - len(plan.Blocked)
		}},
	}
	return c
}}

// sharedDrains has one budget of all pods, a tenth of which may be away.
var sharedDrains = Subject{Name: "disruption/drain, one budget of all pods", Slow: true, Cluster: func(n int) Cluster {
	c, x, s, nodes := drained(n, true, func(workload, pod, nodes int) int { return (workload + 43*pod) % nodes })
	s.Budgets[0].Spec.MaxUnavailable = ptr.To(intstr.FromString("10%"))
	x, _ = x.With(budget(s.Budgets[0]))
	c.NewIndex = func() any { return disruption.NewIndex(s, disruption.Options{}) }
	c.Updated = func() any { return updated(s) }
	c.Questions = []Question{
		{Name: "Node, AsWritten", Growth: Logarithmic, Ask: func(i int) (int, int) {
			return outcome(drain.Node(x, nodes[at(i, len(nodes))], drain.Options{Budgets: drain.AsWritten}))
		}},
		{Name: "Node", Growth: Logarithmic, Ask: func(i int) (int, int) {
			return outcome(drain.Node(x, nodes[at(i, len(nodes))], drain.Options{}))
		}},
		{Name: "Nodes, all of them", Growth: Linearithmic, Once: true, Ask: func(int) (int, int) { return each(drain.Nodes(x, nodes, drain.Options{})) }},
		{Name: "Waves", Growth: Linearithmic, Once: true, Ask: func(int) (int, int) {
			plan, _, err := drain.Waves(x, nodes, drain.WaveOptions{})
			must(err)
			return len(plan.Waves), len(nodes) - len(plan.Blocked)
		}},
	}
	return c
}}

// spreadDrains has one pod of each of 30 budgets on a node, and so nodes of which each shares budgets with 870 others. Up
// to that many nodes go one by one.
var spreadDrains = Subject{Name: "disruption/drain, one pod of each budget", Slow: true, Most: 100_000, Cluster: func(n int) Cluster {
	c, x, s, nodes := drained(n, false, func(workload, pod, nodes int) int { return (workload + 43*pod) % nodes })
	c.NewIndex = func() any { return disruption.NewIndex(s, disruption.Options{}) }
	c.Updated = func() any { return updated(s) }
	c.Questions = []Question{
		{Name: "Node", Growth: Logarithmic, Ask: func(i int) (int, int) { return outcome(drain.Node(x, nodes[at(i, len(nodes))], drain.Options{})) }},
		{Name: "Waves, for each wave", Growth: Linearithmic, Once: true, PerKey: true, Ask: func(int) (int, int) {
			plan, _, err := drain.Waves(x, nodes, drain.WaveOptions{})
			must(err)
			return len(plan.Waves), len(nodes) - len(plan.Blocked)
		}},
	}
	return c
}}
