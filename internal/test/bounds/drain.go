package bounds

import (
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/largecluster"
)

const podsPerNode = 30

// fleet is a cluster to drain.
type fleet struct {
	disruption.Snapshot
	x     *disruption.Index
	nodes []string
}

func newFleet(n int, shared bool, at largecluster.Spread) fleet {
	c := largecluster.Workloads(n/podsPerNode, shared, at)
	f := fleet{Snapshot: disruption.Snapshot{
		Now: largecluster.Now, Pods: shuffled(c.Pods), Budgets: shuffled(c.Budgets), ReplicaSets: c.ReplicaSets,
	}}
	if shared {
		f.Budgets[0] = allows(f.Budgets[0], intstr.FromString("10%"))
	}
	f.x = disruption.NewIndex(f.Snapshot, disruption.Options{})
	for i := range n / podsPerNode {
		f.nodes = append(f.nodes, fmt.Sprint("node-", i))
	}
	return f
}

// allows returns a budget that allows so many disruptions.
func allows(b *policyv1.PodDisruptionBudget, most intstr.IntOrString) *policyv1.PodDisruptionBudget {
	changed := b.DeepCopy()
	changed.Spec.MaxUnavailable = &most
	return changed
}

func (f fleet) cluster(questions ...Question) Cluster {
	return Cluster{
		Objects:   len(f.Pods) + len(f.Budgets) + len(f.ReplicaSets),
		Questions: questions,
	}
}

func (f fleet) node(i int) string { return f.nodes[at(i, len(f.nodes))] }

func (f fleet) victims(i int) (names []types.NamespacedName) {
	on, _ := f.x.PodsOnNode(f.node(i))
	for _, p := range on {
		names = append(names, nameOf(p))
	}
	return names
}

// alone drains one node.
func (f fleet) alone(name string, o drain.Options) Question {
	return about(name, func(i int) (int, int) { return outcome(drain.Node(f.x, f.node(i), o)) })
}

// ofFleet is a question about all nodes. There are too many pods to go in a million.
func ofFleet(name string, ask func() (keys, actions int)) Question {
	q := ofAll(name, ask)
	q.Most = 100_000
	return q
}

// together drains all nodes at the same time.
func (f fleet) together() Question {
	return ofFleet("Nodes, all of them", func() (keys, actions int) {
		drains, _, err := drain.Nodes(f.x, f.nodes, drain.Options{})
		for _, d := range drains {
			_, pods := outcome(d, nil, err)
			actions += pods
		}
		return len(drains), actions
	})
}

// waves has a key for each wave.
func (f fleet) waves(o drain.WaveOptions) (keys, actions int) {
	plan, _, err := drain.Waves(f.x, f.nodes, o)
	must(err)
	return len(plan.Waves), len(f.nodes) - len(plan.Blocked)
}

// outcome is the number of pods that go.
func outcome(d drain.Drain, _ *disruption.Index, err error) (keys, actions int) {
	must(err)
	for _, round := range d.Rounds {
		actions += len(round)
	}
	return 1, actions
}

// drains has three pods of each budget on a node, which go in three rounds.
var drains = Subject{Name: "drain", Slow: true, Cluster: func(n int) Cluster {
	f := newFleet(n, false, func(workload, pod, nodes int) int { return (workload + pod%10) % nodes })
	return f.cluster(
		f.alone("Node", drain.Options{}),
		f.alone("Node, AsWritten", drain.Options{Budgets: drain.AsWritten}),
		about("Pods of a node", func(i int) (int, int) {
			evictions, _, err := drain.Pods(f.x, f.victims(i), drain.Options{})
			must(err)
			return len(evictions), 0
		}),
		about("Violations of a node's pods", func(i int) (int, int) {
			violating, allowed := drain.Violations(f.x, f.victims(i))
			return len(violating), len(allowed)
		}),
		ofFleet("Node, each alone", func() (keys, actions int) {
			for _, node := range f.nodes {
				k, a := outcome(drain.Node(f.x, node, drain.Options{}))
				keys, actions = keys+k, actions+a
			}
			return keys, actions
		}),
		f.together(),
		ofFleet("Waves of three rounds", func() (int, int) { return f.waves(drain.WaveOptions{Rounds: 3}) }),
	)
}}

// sharedDrains has one budget of all pods, a tenth of which may be away.
var sharedDrains = Subject{Name: "drain, one budget of all pods", Slow: true, Cluster: func(n int) Cluster {
	f := newFleet(n, true, func(workload, pod, nodes int) int { return (workload + 43*pod) % nodes })
	oneNode := f
	oneNode.x, _ = f.x.With(budget(allows(f.Budgets[0], intstr.FromInt32(podsPerNode))))
	waves := ofFleet("Waves of one node", func() (int, int) { return oneNode.waves(drain.WaveOptions{}) })
	waves.Growth = Quadratic
	return f.cluster(
		f.alone("Node", drain.Options{}),
		f.alone("Node, AsWritten", drain.Options{Budgets: drain.AsWritten}),
		f.together(),
		ofFleet("Waves", func() (int, int) { return f.waves(drain.WaveOptions{}) }),
		waves,
	)
}}

// spreadDrains has one pod of each of 30 budgets on a node, and each node shares budgets with 58 others.
var spreadDrains = Subject{Name: "drain, one pod of each budget", Slow: true, Cluster: func(n int) Cluster {
	f := newFleet(n, false, func(workload, pod, nodes int) int { return (workload + 43*pod) % nodes })
	return f.cluster(
		f.alone("Node", drain.Options{}),
		ofFleet("Waves", func() (int, int) { return f.waves(drain.WaveOptions{}) }),
	)
}}
