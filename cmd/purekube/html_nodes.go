package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/message"
)

// nodePicture is the first screen: what stops drains, and each node as a cell. Each node drains alone.
type nodePicture struct {
	Command, Sentence string
	// Numbers count the nodes that drain, that are stopped, and of which it is not known.
	Numbers []nodeNumber
	// Causes and MoreCauses are what is in the way, the worst first.
	Causes, MoreCauses []causeBar
	// Pools hold all nodes, the pool with most stopped nodes first.
	Pools []nodePool
	// PoolKey is the label of all pools. Empty: they have their own, Key.
	PoolKey string
	// Legend are the marks of the cells.
	Legend []nodeMark
	// NoRounds: there are too many pods to show them by round for each node.
	NoRounds bool
	// Size is the class of the cells: of a few nodes they have names, of very many they are small.
	Size string
}

type nodeNumber struct {
	Class, What, Details string
	Nodes                int

	one string
}

// causeBar is a cause with the nodes that it stops as a bar: Alone nothing else stops, Shared something else does too.
type causeBar struct {
	Text, Stops   string
	Alone, Shared barPart
	// Fixes are changes that help, the best first.
	Fixes []fixBar
	// Budget is the budget in the way, if it is one.
	Budget textLink
	Nodes  []textLink
	More   int
	Pods   string

	object purekube.Key
	budget bool
	nodes  []string
}

type fixBar struct {
	Text  string
	Frees barPart
}

type barPart struct{ X, Width string }

type textLink struct{ Name, Link string }

type nodePool struct {
	Name, Key, Text string
	Cells           []nodeCell

	stopped int
}

// nodeMark is how the cells of an outcome look. Class is the colour, Mark a sign in the cell.
type nodeMark struct{ Class, Mark, Text string }

// nodeCell is a node, and what is shown when it is opened.
type nodeCell struct {
	nodeMark
	// Shown is the name in the cell, if there is room for it.
	ID, Name, Shown, Counts string
	// Lines are what is in the way, Budgets the budgets among it, and Rounds the pods of each round.
	Lines, Rounds []string
	Budgets       []textLink
	// More is how many lines are left out, and MoreBudgets how many budgets.
	More, MoreBudgets int

	budgets []purekube.Key
}

const (
	// namedAtMost and largeAtMost are how many nodes have their names in the cells, and large cells.
	namedAtMost = 40
	largeAtMost = 600
	// nodesLinked is to how many nodes a cause has links.
	nodesLinked = 30
	// podsShown is how many pods the page lists by node, and by budget; of more it has the numbers.
	podsShown = 1000
)

// The classes of cells.
const (
	cellDrains  = "drains"
	cellStopped = "stopped"
	cellUnknown = "unknown"
)

// newNodePicture drains each node alone. Nil: there is no node.
func (r *report) newNodePicture(c *cluster, inv invocation) *nodePicture {
	request := drainRequest{nodes: []string{allNodes}, flags: inv.drain.flags}
	f := newFleet(c, inv.settings)
	all := request.names(f)
	if len(all) == 0 {
		return nil
	}
	names, undecided := request.decidable(f, all)
	for _, p := range undecided {
		r.addProblem(p)
	}
	// What is wrong with the input is among the problems of the report.
	r.noteNodes(c)
	drains, _ := request.each(f, names)
	blockers := request.blockers(f, f.index, played(drains))
	answered := setOf(names)
	for _, name := range all {
		if !answered[name] {
			drains = append(drains, nodeDrain{node: name, pods: f.pods[name], Drain: drain.Drain{Node: name}})
		}
	}
	slices.SortStableFunc(drains, func(a, b nodeDrain) int { return cmp.Compare(a.rank(), b.rank()) })

	p := &nodePicture{Command: request.command(), Sentence: sentence(drains, blockers), Size: "small"}
	if len(drains) <= largeAtMost {
		p.Size = "large"
	}
	if len(drains) <= namedAtMost {
		p.Size = "named"
	}
	p.count(drains)
	p.Causes, p.MoreCauses = cut(causeBars(blockers), causesOfMany)
	pods := podsShown
	cells := make([]nodeCell, len(drains))
	for i, d := range drains {
		cells[i] = d.cell("node-"+strconv.Itoa(i), &pods)
		if p.Size == "named" {
			cells[i].Shown = d.node
		}
		if !slices.ContainsFunc(p.Legend, func(m nodeMark) bool { return m.Text == cells[i].Text }) {
			p.Legend = append(p.Legend, cells[i].nodeMark)
		}
	}
	p.NoRounds = pods < 0
	p.Pools = inPools(cells, c, inv.drain.pool)
	if key := p.Pools[0].Key; !slices.ContainsFunc(p.Pools, func(pool nodePool) bool { return pool.Key != key }) {
		p.PoolKey = key
		for i := range p.Pools {
			p.Pools[i].Key = ""
		}
	}
	return p
}

// sentence says what stops drains now.
func sentence(drains []nodeDrain, blockers []drain.Blocker) string {
	nodes := map[string]map[string]bool{cellDrains: {}, cellStopped: {}, cellUnknown: {}}
	rounds := 0
	for _, d := range drains {
		nodes[d.mark().Class][d.node] = true
		if d.Outcome == drain.InRounds {
			rounds++
		}
	}
	of := " of " + message.Count(len(drains), "node")
	because := func(nodes map[string]bool) string {
		for _, b := range blockers {
			n := 0
			for _, node := range b.Nodes {
				if nodes[node] {
					n++
				}
			}
			switch {
			case n == 0:
				continue
			case n == len(nodes):
				return ", because " + clause(b)
			}
			return fmt.Sprintf(", %d of them because %s", n, clause(b))
		}
		return ""
	}
	stopped, unknown := nodes[cellStopped], nodes[cellUnknown]
	switch n, m := len(stopped), len(unknown); {
	case n > 0:
		return fmt.Sprintf("%d%s %s%s.", n, of, verb(n, "does not drain", "do not drain"), because(stopped))
	case m > 0:
		return fmt.Sprintf("It is not known whether %d%s %s%s.", m, of, verb(m, "drains", "drain"), because(unknown))
	case rounds > 0:
		return fmt.Sprintf("Nothing stops the drain of a node: %d%s %s in rounds.", rounds, of,
			verb(rounds, "drains", "drain"))
	}
	return "Nothing stops the drain of a node."
}

// clause is the cause as a part of a sentence.
func clause(b drain.Blocker) string {
	switch b.Cause {
	case drain.CauseFlag:
		return "kubectl drain " + b.Message
	case drain.CauseLookup:
		return "purekube " + causeText(b)
	case drain.CauseBudget, drain.CauseSeveralBudgets, drain.CausePod, drain.CauseNode, drain.CauseNoRoom:
	}
	return b.Message
}

// count counts the nodes by class, and the outcomes of each.
func (p *nodePicture) count(drains []nodeDrain) {
	p.Numbers = []nodeNumber{
		{Class: cellDrains, What: "drain", one: "drains"}, {Class: cellStopped, What: "are stopped", one: "is stopped"},
		{Class: cellUnknown, What: "are unknown", one: "is unknown"},
	}
	for i := range p.Numbers {
		n := &p.Numbers[i]
		var of []nodeDrain
		empty := 0
		for _, d := range drains {
			if d.mark().Class != n.Class {
				continue
			}
			n.Nodes++
			if d.pods == 0 {
				empty++
			} else {
				of = append(of, d)
			}
		}
		if n.Class != cellUnknown {
			n.Details = drainTotals(of, empty)
		}
		if n.Nodes == 1 {
			n.What = n.one
		}
	}
}

// causeBars are the causes, on a scale that ends at the largest number of nodes.
func causeBars(blockers []drain.Blocker) []causeBar {
	scale := 1
	for _, b := range blockers {
		scale = max(scale, len(b.Nodes))
	}
	part := func(from, n int) barPart {
		return barPart{percent(float64(from), float64(scale)), percent(float64(n), float64(scale))}
	}
	var bars []causeBar
	for _, b := range blockers {
		bar := causeBar{
			Text: causeText(b), Stops: stopsText(b), Pods: list(texts(b.Pods), podsOfCause),
			Alone: part(0, len(b.Alone)), Shared: part(len(b.Alone), len(b.Nodes)-len(b.Alone)),
			object: b.Object, budget: b.Cause == drain.CauseBudget,
		}
		bar.nodes, _ = cut(b.Nodes, nodesLinked)
		bar.More = len(b.Nodes) - len(bar.nodes)
		for _, fix := range b.Fixes {
			bar.Fixes = append(bar.Fixes, fixBar{b.FixText(fix), part(0, len(fix.Frees))})
		}
		bars = append(bars, bar)
	}
	return bars
}

// podsOfCause is how many pods of a cause have names.
const podsOfCause = 10

// register adds the cells to the links.
func (p *nodePicture) register(all links) {
	for _, pool := range p.Pools {
		for _, cell := range pool.Cells {
			all[pictured(purekube.Key{Kind: "Node", Name: cell.Name})] = cell.ID
		}
	}
}

// resolve takes the links of the budgets and nodes.
func (p *nodePicture) resolve(all links) {
	for _, bars := range [][]causeBar{p.Causes, p.MoreCauses} {
		for i := range bars {
			b := &bars[i]
			if b.budget {
				b.Budget = all.picture(b.object)
			}
			for _, node := range b.nodes {
				b.Nodes = append(b.Nodes, all.picture(purekube.Key{Kind: "Node", Name: node}))
			}
		}
	}
	for _, pool := range p.Pools {
		for i := range pool.Cells {
			pool.Cells[i].resolve(all)
		}
	}
}

func (c *nodeCell) resolve(all links) {
	for _, budget := range c.budgets {
		c.Budgets = append(c.Budgets, all.picture(budget))
	}
}

// mark is how the cell of the node looks.
func (d nodeDrain) mark() nodeMark {
	switch d.Outcome {
	case drain.Now:
		if d.pods == 0 {
			return nodeMark{cellDrains, "·", "has no pods"}
		}
		return nodeMark{cellDrains, "", "drains now"}
	case drain.InRounds:
		mark := strconv.Itoa(len(d.Rounds))
		if len(mark) > 1 {
			mark = "+"
		}
		return nodeMark{cellDrains, mark, "drains in rounds"}
	case drain.Never:
		return nodeMark{cellStopped, "×", "never drains"}
	case drain.LeavesPending:
		return nodeMark{cellStopped, "P", "leaves pods pending"}
	case drain.NotStarted:
		return nodeMark{cellStopped, "F", "needs a flag"}
	case drain.NoOutcome, drain.Unknown, drain.RoundsExhausted:
	}
	return nodeMark{cellUnknown, "?", "unknown"}
}

// cell is the node with what explains its drain. room is for how many pods the page still has room.
func (d nodeDrain) cell(id string, room *int) nodeCell {
	c := nodeCell{nodeMark: d.mark(), ID: id, Name: d.node, Counts: message.Count(d.pods, "pod"), Lines: d.inTheWay()}
	sign := ": "
	for _, n := range []struct {
		pods int
		text string
	}{{d.evicted(), "evicted"}, {len(d.Skipped), "skipped"}, {d.stay(), "left on the node"}} {
		if n.pods > 0 {
			c.Counts += fmt.Sprintf("%s%d %s", sign, n.pods, n.text)
			sign = ", "
		}
	}
	if d.Outcome == drain.NoOutcome {
		c.Lines = append(c.Lines, "not answered: see the errors")
	}
	seen := map[purekube.Key]bool{}
	for _, p := range d.Refused {
		for _, b := range p.Eviction.Blocking {
			key := disruption.BudgetKey(b.Namespace, b.Name)
			if !seen[key] {
				seen[key] = true
				c.budgets = append(c.budgets, key)
			}
		}
	}
	c.Lines, c.More = atMost(c.Lines, 0)
	c.budgets, c.MoreBudgets = atMost(c.budgets, 0)
	if *room -= d.evicted() + len(d.Skipped); *room >= 0 {
		c.Rounds = d.rounds()
	}
	return c
}

// inPools groups the cells by the value of the label key, or of the first of poolLabels that a node has.
func inPools(cells []nodeCell, c *cluster, key string) []nodePool {
	of := nodePools(c, key)
	pools := map[nodePoolName]*nodePool{}
	for _, cell := range cells {
		of := of[cell.Name]
		pool := pools[of]
		if pool == nil {
			pool = &nodePool{Name: of.value, Key: of.key}
			pools[of] = pool
		}
		pool.Cells = append(pool.Cells, cell)
		if cell.Class == cellStopped {
			pool.stopped++
		}
	}
	var list []nodePool
	for of, pool := range pools {
		if of.key != "" || key != "" || len(pools) > 1 {
			pool.Name = of.title(key)
		}
		pool.Text = message.Count(len(pool.Cells), "node")
		if pool.stopped > 0 {
			pool.Text += ", " + strconv.Itoa(pool.stopped) + " stopped"
		}
		list = append(list, *pool)
	}
	slices.SortFunc(list, func(a, b nodePool) int {
		return cmp.Or(
			cmp.Compare(b.stopped, a.stopped), cmp.Compare(len(b.Cells), len(a.Cells)),
			strings.Compare(a.Name, b.Name), strings.Compare(a.Key, b.Key),
		)
	})
	return list
}

// rank sorts drains, the worst first.
func (d nodeDrain) rank() int {
	return slices.Index([]drain.Outcome{
		drain.Never, drain.LeavesPending, drain.NotStarted, drain.RoundsExhausted, drain.NoOutcome, drain.Unknown,
		drain.InRounds, drain.Now,
	}, d.Outcome)
}
