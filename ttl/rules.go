package ttl

import (
	"math"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Annotation is the key of the annotation that a kubelet reads, a number of seconds.
const Annotation = corev1.ObjectTTLAnnotationKey

// Boundary is one of the [Steps]. They overlap:
//
//	step 0   0 ──────────── 100
//	step 1               90 ───────────────── 500
//	step 2                                450 ──────────── 1000
//
// A cluster of 95 nodes is at step 0 or at step 1, whichever it was at before. If the steps met at 100, an autoscaler
// that adds and removes one node there would rewrite the annotation of all nodes each time (BR-19-06).
type Boundary struct {
	// SizeMin and SizeMax are the smallest and the largest node count of the step, both inclusive. A cluster with more
	// nodes than SizeMax moves to the next higher step. A cluster with fewer nodes than SizeMin moves to the next lower
	// step. The SizeMax of the last step is math.MaxInt32 or more, which means that there is no upper limit.
	SizeMin int `json:"sizeMin"`
	SizeMax int `json:"sizeMax"`
	// TTL goes into the annotation, in whole seconds.
	TTL time.Duration `json:"ttlNanoseconds"`
}

// Steps returns the steps of kube-controller-manager, numbered from 0: BR-19-01, BR-19-02, BR-19-03, BR-19-04 and
// BR-19-05. The slice is new each time.
func Steps() []Boundary {
	return []Boundary{
		{SizeMin: 0, SizeMax: 100, TTL: 0},
		{SizeMin: 90, SizeMax: 500, TTL: 15 * time.Second},
		{SizeMin: 450, SizeMax: 1000, TTL: 30 * time.Second},
		{SizeMin: 900, SizeMax: 2000, TTL: 60 * time.Second},
		{SizeMin: 1800, SizeMax: math.MaxInt32, TTL: 300 * time.Second},
	}
}

// table is a list of steps.
type table []Boundary

// next is BR-19-06: the step after one node was added or deleted, and the same step where it allows the number of nodes
// that there are now. There is no step below the first and none above the last (addNode and deleteNode in
// ttl_controller.go).
//
// Upstream considers only a higher step when a node is added, and only a lower step when a node is deleted. The result
// is the same: a cluster never has more nodes than its step allows before it loses a node, and never fewer before it
// gains a node.
func (t table) next(step, nodes int) int {
	step = t.nearest(step)
	switch b := t[step]; {
	case nodes > b.SizeMax:
		step++
	case nodes < b.SizeMin:
		step--
	}
	return t.nearest(step)
}

// settle is BR-19-06 for a cluster whose size changes directly, one node at a time. Going up, it stops at the first
// step whose SizeMax is large enough. Going down, it stops at the first step whose SizeMin is small enough. Since steps
// overlap, the direction never changes, and settling again changes nothing.
//
// An indirect change can end at another step: a cluster that grows from 80 to 95 nodes is at step 0, but a cluster
// that first grows to 101 and then shrinks to 95 is at step 1. Whoever sees the number of nodes only from time to time
// cannot distinguish the two. The direct change rewrites the fewest nodes.
func (t table) settle(step, nodes int) int {
	for {
		to := t.next(step, nodes)
		if to == step {
			return step
		}
		step = to
	}
}

// matches is BR-19-07: a node whose annotation is this TTL is not written. Numbers are compared, and not texts: "015"
// is not rewritten as "15", as for upstream (updateNodeIfNeeded in ttl_controller.go).
func matches(n *corev1.Node, ttl time.Duration) bool {
	number, valid, _ := annotated(n)
	return valid && number == seconds(ttl)
}

// recover returns the step that a restarted controller takes: of the steps that allow that many nodes, the step whose
// TTL most nodes have, so that the fewest nodes must be rewritten. On a tie it is the lowest, which
// kube-controller-manager arrives at too. annotated counts the nodes by the number of seconds in their annotation.
//
// An example: 480 nodes are allowed by step 1 (90 to 500) and step 2 (450 to 1000). If most nodes say 30, the cluster
// has been larger and is at step 2. Step 1, which a new process would reach by counting, would rewrite all of them.
func (t table) recover(nodes int, annotated map[int64]int) int {
	var best int
	most := -1
	for step, b := range t {
		// The last step has no upper limit, whatever its SizeMax is.
		allows := b.SizeMin <= nodes && (nodes <= b.SizeMax || step == len(t)-1)
		// TTLs differ from step to step, so a number belongs to at most one step.
		if agree := annotated[seconds(b.TTL)]; allows && agree > most {
			best, most = step, agree
		}
	}
	return best
}

// nearest returns the step of the table that is nearest to a number, which comes from the caller's memory and may be
// any.
func (t table) nearest(step int) int { return max(0, min(step, len(t)-1)) }

// at returns the boundary of the nearest step.
func (t table) at(step int) Boundary { return t[t.nearest(step)] }

// annotated returns whether a node has the annotation (present) and, if it is an integer (valid), its value in seconds.
// It parses as strconv.Atoi does: "+15" and "015" are 15. " 15", "15s", "1_5" and numbers that do not fit into 64 bits
// are not integers.
func annotated(n *corev1.Node) (number int64, valid, present bool) {
	text, present := n.Annotations[Annotation]
	if !present {
		return 0, false, false
	}
	// 64 bits on every platform, so that a TTL that a Duration can hold can be read back.
	number, err := strconv.ParseInt(text, 10, 64)
	return number, err == nil, true
}

// seconds returns a TTL in whole seconds; fractions are cut off.
func seconds(ttl time.Duration) int64 { return int64(ttl / time.Second) }
