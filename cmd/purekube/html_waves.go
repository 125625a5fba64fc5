package main

import (
	"maps"
	"slices"
	"strconv"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
)

// wavePicture draws a rolling upgrade: a row of nodes for each wave, and below them the nodes that are in none.
type wavePicture struct {
	Command, Totals, Worst string
	// Label is what groups the nodes, Legend its values.
	Label  string
	Legend []waveGroup
	// Waves and More are in the order of the upgrade.
	Waves, More []waveRow
	// Blocked and MoreBlocked are the nodes in no wave.
	Blocked, MoreBlocked []nodeInNoWave
}

type waveGroup struct{ Name, Class string }

type waveRow struct {
	Number, Evicted, Rounds int
	Group                   string
	// Nodes are drawn, More of them on demand.
	Nodes, More []waveNode
}

type waveNode struct{ Name, Class, Title string }

// nodeInNoWave is a node in no wave. Lines and More are what is in the way.
type nodeInNoWave struct {
	waveNode
	Says        badge
	Lines, More []string
}

// What is drawn at once; the rest is shown on demand.
const (
	wavesDrawn   = 20
	nodesDrawn   = 100
	blockedDrawn = 20
	causesDrawn  = 5
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
	classes := map[string]string{}
	group := func(string) string { return "" }
	if request.by != "" {
		of, without := request.groups(c, names)
		none := setOf(without)
		for _, node := range names {
			if !none[node] {
				classes[of[node]] = ""
			}
		}
		group = func(node string) string { return of[node] }
	}
	return newWavePicture(&request, plan, classes, group)
}

// newWavePicture draws the plan. The keys of classes are the groups; more groups than colours share them.
func newWavePicture(r *drainRequest, plan wavePlan, classes map[string]string, group func(node string) string) *wavePicture {
	p := &wavePicture{Command: r.command() + r.wavesText(), Totals: plan.totals(), Worst: classOK, Label: r.by}
	for i, name := range slices.Sorted(maps.Keys(classes)) {
		class := "group-" + strconv.Itoa(i%groupColours)
		classes[name] = class
		p.Legend = append(p.Legend, waveGroup{name, class})
	}
	for i, w := range plan.Waves {
		row := waveRow{Number: i + 1, Evicted: evicted(w), Rounds: rounds(w), Group: w.Group}
		for _, d := range w.Drains {
			pods := message.Count(nodeDrain{Drain: d}.evicted(), "pod")
			row.Nodes = append(row.Nodes, waveNode{d.Node, classes[w.Group], d.Node + ": " + pods + " evicted in " + message.Count(len(d.Rounds), "round")})
		}
		row.Nodes, row.More = cut(row.Nodes, nodesDrawn)
		p.Waves = append(p.Waves, row)
	}
	p.Waves, p.More = cut(p.Waves, wavesDrawn)
	for _, d := range plan.blocked {
		b := nodeInNoWave{waveNode: waveNode{d.node, classes[group(d.node)], d.node + ": in no wave"}, Says: badge{d.class(), d.says()}}
		b.Lines, b.More = cut(d.inTheWay(), causesDrawn)
		p.Blocked = append(p.Blocked, b)
		p.Worst = classBad
	}
	p.Blocked, p.MoreBlocked = cut(p.Blocked, blockedDrawn)
	return p
}

// cut divides a list into the first elements and the rest.
func cut[T any](list []T, first int) (head, rest []T) {
	n := min(first, len(list))
	return list[:n], list[n:]
}
