package drain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/message"
)

// Cause is what kind of thing is in the way of a drain. It is one of the constants below; a new version may add causes.
type Cause string

// What is in the way.
const (
	// CauseBudget: a budget refuses evictions.
	CauseBudget Cause = "Budget"
	// CauseSeveralBudgets: the API server evicts no pod that several budgets select.
	CauseSeveralBudgets Cause = "SeveralBudgets"
	// CauseFlag: pods need a flag of kubectl drain that is not set.
	CauseFlag Cause = "Flag"
	// CausePod: a pod does not go, whatever budgets say. RefusedPod.Code says why.
	CausePod Cause = "Pod"
	// CauseNode: the node is not ready, so its pods do not end.
	CauseNode Cause = "Node"
	// CauseNoRoom: recreated pods find no node.
	CauseNoRoom Cause = "NoRoom"
	// CauseLookup: the answer takes a lookup.
	CauseLookup Cause = "Lookup"
)

// Blocker is one cause that is in the way of drains.
type Blocker struct {
	Cause Cause `json:"cause"`
	// Object is the budget, the pod, the node, or what has to be looked up. It is empty for the other causes.
	Object purekube.Key `json:"object,omitzero"`
	// Message says what is wrong, for people.
	Message string `json:"message"`
	// Nodes are the nodes that it stops, and Alone the nodes that nothing else stops. Both are sorted.
	Nodes []string `json:"nodes"`
	Alone []string `json:"alone,omitempty"`
	// Pods are the pods that stay for it, or find no node, sorted by namespace and name.
	Pods []types.NamespacedName `json:"pods,omitempty"`
	// Shortfall is how many healthy pods the budget lacks, at the node where it lacks most.
	Shortfall int32 `json:"shortfall,omitempty"`
	// Needs is the lookup to make, for CauseLookup.
	Needs []purekube.Need `json:"needs,omitempty"`
	// Fixes are changes that help. The change that frees most nodes comes first.
	Fixes []Fix `json:"fixes,omitempty"`
}

// Blockers returns what is in the way of the drains, by cause, worst first: the cause that stops most nodes alone comes first,
// then the cause that stops most nodes. x is the cluster before the drains, which are an answer of [Each], [Node] or [Nodes]
// on x with the same options.
//
// Each [Fix] was played: for the first 100 nodes that the cause stops, the drain of each node alone on a branch of x with the
// change. A change that takes the cause away from no node is left out. With AsWritten there are no fixes, since nothing is
// computed again.
//
// The answer is only as good as the drains: a cause can hide another one, as a missing flag hides the budgets. Drains that
// were not started or that need lookups may have further causes.
//
// It costs the pods of the budgets that are in the way, and for each fix of each cause the drains that are played: a fleet of
// 300 nodes, of which 15 budgets stop 45, takes 4 ms (BenchmarkBlockers, 2026-11-27, 2 vCPU).
func Blockers(x *disruption.Index, drains []Drain, o Options) []Blocker {
	if optionsErr(x, o) != nil {
		return nil
	}
	o.inventory, _ = newInventory(x, o)
	found := map[cause]*Blocker{}
	byNode := func(a, b Drain) int { return cmp.Compare(a.Node, b.Node) }
	for _, d := range slices.SortedStableFunc(slices.Values(drains), byNode) {
		causes := causesOf(d)
		for c, pods := range causes {
			b := found[c]
			if b == nil {
				b = &Blocker{Cause: c.cause, Object: c.object}
				found[c] = b
			}
			b.Nodes = append(b.Nodes, d.Node)
			if len(causes) == 1 {
				b.Alone = append(b.Alone, d.Node)
			}
			b.Pods = append(b.Pods, pods...)
			b.note(d, c)
		}
	}
	for c, b := range found {
		b.Nodes, b.Alone, b.Pods = sortedOnce(b.Nodes), sortedOnce(b.Alone), sortNames(b.Pods)
		b.explain(x, c)
		if o.Budgets == Recomputed {
			f := fixer{x: x, o: o, c: c, blocker: b}
			b.Fixes = f.fixes()
		}
	}
	causes := slices.SortedFunc(maps.Keys(found), func(a, b cause) int {
		return cmp.Or(
			cmp.Compare(len(found[b].Alone), len(found[a].Alone)), cmp.Compare(len(found[b].Nodes), len(found[a].Nodes)), compareCauses(a, b),
		)
	})
	blockers := make([]Blocker, len(causes))
	for i, c := range causes {
		blockers[i] = *found[c]
	}
	return blockers
}

// cause is what makes one blocker of the obstacles of many drains. other tells causes of the same kind apart that are about
// no object, or about several.
type cause struct {
	cause  Cause
	object purekube.Key
	other  string
}

func compareCauses(a, b cause) int {
	return cmp.Or(cmp.Compare(a.cause, b.cause), cmp.Compare(a.object.String(), b.object.String()), cmp.Compare(a.other, b.other))
}

// causesOf returns what is in the way of the drain, with the pods that stay for it.
func causesOf(d Drain) map[cause][]types.NamespacedName {
	causes := map[cause][]types.NamespacedName{}
	for _, r := range d.Refused {
		c := cause{cause: CausePod, object: disruption.PodKey(r.Pod.Namespace, r.Pod.Name)}
		switch {
		case r.Code == ReasonNodeNotReady:
			c = cause{cause: CauseNode, object: purekube.Key{Kind: "Node", Name: d.Node}}
		case flagOf(r.Code) != "":
			c = cause{cause: CauseFlag, other: string(r.Code)}
		case len(r.Eviction.Blocking) == 1:
			b := r.Eviction.Blocking[0]
			c = cause{cause: CauseBudget, object: disruption.BudgetKey(b.Namespace, b.Name)}
		case len(r.Eviction.Blocking) > 1:
			c = cause{cause: CauseSeveralBudgets, other: list(r.Eviction.Blocking, len(r.Eviction.Blocking))}
		}
		causes[c] = append(causes[c], r.Pod)
	}
	for _, p := range d.Pending {
		c := cause{cause: CauseNoRoom}
		causes[c] = append(causes[c], p.Pod)
	}
	for _, n := range d.Needs {
		causes[cause{cause: CauseLookup, object: purekube.Key{Kind: n.Kind, Namespace: n.Namespace, Name: n.Name}, other: n.Subresource}] = nil
	}
	return causes
}

// drains reports whether all pods go, and find a node.
func (d Drain) drains() bool { return d.Outcome == Now || d.Outcome == InRounds }

// flagOf is the flag of kubectl drain that lets pods go which are refused with that code.
func flagOf(code Code) string {
	switch code {
	case ReasonDaemonSetPod:
		return "--ignore-daemonsets"
	case ReasonLocalStorage:
		return "--delete-emptydir-data"
	case ReasonNoController:
		return "--force"
	}
	return ""
}

// note takes down what the drain says of the cause.
func (b *Blocker) note(d Drain, c cause) {
	for _, r := range d.Refused {
		switch c.cause {
		case CauseBudget:
			if slices.Contains(r.Eviction.Blocking, types.NamespacedName{Namespace: c.object.Namespace, Name: c.object.Name}) {
				b.Shortfall = max(b.Shortfall, r.Eviction.Shortfall)
				b.Message = r.Eviction.Reason
			}
		case CauseFlag:
			if string(r.Code) == c.other {
				b.Message = r.Message
			}
		case CausePod:
			if r.Pod.Namespace == c.object.Namespace && r.Pod.Name == c.object.Name {
				b.Message = r.Message
			}
		case CauseSeveralBudgets, CauseNode, CauseNoRoom, CauseLookup:
		}
	}
	if c.cause == CauseNoRoom && b.Message == "" {
		first := d.Pending[0]
		b.Message = fmt.Sprintf("evicted pods find no node, such as %s: %s", first.Pod, strings.TrimSuffix(first.Message, "."))
	}
	if c.cause == CauseLookup {
		b.Needs = []purekube.Need{}
		for _, n := range d.Needs {
			if n.Kind == c.object.Kind && n.Namespace == c.object.Namespace && n.Name == c.object.Name && n.Subresource == c.other {
				b.Needs = append(b.Needs, n)
			}
		}
	}
}

// explain completes the message.
func (b *Blocker) explain(x *disruption.Index, c cause) {
	switch c.cause {
	case CauseBudget:
		name := c.object.Namespace + "/" + c.object.Name
		// The error is about the objects of the budget, which the reason of the eviction says as well.
		e, _ := x.Explain(c.object)
		switch {
		case e.Budget == nil: // several budgets have this name
			b.Message = "budget " + name + ": " + b.Message
		case e.Budget.Failure != "":
			b.Message = fmt.Sprintf("budget %s (%s): %s", name, e.Budget.Rule, e.Budget.Failure)
		case e.Budget.Never:
			b.Message = fmt.Sprintf("budget %s (%s) never allows a disruption", name, e.Budget.Rule)
		case b.Shortfall > 0:
			b.Message = fmt.Sprintf("budget %s (%s) is short of %s", name, e.Budget.Rule, message.Count(int(b.Shortfall), "healthy pod"))
		default:
			b.Message = fmt.Sprintf("budget %s (%s): %s", name, e.Budget.Rule, b.Message)
		}
	case CauseSeveralBudgets:
		b.Message = "pods are selected by several budgets: " + c.other
	case CauseNode:
		b.Message = "node " + c.object.Name + " is not ready: its pods do not end"
	case CausePod:
		b.Message = fmt.Sprintf("pod %s/%s: %s", c.object.Namespace, c.object.Name, b.Message)
	case CauseLookup:
		b.Message = "needs " + cmp.Or(c.other, "object") + " of " + c.object.String()
	case CauseFlag, CauseNoRoom: // the drain's message says it
	}
}

// list is the first names, and how many more there are.
func list(names []types.NamespacedName, first int) string {
	var texts []string
	for _, n := range names[:min(len(names), first)] {
		texts = append(texts, n.String())
	}
	if more := len(names) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

func sortedOnce(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
