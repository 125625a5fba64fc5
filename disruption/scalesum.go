package disruption

import (
	"cmp"
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
)

// scaleMemo remembers what the controllers of many references want, after the first computation. Every goroutine
// computes the same value, so it does not matter which one stores it.
type scaleMemo struct{ last atomic.Pointer[wantedScale] }

// wantedScale is what the controllers of some references want, computed from these workloads. It never changes.
type wantedScale struct {
	by *workloads
	expectation
	// sum is not nil if the order of the pods does not matter.
	sum *scaleSum
}

// wanted returns the remembered value if it was computed from these workloads, and calls compute otherwise. The caller
// may keep and change its needs.
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

// next returns the memo after a change of how many pods name a controller. It keeps the sum if possible.
func (m *scaleMemo) next(change func(*scaleSum) *scaleSum) *scaleMemo {
	next := &scaleMemo{}
	if m == nil {
		return next
	}
	if known := m.last.Load(); known != nil && known.sum != nil {
		if sum := change(known.sum); sum != nil {
			next.last.Store(sum.wanted())
		}
	}
	return next
}

// scaleSum is the sum of the scales of distinct controllers, all of which are found, and any two of which differ in
// their UID. It never changes. Adding or removing one controller costs O(log n).
type scaleSum struct {
	by        *workloads
	namespace string
	// uids are the UIDs of the references, and controllers are the controllers that they lead to, by identity.
	uids        *persistent.Map[types.UID, struct{}]
	controllers *persistent.Map[types.UID, summedScale]
	total       int64
}

// summedScale is the scale of a controller and the number of references that lead to it.
type summedScale struct{ scale, references int32 }

// newScaleSum returns nil if the order of the pods matters.
func newScaleSum(by *workloads, namespace string, references []reference) *scaleSum {
	s := &scaleSum{by: by, namespace: namespace}
	uids := persistent.NewMap[types.UID, struct{}](cmp.Compare[types.UID]).Edit()
	controllers := persistent.NewMap[types.UID, summedScale](cmp.Compare[types.UID]).Edit()
	for _, r := range references {
		a := by.controllerOf(namespace, &r.ref)
		_, named := uids.Get(r.ref.UID)
		c, counted := controllers.Get(a.found.id())
		if a.found.kind == "" || named || counted && c.scale != a.found.scale {
			return nil
		}
		if !counted {
			s.total += int64(a.found.scale)
		}
		uids.Set(r.ref.UID, struct{}{})
		controllers.Set(a.found.id(), summedScale{a.found.scale, c.references + 1})
	}
	s.uids, s.controllers = uids.Map(), controllers.Map()
	return s
}

// with returns the sum with one more reference, or nil if the order of the pods now matters.
func (s *scaleSum) with(ref metav1.OwnerReference) *scaleSum {
	a := s.by.controllerOf(s.namespace, &ref)
	_, named := s.uids.Get(ref.UID)
	c, counted := s.controllers.Get(a.found.id())
	if a.found.kind == "" || named || counted && c.scale != a.found.scale {
		return nil
	}
	next := *s
	if !counted {
		next.total += int64(a.found.scale)
	}
	next.uids = s.uids.With(ref.UID, struct{}{})
	next.controllers = s.controllers.With(a.found.id(), summedScale{a.found.scale, c.references + 1})
	return &next
}

// without returns the sum without one of its references.
func (s *scaleSum) without(ref metav1.OwnerReference) *scaleSum {
	id := s.by.controllerOf(s.namespace, &ref).found.id()
	c, _ := s.controllers.Get(id)
	next := *s
	next.uids = s.uids.Without(ref.UID)
	if c.references--; c.references > 0 {
		next.controllers = s.controllers.With(id, c)
		return &next
	}
	next.controllers = s.controllers.Without(id)
	next.total -= int64(c.scale)
	return &next
}

func (s *scaleSum) wanted() *wantedScale {
	return &wantedScale{by: s.by, expectation: expectation{sum: s.by.o.total(s.total)}, sum: s}
}
