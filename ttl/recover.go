package ttl

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/internal/persistent"
)

// Recover returns the step that best matches the count and the annotations of the nodes. Use it if you no longer know
// the step, for example after a restart. Recover considers only steps that allow that many nodes. It returns the step
// whose TTL most nodes have, so that the fewest nodes must be rewritten. On a tie, or if there are no annotations, it
// returns the lowest of these steps. kube-controller-manager arrives at the same step, since it starts at step 0 with
// no nodes.
//
// Nil nodes and nodes without a name are ignored. Several nodes of one name count as one node, and their annotations
// are ignored.
//
// An example: 480 nodes are allowed by step 1 (90 to 500) and step 2 (450 to 1000). If most nodes say 30, the cluster
// has been larger and is at step 2. Step 1, which a new process would reach by counting, would rewrite all of them.
func (t Table) Recover(nodes []*corev1.Node) int {
	return t.recover(persistent.NewClusterObjects(kindNode, nodes))
}

// recover is Recover for nodes that are arranged. Its cost is one pass over them.
func (t Table) recover(nodes *nodes) int {
	steps := t.all()
	count := nodes.Len()

	// By seconds: TTLs are whole seconds and differ from step to step, so a number belongs to at most one step.
	annotatedFor := make(map[int64]int, len(steps))
	for n := range nodes.All() {
		if number, valid, _, _ := annotated(n); valid {
			annotatedFor[number]++
		}
	}
	var best int
	most := -1
	for step, b := range steps {
		// The last step has no upper limit, whatever its SizeMax is.
		allows := b.SizeMin <= count && (count <= b.SizeMax || step == len(steps)-1)
		if agree := annotatedFor[seconds(b.TTL)]; allows && agree > most {
			best, most = step, agree
		}
	}
	return best
}
