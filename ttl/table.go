package ttl

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Boundary is one step of a [Table]. The steps overlap:
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

// Table is the list of steps, numbered from 0. It is a value and cannot be changed. The zero
// Table holds the five steps of kube-controller-manager; [NewTable] makes others.
type Table struct {
	steps []Boundary // nil: upstreamSteps
}

// upstreamSteps are BR-19-01 … BR-19-05. It is a function that returns a new slice each time, because a package
// variable could be changed.
func upstreamSteps() []Boundary {
	return []Boundary{
		{SizeMin: 0, SizeMax: 100, TTL: 0},
		{SizeMin: 90, SizeMax: 500, TTL: 15 * time.Second},
		{SizeMin: 450, SizeMax: 1000, TTL: 30 * time.Second},
		{SizeMin: 900, SizeMax: 2000, TTL: 60 * time.Second},
		{SizeMin: 1800, SizeMax: math.MaxInt32, TTL: 300 * time.Second},
	}
}

var errNoSteps = errors.New("ttl: a table needs a step; the zero Table has kube-controller-manager's")

// NewTable returns the table with these steps, in this order. It returns an error that names the first invalid step,
// counted from 0, for steps that would let a cluster oscillate, get stuck or fall between two steps:
//
//   - no step at all (for the default steps, use the zero Table);
//   - a first SizeMin other than 0, or a last SizeMax below math.MaxInt32;
//   - a step whose SizeMin is above its SizeMax;
//   - a SizeMin, SizeMax or TTL that is not larger than in the previous step;
//   - a SizeMin above the SizeMax of the previous step: there is a gap, or the steps meet without overlapping, so that
//     every added or deleted node would rewrite all nodes (BR-19-06);
//   - a TTL that is negative or not in whole seconds.
//
// If there is an error, the Table is the zero Table.
func NewTable(bs ...Boundary) (Table, error) {
	if len(bs) == 0 {
		return Table{}, errNoSteps
	}
	for i, b := range bs {
		if err := checkStep(b); err != nil {
			return Table{}, fmt.Errorf("ttl: step %d: %w", i, err)
		}
		if i == 0 {
			if b.SizeMin != 0 {
				return Table{}, fmt.Errorf("ttl: step 0: SizeMin %d is not 0, which leaves smaller clusters without a step", b.SizeMin)
			}
			continue
		}
		if err := checkFollows(bs[i-1], b); err != nil {
			return Table{}, fmt.Errorf("ttl: step %d: %w", i, err)
		}
	}
	if end := len(bs) - 1; bs[end].SizeMax < math.MaxInt32 {
		return Table{}, fmt.Errorf("ttl: step %d: SizeMax %d is below math.MaxInt32, which leaves larger clusters without a step", end, bs[end].SizeMax)
	}
	// The zero Table has the same steps. With one form for them, tables that are equal are equal for reflect.DeepEqual
	// too.
	if slices.Equal(bs, upstreamSteps()) {
		return Table{}, nil
	}
	return Table{steps: slices.Clone(bs)}, nil
}

func checkStep(b Boundary) error {
	switch {
	case b.SizeMin > b.SizeMax:
		return fmt.Errorf("SizeMin %d is above SizeMax %d", b.SizeMin, b.SizeMax)
	case b.TTL < 0:
		return fmt.Errorf("TTL %v is negative", b.TTL)
	case b.TTL%time.Second != 0:
		return fmt.Errorf("TTL %v is not in whole seconds", b.TTL)
	}
	return nil
}

func checkFollows(before, b Boundary) error {
	switch {
	// Compared without adding 1, which could overflow.
	case b.SizeMin > before.SizeMax && b.SizeMin-1 == before.SizeMax:
		return fmt.Errorf("SizeMin %d begins where the step before ends, at %d: without an overlap the step changes with every node around it", b.SizeMin, before.SizeMax)
	case b.SizeMin > before.SizeMax:
		return fmt.Errorf("SizeMin %d leaves a gap after the step before, which ends at %d", b.SizeMin, before.SizeMax)
	case b.SizeMin <= before.SizeMin:
		return fmt.Errorf("SizeMin %d is not larger than the previous step's, %d", b.SizeMin, before.SizeMin)
	case b.SizeMax <= before.SizeMax:
		return fmt.Errorf("SizeMax %d is not larger than the previous step's, %d", b.SizeMax, before.SizeMax)
	case b.TTL <= before.TTL:
		return fmt.Errorf("TTL %v is not longer than the previous step's, %v", b.TTL, before.TTL)
	}
	return nil
}

// Boundaries returns a copy of the steps.
func (t Table) Boundaries() []Boundary { return slices.Clone(t.all()) }

// Equal reports whether both tables have the same steps.
func (t Table) Equal(u Table) bool { return slices.Equal(t.all(), u.all()) }

// TTL returns the TTL of a step. For a step outside of the table, the nearest step in the table is used, as in
// [Table.Next] and [Table.Settle].
func (t Table) TTL(step int) time.Duration { return t.at(step).TTL }

// at returns the boundary of the step, or of the nearest step in the table.
func (t Table) at(step int) Boundary {
	steps := t.all()
	return steps[clamp(step, len(steps))]
}

// all returns the steps themselves. Do not write to them or return them to callers.
func (t Table) all() []Boundary {
	if t.steps == nil {
		return upstreamSteps()
	}
	return t.steps
}

// clamp returns the number from 0 to steps-1 that is nearest to step. A step comes from the caller's memory, or from a
// table that had more steps, so it may be any number. It never panics.
func clamp(step, steps int) int { return max(0, min(step, steps-1)) }
