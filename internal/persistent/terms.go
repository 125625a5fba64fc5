package persistent

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/snapshot"
)

// Terms is what [TermIndex] takes the place of. It goes when resourceclaim does not use it any more.
//
// It finds the objects of one kind by what they contain, the name of another object in one of
// their fields for example, in a collection that never changes. A term is a hash of such a thing:
// what is found may contain another thing of the same hash, so the caller looks at each.
//
// It is made in one pass over a slice and takes 12 to 16 bytes for each term of each object. What
// is changed later lies in a sorted map over that. Objects of the slice are found even when they
// were replaced since, so the caller looks for the one that has the name now. A new pass is up to the
// caller.
type Terms[T any, P snapshot.Object[T]] struct {
	of      func(object P, add func(term uint64))
	objects []P
	// entries are sorted into buckets by the low bits of their term: those of bucket b are
	// entries[starts[b]:starts[b+1]].
	starts  []uint32
	entries []termEntry
	// changed holds the terms of objects put there since.
	changed *Map[changedTerm, struct{}]
}

// termEntry says that an object contains a term with these high bits.
type termEntry struct {
	tag      uint32
	position uint32
}

type changedTerm struct {
	term uint64
	name types.NamespacedName
}

func compareChangedTerms(a, b changedTerm) int {
	return cmp.Or(cmp.Compare(a.term, b.term), CompareNames(a.name, b.name))
}

// manyEntries in one bucket are searched by halves.
const manyEntries = 32

// NewTerms returns the collection of the terms of these objects, all of which are there (not nil).
// It keeps the slice and never writes to it. of calls add with each term of an object.
func NewTerms[T any, P snapshot.Object[T]](objects []P, of func(object P, add func(term uint64))) *Terms[T, P] {
	type found struct {
		term     uint64
		position uint32
	}
	all := make([]found, 0, 2*len(objects))
	position := uint32(0)
	add := func(term uint64) { all = append(all, found{term, position}) }
	for i, o := range objects {
		position = uint32(i)
		of(o, add)
	}
	buckets := 1 << bits.Len(uint(len(all)))
	t := &Terms[T, P]{
		of: of, objects: objects,
		starts:  make([]uint32, buckets+1),
		entries: make([]termEntry, len(all)),
		changed: NewMap[changedTerm, struct{}](compareChangedTerms),
	}
	mask := uint64(buckets - 1)
	for i := range all {
		t.starts[all[i].term&mask]++
	}
	end := uint32(0)
	for b := range t.starts {
		end += t.starts[b]
		t.starts[b] = end
	}
	// Each bucket is filled from its end, so that its end becomes its start.
	for i := range all {
		b := all[i].term & mask
		t.starts[b]--
		t.entries[t.starts[b]] = termEntry{uint32(all[i].term >> 32), all[i].position}
	}
	for b := range buckets {
		if bucket := t.entries[t.starts[b]:t.starts[b+1]]; len(bucket) > manyEntries {
			slices.SortFunc(bucket, func(x, y termEntry) int { return cmp.Compare(x.tag, y.tag) })
		}
	}
	return t
}

// Listed returns the objects of the slice that contain the term, and perhaps some that do not.
func (t *Terms[T, P]) Listed(term uint64) iter.Seq[P] {
	return func(yield func(P) bool) {
		b, tag := term&uint64(len(t.starts)-2), uint32(term>>32)
		bucket := t.entries[t.starts[b]:t.starts[b+1]]
		if len(bucket) > manyEntries {
			first, _ := slices.BinarySearchFunc(bucket, tag, func(e termEntry, tag uint32) int { return cmp.Compare(e.tag, tag) })
			for bucket = bucket[first:]; len(bucket) > 0 && bucket[0].tag == tag; bucket = bucket[1:] {
				if !yield(t.objects[bucket[0].position]) {
					return
				}
			}
			return
		}
		for _, e := range bucket {
			if e.tag == tag && !yield(t.objects[e.position]) {
				return
			}
		}
	}
}

// Changed returns the names of the objects put there since that contain the term, in their order.
func (t *Terms[T, P]) Changed(term uint64) iter.Seq[types.NamespacedName] {
	return func(yield func(types.NamespacedName) bool) {
		if t.changed.Len() == 0 {
			return
		}
		for c := range t.changed.From(changedTerm{term: term}) {
			if c.term != term || !yield(c.name) {
				return
			}
		}
	}
}

// Edit begins a number of changes that make one other collection.
func (t *Terms[T, P]) Edit() *TermsEdit[T, P] {
	return &TermsEdit[T, P]{from: t, changed: t.changed.Edit()}
}

// TermsEdit is a collection of terms in the making. It belongs to one goroutine.
type TermsEdit[T any, P snapshot.Object[T]] struct {
	from    *Terms[T, P]
	changed *Edit[changedTerm, struct{}]
}

// Put adds the terms of an object.
func (e *TermsEdit[T, P]) Put(object P) {
	name := snapshot.KeyOf(object)
	e.from.of(object, func(term uint64) { e.changed.Set(changedTerm{term, name}, struct{}{}) })
}

// Delete takes away the terms of an object that was put there since.
func (e *TermsEdit[T, P]) Delete(object P) {
	name := snapshot.KeyOf(object)
	e.from.of(object, func(term uint64) { e.changed.Delete(changedTerm{term, name}) })
}

// Terms returns the collection that the changes make, and ends the edit: it cannot be used any more.
func (e *TermsEdit[T, P]) Terms() *Terms[T, P] {
	next := *e.from
	next.changed = e.changed.Map()
	return &next
}
