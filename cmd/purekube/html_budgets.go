package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/message"
)

// budgetBar is one PodDisruptionBudget: its healthy pods against the number that it demands.
type budgetBar struct {
	Name, Link, Rule, Selector string
	Badges                     []badge
	// Text has the numbers in words.
	Text string
	// Known: there are numbers to draw.
	Known bool
	// Kept are the healthy pods that have to stay, Free the pods that may go, Missing the healthy pods that are short.
	Kept, Free, Missing budgetPart
	// Desired is where the demand ends.
	Desired string
	Nodes   []budgetNode
	// Notes say what is in the way of the numbers.
	Notes []string
}

type budgetPart struct{ X, Width, Title string }

// budgetNode is a node with pods of the budget.
type budgetNode struct {
	Name string
	Pods []budgetPod
}

type budgetPod struct{ Name, Health, Class string }

func newBudgetBars(c *cluster, set settings, links links) []budgetBar {
	d := newDrains(c, set)
	// What is wrong is among the problems of the report.
	explanations, _ := disruption.ExplainAll(d.snapshot, d.options)
	var bars []budgetBar
	for _, e := range explanations {
		if e.Budget != nil {
			bars = append(bars, newBudgetBar(e.Key, e.Budget, links))
		}
	}
	return bars
}

func newBudgetBar(key purekube.Key, e *disruption.BudgetExplanation, links links) budgetBar {
	b := budgetBar{
		Name: key.Namespace + "/" + key.Name, Link: links.to(key.Kind, key.Namespace, key.Name),
		Rule: e.Rule, Selector: e.Selector, Known: len(e.Needs) == 0,
	}
	if b.Rule == "" {
		b.Rule = "neither minAvailable nor maxUnavailable"
	}
	for _, n := range e.Needs {
		b.Notes = append(b.Notes, "needs "+needText(n))
	}
	if e.Failure != "" {
		b.Notes = append(b.Notes, e.Failure)
	}
	n := e.Computed
	switch {
	case !b.Known:
		b.Badges = append(b.Badges, badge{"note", "not known"})
	case e.Never:
		b.Badges = append(b.Badges, badge{"bad", "never allows a disruption"})
	case n.DisruptionsAllowed == 0:
		b.Badges = append(b.Badges, badge{"bad", "allows no disruption now"})
	default:
		b.Badges = append(b.Badges, badge{"ok", message.Count(int(n.DisruptionsAllowed), "pod") + " may go"})
	}
	if b.Known {
		b.draw(n)
		if e.Reported != e.Computed {
			b.Notes = append(b.Notes, "its status says "+e.Reported.String())
		}
	}
	b.Nodes = podsByNode(e)
	return b
}

// draw places the parts of the bar on a scale that ends at the largest of the numbers.
func (b *budgetBar) draw(n disruption.Counts) {
	healthy, desired, allowed := float64(n.CurrentHealthy), float64(n.DesiredHealthy), float64(n.DisruptionsAllowed)
	scale := max(healthy, desired, float64(n.ExpectedPods), 1)
	b.Text = fmt.Sprintf("%d healthy, %d desired, %d allowed to go, %d expected", n.CurrentHealthy, n.DesiredHealthy, n.DisruptionsAllowed, n.ExpectedPods)
	kept := healthy - min(allowed, healthy)
	part := func(from, to float64, what string) budgetPart {
		return budgetPart{percent(from, scale), percent(to-from, scale), strconv.Itoa(int(to-from)) + " " + what}
	}
	if kept > 0 {
		b.Kept = part(0, kept, "healthy, have to stay")
	}
	if healthy > kept {
		b.Free = part(kept, healthy, "healthy, may go")
	}
	if desired > healthy {
		b.Missing = part(healthy, desired, "healthy too few")
	}
	b.Desired = percent(desired, scale)
}

func podsByNode(e *disruption.BudgetExplanation) []budgetNode {
	nodes := map[string][]budgetPod{}
	unmanaged := setOf(e.Unmanaged)
	for _, p := range e.Pods {
		pod := budgetPod{Name: p.Name, Health: healthText(p.Health), Class: "bad"}
		switch p.Health {
		case disruption.Healthy:
			pod.Class = "ok"
		case disruption.BeingEvicted:
			pod.Health += ", expected to be gone by " + p.Until.UTC().Format(time.RFC3339)
		case disruption.NoHealth, disruption.NotReady, disruption.BeingDeleted, disruption.Duplicate:
		}
		if unmanaged[p.Name] {
			pod.Health += ", no controller wants it"
		}
		nodes[p.Node] = append(nodes[p.Node], pod)
	}
	var list []budgetNode
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		list = append(list, budgetNode{name, nodes[name]})
	}
	return list
}

// drainTable says how kubectl drain of each node alone would go.
type drainTable struct {
	Command, Totals string
	Rows            []drainRow
}

type drainRow struct {
	Node                         string
	Says                         badge
	Pods, Evicted, Skipped, Stay int
	// Lines are what is in the way; Rounds are the pods of each round.
	Lines, Rounds []string
}

func newDrainTable(c *cluster, inv invocation) *drainTable {
	request := drainRequest{nodes: []string{allNodes}, flags: inv.drain.flags}
	f := newFleet(c, inv.settings)
	// What is wrong with the input is among the problems of the report.
	drains := request.each(f, request.names(f))
	all := len(drains)
	drains = slices.DeleteFunc(drains, func(d nodeDrain) bool { return d.pods == 0 })
	t := &drainTable{Command: request.command(), Totals: drainTotals(drains, all-len(drains))}
	for _, d := range drains {
		class := "bad"
		switch d.Outcome {
		case drain.Now:
			class = "ok"
		case drain.InRounds, drain.Unknown:
			class = "note"
		case drain.NoOutcome, drain.Never, drain.NotStarted, drain.RoundsExhausted:
		}
		t.Rows = append(t.Rows, drainRow{
			Node: d.node, Says: badge{class, d.says()}, Pods: d.pods, Evicted: d.evicted(), Skipped: len(d.Skipped), Stay: d.stay(),
			Lines: d.inTheWay(), Rounds: d.rounds(),
		})
	}
	return t
}
