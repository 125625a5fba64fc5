package ttl

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// Plan returns the write that the node needs at the step in s. It does not count nodes, so s needs only this node. The
// plan is empty for a node that is not in s, and for a key of another kind. The error names nil nodes, nodes without a
// name, and this node if several nodes in s have its name. Nothing is planned for such a name.
func Plan(s Snapshot, key purekube.Key, o Options) (Result, error) { return NewIndex(s, o).Plan(key) }

// PlanAll returns the writes that the nodes need at the step of [Index.Step], sorted by key. For each node, it is what
// Plan returns with that step in s. Nodes that need no write are left out. A name that several nodes have gets an
// outcome with an error and no action. The error is what is wrong with the snapshot as a whole: nil nodes and nodes
// without a name.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) { return NewIndex(s, o).PlanAll() }

// Index is a [Snapshot] arranged for many questions. It never changes: With and Without return another Index, which
// shares the unchanged parts with the first. Any number of goroutines may use an Index, and derive others from it, at
// the same time.
//
// The Index keeps the step. NewIndex takes the step of the snapshot unchanged. For every node that With adds or
// Without removes, the step changes by one at most, as BR-19-06 says. An Index that begins at a settled step, from
// [Index.Step] or [Index.Recover], therefore always stays at a settled step.
//
// Plan and Explain cost O(1) for a node of NewIndex and O(log n) for one that changed since, for n nodes.
type Index struct {
	options Options
	nodes   *byName
	step    int
}

type byName = persistent.Objects[corev1.Node, *corev1.Node]

var _ purekube.Index[*Index, Snapshot, Action] = (*Index)(nil)

// NewIndex arranges the snapshot, in one pass over it. It keeps pointers to its objects, which must not be
// written to, and none to its slices and maps.
func NewIndex(s Snapshot, o Options) *Index {
	return &Index{o, persistent.NewClusterObjects(kindNode, s.Nodes), s.Step}
}

// Step returns the step that PlanAll plans for: the step of a cluster that changes directly, one node at a time, from a
// size that the index's own step allows to the number of its nodes. Put this step into the next Snapshot.
func (x *Index) Step() int { return x.options.stepTable().settle(x.step, x.nodes.Len()) }

// boundary returns the boundary of the index's own step. Plan and Explain answer for this step, and not for the settled
// step: in a snapshot with only one node, a count would be wrong.
func (x *Index) boundary() Boundary { return x.options.stepTable().at(x.step) }

// settled returns the boundary of the settled step. PlanAll and ExplainAll answer for this step.
func (x *Index) settled() Boundary { return x.options.stepTable().at(x.Step()) }

// Plan is the function [Plan] for the objects of the Index.
func (x *Index) Plan(key purekube.Key) (Result, error) {
	n, duplicate := x.find(key)
	if n == nil {
		return Result{}, x.errorWith(duplicate)
	}
	return Result{Actions: decide(n, x.boundary().TTL).actions}, x.errorWith(nil)
}

// PlanAll is the function [PlanAll] for the objects of the Index.
func (x *Index) PlanAll() ([]Outcome, error) {
	ttl := x.settled().TTL
	// Most nodes have their annotation. Only the others are sorted, so a pass over an idle cluster costs one comparison
	// for each node.
	due := x.sorted(func(n *corev1.Node) bool { return !matches(n, ttl) })
	if len(due) == 0 {
		return nil, x.errorWith(nil)
	}
	outcomes := make([]Outcome, len(due))
	for i, n := range due {
		key := KeyOf(n)
		outcomes[i].Key = key
		// One of several nodes of a name is here for the error.
		n, duplicate := x.find(key)
		outcomes[i].Result.Actions = decide(n, ttl).actions
		if duplicate != nil {
			outcomes[i].Err = errors.Join(duplicate)
		}
	}
	return outcomes, x.errorWith(nil)
}

// find returns the node of that name. It returns nil if no node has the name, and nil with an error if several have it.
func (x *Index) find(key purekube.Key) (n *corev1.Node, duplicate *purekube.ObjectError) {
	if key != Key(key.Name) {
		return nil, nil
	}
	return x.nodes.Lookup(key.NamespacedName())
}

// everyNode is for sorted.
func everyNode(*corev1.Node) bool { return true }

// sorted returns the nodes that are wanted, in the order of their names, and one node of each ambiguous name.
func (x *Index) sorted(wanted func(*corev1.Node) bool) []*corev1.Node {
	var nodes []*corev1.Node
	for n := range x.nodes.All() {
		if wanted(n) {
			nodes = append(nodes, n)
		}
	}
	for _, versions := range x.nodes.AmbiguousNames() {
		nodes = append(nodes, versions[0])
	}
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// With returns the index with these nodes, which replace nodes of the same name. It also returns the affected keys,
// sorted, each once: these nodes, and every node if the step has changed. It costs O(log N) for each node in changed,
// plus what is affected. The step in changed is not read.
//
// With and Without name every key whose [Outcome] in PlanAll may differ: its Result, or the text of its Err. Nil
// objects and objects without a name belong to no key. Err, PlanAll and every Plan return them as errors. They add no
// key unless they change an outcome. They stay in the Index forever.
//
// Upstream plans the changed node only. It plans each of the others at that node's next update, for example when its
// kubelet reports its status.
func (x *Index) With(changed Snapshot) (next *Index, affected []purekube.Key) {
	return x.moved(x.nodes.With(changed.Nodes))
}

// Without returns the index without the nodes of these names, and the affected keys, as With does: the removed nodes,
// and every node if the step has changed. A name that is not in the index changes nothing.
func (x *Index) Without(gone Snapshot) (next *Index, affected []purekube.Key) {
	return x.moved(x.nodes.Without(gone.Nodes))
}

// moved returns the index of the nodes after these changes. The step changes as if the nodes came or went one by one.
func (x *Index) moved(nodes *byName, changes []persistent.Change[*corev1.Node]) (*Index, []purekube.Key) {
	table, step := x.options.stepTable(), x.step
	// One by one, as upstream counts: next moves by one step at most, and one call may add thousands of nodes.
	for n := x.nodes.Len(); n != nodes.Len(); {
		n += cmp.Compare(nodes.Len(), n)
		step = table.next(step, n)
	}
	// A replaced node does not change the count, so it cannot change the step.
	next := &Index{x.options, nodes, step}
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

// Recover returns the index at the step that best matches the count and the annotations of its nodes, and the keys of
// the nodes to plan again, sorted: every node if the step is another one now. Use it if you no longer know the step,
// for example after a restart. Recover considers only steps that allow that many nodes, and takes the step whose TTL
// most nodes have, so that the fewest nodes must be rewritten. On a tie, or if there are no annotations, it takes the
// lowest of these steps, as kube-controller-manager does.
//
// An index that begins empty and gets the nodes one by one, as an informer lists them, rises through all steps, and
// ends at the lowest step that allows the number of nodes. Recover after the last one takes it to the step that the
// nodes were written for. Several nodes of one name count as one node, and their annotations are ignored.
func (x *Index) Recover() (next *Index, affected []purekube.Key) {
	annotatedFor := map[int64]int{}
	for n := range x.nodes.All() {
		if number, valid, _ := annotated(n); valid {
			annotatedFor[number]++
		}
	}
	next = &Index{x.options, x.nodes, x.options.stepTable().recover(x.nodes.Len(), annotatedFor)}
	return next, next.allIfMoved(x)
}

// Err returns what is wrong with the nodes as a whole: nil nodes, nodes without a name, and names that several nodes
// have.
func (x *Index) Err() error {
	var problems snapshot.Problems
	x.nodes.AddTo(&problems)
	x.nodes.AddDuplicatesTo(&problems)
	return problems.Err()
}

// errorWith joins what is wrong with one node, if anything is, with the nil nodes and nodes without a name, which every
// answer names.
func (x *Index) errorWith(wrong *purekube.ObjectError) error {
	var problems snapshot.Problems
	x.nodes.AddTo(&problems)
	if wrong != nil {
		problems.Add(wrong)
	}
	return problems.Err()
}
