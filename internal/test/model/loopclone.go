package model

import (
	"maps"
	"slices"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
)

// cloneLoop returns a Loop that goes on from here by itself. Indexes never change, so both have the same. Options are
// shared: a function in them must not remember anything.
func cloneLoop[X purekube.Index[X, S, A], S any, A purekube.Action](
	l *reconcile.Loop[X, S, A],
) *reconcile.Loop[X, S, A] {
	c := *l
	questions := map[*reconcile.Question[X]]*reconcile.Question[X]{nil: nil}
	question := func(q *reconcile.Question[X]) *reconcile.Question[X] {
		if same, known := questions[q]; known {
			return same
		}
		n := *q
		n.Open, n.Answers, n.Failures = maps.Clone(q.Open), maps.Clone(q.Answers), maps.Clone(q.Failures)
		n.Begun = maps.Clone(q.Begun)
		questions[q] = &n
		return &n
	}
	c.Failures = maps.Clone(l.Failures)
	c.Turns = map[purekube.Key]*reconcile.Turn[X, A]{}
	for key, t := range l.Turns {
		n := *t
		n.Question, n.Answers, n.Written = question(t.Question), maps.Clone(t.Answers), maps.Clone(t.Written)
		c.Turns[key] = &n
	}
	c.Lookups = reconcile.Lookups[X]{
		Failed: maps.Clone(l.Lookups.Failed), Questions: map[purekube.Key]*reconcile.Question[X]{},
		Askers: clonedAskers(l.Lookups.Askers, question), Served: clonedAskers(l.Lookups.Served, question),
	}
	for key, q := range l.Lookups.Questions {
		c.Lookups.Questions[key] = question(q)
	}
	c.Fences = cloneFences(&l.Fences)
	return &c
}

// clonedAskers has each question once, as the Loop does.
func clonedAskers[X any](
	all map[purekube.Need]map[purekube.Key]*reconcile.Question[X],
	clone func(*reconcile.Question[X]) *reconcile.Question[X],
) map[purekube.Need]map[purekube.Key]*reconcile.Question[X] {
	c := map[purekube.Need]map[purekube.Key]*reconcile.Question[X]{}
	for n, askers := range all {
		c[n] = map[purekube.Key]*reconcile.Question[X]{}
		for key, q := range askers {
			c[n][key] = clone(q)
		}
	}
	return c
}

// cloneFences shares Fence.Written, which does not change.
func cloneFences(f *reconcile.Fences) reconcile.Fences {
	known := map[*reconcile.Fence]*reconcile.Fence{}
	clone := func(own *reconcile.Fence) *reconcile.Fence {
		if known[own] == nil {
			n := *own
			known[own] = &n
		}
		return known[own]
	}
	c := reconcile.Fences{Seen: maps.Clone(f.Seen), Of: map[purekube.Key]*reconcile.Fence{}, Order: slices.Clone(f.Order)}
	for key, own := range f.Of {
		c.Of[key] = clone(own)
	}
	for i := range c.Order {
		c.Order[i].Of = clone(c.Order[i].Of)
	}
	return c
}
