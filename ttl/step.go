package ttl

// Next returns the step after one node was added or deleted. nodeCount is the number of nodes after that change. Next
// returns the next higher step if nodeCount is above the step's SizeMax, the next lower step if nodeCount is below its
// SizeMin, and the same step otherwise. There is no step below the first and none above the last, so a negative count
// is the same as 0. For a step outside of the table, the nearest step in the table is used.
//
// Rules BR-19-01 … BR-19-06; addNode and deleteNode in ttl_controller.go. Upstream considers only a higher step when a
// node is added, and only a lower step when a node is deleted. The result is the same: a cluster never has more nodes
// than its step allows before it loses a node, and never fewer before it gains a node.
func (t Table) Next(step, nodeCount int) int { return next(t.all(), step, nodeCount) }

// Settle returns the step of a cluster whose size changes directly, one node at a time, from a size that step allows
// to nodeCount. It applies [Table.Next] until the step no longer changes. Going up, it stops at the first step with
// nodeCount ≤ SizeMax. Going down, it stops at the first step with nodeCount ≥ SizeMin. Since steps overlap, the
// direction never changes, and settling again changes nothing.
//
// An indirect change can end at another step: a cluster that grows from 80 to 95 nodes is at step 0, but a cluster
// that first grows to 101 and then shrinks to 95 is at step 1. If you see the number of nodes only from time to time,
// you cannot distinguish the two. Settle assumes the direct change, which rewrites the fewest nodes.
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

// next moves by one step at most.
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
