package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/message"
)

// budgetList are the budgets of the cluster, the worst first.
type budgetList struct {
	// Bars are drawn. Of more budgets than that, Blocking and Free are not: Free let a pod go, Blocking do not.
	Bars, Blocking, Free []budgetBar
}

// budgetBar is one PodDisruptionBudget: its healthy pods against the number that it demands.
type budgetBar struct {
	ID, Name, Link, Rule, Selector string
	Badges                         []badge
	// Text has the numbers in words.
	Text string
	// Known: there are numbers, Counts, and Drawn: in a bar.
	Known, Drawn, Never bool
	Counts              disruption.Counts
	// Kept are the healthy pods that have to stay, Free the pods that may go, Missing the healthy pods that are short.
	Kept, Free, Missing budgetPart
	// Desired is where the demand ends.
	Desired string
	Nodes   []budgetNode
	// Hint is the command that prints the pods of a page that has too many to show them.
	Hint string
	// Notes say what is in the way of the numbers.
	Notes []string

	key purekube.Key
}

type budgetPart struct{ X, Width, Title string }

// budgetNode is a node with pods of the budget.
type budgetNode struct {
	textLink
	Pods []budgetPod
}

type budgetPod struct{ Name, Health, Class string }

func newBudgetList(c *cluster, set settings, links links) *budgetList {
	d := newDrains(c, set)
	// What is wrong is among the problems of the report.
	explanations, _ := d.index.ExplainAll()
	var bars []budgetBar
	for _, e := range explanations {
		if e.Budget != nil && !c.ReadInPart(e.Key) {
			bars = append(bars, newBudgetBar(e.Key, e.Budget, links))
		}
	}
	if len(bars) == 0 {
		return nil
	}
	slices.SortStableFunc(bars, func(a, b budgetBar) int { return cmp.Compare(a.rank(), b.rank()) })
	pods := podsShown
	for i := range bars {
		b := &bars[i]
		b.ID, b.Drawn = "budget-"+strconv.Itoa(i), i < shownAtMost && b.Known
		links[pictured(b.key)] = b.ID
		for _, n := range b.Nodes {
			pods -= len(n.Pods)
		}
		if pods < 0 {
			b.Nodes, b.Hint = nil, "purekube explain pdb/"+b.Name
		}
	}
	if len(bars) <= shownAtMost {
		return &budgetList{Bars: bars}
	}
	free := slices.IndexFunc(bars, budgetBar.letsGo)
	if free < 0 {
		free = len(bars)
	}
	shown := min(free, shownAtMost)
	return &budgetList{bars[:shown], bars[shown:free], bars[free:]}
}

// rank sorts budgets: first budgets that never allow a disruption, then budgets that allow none now, then unknown ones,
// then all others.
func (b budgetBar) rank() int {
	switch {
	case b.Never:
		return 0
	case b.letsGo():
		return 3
	case b.Known:
		return 1
	}
	return 2
}

func (b budgetBar) letsGo() bool { return b.Known && b.Counts.DisruptionsAllowed > 0 }

func newBudgetBar(key purekube.Key, e *disruption.BudgetExplanation, links links) budgetBar {
	b := budgetBar{
		Name: key.Namespace + "/" + key.Name, Link: links.to(key.Kind, key.Namespace, key.Name),
		key: key, Rule: e.Rule, Selector: e.Selector, Known: len(e.Needs) == 0, Never: e.Never, Counts: e.Computed,
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
		b.Badges = append(b.Badges, badge{classNote, "not known"})
	case e.Never:
		b.Badges = append(b.Badges, badge{classBad, "never allows a disruption"})
	case n.DisruptionsAllowed == 0:
		b.Badges = append(b.Badges, badge{classBad, "allows no disruption now"})
	default:
		b.Badges = append(b.Badges, badge{classOK, message.Count(int(n.DisruptionsAllowed), "pod") + " may be evicted"})
	}
	if b.Known {
		b.draw(n)
		if e.Reported != e.Computed {
			b.Notes = append(b.Notes, "its status says "+e.Reported.String())
		}
	}
	b.Nodes = podsByNode(e, links)
	return b
}

// draw places the parts of the bar on a scale that ends at the largest of the numbers.
func (b *budgetBar) draw(n disruption.Counts) {
	healthy, desired, allowed := float64(n.CurrentHealthy), float64(n.DesiredHealthy), float64(n.DisruptionsAllowed)
	scale := max(healthy, desired, float64(n.ExpectedPods), 1)
	b.Text = fmt.Sprintf("%d healthy, %d desired, %d disruptions allowed, %d expected", n.CurrentHealthy, n.DesiredHealthy,
		n.DisruptionsAllowed, n.ExpectedPods)
	kept := healthy - min(allowed, healthy)
	part := func(from, to float64, what func(n int) string) budgetPart {
		return budgetPart{percent(from, scale), percent(to-from, scale), what(int(to - from))}
	}
	if kept > 0 {
		b.Kept = part(0, kept, func(n int) string {
			return message.Count(n, "healthy pod") + " " + verb(n, "has", "have") + " to stay"
		})
	}
	if healthy > kept {
		b.Free = part(kept, healthy, func(n int) string { return message.Count(n, "healthy pod") + " may be evicted" })
	}
	if desired > healthy {
		b.Missing = part(healthy, desired, func(n int) string { return "short of " + message.Count(n, "healthy pod") })
	}
	b.Desired = percent(desired, scale)
}

func podsByNode(e *disruption.BudgetExplanation, links links) []budgetNode {
	nodes := map[string][]budgetPod{}
	unmanaged := setOf(e.Unmanaged)
	for _, p := range e.Pods {
		pod := budgetPod{Name: p.Name, Health: healthText(p.Health), Class: "bad"}
		switch p.Health {
		case disruption.Healthy:
			pod.Class = "ok"
		case disruption.BeingEvicted:
			pod.Health += ", expected to be gone by " + p.Until.UTC().Format(time.RFC3339)
		case disruption.NoHealth, disruption.NotReady, disruption.BeingDeleted:
		}
		if unmanaged[p.Name] {
			pod.Health += ", no controller wants it"
		}
		nodes[p.Node] = append(nodes[p.Node], pod)
	}
	var list []budgetNode
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		list = append(list, budgetNode{links.picture(purekube.Key{Kind: "Node", Name: name}), nodes[name]})
	}
	return list
}
