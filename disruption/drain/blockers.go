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
	// CauseLookup: the answer needs a lookup.
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
	// Pods are the pods that stay because of it, or that find no node, sorted by namespace and name.
	Pods []types.NamespacedName `json:"pods,omitempty"`
	// Shortfall is how many healthy pods the budget lacks, at the node where it lacks most.
	Shortfall int32 `json:"shortfall,omitempty"`
	// Needs is the lookup to make, for CauseLookup.
	Needs []purekube.Need `json:"needs,omitempty"`
	// Fixes are changes that help. The change that frees the most nodes comes first.
	Fixes []Fix `json:"fixes,omitempty"`
}

// Blockers returns what is in the way of the drains, by cause, worst first: the cause that is the only obstacle of the
// most nodes, and among equals the cause that stops the most nodes. x is the cluster before the drains, which are an
// answer of [Each], [Node] or [Nodes] on x with the same options.
//
// Each [Fix] was simulated: for the first 100 nodes that the cause stops, the drain of each node alone, on a copy of x
// with the change. A change that removes the cause from no node is left out. Only the first 100 causes have fixes. With
// AsWritten, no other number of a budget and no more pods help, since the status stays what it is.
//
// The answer is only as good as the drains: a cause can hide another one, as a missing flag hides the budgets. Drains
// that were not started or that need lookups may have further causes.
//
// It costs the pods of the budgets that are in the way, and for each fix the simulated drains. For the number of a
// budget, a binary search simulates them up to log n times, where n is how many of its pods a node has. The README of
// this folder has times.
func Blockers(x *disruption.Index, drains []Drain, o Options) []Blocker {
	if optionsErr(x, o) != nil {
		return nil
	}
	o.inventory, _ = newInventory(x, o)
	found := map[cause]*Blocker{}
	byNode := func(a, b Drain) int { return cmp.Compare(a.Node, b.Node) }
	for _, d := range slices.SortedStableFunc(slices.Values(drains), byNode) {
		causes := causesOf(d)
		for c, of := range causes {
			b := found[c]
			if b == nil {
				b = &Blocker{Cause: c.cause, Object: c.object, Message: of.message}
				if c.cause == CauseLookup {
					b.Needs = []purekube.Need{c.need}
				}
				found[c] = b
			}
			b.Nodes = append(b.Nodes, d.Node)
			if len(causes) == 1 {
				b.Alone = append(b.Alone, d.Node)
			}
			b.Pods = append(b.Pods, of.pods...)
			b.Shortfall = max(b.Shortfall, of.shortfall)
		}
	}
	for c, b := range found {
		b.Nodes, b.Alone, b.Pods = sortedOnce(b.Nodes), sortedOnce(b.Alone), sortNames(b.Pods)
		if c.cause == CauseBudget {
			b.explain(x)
		}
	}
	causes := slices.SortedFunc(maps.Keys(found), func(a, b cause) int {
		return cmp.Or(
			cmp.Compare(len(found[b].Alone), len(found[a].Alone)), cmp.Compare(len(found[b].Nodes), len(found[a].Nodes)),
			compareCauses(a, b),
		)
	})
	blockers := make([]Blocker, len(causes))
	alone := map[string]played{}
	for i, c := range causes {
		if b := found[c]; i < fixedAtMost {
			f := fixer{x: x, o: o, c: c, blocker: b, alone: alone}
			b.Fixes = f.fixes()
		}
		blockers[i] = *found[c]
	}
	return blockers
}

// cause is what makes one blocker of the obstacles of many drains. flag and budgets tell causes apart that are about no
// object, or about several, and need is the lookup.
type cause struct {
	cause   Cause
	object  purekube.Key
	flag    Code
	budgets string
	need    purekube.Need
}

func compareCauses(a, b cause) int {
	return cmp.Or(
		cmp.Compare(a.cause, b.cause), cmp.Compare(a.object.String(), b.object.String()), cmp.Compare(a.flag, b.flag),
		cmp.Compare(a.budgets, b.budgets), compareNeeds(a.need, b.need),
	)
}

// obstacle is what a cause does to one drain: the pods that stay for it, how many healthy pods the budget lacks, and
// what is wrong, in words.
type obstacle struct {
	pods      []types.NamespacedName
	shortfall int32
	message   string
}

// causesOf returns what is in the way of the drain.
func causesOf(d Drain) map[cause]*obstacle {
	causes := map[cause]*obstacle{}
	add := func(c cause, message string, pods ...types.NamespacedName) *obstacle {
		of := causes[c]
		if of == nil {
			of = &obstacle{message: message}
			causes[c] = of
		}
		of.pods = append(of.pods, pods...)
		return of
	}
	for _, r := range d.Refused {
		switch {
		case r.Code == ReasonNodeNotReady:
			c := cause{cause: CauseNode, object: purekube.Key{Kind: "Node", Name: d.Node}}
			add(c, "node "+d.Node+" is not ready: its pods do not end", r.Pod)
		case flagOf(r.Code) != "":
			add(cause{cause: CauseFlag, flag: r.Code}, r.Message, r.Pod)
		case len(r.Eviction.Blocking) == 1:
			b := r.Eviction.Blocking[0]
			of := add(cause{cause: CauseBudget, object: disruption.BudgetKey(b.Namespace, b.Name)}, r.Eviction.Reason, r.Pod)
			of.shortfall = max(of.shortfall, r.Eviction.Shortfall)
		case len(r.Eviction.Blocking) > 1:
			all := r.Eviction.Blocking
			add(cause{cause: CauseSeveralBudgets, budgets: list(all, len(all))},
				"pods are selected by several budgets: "+list(all, budgetsNamed), r.Pod)
		default:
			add(cause{cause: CausePod, object: disruption.PodKey(r.Pod.Namespace, r.Pod.Name)},
				"pod "+r.Pod.String()+": "+r.Message, r.Pod)
		}
	}
	for _, p := range d.Pending {
		add(cause{cause: CauseNoRoom},
			fmt.Sprintf("evicted pods find no node, such as %s: %s", p.Pod, strings.TrimSuffix(p.Message, ".")), p.Pod)
	}
	for _, n := range d.Needs {
		object := purekube.Key{Kind: n.Kind, Namespace: n.Namespace, Name: n.Name}
		what := object.String()
		if n.Subresource != "" {
			what = "the " + n.Subresource + " of " + what
		}
		add(cause{cause: CauseLookup, object: object, need: n}, "needs "+what+", which is not in the snapshot")
	}
	return causes
}

// budgetsNamed is how many budgets a message names: a user may write thousands over one pod.
const budgetsNamed = 5

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

// explain says what is wrong with the budget. Message is the reason of the eviction.
func (b *Blocker) explain(x *disruption.Index) {
	// The error is about the objects of the budget, which the reason of the eviction says as well.
	e, _ := x.Explain(b.Object)
	name := "budget " + b.Object.Namespace + "/" + b.Object.Name
	if e.Budget == nil { // the drains are of another Index
		e.Budget = &disruption.BudgetExplanation{}
	}
	if e.Budget.Rule != "" { // it is empty where the budget has no number, or several budgets have this name
		name += " (" + e.Budget.Rule + ")"
	}
	switch {
	case e.Budget.Failure != "":
		b.Message = name + ": " + e.Budget.Failure
	case e.Budget.Never:
		b.Message = name + " never allows a disruption"
	case b.Shortfall > 0:
		b.Message = name + " is short of " + message.Count(int(b.Shortfall), "healthy pod")
	default:
		b.Message = name + ": " + b.Message
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
