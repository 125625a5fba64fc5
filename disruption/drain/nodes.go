package drain

import (
	"cmp"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// Nodes simulates kubectl drain of several nodes at the same time. It returns one Drain for each node, sorted by name:
// a name that is there twice counts once, and the order of the names makes no difference.
//
// Each drain proceeds like the drain of [Node], with these rules:
//
//   - A round is a round of all nodes together. In a round the nodes take turns, in the order of their names: each
//     evicts its first pod, then each its second, and so on. A pod that waits for another round keeps its turn.
//   - A budget counts what is evicted on any of the nodes.
//   - The nodes are cordoned: no pod is recreated on one of them.
//   - Drain.Rounds of a node ends with the round in which its last pod goes. A round in which none of its pods goes is
//     empty.
//   - After a round that evicts nothing on any node, time moves to when the next entry of status.disruptedPods expires.
//   - A node whose drain does not start, or that is not known, keeps its pods, and the others are drained.
//   - With Needs, the drain of each node is as it would be with the answers, or Unknown. In that case, a node whose own
//     pods need no lookup also has the Needs of all nodes.
//
// The Index returned is the cluster after all drains. If one of them is Unknown or NoOutcome, it is x.
//
// Nodes costs what the drains of the nodes cost, and one entry of Rounds for each round and each node that waits. If a
// budget lets the pods of many nodes go one at a time, these entries are the larger part: MaxRounds limits them.
func Nodes(x *disruption.Index, nodes []string, o Options) ([]Drain, *disruption.Index, error) {
	names := sortedOnce(nodes)
	if err := optionsErr(x, o); err != nil {
		return undecided(names), x, err
	}
	var problems error
	o.inventory, problems = newInventory(x, o)
	known, unknown, unknownErr := o.known(x, names)
	drains, after := together(x, known, o)
	if len(unknown) > 0 {
		after = x
	}
	return withUnknown(drains, unknown), after, errors.Join(x.Err(), problems, unknownErr)
}

// Each simulates the drain of each node alone, as [Node] does, and returns one Drain for each node, sorted by name: a
// name that is there twice counts once. It costs less than Node for each of them: with Options.Nodes, what room the
// nodes have is counted once. 5,000 nodes with 15,000 pods take 0.4 s, with room or without
// (BenchmarkEachNodeWithNodes, 2026-11-27, 2 vCPU).
func Each(x *disruption.Index, nodes []string, o Options) ([]Drain, error) {
	names := sortedOnce(nodes)
	if err := optionsErr(x, o); err != nil {
		return undecided(names), err
	}
	var problems error
	o.inventory, problems = newInventory(x, o)
	known, unknown, unknownErr := o.known(x, names)
	return withUnknown(each(x, known, o), unknown), errors.Join(x.Err(), problems, unknownErr)
}

// each drains each node alone. The options have the inventory of x.
func each(x *disruption.Index, names []string, o Options) []Drain {
	drains := make([]Drain, len(names))
	for i, name := range names {
		alone, _ := together(x, []string{name}, o)
		drains[i] = alone[0]
	}
	return drains
}

// known sorts out the nodes that neither Options.Nodes nor a pod names, and says so: their names may be misspelt.
func (o Options) known(x *disruption.Index, names []string) (known []string, unknown []Drain, err error) {
	var problems snapshot.Problems
	for _, name := range names {
		if o.mayExist(x, name) {
			known = append(known, name)
			continue
		}
		unknown = append(unknown, Drain{Node: name})
		problems.Add(&purekube.ObjectError{Kind: "Node", Name: name, Err: purekube.ErrNotFound})
	}
	return known, unknown, problems.Err()
}

// mayExist: without Options.Nodes, a node without pods may exist.
func (o Options) mayExist(x *disruption.Index, name string) bool {
	if o.Nodes == nil {
		return true
	}
	if _, found := o.inventory.find(name); found {
		return true
	}
	pods, duplicates := x.PodsOnNode(name)
	return len(pods)+len(duplicates) > 0
}

// withUnknown are all of the drains, sorted by name.
func withUnknown(drains, unknown []Drain) []Drain {
	drains = append(drains, unknown...)
	slices.SortFunc(drains, func(a, b Drain) int { return cmp.Compare(a.Node, b.Node) })
	return drains
}

// undecided are the drains with options that are wrong.
func undecided(names []string) []Drain {
	drains := make([]Drain, len(names))
	for i, name := range names {
		drains[i].Node = name
	}
	return drains
}

// together drains the nodes at the same time. The options have the inventory of x.
func together(x *disruption.Index, names []string, o Options) ([]Drain, *disruption.Index) {
	drains := make([]Drain, len(names))
	left := make([][]*corev1.Pod, len(names))
	for i, name := range names {
		drains[i], left[i] = sorted(x, name, o)
		if drains[i].Outcome == NotStarted {
			left[i] = nil
		}
	}
	w := newDrainer(x, names, left, o)
	stuck := w.play()
	if !w.settleOutcomes(drains, stuck) {
		return drains, x
	}
	return drains, w.x
}

// play simulates rounds until no pod waits. It reports whether a round evicted nothing, and no later round would.
func (w *drainer) play() (stuck bool) {
	for round := 0; w.waiting > 0 && (w.o.MaxRounds <= 0 || round < w.o.MaxRounds); round++ {
		var waiting []*nodeDrain
		for _, n := range w.nodes {
			if n.waiting > 0 {
				waiting = append(waiting, n)
			}
		}
		if round == 0 {
			w.first()
		} else {
			w.again()
		}
		if !w.finish() && !w.wait() {
			return true
		}
		for _, n := range waiting {
			n.rounds = append(n.rounds, sortNames(n.going))
			n.going = nil
		}
	}
	return false
}

// settleOutcomes completes the drains. It reports whether the outcome of all of them is known.
func (w *drainer) settleOutcomes(drains []Drain, stuck bool) (known bool) {
	w.stay()
	all := slices.Clip(w.allNeeds())
	for i, n := range w.nodes {
		d := &drains[i]
		if d.Outcome == NotStarted {
			continue
		}
		d.Rounds, d.Pending, d.NodesChecked = n.rounds, n.pending, w.o.checksNodes()
		slices.SortFunc(d.Pending, func(a, b PendingPod) int { return persistent.CompareNames(a.Pod, b.Pod) })
		gaveUp := len(d.Refused)+len(n.refused) > 0
		d.Refused = append(d.Refused, slices.Concat(n.refused, n.stay)...)
		slices.SortFunc(d.Refused, func(a, b RefusedPod) int { return persistent.CompareNames(a.Pod, b.Pod) })
		switch needs := w.needsOf(n); {
		case len(needs) > 0:
			d.Outcome, d.Rounds, d.Needs = Unknown, nil, needs
		case gaveUp || stuck && n.waiting > 0:
			d.Outcome = Never
		case n.waiting > 0:
			d.Outcome = RoundsExhausted
		case len(d.Pending) > 0:
			d.Outcome = LeavesPending
		case len(d.Rounds) <= 1:
			d.Outcome = Now
		default:
			d.Outcome = InRounds
		}
		if len(all) > 0 && d.Outcome != Now && d.Outcome != Unknown {
			// What the lookups bring may change how pods of other nodes are recreated, and when time passes.
			d.Outcome, d.Rounds, d.Needs = Unknown, nil, all
		}
	}
	return len(all) == 0
}
