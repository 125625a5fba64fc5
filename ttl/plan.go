package ttl

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/internal/snapshot"
)

const kindNode = "Node"

// Plan returns the write that the node of this name needs at the step in s, which it takes as it
// is: it does not look at how many nodes there are, and s needs to hold no node but this one. A
// node that s does not hold needs none. The error names a nil node in s, a node in s without a name,
// and this node if s holds it twice; then nothing is planned for it.
func Plan(s Snapshot, node string, o Options) (Result, error) { return viewOf(s, o).plan(node) }

func (v view) plan(node string) (Result, error) {
	var problems snapshot.Problems
	found, _ := v.find(node, &problems)
	if found == nil {
		return Result{}, problems.Err()
	}
	return planNode(found, v.o.Table.at(v.step)), problems.Err()
}

// PlanAll settles the step for the nodes in s, as [Table.Settle] does from s.Step, and returns it
// together with the writes that the nodes need at that step, sorted by the node's name: what Plan
// returns for each of them with that step in s. Nodes that need none are left out. A name that more
// than one node has has an outcome with an error and no action. The error is what is wrong with the
// snapshot as a whole: nil nodes and nodes without a name.
func PlanAll(s Snapshot, o Options) (step int, outcomes []Outcome, err error) {
	return viewOf(s, o).planAll()
}

func (v view) planAll() (step int, outcomes []Outcome, err error) {
	var problems snapshot.Problems
	all := v.sorted(&problems)
	step = v.o.Table.Settle(v.step, all.count())
	b := v.o.Table.at(step)
	for _, n := range all.unique {
		if r := planNode(n, b); !r.Empty() {
			outcomes = append(outcomes, Outcome{Key: n.Name, Result: r})
		}
	}
	for _, name := range all.duplicates {
		outcomes = append(outcomes, duplicateOutcome(name))
	}
	slices.SortFunc(outcomes, func(a, b Outcome) int { return strings.Compare(a.Key, b.Key) })
	return step, outcomes, problems.Err()
}

func duplicateOutcome(name string) Outcome {
	var problems snapshot.Problems
	problems.Add(duplicate(name))
	return Outcome{Key: name, Err: problems.Err()}
}

// planNode is BR-19-07, updateNodeIfNeeded in ttl_controller.go.
func planNode(n *corev1.Node, b Boundary) Result {
	if says(n, b.TTL) {
		return Result{}
	}
	return Result{Actions: []Action{SetTTL{Node: n.Name, UID: n.UID, TTL: b.TTL}}}
}
