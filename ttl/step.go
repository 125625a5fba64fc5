package ttl

// Next returns the step after one node was added or deleted and nodeCount are there now: one
// up if they are more than the step's SizeMax, one down if they are fewer than its SizeMin, and
// the same step otherwise. The first step cannot be left downwards nor the last one upwards, so a
// negative count is as good as 0. A step outside of the table stands for the nearest one inside.
//
// Rules BR-19-01 … BR-19-06; addNode and deleteNode in ttl_controller.go. Upstream looks only up when a
// node is added and only down when one is deleted; that is the same, since a cluster never has
// more nodes than its step allows before it loses one, nor fewer before it gains one.
func (t Table) Next(step, nodeCount int) int {
	return next(t.all(), step, nodeCount)
}

// Settle returns the step that a cluster comes to when its size goes from one that step
// allows straight to nodeCount, one node at a time: [Table.Next] as many times as it takes. Going
// up it stops at the first step with nodeCount ≤ SizeMax, going down at the first with nodeCount ≥
// SizeMin; steps overlap, so it never turns round, and settling again changes nothing.
//
// A detour can end elsewhere: from 80 nodes to 95 is step 0, by way of 101 it is step 1. Whoever
// sees only now and then how many nodes there are cannot tell the two apart, and Settle takes the
// direct way, which rewrites the fewest nodes.
func (t Table) Settle(step, nodeCount int) int {
	steps := t.all()
	for {
		to := next(steps, step, nodeCount)
		if to == step {
			return step
		}
		step = to
	}
}

func next(steps []Boundary, step, nodeCount int) int {
	step = clamp(step, len(steps))
	switch b := steps[step]; {
	case nodeCount > b.SizeMax:
		step++
	case nodeCount < b.SizeMin:
		step--
	}
	// The ends are open: see NewTable.
	return clamp(step, len(steps))
}
