package ttl

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/internal/persistent"
)

// Recover returns the step that the nodes' count and annotations agree with best, for a caller
// that does not know it any more. Only the steps that allow that many nodes are considered. Of
// these it is the one that most of the nodes are annotated for, so that the fewest have to be
// rewritten. On a tie, and where there are no annotations, it is the lowest of them, which is where
// kube-controller-manager arrives, since it starts at step 0 with no nodes.
//
// Nil nodes and nodes without a name are left out. A name that more than one node has counts as one
// node; the annotations of these nodes are not considered.
func (t Table) Recover(nodes []*corev1.Node) int {
	return t.recover(persistent.NewClusterObjects(kindNode, nodes))
}

func (t Table) recover(nodes *nodes) int {
	steps := t.all()
	count := nodes.Len()

	annotatedFor := make(map[int64]int, len(steps))
	for n := range nodes.All() {
		if number, valid, _, _ := annotated(n); valid {
			annotatedFor[number]++
		}
	}
	var best int
	most := -1
	for step, b := range steps {
		// The last step has no upper end, whatever number stands there.
		allows := b.SizeMin <= count && (count <= b.SizeMax || step == len(steps)-1)
		if agree := annotatedFor[seconds(b.TTL)]; allows && agree > most {
			best, most = step, agree
		}
	}
	return best
}
