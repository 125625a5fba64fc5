package ttl

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/internal/snapshot"
)

// roll is who is there.
type roll struct {
	// unique are the nodes whose name no other has, sorted by it.
	unique []*corev1.Node
	// duplicates are the names that more than one node has, sorted.
	duplicates []string
	problems   snapshot.Problems
}

func census(nodes []*corev1.Node) roll {
	var r roll
	sorted := snapshot.Named(kindNode, nodes, &r.problems)
	slices.SortFunc(sorted, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	r.unique = make([]*corev1.Node, 0, len(sorted))
	for len(sorted) > 0 {
		same := 1
		for same < len(sorted) && sorted[same].Name == sorted[0].Name {
			same++
		}
		if same == 1 {
			r.unique = append(r.unique, sorted[0])
		} else {
			r.duplicates = append(r.duplicates, sorted[0].Name)
		}
		sorted = sorted[same:]
	}
	return r
}

// count is how many nodes the cluster has: a name is one node, however many objects have it.
func (r roll) count() int { return len(r.unique) + len(r.duplicates) }
