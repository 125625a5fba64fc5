package reconcile

import (
	"maps"
	"slices"

	"github.com/purekube/purekube"
)

// Clone returns a Loop that goes on from here by itself, for whoever searches what may happen next. Indexes never
// change, so both have the same. Options are shared: a function in them must not remember anything.
func (l *Loop[X, S, A]) Clone() *Loop[X, S, A] {
	c := *l
	questions := map[*question[X]]*question[X]{nil: nil}
	question := func(q *question[X]) *question[X] {
		if same, known := questions[q]; known {
			return same
		}
		n := *q
		n.open, n.answers, n.failures = maps.Clone(q.open), maps.Clone(q.answers), maps.Clone(q.failures)
		n.begun = maps.Clone(q.begun)
		questions[q] = &n
		return &n
	}
	c.failures = maps.Clone(l.failures)
	c.turns = map[purekube.Key]*Turn[X, A]{}
	for key, t := range l.turns {
		n := *t
		n.question, n.answers, n.written = question(t.question), maps.Clone(t.answers), maps.Clone(t.written)
		c.turns[key] = &n
	}
	c.lookups = newLookups[X]()
	c.lookups.failed = maps.Clone(l.lookups.failed)
	for key, q := range l.lookups.questions {
		c.lookups.questions[key] = question(q)
	}
	for n, askers := range l.lookups.askers {
		c.lookups.askers[n] = clonedAskers(askers, question)
	}
	for n, askers := range l.lookups.served {
		c.lookups.served[n] = clonedAskers(askers, question)
	}
	c.fences = l.fences.clone()
	return &c
}

func clonedAskers[X any](askers map[purekube.Key]*question[X], clone func(*question[X]) *question[X]) map[purekube.Key]*question[X] {
	c := map[purekube.Key]*question[X]{}
	for key, q := range askers {
		c[key] = clone(q)
	}
	return c
}

func (f *fences) clone() fences {
	known := map[*fence]*fence{}
	clone := func(own *fence) *fence {
		if known[own] == nil {
			n := *own // what was written does not change any more
			known[own] = &n
		}
		return known[own]
	}
	c := fences{seen: maps.Clone(f.seen), of: map[purekube.Key]*fence{}, order: slices.Clone(f.order)}
	for key, own := range f.of {
		c.of[key] = clone(own)
	}
	for i := range c.order {
		c.order[i].of = clone(c.order[i].of)
	}
	return c
}

// Turn returns the turn of a key that has begun and not ended, or nil. A clone has turns of its own.
func (l *Loop[X, S, A]) Turn(key purekube.Key) *Turn[X, A] { return l.turns[key] }
