package ttl

import (
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// Index is a [Snapshot] arranged for many questions. It is a value that never changes: With and Without
// return another one, which shares with it what is the same. Any number of goroutines may use one and
// derive others from it.
//
// The step belongs to it. NewIndex takes the snapshot's as it is, and every node that With adds or
// Without takes away moves it as [Table.Next] does. So an Index that began at a settled step, that of
// PlanAll or of [Table.Recover], is always at the settled one.
//
// Every method answers what the function of that name answers for the same nodes and that step. Plan
// and Explain cost O(1) for a node of NewIndex and O(log N) for one that changed since, whatever the
// number N of nodes.
type Index struct {
	view
	nodes *indexedNodes
}

// NewIndex arranges the snapshot, in one pass over it. It keeps pointers to its nodes, which must not be
// written to, and none to its slice.
func NewIndex(s Snapshot, o Options) *Index {
	n := &indexedNodes{}
	var problems snapshot.Problems
	named := snapshot.Named(kindNode, s.Nodes, &problems)
	for _, node := range s.Nodes {
		n.anyNil = n.anyNil || node == nil
		n.anyNameless = n.anyNameless || node != nil && node.Name == ""
	}
	n.objects = persistent.NewObjects(kindNode, named)
	n.size = len(named)
	if duplicates := n.objects.Duplicates(); len(duplicates) > 0 {
		n.size = len(duplicates)
		for range n.objects.All() {
			n.size++
		}
	}
	return newIndex(n, s.Step, o)
}

func newIndex(n *indexedNodes, step int, o Options) *Index {
	return &Index{view{n, step, o}, n}
}

// Step is the step that the plans of this index are for.
func (x *Index) Step() int { return clamp(x.step, len(x.o.Table.all())) }

// With returns the index with these nodes added, or put in the place of those of the same name, and the
// affected names, sorted, each once: these nodes, and every node if the step is another one now. It costs
// O(log N) for each node in changed, plus what is affected. The step in changed is not read.
//
// With and Without name every key whose [Outcome] in PlanAll may differ: its Result, or the text of its Err.
// Nil objects and objects without a name belong to no key. They are in Err, in the error of PlanAll and in
// that of every Plan, and name no key unless they change an outcome. Nothing takes them out of an Index again.
func (x *Index) With(changed Snapshot) (next *Index, affected []string) {
	byName := make(map[string][]*corev1.Node, len(changed.Nodes))
	n := *x.nodes
	for _, node := range changed.Nodes {
		switch {
		case node == nil:
			n.anyNil = true
		case node.Name == "":
			n.anyNameless = true
		default:
			byName[node.Name] = append(byName[node.Name], node)
		}
	}
	return x.derive(&n, byName)
}

// Without returns the index without the nodes of these names, and the affected names, as With does: those
// that were there, and every node if the step is another one now. A name that is not there changes nothing.
func (x *Index) Without(gone Snapshot) (next *Index, affected []string) {
	byName := make(map[string][]*corev1.Node, len(gone.Nodes))
	for _, node := range gone.Nodes {
		if node != nil && node.Name != "" {
			byName[node.Name] = nil
		}
	}
	n := *x.nodes
	return x.derive(&n, byName)
}

// settled is the step that PlanAll plans at.
func (x *Index) settled() int { return x.o.Table.Settle(x.step, x.nodes.size) }

// Recover returns the index at the step that [Table.Recover] finds in the annotations of its nodes, and the
// names of the nodes to plan again: every node if the step is another one now. It is for a caller
// that begins with an empty index and adds the nodes one by one, as an informer lists them: that way the
// step goes through all steps on the way, and ends at the lowest that allows the number of nodes.
func (x *Index) Recover() (next *Index, affected []string) {
	all := x.sorted(&snapshot.Problems{})
	next = newIndex(x.nodes, x.o.Table.recover(all), x.o)
	if next.Step() != x.Step() {
		affected = sortedNames(all.names())
	}
	return next, affected
}

// derive returns the index of next, still with the nodes of x, with those of each name replaced.
func (x *Index) derive(next *indexedNodes, byName map[string][]*corev1.Node) (*Index, []string) {
	step := x.step
	var affected []string
	edit := next.objects.Edit()
	next.again = maps.Clone(next.again)
	for name, objects := range byName {
		before := x.nodes.has(name)
		if !before && len(objects) == 0 {
			continue
		}
		affected = append(affected, name)
		switch {
		case !before:
			next.size++
			step = x.o.Table.Next(step, next.size)
		case len(objects) == 0:
			next.size--
			step = x.o.Table.Next(step, next.size)
		}
		next.replace(edit, name, objects)
	}
	next.objects = edit.Objects()
	derived := newIndex(next, step, x.o)
	if derived.Step() != x.Step() || derived.settled() != x.settled() {
		affected = append(affected, derived.sorted(&snapshot.Problems{}).names()...)
	}
	return derived, sortedNames(affected)
}

// Err is what is wrong with the nodes as a whole: nil nodes, nodes without a name, and names that more
// than one node has.
func (x *Index) Err() error {
	var problems snapshot.Problems
	x.nodes.report(&problems)
	for name := range x.nodes.duplicates() {
		problems.Add(duplicate(name))
	}
	return problems.Err()
}

// Plan answers as the function [Plan] does.
func (x *Index) Plan(node string) (Result, error) { return x.plan(node) }

// PlanAll answers as the function [PlanAll] does.
func (x *Index) PlanAll() (step int, outcomes []Outcome, err error) { return x.planAll() }

// Explain answers as the function [Explain] does.
func (x *Index) Explain(node string) (Explanation, error) { return x.explain(node) }

// ExplainAll answers as the function [ExplainAll] does.
func (x *Index) ExplainAll() ([]Explanation, error) { return x.explainAll() }

// ExplainStep answers as the function [ExplainStep] does.
func (x *Index) ExplainStep() (StepExplanation, error) { return x.explainStep() }

// indexedNodes are nodes by name.
type indexedNodes struct {
	objects *persistent.Objects[corev1.Node, *corev1.Node]
	// again are the names that a change has given to more than one node; those of the first snapshot
	// are in objects.
	again map[string]bool
	// size is the number of names.
	size                int
	anyNil, anyNameless bool
}

func (n *indexedNodes) ambiguous(name string) bool {
	return n.again[name] || n.objects.Ambiguous(key(name))
}

func (n *indexedNodes) has(name string) bool {
	return n.objects.Find(key(name)) != nil || n.ambiguous(name)
}

// replace puts the objects in the place of those of that name.
func (n *indexedNodes) replace(edit *persistent.ObjectsEdit[corev1.Node, *corev1.Node], name string, objects []*corev1.Node) {
	delete(n.again, name)
	switch len(objects) {
	case 0:
		edit.Delete(key(name))
	case 1:
		edit.Put(objects[0])
	default:
		edit.Delete(key(name))
		if n.again == nil {
			n.again = map[string]bool{}
		}
		n.again[name] = true
	}
}

// duplicates are the names that more than one node has, in no order.
func (n *indexedNodes) duplicates() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range n.again {
			if !yield(name) {
				return
			}
		}
		for _, e := range n.objects.Duplicates() {
			if !n.again[e.Name] && !yield(e.Name) {
				return
			}
		}
	}
}

func (n *indexedNodes) report(problems *snapshot.Problems) {
	if n.anyNil {
		problems.Add(nilNode())
	}
	if n.anyNameless {
		problems.Add(snapshot.NamelessError(kindNode))
	}
}

func (n *indexedNodes) find(name string, problems *snapshot.Problems) (node *corev1.Node, duplicates bool) {
	n.report(problems)
	if n.ambiguous(name) {
		problems.Add(duplicate(name))
		return nil, true
	}
	return n.objects.Find(key(name)), false
}

func (n *indexedNodes) count(problems *snapshot.Problems) int {
	n.report(problems)
	return n.size
}

func (n *indexedNodes) sorted(problems *snapshot.Problems) sortedNodes {
	n.report(problems)
	s := sortedNodes{
		unique:     slices.Collect(n.objects.All()),
		duplicates: slices.Sorted(n.duplicates()),
	}
	slices.SortFunc(s.unique, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func key(name string) types.NamespacedName { return types.NamespacedName{Name: name} }
