package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/message"
)

// wavePlan is a rolling upgrade of the nodes.
type wavePlan struct {
	drain.Plan
	// blocked are the drains of Plan.Blocked, and after is the cluster after the last wave.
	blocked []nodeDrain
	after   *disruption.Index
}

// planWaves plans waves of the nodes. The problems are the nodes that are in none for lack of a label. The error is
// what is wrong with the input as a whole.
func (r *drainRequest) planWaves(f *fleet, names []string) (wavePlan, []problem, error) {
	o := drain.WaveOptions{Options: r.options(f), MaxNodes: r.most, Rounds: r.rounds}
	var problems []problem
	if r.by != "" {
		groups, without := r.groups(f.c, names)
		if len(without) > 0 {
			problems = append(problems, problem{what: fmt.Sprintf(
				"no label %s, or two values of it, on %s of the input (%s): in no wave, since the group is not known",
				r.by, message.Count(len(without), "node"), list(without, 5))})
		}
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(without, name) })
		o.GroupOf = func(node string) string { return groups[node] }
	}
	plan, after, err := drain.Waves(f.index, names, o)
	drains := f.explained(plan.Blocked, after)
	for i := range drains {
		there, doubled := after.PodsOnNode(drains[i].node) // pods of waves may run there now
		drains[i].pods = len(there) + len(doubled)
	}
	return wavePlan{plan, drains, after}, problems, err
}

// rounds is how many rounds the wave takes.
func rounds(w drain.Wave) int {
	most := 0
	for _, d := range w.Drains {
		most = max(most, len(d.Rounds))
	}
	return most
}

// evicted is how many pods the wave evicts.
func evicted(w drain.Wave) int {
	n := 0
	for _, d := range w.Drains {
		n += nodeDrain{Drain: d}.evicted()
	}
	return n
}

// wavesText says what the waves are limited to.
func (r *drainRequest) wavesText() string {
	text := ", in waves"
	if r.most > 0 {
		text += " of at most " + message.Count(r.most, "node")
	}
	if r.by != "" {
		text += " with the same " + r.by
	}
	switch r.rounds {
	case -1:
		return text + ", each in any number of rounds"
	case 1:
		return text + ", each in 1 round"
	}
	return text + ", each in at most " + message.Count(r.rounds, "round")
}

// writeWaves prints a table of the waves with the nodes of each, and the drains of the nodes that are in none.
func (r *drainRequest) writeWaves(
	w io.Writer, p palette, plan wavePlan, blockers []drain.Blocker, notes []string,
) error {
	out := bufio.NewWriter(w)
	t := printer{out, p}
	t.line(0, "", r.command()+r.wavesText(), t.p.core)
	rows := [][]string{{"WAVE", "NODES", "EVICTED", "ROUNDS"}}
	if r.by != "" {
		rows[0] = append(rows[0], "GROUP")
	}
	nodes := 0
	for i, wave := range plan.Waves {
		nodes += len(wave.Nodes)
		row := []string{strconv.Itoa(i + 1), strconv.Itoa(len(wave.Nodes)), strconv.Itoa(evicted(wave)),
			strconv.Itoa(rounds(wave))}
		if r.by != "" {
			row = append(row, wave.Group)
		}
		rows = append(rows, row)
	}
	if nodes > 0 {
		for i, row := range aligned(rows) {
			if i == 0 {
				t.line(0, "", row, t.p.faint)
				continue
			}
			fmt.Fprintln(out, row)
			t.line(4, "", list(plan.Waves[i-1].Nodes, nodes), t.p.action)
		}
	}
	if len(plan.blocked) > 0 {
		t.line(0, "", "In no wave, each node alone after the last wave:", t.p.core)
		r.writeBlockers(t, blockers, len(plan.blocked))
		r.writeNodes(t, plan.blocked)
	}
	t.line(0, "Waves: ", plan.totals(), plain)
	t.notes(notes)
	return out.Flush()
}

// totals counts waves and nodes.
func (p wavePlan) totals() string {
	nodes := 0
	for _, w := range p.Waves {
		nodes += len(w.Nodes)
	}
	text := fmt.Sprintf("%s with %s", message.Count(len(p.Waves), "wave"), message.Count(nodes, "node"))
	if len(p.blocked) > 0 {
		text += fmt.Sprintf("; in no wave: %s (%s)", message.Count(len(p.blocked), "node"), drainTotals(p.blocked, 0))
	}
	return text
}
