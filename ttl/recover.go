package ttl

import corev1 "k8s.io/api/core/v1"

// Recover returns the step that the nodes' count and annotations agree with best, for a caller
// that does not know it any more. Only steps that allow so many nodes come into question; of
// these it is the one that the most nodes are annotated for, so that the fewest have to be
// rewritten. On a tie, no annotations at all included, it is the lowest, which
// kube-controller-manager would come to, since it starts at step 0 with no nodes.
//
// Nil nodes and nodes without a name are left out. A name that more than one node has counts as one
// node, and its annotations are not asked.
func (t Table) Recover(nodes []*corev1.Node) int {
	present := census(nodes)
	steps := t.all()
	count := present.count()

	annotatedFor := make(map[int64]int, len(steps))
	for _, n := range present.unique {
		if number, valid, _, _ := annotated(n); valid {
			annotatedFor[number]++
		}
	}
	best, most := 0, -1
	for step, b := range steps {
		// The last step has no upper end, whatever number stands there.
		allows := b.SizeMin <= count && (count <= b.SizeMax || step == len(steps)-1)
		if agree := annotatedFor[seconds(b.TTL)]; allows && agree > most {
			best, most = step, agree
		}
	}
	return best
}
