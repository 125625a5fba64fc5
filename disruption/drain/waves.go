package drain

import (
	"cmp"
	"errors"

	"github.com/purekube/purekube/disruption"
)

// WaveOptions are how [Waves] forms its waves. The zero value makes waves of any size that drain in one round.
type WaveOptions struct {
	// Options are the options of every drain.
	Options
	// MaxNodes is how many nodes a wave may have. 0 or less: any number.
	MaxNodes int
	// Rounds is how many rounds a wave may take. 0: one. Less than 0: any number. Options.MaxRounds limits it, too.
	Rounds int
	// GroupOf names the group of a node, for example its zone or node pool. All nodes of a wave are of one group, and the
	// groups come one after the other, sorted by name. Nil: all nodes are of one group. It must give the same answer every
	// time.
	GroupOf func(node string) string
}

// rounds is the limit of a wave, 0 if there is none.
func (o WaveOptions) rounds() int {
	n := max(cmp.Or(o.Rounds, 1), 0)
	if n == 0 || o.MaxRounds > 0 && o.MaxRounds < n {
		return max(o.MaxRounds, 0)
	}
	return n
}

// Plan is the order in which a rolling upgrade drains nodes.
type Plan struct {
	Waves []Wave `json:"waves,omitempty"`
	// Blocked are the nodes in no wave, sorted by name: how each drains alone after the last wave. Refused names the
	// pods in the way, with Eviction.Budget and Eviction.Shortfall. With the outcome InRounds the node does drain, but
	// takes more rounds than WaveOptions.Rounds. With NoOutcome the node is not known: see [Node].
	Blocked []Drain `json:"blocked,omitempty"`
}

// Wave is a set of nodes that are drained at the same time.
type Wave struct {
	// Group is what WaveOptions.GroupOf says of the nodes.
	Group string `json:"group,omitempty"`
	// Nodes are sorted by name, and Drains are how they drain, in the same order.
	Nodes  []string `json:"nodes"`
	Drains []Drain  `json:"drains"`
}

// Waves plans a rolling upgrade: which of the nodes to drain at the same time, and in what order. A wave begins when
// the previous wave is over: its evicted pods are recreated elsewhere, and its nodes are back in service.
//
// The waves are greedy. Each wave takes nodes of one group: the first group, by name, that still has nodes which drain.
// A node joins a wave if its pods can go after the pods of the nodes that are already in the wave:
//
//   - In a wave of one round, the nodes are tried in the order of their names.
//   - In a wave of several rounds, as many of the next nodes join as drain together with the wave, which is found by
//     simulating them. The node after them is left for a later wave, with the nodes that need the budgets that refused
//     it.
//
// Waves guarantees:
//
//   - Every wave is feasible: [Nodes] with the nodes of the wave, on the cluster that the wave before left, has the
//     outcome Now or InRounds for each of them, in at most WaveOptions.Rounds rounds.
//   - A wave of one round with fewer than MaxNodes nodes leaves out no node of its group that could join: the pods of
//     such a node could not all go after the pods of the wave, or [Nodes], in which nodes take turns, does not drain it
//     with them. A wave of several rounds may be smaller than it could be.
//   - A node is blocked only if it does not drain alone in WaveOptions.Rounds rounds after the last wave.
//
// The number of waves is not always the smallest: disruption/drain/README.md compares it with the best on small
// clusters.
//
// With Options.Nodes, the pods of a wave find nodes outside the wave, as in [Node]: a node of an earlier wave is back
// in service, and its room is free again. A node whose pods find none is in no wave. A pod that runs on a node of a
// later wave goes once more, with that wave. A wave of one round may then be smaller than it could be, too.
//
// Without Options.Nodes, the plan assumes that recreated pods run on nodes that were drained already or are not to be
// drained. A pod that is recreated on a node of a later wave has to go once more than planned: plan again before each
// wave if that matters. With AsWritten no pod is recreated, no status is computed again between the waves, and each
// wave has one round.
//
// The Index returned is the cluster after the last wave. The error is the error of [Node]. If the options are wrong,
// there is no plan.
//
// Waves costs O(log n) for each pod that goes, and for each wave a look at each node of the group that is left, so n
// waves of one node look n²/2 times. A look is short: a node that a budget refused is asked again when that budget has
// changed. With several rounds, the search for the nodes that drain together simulates the drain of each pod a few
// times. Simulations in vain drain at most twenty times the pods that the waves drain: a wave that would need more
// stays smaller.
//
// With Options.Nodes, each wave counts the room of the nodes that it looks at. Once room has limited a wave of one
// round, a wave has at most four times as many nodes as the wave before. The README of this folder has times.
func Waves(x *disruption.Index, nodes []string, o WaveOptions) (Plan, *disruption.Index, error) {
	if err := optionsErr(x, o.Options); err != nil {
		return Plan{}, x, err
	}
	var problems error
	o.inventory, problems = newInventory(x, o.Options)
	known, unknown, unknownErr := o.known(x, sortedOnce(nodes))
	p := newPlanner(x, known, o)
	plan := Plan{Waves: p.waves()}
	var left []string
	for _, c := range p.left() {
		left = append(left, c.name)
	}
	plan.Blocked = withUnknown(append(plan.Blocked, each(p.x, left, p.o.Options)...), unknown)
	return plan, p.x, errors.Join(x.Err(), problems, unknownErr)
}
