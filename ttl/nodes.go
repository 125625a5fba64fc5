package ttl

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// nodes are the nodes of a snapshot.
type nodes struct {
	// unique are the nodes whose name no other has, sorted by it.
	unique []*corev1.Node
	// duplicates are the names that more than one node has, sorted.
	duplicates []string
	problems   snapshot.Problems
}

func sortNodes(all []*corev1.Node) nodes {
	var n nodes
	sorted := snapshot.Named(kindNode, all, &n.problems)
	slices.SortFunc(sorted, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	n.unique = make([]*corev1.Node, 0, len(sorted))
	for len(sorted) > 0 {
		same := 1
		for same < len(sorted) && sorted[same].Name == sorted[0].Name {
			same++
		}
		if same == 1 {
			n.unique = append(n.unique, sorted[0])
		} else {
			n.duplicates = append(n.duplicates, sorted[0].Name)
		}
		sorted = sorted[same:]
	}
	return n
}

// count is how many nodes the cluster has: a name is one node, however many objects have it.
func (n nodes) count() int { return len(n.unique) + len(n.duplicates) }

// find returns the only node of that name. Nil objects and nameless ones go to problems, and so does
// a name that more than one node has; then no node is returned.
func find(all []*corev1.Node, name string, problems *snapshot.Problems) (node *corev1.Node, duplicates bool) {
	for _, n := range all {
		switch {
		case n == nil:
			problems.Add(&purekube.ObjectError{Kind: kindNode, Err: purekube.ErrNil})
		case n.Name == "":
			problems.Add(snapshot.NamelessError(kindNode))
		case n.Name == name:
			duplicates = duplicates || node != nil
			node = n
		}
	}
	if duplicates {
		problems.Add(duplicate(name))
		return nil, true
	}
	return node, false
}

func duplicate(name string) *purekube.ObjectError {
	return snapshot.DuplicateError(kindNode, types.NamespacedName{Name: name})
}
