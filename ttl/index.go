package ttl

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// Index is a [Snapshot] arranged for many questions. It never changes: With and Without return another one, which
// shares with it what is the same in both. Any number of goroutines may use one, and derive others from it, at the
// same time.
//
// The Index keeps the step. NewIndex takes the step of the snapshot unchanged. For every node that With adds or
// Without removes, the step changes as [Table.Next] says. An Index that begins at a settled step, from [Index.Step] or
// [Table.Recover], therefore always stays at a settled step.
//
// A function of this package answers as the method does: Plan(s, key, o) as NewIndex(s, o).Plan(key).
// Plan and Explain cost O(1) for a node of NewIndex and O(log n) for one that changed since, for n nodes.
type Index struct {
	nodes *nodes
	step  int
	o     Options
}

type nodes = persistent.Objects[corev1.Node, *corev1.Node]

var _ purekube.Index[*Index, Snapshot, Action] = (*Index)(nil)

// NewIndex arranges the snapshot, in one pass over it. It keeps pointers to its objects, which must not be
// written to, and none to its slices and maps.
func NewIndex(s Snapshot, o Options) *Index {
	return &Index{persistent.NewClusterObjects(kindNode, s.Nodes), s.Step, o}
}

// Step returns the step that PlanAll plans for: [Table.Settle] of the index's own step and the number of its nodes.
// Put this step into the next Snapshot.
func (x *Index) Step() int { return x.o.Table.Settle(x.step, x.nodes.Len()) }

// StepOf is the method [Index.Step] for the index of the snapshot. It costs one pass over the nodes.
func StepOf(s Snapshot, o Options) int { return NewIndex(s, o).Step() }

// With returns the index with these nodes, which replace nodes of the same name. It also returns the affected keys,
// sorted, each once: these nodes, and every node if the step has changed. It costs O(log N) for each node in changed,
// plus what is affected. The step in changed is not read.
//
// With and Without name every key whose [Outcome] in PlanAll may differ: its Result, or the text of its Err. Nil
// objects and objects without a name belong to no key. Err, PlanAll and every Plan return them as errors. They add no
// key unless they change an outcome. They stay in the Index forever.
//
// Upstream plans the changed node only, and leaves the others to the heartbeats of their kubelets.
func (x *Index) With(changed Snapshot) (next *Index, affected []purekube.Key) {
	return x.moved(x.nodes.With(changed.Nodes))
}

// Without returns the index without the nodes of these names, and the affected keys, as With does: the removed nodes,
// and every node if the step has changed. A name that is not in the index changes nothing.
func (x *Index) Without(gone Snapshot) (next *Index, affected []purekube.Key) {
	return x.moved(x.nodes.Without(gone.Nodes))
}

// moved returns the index of the nodes after these changes. The step changes as if the nodes came or went one by one.
func (x *Index) moved(nodes *nodes, changes []persistent.Change[*corev1.Node]) (*Index, []purekube.Key) {
	step := x.step
	// One by one, as upstream counts: Next moves by one step at most, and one call may add thousands of nodes.
	for n := x.nodes.Len(); n != nodes.Len(); {
		n += cmp.Compare(nodes.Len(), n)
		step = x.o.Table.Next(step, n)
	}
	// A replaced node does not change the count, so it cannot change the step.
	next := &Index{nodes, step, x.o}
	affected := next.allIfMoved(x)
	for _, c := range changes {
		affected = append(affected, Key(c.Name.Name))
	}
	slices.SortFunc(affected, purekube.Key.Compare)
	return next, slices.Compact(affected)
}

// allIfMoved returns the keys of all nodes, sorted, if Plan or PlanAll planned for another step before.
func (x *Index) allIfMoved(before *Index) []purekube.Key {
	if x.boundary() == before.boundary() && x.Step() == before.Step() {
		return nil
	}
	keys := make([]purekube.Key, 0, x.nodes.Len())
	for _, n := range x.sorted(everyNode) {
		keys = append(keys, KeyOf(n))
	}
	return keys
}

// boundary returns the boundary of the index's own step. Plan and Explain answer for this step.
func (x *Index) boundary() Boundary { return x.o.Table.at(x.step) }

// Recover returns the index at the step that [Table.Recover] finds in the annotations of its nodes, and the keys of the
// nodes to plan again, sorted: every node if the step is another one now. Use it if you begin with an empty index and
// add the nodes one by one, as an informer lists them. The step then rises through all steps, and ends at the lowest
// step that allows the number of nodes.
func (x *Index) Recover() (next *Index, affected []purekube.Key) {
	next = &Index{x.nodes, x.o.Table.recover(x.nodes), x.o}
	return next, next.allIfMoved(x)
}

// Err returns what is wrong with the nodes as a whole: nil nodes, nodes without a name, and names that several nodes
// have.
func (x *Index) Err() error {
	problems := x.problems()
	x.nodes.AddDuplicatesTo(&problems)
	return problems.Err()
}

// problems are the nil nodes and nodes without a name. Every answer names them.
func (x *Index) problems() snapshot.Problems {
	var problems snapshot.Problems
	x.nodes.AddTo(&problems)
	return problems
}
