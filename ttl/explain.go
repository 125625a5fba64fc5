package ttl

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Explanation says why [PlanAll] decides what it decides.
type Explanation struct {
	// From is the step in the snapshot, or the nearest in the table. Step is the one that the
	// node count makes of it, with its boundary.
	From, Step int
	Boundary   Boundary
	// Nodes is how many nodes there are.
	Nodes int
	// UpAt is the node count from which on the step would be a higher one; 0: there is none.
	UpAt int
	// DownAt is the node count from which on downwards the step would be a lower one; -1:
	// there is none.
	DownAt int
	// Differ are the nodes that have to be written, sorted by name. Nil: none.
	Differ []Difference
	// Ambiguous are the names that more than one node has, sorted: each counts as one node, and
	// none of them is written.
	Ambiguous []string
}

// Difference is a node whose annotation is not what the step asks for.
type Difference struct {
	Node string
	UID  types.UID
	// Cause says what is wrong with the annotation, Annotation is its text now.
	Cause      Cause
	Annotation string
	// Want is what it should say.
	Want time.Duration
}

// Cause is why a node has to be written. The zero value is none of them.
type Cause string

const (
	// Missing: there is no annotation.
	Missing Cause = "missing"
	// NotInteger: the annotation is not an integer that fits into 64 bits.
	NotInteger Cause = "not an integer"
	// OtherTTL: the annotation has another number of seconds.
	OtherTTL Cause = "other TTL"
)

// Explain returns what PlanAll's answer rests on, from the same snapshot.
func Explain(s Snapshot, o Options) Explanation {
	nodes := census(s.Nodes)
	steps := o.Table.all()
	from := clamp(s.Step, len(steps))
	step := o.Table.Settle(from, nodes.count())
	b := steps[step]
	e := Explanation{
		From:      from,
		Step:      step,
		Boundary:  b,
		Nodes:     nodes.count(),
		DownAt:    b.SizeMin - 1,
		Ambiguous: nodes.duplicates,
	}
	if step < len(steps)-1 {
		e.UpAt = b.SizeMax + 1
	}
	for _, n := range nodes.unique {
		if says(n, b.TTL) {
			continue
		}
		d := Difference{Node: n.Name, UID: n.UID, Want: b.TTL}
		_, valid, text, present := annotated(n)
		switch d.Annotation = text; {
		case !present:
			d.Cause = Missing
		case !valid:
			d.Cause = NotInteger
		default:
			d.Cause = OtherTTL
		}
		e.Differ = append(e.Differ, d)
	}
	return e
}
