package main

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
)

// wavePicture draws a rolling upgrade: a lane of nodes for each wave, and below them the nodes that are in none.
type wavePicture struct {
	Command, Totals, Worst string
	// Label is what groups the nodes.
	Label string
	// Waves and More are in the order of the upgrade.
	Waves, More []waveLane
	// Blocked are the nodes in no wave.
	Blocked []nodeCell
	// Named: the nodes are few enough for their names.
	Named bool
}

// waveLane is a wave. Class is the colour of its group.
type waveLane struct {
	Number, Evicted, Rounds int
	Group, Class            string
	Nodes                   []waveNode
}

// waveNode is a node of a wave. Link leads to how its drain alone goes.
type waveNode struct{ Name, Shown, Link, Title string }

const (
	// wavesDrawn is how many waves are drawn at once; the rest is shown on demand.
	wavesDrawn   = 20
	groupColours = 8
)

// pictureWaves plans the waves of all nodes and draws them. What is wrong with the input is among the problems of the
// report.
func (r *report) pictureWaves(c *cluster, inv invocation) *wavePicture {
	request := inv.drain
	request.nodes = []string{allNodes}
	if r.refuse(c, request.question(c)) {
		return nil
	}
	f := newFleet(c, inv.settings)
	names, undecided := request.decidable(f, request.names(f))
	plan, problems, _ := request.planWaves(f, names)
	for _, p := range append(undecided, problems...) {
		r.addProblem(p)
	}
	r.addProblems(f.budgetProblems(names), purekube.Key{}, c)
	var groups []string
	if request.by != "" {
		of, without := request.groups(c, names)
		none := setOf(without)
		for _, node := range names {
			if !none[node] {
				groups = append(groups, of[node])
			}
		}
		slices.Sort(groups)
		groups = slices.Compact(groups)
	}
	return newWavePicture(&request, plan, groups)
}

// newWavePicture draws the plan. Of more groups than colours, some share one.
func newWavePicture(r *drainRequest, plan wavePlan, groups []string) *wavePicture {
	p := &wavePicture{Command: r.command() + r.wavesText(), Totals: plan.totals(), Worst: classOK, Label: r.by}
	nodes := len(plan.blocked)
	for i, w := range plan.Waves {
		lane := waveLane{Number: i + 1, Evicted: evicted(w), Rounds: rounds(w), Group: w.Group, Class: "group-none"}
		if n, found := slices.BinarySearch(groups, w.Group); found {
			lane.Class = "group-" + strconv.Itoa(n%groupColours)
		}
		for _, d := range w.Drains {
			pods := message.Count(nodeDrain{Drain: d}.evicted(), "pod")
			lane.Nodes = append(lane.Nodes,
				waveNode{Name: d.Node, Title: d.Node + ": " + pods + " evicted in " + message.Count(len(d.Rounds), "round")})
		}
		nodes += len(lane.Nodes)
		p.Waves = append(p.Waves, lane)
	}
	if p.Named = nodes <= namedAtMost; p.Named {
		for _, lane := range p.Waves {
			for i := range lane.Nodes {
				lane.Nodes[i].Shown = lane.Nodes[i].Name
			}
		}
	}
	p.Waves, p.More = cut(p.Waves, wavesDrawn)
	pods := podsShown
	blocked := slices.Clone(plan.blocked)
	slices.SortStableFunc(blocked, func(a, b nodeDrain) int { return cmp.Compare(a.rank(), b.rank()) })
	for i, d := range blocked {
		cell := d.cell("blocked-"+strconv.Itoa(i), &pods)
		if p.Named {
			cell.Shown = d.node
		}
		p.Blocked = append(p.Blocked, cell)
		p.Worst = classBad
	}
	return p
}

// resolve takes the links of the nodes.
func (p *wavePicture) resolve(all links) {
	for _, lanes := range [][]waveLane{p.Waves, p.More} {
		for _, lane := range lanes {
			for i := range lane.Nodes {
				lane.Nodes[i].Link = all.picture(purekube.Key{Kind: "Node", Name: lane.Nodes[i].Name}).Link
			}
		}
	}
	for i := range p.Blocked {
		p.Blocked[i].resolve(all)
	}
}

// cut divides a list into the first elements and the rest.
func cut[T any](list []T, first int) (head, rest []T) {
	n := min(first, len(list))
	return list[:n], list[n:]
}
