// Package bounds counts what questions to an Index cost in clusters of 1,000 to 1,000,000 objects, and compares each
// size with the next: allocations and bytes, the blocks of code that run, the keys that an event names, and the memory
// that an Index keeps. No count depends on time or on how busy the machine is. README.md has the figures.
package bounds

import (
	"math"
	"runtime"
)

// Growth is how a count may grow with the number of objects.
type Growth string

const (
	// Constant counts are the same at each size.
	Constant Growth = "1"
	// Logarithmic counts grow as the height of a tree.
	Logarithmic Growth = "log n"
	// Linear counts grow as the number of objects.
	Linear Growth = "n"
	// Linearithmic counts are logarithmic for each object.
	Linearithmic Growth = "n log n"
	// Quadratic counts are exceptions: README.md lists them.
	Quadratic Growth = "n²"
)

// Tolerance is what a count may grow beyond its bound: trees and tables grow in steps, and events are a sample. The
// next worse bound allows at least five times as much.
const Tolerance = 1.25

// Most returns the largest count at n objects, after a count at fewer objects.
func (g Growth) Most(n, fewer int, count float64) float64 {
	linear, logarithmic := float64(n)/float64(fewer), math.Log(float64(n))/math.Log(float64(fewer))
	switch g {
	case Logarithmic:
		count *= logarithmic
	case Linear:
		count *= linear
	case Linearithmic:
		count *= linear * logarithmic
	case Quadratic:
		count *= linear * linear
	case Constant:
	}
	return Tolerance * count
}

// Question is what somebody asks of an Index.
type Question struct {
	Name string
	Growth
	// Ask asks about the i-th of some objects. It returns how many keys and actions the answer has.
	Ask func(i int) (keys, actions int)
	// Event: it is a change, and the plans of the keys that the change affects.
	Event bool
	// Once: it is about all objects, and asked once.
	Once bool
	// Most is the largest number of objects that it is asked about; 0: any.
	Most int
}

// Subject is a package with clusters of one shape.
type Subject struct {
	Name string
	// Slow: it takes seconds.
	Slow bool
	// Cluster makes a cluster of about so many objects.
	Cluster func(objects int) Cluster
}

// Cluster is what is asked in one cluster.
type Cluster struct {
	// Objects is how many there are.
	Objects int
	// NewIndex makes an Index that has answered a question. Updated makes one in which each object was then replaced by
	// itself. Nil: another subject makes them.
	NewIndex, Updated func() any
	// Questions are the same, in the same order, in each cluster of a subject.
	Questions []Question
}

// Subjects are all packages.
var Subjects = []Subject{
	ttlNodes, serviceCIDRs, clusterRoles, resourceClaims, budgets, oneBudget, drains, spreadDrains, sharedDrains,
}

// Cost is what a question costs, on average.
type Cost struct {
	Allocations, Bytes, Blocks, Keys, Actions float64
}

// Counts are what was counted in one cluster.
type Counts struct {
	Objects int
	// Kept and KeptUpdated are the bytes that Cluster.NewIndex and Cluster.Updated keep for each object, beyond the
	// object itself.
	Kept, KeptUpdated float64
	Questions         []Question `json:"-"`
	Costs             []Cost     // of Questions
}

// asked is how often a question about some objects is asked.
const asked = 64

// at is the position of the i-th of some objects among n: they are from all over the cluster.
func at(i, n int) int { return i * 7919 % n }

// Count asks all questions in a cluster of about so many objects. blocks returns the number of blocks of code that ran
// since its last call; nil: they are not counted, and memory is.
func (s Subject) Count(objects int, blocks func() float64) Counts {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // nothing else allocates meanwhile
	c := s.Cluster(objects)
	counts := Counts{Objects: c.Objects}
	questions := c.Questions
	if c.Updated != nil {
		questions = append(questions, ofAll("NewIndex, and each object is updated", func() (int, int) {
			c.Updated()
			return 0, 0
		}))
	}
	if blocks == nil {
		counts.Kept, counts.KeptUpdated = kept(c.NewIndex, c.Objects), kept(c.Updated, c.Objects)
		blocks = func() float64 { return 0 }
	}
	for _, q := range questions {
		cost := Cost{} // not tried
		if q.Most == 0 || objects <= q.Most {
			cost = q.cost(blocks)
		}
		counts.Costs = append(counts.Costs, cost)
		q.Ask = nil // it keeps the cluster in memory
		counts.Questions = append(counts.Questions, q)
	}
	runtime.KeepAlive(c)
	return counts
}

func (q Question) cost(blocks func() float64) (cost Cost) {
	times := asked
	if q.Once {
		times = 1
	} else {
		q.Ask(0) // the first question arranges what it needs, for all later ones
	}
	var before, after runtime.MemStats
	blocks()
	runtime.ReadMemStats(&before)
	for i := range times {
		keys, actions := q.Ask(i)
		cost.Keys += float64(keys)
		cost.Actions += float64(actions)
	}
	runtime.ReadMemStats(&after)
	cost.Blocks = blocks()
	cost.Allocations, cost.Bytes = float64(after.Mallocs-before.Mallocs), float64(after.TotalAlloc-before.TotalAlloc)
	for _, sum := range []*float64{&cost.Allocations, &cost.Bytes, &cost.Blocks, &cost.Keys, &cost.Actions} {
		*sum /= float64(times)
	}
	return cost
}

// kept is how many bytes for each object stay in memory because of what is made.
func kept(make func() any, objects int) float64 {
	if make == nil {
		return 0
	}
	before := heap()
	made := make()
	bytes := heap() - before
	runtime.KeepAlive(made)
	return bytes / float64(objects)
}

func heap() float64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
