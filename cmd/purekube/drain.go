package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
)

// drainRequest is what the flags of a drain ask for.
type drainRequest struct {
	// node is a name, or allNodes.
	node  string
	flags drain.Options
}

const allNodes = "all"

// register adds the flags that decide about pods. They are called as kubectl drain calls them.
func (r *drainRequest) register(flags *flag.FlagSet) {
	flags.BoolVar(&r.flags.IgnoreDaemonSets, "ignore-daemonsets", false, "leave the pods of DaemonSets where they are")
	flags.BoolVar(&r.flags.DeleteEmptyDirData, "delete-emptydir-data", false, "evict pods that use an emptyDir")
	flags.BoolVar(&r.flags.Force, "force", false, "evict pods that no controller recreates")
}

func registerDrain(inv *invocation, flags *flag.FlagSet) {
	registerUpstream(inv, flags, "match-upstream", "compute budgets as kube-controller-manager of this `release` does, its defects included: ")
	registerFailOn(inv, flags)
	inv.drain.register(flags)
}

// command is the drain as a user of kubectl types it.
func (r *drainRequest) command() string {
	text := "kubectl drain"
	for _, f := range []struct {
		set  bool
		name string
	}{{r.flags.IgnoreDaemonSets, "ignore-daemonsets"}, {r.flags.DeleteEmptyDirData, "delete-emptydir-data"}, {r.flags.Force, "force"}} {
		if f.set {
			text += " --" + f.name
		}
	}
	return text
}

// runDrain says how the drains go.
func runDrain(inv invocation, sys system) int {
	inv.drain.node = inv.about
	c := inv.load(sys)
	rep := newReport(inv.now, c)
	var drains []nodeDrain
	if !rep.refuse(c, drainQuestion("drain", c)) {
		var err error
		drains, err = inv.drain.drainNodes(c, inv.settings)
		rep.addProblems(err, purekube.Key{}, c)
	}
	if len(drains) == 0 && len(rep.problems) == 0 {
		// A table without rows, or a drained node of a misspelt name, would look like success.
		missing := "no Node in the input, and no pod on a node"
		if inv.drain.node != allNodes {
			missing = fmt.Sprintf("no Node %s in the input, and no pod on it", inv.drain.node)
		}
		rep.problems = append(rep.problems, problem{what: missing})
	}
	for _, p := range rep.problems {
		sys.say(p)
	}
	var err error
	switch {
	case inv.output == outputJSON:
		err = rep.writeDrainsJSON(&visibleWriter{w: sys.stdout}, drains)
	case len(drains) > 0:
		err = inv.drain.writeDrains(sys.stdout, palette(sys.colour), drains)
	}
	if status := inv.end(rep, err, sys); status != exitPlanned {
		return status
	}
	if neverDrains(drains) && slices.Contains(inv.failOn, failOnNever) {
		return exitNever
	}
	return exitPlanned
}

// nodeDrain is how the drain of one node goes.
type nodeDrain struct {
	node string
	pods int
	drain.Drain
	// before and after are the cluster before the drain and after it.
	before, after *disruption.Index
	// podOf finds the pods of the input.
	podOf map[types.NamespacedName]*corev1.Pod
	// explained are the budgets before the drain, as far as they were asked for: the same for all nodes.
	explained map[types.NamespacedName]disruption.Explanation
}

// drainNodes drains each node alone, sorted by name. A node that is not in the input has no drain. The error is what is
// wrong with the input as a whole.
func (r *drainRequest) drainNodes(c *cluster, set settings) ([]nodeDrain, error) {
	pods := map[string]int{}
	podOf := map[types.NamespacedName]*corev1.Pod{}
	for _, n := range c.Nodes {
		pods[n.Name] = 0
	}
	for _, p := range c.Pods {
		podOf[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p
		if p.Spec.NodeName != "" {
			pods[p.Spec.NodeName]++
		}
	}
	names := slices.Sorted(maps.Keys(pods))
	if _, there := pods[r.node]; there && r.node != allNodes {
		names = []string{r.node}
	} else if r.node != allNodes {
		names = nil
	}
	d := newDrains(c, set)
	x := disruption.NewIndex(d.snapshot, d.options)
	err := x.Err()
	var drains []nodeDrain
	explained := map[types.NamespacedName]disruption.Explanation{}
	for _, name := range names {
		var played drain.Drain
		var after *disruption.Index
		played, after, err = drain.Node(x, name, r.flags)
		drains = append(drains, nodeDrain{node: name, pods: pods[name], Drain: played, before: x, after: after, podOf: podOf, explained: explained})
	}
	return drains, err
}

// neverDrains reports whether a node is not drained in the end, or it is not known whether it is.
func neverDrains(drains []nodeDrain) bool {
	return slices.ContainsFunc(drains, func(d nodeDrain) bool {
		return d.Outcome != drain.Now && d.Outcome != drain.InRounds
	})
}

// writeDrains prints a table of the nodes, and below each row what is in the way.
func (r *drainRequest) writeDrains(w io.Writer, p palette, drains []nodeDrain) error {
	out := bufio.NewWriter(w)
	t := printer{out, p}
	alone := ""
	if r.node == allNodes {
		alone = ", each node alone"
	}
	t.line(0, "", r.command()+alone, t.p.core)
	empty := 0
	if r.node == allNodes {
		before := len(drains)
		drains = slices.DeleteFunc(drains, func(d nodeDrain) bool { return d.pods == 0 })
		empty = before - len(drains)
	}
	rows := [][]string{{"NODE", "DRAINS", "PODS", "EVICTED", "SKIPPED", "STAY"}}
	for _, d := range drains {
		rows = append(rows, []string{d.node, d.says(), strconv.Itoa(d.pods), strconv.Itoa(d.evicted()), strconv.Itoa(len(d.Skipped)), strconv.Itoa(d.stay())})
	}
	for i, row := range aligned(rows) {
		if i == 0 {
			t.line(0, "", row, t.p.faint)
			continue
		}
		fmt.Fprintln(out, row)
		d := drains[i-1]
		if r.node != allNodes {
			for _, line := range d.rounds() {
				t.line(4, "", line, t.p.action)
			}
		}
		for _, line := range d.inTheWay() {
			t.line(4, "", line, t.p.notice)
		}
	}
	if r.node == allNodes {
		t.line(0, "Drains: ", drainTotals(drains, empty), plain)
	}
	return out.Flush()
}

// says is the outcome in a word or three.
func (d nodeDrain) says() string {
	switch d.Outcome {
	case drain.Now:
		return "now"
	case drain.InRounds:
		return fmt.Sprintf("in %d rounds", len(d.Rounds))
	case drain.Never:
		return "never"
	case drain.NotStarted:
		return "not started"
	case drain.NoOutcome, drain.Unknown, drain.RoundsExhausted:
	}
	return "unknown"
}

func (d nodeDrain) evicted() int { return len(slices.Concat(d.Rounds...)) }

// stay is how many pods are left on the node that ought to go. In a drain that does not start all of
// them are.
func (d nodeDrain) stay() int { return d.pods - d.evicted() - len(d.Skipped) }

// rounds are the pods of each round.
func (d nodeDrain) rounds() []string {
	var lines []string
	for i, round := range d.Rounds {
		text := "waits for pods that are going, or for an eviction that came to nothing"
		if len(round) > 0 {
			text = "evicts " + list(texts(round), len(round))
		}
		lines = append(lines, fmt.Sprintf("round %d: %s", i+1, text))
	}
	for _, p := range d.Skipped {
		lines = append(lines, fmt.Sprintf("skips %s: %s", p.Pod, p.Message))
	}
	if d.pods == 0 {
		lines = append(lines, "no pod of the input is on the node")
	}
	return lines
}

// inTheWay has a line for each cause, with the pods that stay for it.
func (d nodeDrain) inTheWay() []string {
	pods := map[string][]string{}
	byBudget := map[types.NamespacedName]string{}
	for _, p := range d.Refused {
		why := p.Message
		if p.Code == drain.ReasonEvictionRefused {
			why = d.blockedBy(p.Eviction, byBudget)
		}
		pods[why] = append(pods[why], p.Pod.String())
	}
	var lines []string
	for _, why := range slices.Sorted(maps.Keys(pods)) {
		lines = append(lines, fmt.Sprintf("%s: %s", why, list(pods[why], 5)))
	}
	for _, n := range d.Needs {
		lines = append(lines, "needs "+needText(n))
	}
	return append(lines, d.inTurns()...)
}

// inTurns has a line for each budget that does not let all its pods on the node go at once, though all of
// them go.
func (d nodeDrain) inTurns() []string {
	first, all := map[string]int{}, map[string]int{}
	stay := map[types.NamespacedName]bool{}
	for _, p := range d.Refused {
		for _, b := range p.Eviction.Blocking {
			stay[b] = true
		}
	}
	for i, round := range d.Rounds {
		for _, pod := range round {
			// What is wrong with other budgets of the namespace is none of the drain's business.
			budgets, _ := d.before.BudgetsFor(d.podOf[pod])
			for _, b := range budgets {
				if stay[types.NamespacedName{Namespace: b.Namespace, Name: b.Name}] {
					continue
				}
				name := fmt.Sprintf("budget %s/%s", b.Namespace, b.Name)
				all[name]++
				if i == 0 {
					first[name]++
				}
			}
		}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if first[name] < all[name] {
			lines = append(lines, fmt.Sprintf("%s: %s here, %d at once", name, count(all[name], "pod"), first[name]))
		}
	}
	return lines
}

// blockedBy is why an eviction is refused at the end of the drain. An explanation costs the pods of the budget, so each
// budget is explained once, and known has what was said.
func (d nodeDrain) blockedBy(e disruption.Eviction, known map[types.NamespacedName]string) string {
	if len(e.Blocking) != 1 {
		return "more than one budget (" + list(texts(e.Blocking), 5) + ")"
	}
	budget := e.Blocking[0]
	if known[budget] == "" {
		known[budget] = blockedText(budget, d.explain(budget))
	}
	return known[budget]
}

// explain is about the end of the drain. Where that is the same for all nodes, it is asked for once.
func (d nodeDrain) explain(budget types.NamespacedName) disruption.Explanation {
	key := disruption.BudgetKey(budget.Namespace, budget.Name)
	x, known := d.explained[budget]
	if !known {
		// The error is about the objects of the budget, which the reason says as well.
		x, _ = d.before.Explain(key)
		d.explained[budget] = x
	}
	if !x.Budget.Never && len(d.Rounds) > 0 {
		x, _ = d.after.Explain(key)
	}
	return x
}

func blockedText(budget types.NamespacedName, x disruption.Explanation) string {
	why := fmt.Sprintf("budget %s (%s)", budget, x.Budget.Rule)
	switch {
	case x.Budget.Never:
		return why + " never lets a healthy pod go"
	case x.Budget.Shortfall > 0:
		return fmt.Sprintf("%s is short of %s", why, count(int(x.Budget.Shortfall), "healthy pod"))
	case len(x.Reasons) > 0:
		return why + ": " + x.Reasons[0].Message
	}
	return why
}

// drainTotals counts the nodes by outcome.
func drainTotals(drains []nodeDrain, empty int) string {
	totals := map[drain.Outcome]int{}
	for _, d := range drains {
		totals[d.Outcome]++
	}
	var parts []string
	for _, o := range []struct {
		outcome drain.Outcome
		name    string
	}{
		{drain.Now, "now"}, {drain.InRounds, "in rounds"}, {drain.Never, "never"},
		{drain.NotStarted, "not started"}, {drain.Unknown, "unknown"},
	} {
		if n := totals[o.outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o.name))
		}
	}
	if empty > 0 {
		parts = append(parts, count(empty, "node")+" without pods")
	}
	return strings.Join(parts, ", ")
}

func texts(names []types.NamespacedName) []string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = n.String()
	}
	return list
}

// aligned are the rows with their columns below each other.
func aligned(rows [][]string) []string {
	width := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = visible(cell)
			cell = row[i]
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		for i, cell := range row {
			lines[n] += cell + strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2)
		}
		lines[n] = visibleLine(strings.TrimRight(lines[n], " "))
	}
	return lines
}
