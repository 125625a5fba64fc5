package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/message"
)

// What is printed at most, so that an answer about many nodes fits on a screen.
const (
	nodesInFull  = 10 // with a row each; more are counted by outcome
	causesOfMany = 5
	fixesOfFew   = 3
	namesListed  = 5
	namesOfMany  = 2
)

// blockers are what is in the way of the drains, of which x is the cluster before.
func (r *drainRequest) blockers(f *fleet, x *disruption.Index, drains []drain.Drain) []drain.Blocker {
	return drain.Blockers(x, drains, r.options(f))
}

// writeBlockers prints the causes, worst first, with what helps. many: of many nodes, only the worst.
func (r *drainRequest) writeBlockers(t printer, blockers []drain.Blocker, nodes int) {
	if len(blockers) == 0 {
		return
	}
	many := nodes > nodesInFull && !r.wide
	shown, fixes, names := len(blockers), fixesOfFew, namesListed
	switch {
	case r.wide:
		fixes, names = math.MaxInt, math.MaxInt
	case many:
		shown, fixes, names = min(shown, causesOfMany), 1, namesOfMany
	}
	t.line(0, "", "In the way:", t.p.core)
	for _, b := range blockers[:shown] {
		t.line(4, "", causeText(b), t.p.notice)
		var about []string
		if nodes > 1 {
			about = append(about, stopsText(b)+" ("+list(b.Nodes, names)+")")
		}
		if len(b.Pods) > 0 && !many {
			about = append(about, "pods: "+list(texts(b.Pods), names))
		}
		if len(about) > 0 {
			t.line(8, "", strings.Join(about, "; "), plain)
		}
		for _, fix := range b.Fixes[:min(len(b.Fixes), fixes)] {
			t.line(8, "", b.FixText(fix), t.p.action)
		}
	}
	if more := len(blockers) - shown; more > 0 {
		t.line(4, "", fmt.Sprintf("%s: -o wide prints them", message.Count(more, "more cause")), plain)
	}
}

// causeText is what is wrong. What has to be looked up is missing in the input.
func causeText(b drain.Blocker) string {
	if len(b.Needs) > 0 {
		return "needs " + needText(b.Needs[0])
	}
	return b.Message
}

// stopsText says how many nodes the cause stops, or of how many it is not known whether they drain.
func stopsText(b drain.Blocker) string {
	text := "stops " + message.Count(len(b.Nodes), "node")
	if b.Cause == drain.CauseLookup {
		text = "leaves " + message.Count(len(b.Nodes), "node") + " unknown"
	}
	switch len(b.Alone) {
	case len(b.Nodes):
	case 0:
		text += ", none of them alone"
	default:
		text += ", " + strconv.Itoa(len(b.Alone)) + " of them alone"
	}
	return text
}

// writeNodes prints a row for each node, or counts many nodes by outcome: of each pool, where there are several.
func (r *drainRequest) writeNodes(t printer, drains []nodeDrain) {
	if len(drains) <= nodesInFull || r.wide {
		r.writeRows(t, drains)
		return
	}
	pools := map[nodePoolName][]nodeDrain{}
	for _, d := range drains {
		pools[r.pools[d.node]] = append(pools[r.pools[d.node]], d)
	}
	if len(pools) == 1 && r.pool == "" {
		t.writeOutcomes(drains)
		return
	}
	rows := [][]string{{"POOL", "NODES", "DRAIN"}}
	for _, of := range slices.SortedFunc(maps.Keys(pools), func(a, b nodePoolName) int {
		return cmp.Or(cmp.Compare(len(pools[b]), len(pools[a])), cmp.Compare(a.value, b.value), cmp.Compare(a.key, b.key))
	}) {
		rows = append(rows, []string{of.title(r.pool), strconv.Itoa(len(pools[of])), drainTotals(pools[of], 0)})
	}
	for i, row := range aligned(rows) {
		if i == 0 {
			row = t.p.faint(row)
		}
		fmt.Fprintln(t.w, row)
	}
}

// writeOutcomes counts the nodes of each outcome.
func (t printer) writeOutcomes(drains []nodeDrain) {
	byOutcome := map[drain.Outcome][]string{}
	for _, d := range drains {
		byOutcome[d.Outcome] = append(byOutcome[d.Outcome], d.node)
	}
	for _, o := range outcomes {
		if nodes := byOutcome[o.outcome]; len(nodes) > 0 {
			t.line(0, o.name+": ", fmt.Sprintf("%s (%s)", message.Count(len(nodes), "node"), list(nodes, namesOfMany)), plain)
		}
	}
}
