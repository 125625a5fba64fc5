package ttl

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

const kindNode = "Node"

// Plan returns the write that the node of this name needs at the step in s, which it takes as it
// is: it does not look at how many nodes there are. A node that s does not hold needs none. The
// error names a nil node in s, a node in s without a name, and this node if s holds it twice; then
// nothing is planned for it.
func Plan(s Snapshot, node string, o Options) (Result, error) {
	var problems snapshot.Problems
	var found *corev1.Node
	twice := false
	for _, n := range s.Nodes {
		switch {
		case n == nil:
			problems.Add(&purekube.ObjectError{Kind: kindNode, Err: purekube.ErrNil})
		case n.Name == "":
			problems.Add(snapshot.NamelessError(kindNode))
		case n.Name == node:
			twice = twice || found != nil
			found = n
		}
	}
	if found == nil {
		return Result{}, problems.Err()
	}
	if twice {
		problems.Add(snapshot.DuplicateError(kindNode, snapshot.KeyOf(found)))
		return Result{}, problems.Err()
	}
	return planNode(found, o.Table.at(s.Step)), problems.Err()
}

// PlanAll settles the step for the nodes in s, as [Table.Settle] does from s.Step, and returns it
// together with the writes that the nodes need at that step, sorted by the node's name: what Plan
// returns for each of them with that step in s. Nodes that need none are left out. Names that
// more than one node has have an outcome with an error only; nil nodes and nodes without a name are
// reported in an outcome with an empty key.
func PlanAll(s Snapshot, o Options) (step int, outcomes []Outcome) {
	nodes := census(s.Nodes)
	step = o.Table.Settle(s.Step, nodes.count())
	b := o.Table.at(step)
	for _, n := range nodes.unique {
		if r := planNode(n, b); !r.Empty() {
			outcomes = append(outcomes, Outcome{Key: n.Name, Result: r})
		}
	}
	for _, name := range nodes.duplicates {
		key := types.NamespacedName{Name: name}
		outcomes = append(outcomes, Outcome{Key: name, Err: snapshot.DuplicateError(kindNode, key)})
	}
	if err := nodes.problems.Err(); err != nil {
		outcomes = append(outcomes, Outcome{Err: err})
	}
	slices.SortFunc(outcomes, func(a, b Outcome) int { return strings.Compare(a.Key, b.Key) })
	return step, outcomes
}

// planNode is BR-19-07, updateNodeIfNeeded in ttl_controller.go.
func planNode(n *corev1.Node, b Boundary) Result {
	if says(n, b.TTL) {
		return Result{}
	}
	return Result{Actions: []Action{SetTTL{Node: n.Name, UID: n.UID, TTL: b.TTL}}}
}
