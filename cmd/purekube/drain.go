package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spf13/pflag"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/message"
)

// drainRequest is what the arguments and flags of a drain ask for.
type drainRequest struct {
	// nodes are names, or allNodes. Then selects leaves some out, unless it is nil.
	nodes    []string
	selector string
	selects  labels.Selector
	flags    drain.Options
	// together: the nodes drain at the same time. Otherwise, and if inWaves is not set either, each drains alone.
	together bool
	// inWaves: waves of so many nodes (0: any number), rounds (-1: any number) and the same value of a label (none: any).
	inWaves      bool
	most, rounds int
	by           string
	// pool is the label that groups the nodes, and pools are the groups.
	pool  string
	pools map[string]nodePoolName
	// wide: nothing is left out.
	wide bool
}

// register adds the flags that decide about pods. They are called as kubectl drain calls them.
func (r *drainRequest) register(flags *pflag.FlagSet) {
	flags.BoolVar(&r.flags.IgnoreDaemonSets, "ignore-daemonsets", false, "leave the pods of DaemonSets where they are")
	flags.BoolVar(&r.flags.DeleteEmptyDirData, "delete-emptydir-data", false, "evict pods that use an emptyDir")
	flags.BoolVar(&r.flags.Force, "force", false, "evict pods that no controller recreates")
	flags.StringVar(&r.pool, "pool", "",
		"group the nodes by this `label` (default: the label of a provider's node pool, or else the instance type)")
}

func registerDrain(inv *invocation, flags *pflag.FlagSet) {
	registerUpstream(inv, flags, "match-upstream",
		"compute budgets as kube-controller-manager of this `release` does, its defects included: ")
	registerFailOn(inv, flags, failOnsOfDrain)
	registerWatch(inv, flags)
	inv.drain.register(flags)
	flags.StringVarP(&inv.drain.selector, "selector", "l", "", "drain the nodes with these `labels`, such as pool=a")
	flags.BoolVar(&inv.drain.together, "together", false,
		"drain the nodes at the same time, as several kubectl drains do (default: each alone)")
	inv.drain.registerWaves(flags,
		"plan a rolling upgrade of the nodes, or of all: which nodes drain together, and in what order")
}

// registerWaves adds the flags of a rolling upgrade.
func (r *drainRequest) registerWaves(flags *pflag.FlagSet, what string) {
	flags.BoolVar(&r.inWaves, "waves", false, what)
	flags.IntVar(&r.most, "max", 0, "with --waves: how many `nodes` a wave may have, 0: any number")
	flags.IntVar(&r.rounds, "rounds", 1, "with --waves: how many `rounds` a wave may take, -1: any number")
	flags.StringVar(&r.by, "by", "",
		"with --waves: all nodes of a wave have the same value of this `label`, such as topology.kubernetes.io/zone")
}

// command is the drain as a user of kubectl types it.
func (r *drainRequest) command() string {
	text := "kubectl drain"
	for _, f := range []struct {
		set  bool
		name string
	}{{r.flags.IgnoreDaemonSets, "ignore-daemonsets"}, {r.flags.DeleteEmptyDirData, "delete-emptydir-data"},
		{r.flags.Force, "force"}} {
		if f.set {
			text += " --" + f.name
		}
	}
	return text
}

// question is what the answer rests on. Groups rest on the labels of nodes as well.
func (r *drainRequest) question(c *cluster) question {
	q := drainQuestion("drain", c)
	if r.by != "" {
		q.seen = append(q.seen, "Node")
	}
	return q
}

// runDrain says how the drains go.
func runDrain(inv invocation, sys system) int {
	r := &inv.drain
	c := inv.load(sys)
	r.wide, r.pools = inv.output == outputWide, nodePools(c, r.pool)
	rep := newReport(inv.settings, c)
	var drains []nodeDrain
	var plan wavePlan
	var blockers []drain.Blocker
	if !rep.refuse(c, r.question(c)) {
		f := newFleet(c, inv.settings)
		var problems []problem
		// What is wrong with an input without objects is said already.
		if c.Len() > 0 || len(rep.problems) == 0 {
			problems = r.problems(f)
		}
		var err error
		names, undecided := r.decidable(f, r.names(f))
		if len(problems) > 0 {
			err = f.index.Err()
		} else if rep.noteNodes(c); r.inWaves {
			plan, problems, err = r.planWaves(f, names)
			blockers = r.blockers(f, plan.after, plan.Blocked)
		} else {
			drains, err = r.drainNodes(f, names)
			blockers = r.blockers(f, f.index, played(drains))
		}
		problems = append(problems, undecided...)
		rep.problems = append(rep.problems, problems...)
		rep.addProblems(err, purekube.Key{}, c)
		rep.addProblems(f.budgetProblems(r.names(f)), purekube.Key{}, c)
	}
	sys.sayAll(rep.problems)
	var err error
	switch {
	case inv.output == outputJSON && r.inWaves:
		err = rep.writeWavesJSON(&visibleWriter{w: sys.stdout}, plan.Plan, blockers)
	case inv.output == outputJSON:
		err = rep.writeDrainsJSON(&visibleWriter{w: sys.stdout}, drains, blockers, r.together)
	case len(plan.Waves)+len(plan.blocked) > 0:
		err = r.writeWaves(sys.stdout, palette(sys.colour), plan, blockers, rep.Notes)
	case len(drains) > 0:
		err = r.writeDrains(sys.stdout, palette(sys.colour), drains, blockers, rep.Notes)
	}
	if status := inv.end(rep, err, sys); status != exitPlanned {
		return status
	}
	if (neverDrains(drains) || len(plan.Blocked) > 0) && slices.Contains(inv.failOn, failOnNever) {
		return exitNever
	}
	return exitPlanned
}

// nodeDrain is how the drain of one node goes.
type nodeDrain struct {
	node string
	pods int
	drain.Drain
	// before is the cluster before the drain.
	before *disruption.Index
	// podOf finds the pods of the input.
	podOf map[types.NamespacedName]*corev1.Pod
	// together: before is the cluster after the drains of all nodes.
	together bool
	// explained are the budgets in before, as far as they were asked for: the same for all nodes.
	explained map[types.NamespacedName]disruption.BudgetExplanation
}

// fleet is what the drains are asked of. nodes are where the evicted pods may run; nil: that is not known.
type fleet struct {
	c     *cluster
	index *disruption.Index
	pods  map[string]int
	podOf map[types.NamespacedName]*corev1.Pod
	nodes []*corev1.Node
}

func newFleet(c *cluster, set settings) *fleet {
	d := newDrains(c, set)
	pods, podOf := podsOnNodes(c)
	return &fleet{c, d.index, pods, podOf, c.nodesWithRoom()}
}

// options are the flags, with the nodes on which the evicted pods may run.
func (r *drainRequest) options(f *fleet) drain.Options {
	o := r.flags
	o.Nodes = f.nodes
	return o
}

// names are the nodes to drain, sorted, each once.
func (r *drainRequest) names(f *fleet) []string {
	switch {
	case r.selects != nil:
		var names []string
		for _, n := range f.c.Nodes {
			if r.selects.Matches(labels.Set(n.Labels)) {
				names = append(names, n.Name)
			}
		}
		return slices.Compact(slices.Sorted(slices.Values(names)))
	case r.all():
		return slices.Sorted(maps.Keys(f.pods))
	}
	return slices.Compact(slices.Sorted(slices.Values(r.nodes)))
}

// drainNodes drains the nodes. The error is what is wrong with the input as a whole.
func (r *drainRequest) drainNodes(f *fleet, names []string) ([]nodeDrain, error) {
	if !r.together {
		return r.each(f, names)
	}
	played, after, err := drain.Nodes(f.index, names, r.options(f))
	// What is in the way of a node may be what the others evicted.
	drains := f.explained(played, after)
	for i := range drains {
		drains[i].together = true
	}
	return drains, err
}

// each drains each node alone.
func (r *drainRequest) each(f *fleet, names []string) ([]nodeDrain, error) {
	played, err := drain.Each(f.index, names, r.options(f))
	return f.explained(played, f.index), err
}

// explained are the drains with what explains them. What is in the way is in x.
func (f *fleet) explained(played []drain.Drain, x *disruption.Index) []nodeDrain {
	var drains []nodeDrain
	budgets := map[types.NamespacedName]disruption.BudgetExplanation{}
	for _, d := range played {
		drains = append(drains,
			nodeDrain{node: d.Node, pods: f.pods[d.Node], Drain: d, before: x, podOf: f.podOf, explained: budgets})
	}
	return drains
}

// played are the library's drains.
func played(drains []nodeDrain) []drain.Drain {
	all := make([]drain.Drain, len(drains))
	for i, d := range drains {
		all[i] = d.Drain
	}
	return all
}

// neverDrains reports whether a node is not drained in the end, or it is not known whether it is.
func neverDrains(drains []nodeDrain) bool {
	return slices.ContainsFunc(drains, func(d nodeDrain) bool {
		return d.Outcome != drain.Now && d.Outcome != drain.InRounds
	})
}

// withPods are the drains of nodes that have pods, and how many nodes have none. The caller keeps its own list: the
// exit status is about all of them.
func withPods(drains []nodeDrain) (some []nodeDrain, empty int) {
	for _, d := range drains {
		if d.pods > 0 {
			some = append(some, d)
		}
	}
	return some, len(drains) - len(some)
}

// writeDrains prints what is in the way, and a table of the nodes.
func (r *drainRequest) writeDrains(
	w io.Writer, p palette, drains []nodeDrain, blockers []drain.Blocker, notes []string,
) error {
	out := bufio.NewWriter(w)
	t := printer{out, p}
	how := ""
	switch {
	case r.together:
		how = ", all nodes at the same time"
	case r.all() || len(drains) > 1:
		how = ", each node alone"
	}
	t.line(0, "", r.command()+how, t.p.core)
	empty := 0
	if r.all() {
		drains, empty = withPods(drains)
	}
	r.writeBlockers(t, blockers, len(drains))
	r.writeNodes(t, drains)
	if r.all() || len(drains) > 1 {
		t.line(0, "Drains: ", drainTotals(drains, empty), plain)
	}
	t.notes(notes)
	return out.Flush()
}

// writeRows prints the table. The rounds are below the nodes that the request names.
func (r *drainRequest) writeRows(t printer, drains []nodeDrain) {
	rows := [][]string{{"NODE", "DRAINS", "PODS", "EVICTED", "SKIPPED", "STAY"}}
	withPools := r.pool != "" || r.wide && len(r.pools) > 0
	if withPools {
		rows[0] = append(rows[0], "POOL")
	}
	for _, d := range drains {
		row := []string{d.node, d.says(), strconv.Itoa(d.pods), strconv.Itoa(d.evicted()), strconv.Itoa(len(d.Skipped)),
			strconv.Itoa(d.stay())}
		if withPools {
			row = append(row, r.pools[d.node].title(r.pool))
		}
		rows = append(rows, row)
	}
	for i, row := range aligned(rows) {
		if i == 0 {
			t.line(0, "", row, t.p.faint)
			continue
		}
		fmt.Fprintln(t.w, row)
		d := drains[i-1]
		if !r.all() || r.wide {
			for _, line := range d.rounds() {
				t.line(4, "", line, t.p.action)
			}
		}
		for _, line := range d.inTurns() {
			t.line(4, "", line, t.p.notice)
		}
	}
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
	case drain.LeavesPending:
		return "leaves pods pending"
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
		text := "waits for terminating pods, or until an eviction without effect can be repeated"
		switch {
		case len(round) > 0:
			text = "evicts " + list(texts(round), len(round))
		case d.together:
			text = "waits for the other nodes, or for terminating pods"
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
	for _, p := range d.Refused {
		why := p.Message
		if p.Code == drain.ReasonEvictionRefused {
			why = d.blockedBy(p.Eviction)
		}
		pods[why] = append(pods[why], p.Pod.String())
	}
	for _, p := range d.Pending {
		why := "finds no node: " + strings.TrimSuffix(p.Message, ".")
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
			// What is wrong with other budgets of the namespace does not concern the drain.
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
	when := "at once"
	if d.together {
		when = "in the first round"
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if first[name] < all[name] {
			lines = append(lines, fmt.Sprintf("%s: of %s on this node, %d can be evicted %s", name,
				message.Count(all[name], "pod"), first[name], when))
		}
	}
	return lines
}

// blockedBy is why an eviction is refused at the end of the drain. How many pods the budget is short of is in the
// eviction: an explanation costs all pods of the budget, so no budget is explained for each node.
func (d nodeDrain) blockedBy(e disruption.Eviction) string {
	if len(e.Blocking) != 1 {
		return "selected by more than one budget (" + list(texts(e.Blocking), 5) + ")"
	}
	budget := d.explain(e.Blocking[0])
	why := fmt.Sprintf("budget %s (%s)", e.Blocking[0], budget.Rule)
	switch {
	case budget.Never:
		return why + " never allows a disruption"
	case e.Shortfall > 0:
		return fmt.Sprintf("%s is short of %s", why, message.Count(int(e.Shortfall), "healthy pod"))
	}
	return why + ": " + strings.TrimPrefix(e.Reason, violates)
}

// violates begins the API server's text for an eviction that a budget refuses, before the cause.
const violates = "Cannot evict pod as it would violate the pod's disruption budget. "

// explain is about the budget before the drain, which is the same for all nodes. It is asked for once.
func (d nodeDrain) explain(budget types.NamespacedName) disruption.BudgetExplanation {
	x, known := d.explained[budget]
	if !known {
		// The error is about the objects of the budget, which the eviction's reason says as well.
		e, _ := d.before.Explain(disruption.BudgetKey(budget.Namespace, budget.Name))
		x = *cmp.Or(e.Budget, &disruption.BudgetExplanation{}) // nil for a name that several budgets have
		d.explained[budget] = x
	}
	return x
}

// outcomes have names for totals.
var outcomes = []struct {
	outcome drain.Outcome
	name    string
}{
	{drain.Now, "now"}, {drain.InRounds, "in rounds"}, {drain.Never, "never"},
	{drain.LeavesPending, "leave pods pending"}, {drain.NotStarted, "not started"}, {drain.Unknown, "unknown"},
}

// drainTotals counts the nodes by outcome.
func drainTotals(drains []nodeDrain, empty int) string {
	totals := map[drain.Outcome]int{}
	for _, d := range drains {
		totals[d.Outcome]++
	}
	var parts []string
	for _, o := range outcomes {
		if n := totals[o.outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o.name))
		}
	}
	if empty > 0 {
		parts = append(parts, message.Count(empty, "node")+" without pods")
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

// aligned are the rows with their columns below each other. A cell that is longer than a line runs over, and the others
// are not padded to it.
func aligned(rows [][]string) []string {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = visible(cell)
			if n := utf8.RuneCountInString(row[i]); n <= width {
				widths[i] = max(widths[i], n)
			}
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		for i, cell := range row {
			lines[n] += cell + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))+2)
		}
		lines[n] = visibleLine(strings.TrimRight(lines[n], " "))
	}
	return lines
}
