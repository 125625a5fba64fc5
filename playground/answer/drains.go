package answer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/restson"
	"github.com/purekube/purekube/manifests"
)

// Drains is how each node drains alone.
type Drains struct {
	// Command is the drain as a user of kubectl types it.
	Command string `json:"command"`
	// Totals counts the nodes by outcome. Empty is how many have no pods.
	Totals []Total `json:"totals"`
	Empty  int     `json:"empty"`
	// Blockers are what is in the way, worst first.
	Blockers     []Blocker `json:"blockers"`
	MoreBlockers int       `json:"moreBlockers"`
	// Nodes are the nodes with pods: nodes that do not drain come first. MoreNodes counts the nodes that are left out.
	Nodes     []Node `json:"nodes"`
	MoreNodes int    `json:"moreNodes"`
}

// Total is how many nodes have an outcome.
type Total struct {
	Outcome string `json:"outcome"`
	Says    string `json:"says"`
	Nodes   int    `json:"nodes"`
}

// Blocker is a cause, with what helps.
type Blocker struct {
	Message string   `json:"message"`
	Stops   string   `json:"stops"`
	Pods    string   `json:"pods"`
	Fixes   []string `json:"fixes"`
}

// Node is how one node drains.
type Node struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
	Says    string `json:"says"`
	Pods    int    `json:"pods"`
	Evicted int    `json:"evicted"`
	Skipped int    `json:"skipped"`
	Stay    int    `json:"stay"`
	// Steps are what happens, a line each.
	Steps []string `json:"steps"`
}

// whole are the kinds of which every object must have been read for a plan. For a drain, there are the nodes too: one
// that could not be read may have taints, or not be ready.
var (
	whole         = []schema.GroupKind{manifests.Pod}
	wholeOfDrains = []schema.GroupKind{manifests.Pod, manifests.Node}
)

// drains adds how each node drains.
func (in *input) drains(q Question) {
	if in.refuses(drainQuestion, wholeOfDrains, in.drainRestsOn()) {
		return
	}
	pods := map[string]int{}
	for _, n := range in.Nodes {
		pods[n.Name] = 0
	}
	for _, p := range in.Pods {
		if p.Spec.NodeName != "" {
			pods[p.Spec.NodeName]++
		}
	}
	if len(pods) == 0 {
		in.problem("no Node in the input, and no pod on a node")
		return
	}
	in.noteNodes()
	o := drain.Options{
		IgnoreDaemonSets: q.IgnoreDaemonSets, DeleteEmptyDirData: q.DeleteEmptyDirData, Force: q.Force,
		Nodes: in.nodesWithRoom(),
	}
	played, err := drain.Each(in.index, in.decidable(pods), o)
	in.problems(err)
	in.problems(in.budgetErrors())
	d := &Drains{Command: command(q)}
	for _, n := range played {
		if pods[n.Node] == 0 && n.Outcome == drain.Now {
			d.Empty++
			continue
		}
		d.Nodes = append(d.Nodes, nodeOf(n, pods[n.Node]))
	}
	d.total()
	for _, b := range drain.Blockers(in.index, played, o) {
		if len(d.Blockers) == maxBlockers {
			d.MoreBlockers++
			continue
		}
		d.Blockers = append(d.Blockers, blockerOf(b))
	}
	in.answer.Drains = d
}

// maxBlockers is how many causes the page shows.
const maxBlockers = 20

// outcomes are worst first, with what they say of a node.
var outcomes = []struct {
	outcome drain.Outcome
	says    string
}{
	{drain.Never, "never"}, {drain.NotStarted, "not started"}, {drain.LeavesPending, "leaves pods pending"},
	{drain.RoundsExhausted, "unknown"}, {drain.Unknown, "unknown"}, {drain.NoOutcome, "unknown"},
	{drain.InRounds, "in rounds"}, {drain.Now, "now"},
}

// total counts the nodes, and sorts them.
func (d *Drains) total() {
	rank := map[string]int{}
	for i, o := range outcomes {
		rank[string(o.outcome)] = i
		n := 0
		for _, node := range d.Nodes {
			if node.Outcome == string(o.outcome) {
				n++
			}
		}
		if n > 0 {
			d.Totals = append(d.Totals, Total{string(o.outcome), o.says, n})
		}
	}
	slices.SortStableFunc(d.Nodes, func(a, b Node) int { return cmp.Compare(rank[a.Outcome], rank[b.Outcome]) })
	if d.MoreNodes = max(0, len(d.Nodes)-mostLines); d.MoreNodes > 0 {
		d.Nodes = d.Nodes[:mostLines]
	}
}

// command is the drain as a user of kubectl types it.
func command(q Question) string {
	text := "kubectl drain"
	for _, f := range []struct {
		set  bool
		name string
	}{{q.IgnoreDaemonSets, "ignore-daemonsets"}, {q.DeleteEmptyDirData, "delete-emptydir-data"}, {q.Force, "force"}} {
		if f.set {
			text += " --" + f.name
		}
	}
	return text
}

// nodesWithRoom are the nodes on which evicted pods may run. Nil: there are none, or their room is not known.
func (in *input) nodesWithRoom() []*corev1.Node {
	if in.answer.MadeNodes > 0 {
		return nil
	}
	return in.Nodes
}

// noteNodes says which nodes the drains do not know.
func (in *input) noteNodes() {
	switch {
	case in.answer.MadeNodes > 0:
		return // the page says so
	case len(in.Nodes) == 0:
		in.note("No Node in the input: evicted pods are assumed to find a node.")
		return
	}
	unknown := restson.UnknownNodes(in.Set)
	if len(unknown) > 0 {
		verb := "are"
		if len(unknown) == 1 {
			verb = "is"
		}
		in.note("Pods run on %s that %s not in the input: evicted pods are not placed there.", count(len(unknown), "node"),
			verb)
	}
}

// decidable are the nodes none of whose pods is in a namespace where a budget could not be read: it may select them.
func (in *input) decidable(pods map[string]int) []string {
	// refuses refuses what may be of any namespace
	without, hidden := restson.NodesWithoutBudgets(in.Set)
	if len(without) > 0 {
		why := fmt.Sprintf(
			"Not answered for %s: a PodDisruptionBudget that may select pods there could not be read, in namespace %s.",
			count(len(without), "node"), strings.Join(slices.Sorted(maps.Keys(hidden)), ", "))
		in.answer.Refusals = append(in.answer.Refusals, Refusal{Question: drainQuestion, Why: why, Command: dump})
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(pods)), func(name string) bool { return without[name] })
}

// budgetErrors joins what is wrong with the budgets of the namespaces that have pods. A drain passes over a budget
// whose selector does not compile, as the API server does, and does not say so.
func (in *input) budgetErrors() error {
	asked := map[string]bool{}
	var errs []error
	for _, p := range in.Pods {
		if !asked[p.Namespace] {
			asked[p.Namespace] = true
			_, err := in.index.BudgetsFor(p)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// nodeOf is how the node drains, for people.
func nodeOf(d drain.Drain, pods int) Node {
	n := Node{Name: d.Node, Outcome: string(d.Outcome), Pods: pods, Skipped: len(d.Skipped)}
	for _, o := range outcomes {
		if o.outcome == d.Outcome {
			n.Says = o.says
		}
	}
	if d.Outcome == drain.InRounds {
		n.Says = "in " + count(len(d.Rounds), "round")
	}
	for i, round := range d.Rounds {
		n.Evicted += len(round)
		text := "waits for terminating pods, or until an eviction without effect can be repeated"
		if len(round) > 0 {
			text = "evicts " + list(round, 5)
		}
		if i < 10 {
			n.Steps = append(n.Steps, fmt.Sprintf("Round %d %s.", i+1, text))
		}
	}
	if more := len(d.Rounds) - 10; more > 0 {
		n.Steps = append(n.Steps, fmt.Sprintf("%s more.", count(more, "round")))
	}
	n.Stay = pods - n.Evicted - n.Skipped
	for _, p := range d.Refused[:min(len(d.Refused), 10)] {
		n.Steps = append(n.Steps, p.Pod.String()+" stays: "+p.Message)
	}
	if more := len(d.Refused) - 10; more > 0 {
		n.Steps = append(n.Steps, count(more, "more pod")+" stay.")
	}
	for _, p := range d.Pending[:min(len(d.Pending), 10)] {
		n.Steps = append(n.Steps, p.Pod.String()+" is recreated and finds no node: "+p.Message)
	}
	for _, need := range d.Needs[:min(len(d.Needs), 10)] {
		n.Steps = append(n.Steps, "Not known without "+needText(need)+".")
	}
	for _, p := range d.Skipped[:min(len(d.Skipped), 5)] {
		text := p.Pod.String() + " is left alone"
		if p.Message != "" {
			text += ": " + p.Message
		}
		n.Steps = append(n.Steps, text)
	}
	return n
}

// blockerOf is a cause, for people.
func blockerOf(b drain.Blocker) Blocker {
	out := Blocker{Message: b.Message, Stops: "stops " + count(len(b.Nodes), "node") + " (" + names(b.Nodes) + ")",
		Pods: list(b.Pods, 5)}
	if len(b.Needs) > 0 {
		out.Message = "not known without " + needText(b.Needs[0])
		out.Stops = "leaves " + count(len(b.Nodes), "node") + " unknown (" + names(b.Nodes) + ")"
	}
	for _, f := range b.Fixes[:min(len(b.Fixes), 4)] {
		out.Fixes = append(out.Fixes, b.FixText(f))
	}
	return out
}

// names are the first nodes of a list.
func names(nodes []string) string {
	text := strings.Join(nodes[:min(len(nodes), 5)], ", ")
	if more := len(nodes) - 5; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
