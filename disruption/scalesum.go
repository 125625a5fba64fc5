package disruption

import (
	"cmp"
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
)

// What the controllers of a budget with many references want, without a pass over the references at each plan.
//
// Two things make the result change: a workload or an answer, and which controllers the pods name. After a change of
// workloads the sum is computed again, because a Deployment may move references from one controller to another. After a
// change of pods the sum follows in O(log n):
//
//	references   rs-a rs-b rs-c
//	lead to      web  web  api       controllers  {web: scale 3, 2 references; api: scale 5, 1 reference}
//	                                 total        8
//	without rs-b                     controllers  {web: scale 3, 1 reference; …}        total 8
//	without rs-a                     controllers  {api: …}                              total 5
//
// The values belong to references, which never change, so a memo needs no invalidation: a changed references value has
// another memo.

// scaleMemo remembers what the controllers of many references want, after the first computation. Every goroutine
// computes the same value, so it does not matter which one stores it, and an Index stays safe for concurrent use.
type scaleMemo struct{ last atomic.Pointer[wantedScale] }

// wantedScale is what the controllers of some references want, computed from these workloads. It never changes.
type wantedScale struct {
	// by is compared by its pointer; see workloads.
	by *workloads
	expectation
	// sum is not nil if the order of the pods does not matter.
	sum *scaleSum
}

// wanted returns the remembered value if it was computed from these workloads, and calls compute otherwise. The caller
// may keep and change its needs; everything else that it returns is shared.
func (m *scaleMemo) wanted(by *workloads, compute func() *wantedScale) expectation {
	known := m.last.Load()
	if known == nil || known.by != by {
		known = compute()
		m.last.Store(known)
	}
	x := known.expectation
	x.needs = slices.Clone(x.needs)
	return x
}

// next returns the memo after a change of how many pods name a controller. It keeps the sum if possible. change returns
// the changed sum, or nil if it cannot follow; the next plan then computes it. next accepts a nil memo, and never
// changes m: the older Index still uses it.
//
// A value without a sum (open needs, or a problem) is not kept, since it names pods.
func (m *scaleMemo) next(change func(*scaleSum) *scaleSum) *scaleMemo {
	next := &scaleMemo{}
	if m != nil {
		if known := m.last.Load(); known != nil && known.sum != nil {
			if sum := change(known.sum); sum != nil {
				next.last.Store(sum.wanted())
			}
		}
	}
	return next
}

// scaleSum is the sum of the scales of distinct controllers, all of which are found, and any two of which differ in
// their UID. It never changes. Adding or removing one controller costs O(log n). It gives the same result as
// podCount.scalesOfFound, which is cheaper for few references.
type scaleSum struct {
	by        *workloads
	namespace string
	// controllers are what the references lead to, by identity.
	controllers *persistent.Map[controller, summedScale]
	total       int64
}

// summedScale is the scale of a controller and the number of references that lead to it. The controller leaves the sum
// with its last reference: while a rollout removes the old ReplicaSet, the new one still leads to the Deployment.
type summedScale struct{ scale, references int32 }

func compareControllers(a, b controller) int {
	return cmp.Or(cmp.Compare(a.uid, b.uid), cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind), cmp.Compare(a.group, b.group))
}

// newScaleSum returns nil if the order of the pods matters; see podCount.scalesOfFound for these cases.
func newScaleSum(by *workloads, namespace string, references []reference) *scaleSum {
	uids := make(map[types.UID]bool, len(references))
	for _, r := range references {
		if uids[r.ref.UID] {
			return nil
		}
		uids[r.ref.UID] = true
	}
	empty := scaleSum{by: by, namespace: namespace, controllers: persistent.NewMap[controller, summedScale](compareControllers)}
	return empty.with(references...)
}

// with returns the sum with more references, or nil if the order of the pods now matters. No other reference has the
// UID of one of these.
func (s *scaleSum) with(references ...reference) *scaleSum {
	next, controllers := *s, s.controllers.Edit()
	for i := range references {
		ref := &references[i].ref
		a := s.by.controllerOf(s.namespace, ref)
		id := a.found.id(s.by.o)
		c, counted := controllers.Get(id)
		if a.found.kind == "" || counted && c.scale != a.found.scale {
			return nil
		}
		if !counted {
			next.total += int64(a.found.scale)
		}
		controllers.Set(id, summedScale{a.found.scale, c.references + 1})
	}
	next.controllers = controllers.Map()
	return &next
}

// without returns the sum without one of its references. Removing a reference never makes the order matter, so the
// result is never nil. controllerOf finds the same controller as when the reference was added, since the workloads are
// the same.
func (s *scaleSum) without(ref metav1.OwnerReference) *scaleSum {
	id := s.by.controllerOf(s.namespace, &ref).found.id(s.by.o)
	c, _ := s.controllers.Get(id)
	next := *s
	if c.references--; c.references > 0 {
		next.controllers = s.controllers.With(id, c)
		return &next
	}
	next.controllers = s.controllers.Without(id)
	next.total -= int64(c.scale)
	return &next
}

// wanted wraps the sum for a scaleMemo. With MatchUpstream the sum wraps around at 32 bits (D-23), and it does so here
// and not earlier: s.total stays exact, so a controller can be subtracted again.
func (s *scaleSum) wanted() *wantedScale {
	return &wantedScale{by: s.by, expectation: expectation{sum: s.by.o.total(s.total)}, sum: s}
}
