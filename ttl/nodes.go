package ttl

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// nodeSet is the nodes of a snapshot: in a list, or arranged by name in an Index.
type nodeSet interface {
	// find returns the only node of that name. What is wrong with the snapshot as a whole goes to
	// problems, and so does a name that more than one node has; then no node is returned.
	find(name string, problems *snapshot.Problems) (node *corev1.Node, duplicates bool)
	// count is how many nodes the cluster has: a name is one node, however many objects have it.
	// What is wrong with the snapshot as a whole goes to problems.
	count(problems *snapshot.Problems) int
	// sorted returns all nodes. What is wrong with the snapshot as a whole goes to problems.
	sorted(problems *snapshot.Problems) sortedNodes
}

// view is what every question is answered from, those of the package's functions and those of an
// Index.
type view struct {
	nodeSet
	step int
	o    Options
}

func viewOf(s Snapshot, o Options) view { return view{nodeList(s.Nodes), s.Step, o} }

// nodeList answers by a pass over all nodes.
type nodeList []*corev1.Node

func (l nodeList) find(name string, problems *snapshot.Problems) (node *corev1.Node, duplicates bool) {
	for _, n := range l {
		switch {
		case n == nil:
			problems.Add(nilNode())
		case n.Name == "":
			problems.Add(snapshot.NamelessError(kindNode))
		case n.Name == name:
			if node != nil {
				duplicates = true
			}
			node = n
		}
	}
	if duplicates {
		problems.Add(duplicate(name))
		return nil, true
	}
	return node, false
}

func (l nodeList) count(problems *snapshot.Problems) int {
	return l.sorted(problems).count()
}

func (l nodeList) sorted(problems *snapshot.Problems) sortedNodes {
	sorted := snapshot.Named(kindNode, l, problems)
	slices.SortFunc(sorted, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	s := sortedNodes{unique: make([]*corev1.Node, 0, len(sorted))}
	for len(sorted) > 0 {
		same := 1
		for same < len(sorted) && sorted[same].Name == sorted[0].Name {
			same++
		}
		if same == 1 {
			s.unique = append(s.unique, sorted[0])
		} else {
			s.duplicates = append(s.duplicates, sorted[0].Name)
		}
		sorted = sorted[same:]
	}
	return s
}

// sortedNodes are nodes in the order of their names.
type sortedNodes struct {
	// unique are the nodes whose name no other has.
	unique []*corev1.Node
	// duplicates are the names that more than one node has.
	duplicates []string
}

func (s sortedNodes) count() int { return len(s.unique) + len(s.duplicates) }

// names are the names of all nodes, in no order.
func (s sortedNodes) names() []string {
	names := slices.Clone(s.duplicates)
	for _, n := range s.unique {
		names = append(names, n.Name)
	}
	return names
}

func nilNode() *purekube.ObjectError {
	return &purekube.ObjectError{Kind: kindNode, Err: purekube.ErrNil}
}

func duplicate(name string) *purekube.ObjectError {
	return snapshot.DuplicateError(kindNode, types.NamespacedName{Name: name})
}
