package persistent

import (
	"cmp"
	"hash/maphash"
	"iter"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/snapshot"
)

// Hash makes terms for a [TermIndex]. Terms of different Hashes have nothing to do with each other. An index of a
// package makes one and keeps it for all that are derived from it.
type Hash struct{ seed maphash.Seed }

// NewHash returns a Hash with a seed of its own.
func NewHash() Hash { return Hash{maphash.MakeSeed()} }

// Text is the hash of a text.
func (h Hash) Text(text string) uint64 { return maphash.String(h.seed, text) }

// Term is the term for texts, a namespace and a name for example. about tells terms apart that have the same texts
// and another meaning. It is Mix(about, h.Text(text), …): a hash of a text that is in many terms may be kept.
func (h Hash) Term(about uint64, texts ...string) uint64 {
	parts := make([]uint64, 1, 4)
	parts[0] = about
	for _, text := range texts {
		parts = append(parts, h.Text(text))
	}
	return Mix(parts...)
}

// TermIndex finds objects by what they contain, a label or the name of another object for example, in a collection that
// never changes. A term is a hash of such a thing. Objects of the same hash and objects that contained it when they
// were last arranged are found too, so the caller looks at each.
//
// It follows the [Objects] that it is made from, and is rebuilt when they are. It is arranged in one pass when it is
// first asked, and takes 4 bytes for each term of each object, and at most 44 for each different term. What was changed
// since lies in a sorted map over that, so a change costs O(log n) for each term of the object.
type TermIndex[T any, P snapshot.Object[T]] struct {
	of      func(terms []uint64, object P) []uint64
	objects *Objects[T, P]
	// base has the terms of all objects that objects was made from. renewed is base for the collections that are made
	// from a renewal of objects. Both are shared with other indexes.
	base, renewed *termTable
	// added has the terms of names that changed since. Terms that the only object of the name in base has are not
	// there. If base has several objects of the name, it does not count for the name any more.
	added *Map[addedTerm, struct{}]
}

type addedTerm struct {
	term uint64
	name types.NamespacedName
}

func compareAddedTerms(a, b addedTerm) int {
	if c := cmp.Compare(a.term, b.term); c != 0 {
		return c
	}
	return CompareNames(a.name, b.name)
}

// NewTermIndex returns the index of these objects. of appends the terms of an object, in any order. It must always
// append the same ones for the same object.
func NewTermIndex[T any, P snapshot.Object[T]](
	objects *Objects[T, P], of func(terms []uint64, object P) []uint64,
) *TermIndex[T, P] {
	return newTermIndex(objects, of, &termTable{})
}

func newTermIndex[T any, P snapshot.Object[T]](
	objects *Objects[T, P], of func(terms []uint64, object P) []uint64, base *termTable,
) *TermIndex[T, P] {
	x := &TermIndex[T, P]{of: of, base: base, added: NewMap[addedTerm, struct{}](compareAddedTerms)}
	x.setObjects(objects)
	return x
}

func (x *TermIndex[T, P]) setObjects(objects *Objects[T, P]) {
	x.objects, x.renewed = objects, nil
	if objects.renewal != nil {
		x.renewed = &termTable{}
	}
}

// With returns the index of the objects after these changes. objects and changes are what With or Without of the
// index's own objects returned.
func (x *TermIndex[T, P]) With(objects *Objects[T, P], changes []Change[P]) *TermIndex[T, P] {
	if objects == x.objects {
		return x
	}
	if objects.base != x.objects.base {
		made := x.objects.renewal.madeFor(objects)
		if made == nil {
			return NewTermIndex(objects, x.of)
		}
		x = newTermIndex(made, x.of, x.renewed)
	}
	next := *x
	next.setObjects(objects)
	var added *Edit[addedTerm, struct{}]
	for _, c := range changes {
		had, has := x.termsOf(c.Before), x.termsOf(c.After)
		twins := objects.base.ambiguous(c.Name)
		if slices.Equal(had, has) && !twins {
			continue
		}
		if added == nil {
			added = x.added.Edit()
		}
		for _, term := range had {
			if _, stays := slices.BinarySearch(has, term); !stays {
				added.Delete(addedTerm{term, c.Name})
			}
		}
		var inBase []uint64
		if object := objects.base.only[c.Name]; object != nil {
			inBase = x.termsOf([]P{object})
		}
		for _, term := range has {
			if _, found := slices.BinarySearch(inBase, term); !found {
				added.Set(addedTerm{term, c.Name}, struct{}{})
			}
		}
	}
	if added != nil {
		next.added = added.Map()
	}
	return &next
}

// termsOf returns the terms of the objects, sorted, each once.
func (x *TermIndex[T, P]) termsOf(objects []P) []uint64 {
	var terms []uint64
	for _, object := range objects {
		terms = x.of(terms, object)
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// Find returns the objects that contain one of the terms and whose name no other object has, and perhaps some objects
// that do not contain a term. For one term, each object comes once. For several terms, an object may come several
// times. The order is not defined.
func (x *TermIndex[T, P]) Find(terms ...uint64) iter.Seq[P] {
	return func(yield func(P) bool) {
		x.each(terms, func(object P, _ []P) bool { return object == nil || yield(object) })
	}
}

// Versions returns the objects that Find returns, and all objects of each ambiguous name one of whose objects contains
// one of the terms.
func (x *TermIndex[T, P]) Versions(terms ...uint64) iter.Seq[P] {
	return func(yield func(P) bool) {
		x.each(terms, func(object P, versions []P) bool {
			if object != nil {
				return yield(object)
			}
			for _, version := range versions {
				if !yield(version) {
					return false
				}
			}
			return true
		})
	}
}

// each calls f for the objects or versions that are found, until it returns false.
func (x *TermIndex[T, P]) each(terms []uint64, f func(object P, versions []P) bool) {
	base, o := x.table(), x.objects
	untouched := o.changed.Len() == 0 && !o.base.anyAmbiguous()
	for _, term := range terms {
		for _, position := range base.positionsOf(term) {
			object, versions := o.base.list[position], []P(nil)
			if !untouched {
				if object, versions = x.now(int(position)); object == nil && versions == nil {
					continue
				}
			}
			if !f(object, versions) {
				return
			}
		}
		for name := range x.addedTo(term) {
			object, versions := o.Find(name), []P(nil)
			if object == nil {
				versions, _ = o.several.Get(name)
			}
			if !f(object, versions) {
				return
			}
		}
	}
}

// now returns what is to be found in the place of the object at a position in base.
func (x *TermIndex[T, P]) now(position int) (P, []P) {
	o := x.objects
	object := o.base.list[position]
	name := o.keyOf(object)
	twins := o.base.ambiguous(name)
	current, changed := o.changed.Get(name)
	switch {
	case !changed && !twins:
		return object, nil
	case !changed:
		return nil, []P{object}
	case twins:
		return nil, nil
	case current == nil:
		versions, _ := o.several.Get(name)
		return nil, versions
	}
	return current, nil
}

// addedTo returns the names that have got the term since the last pass, sorted.
func (x *TermIndex[T, P]) addedTo(term uint64) iter.Seq[types.NamespacedName] {
	return func(yield func(types.NamespacedName) bool) {
		if x.added.Len() == 0 {
			return
		}
		for at := range x.added.From(addedTerm{term: term}) {
			if at.term != term || !yield(at.name) {
				return
			}
		}
	}
}

// Count returns for how many objects the term is found, or atMost if there are more. Objects that have lost the term
// since the last pass count too.
func (x *TermIndex[T, P]) Count(term uint64, atMost int) int {
	count := min(len(x.table().positionsOf(term)), atMost)
	if count == atMost {
		return count
	}
	for range x.addedTo(term) {
		if count++; count == atMost {
			break
		}
	}
	return count
}

// Rarest returns the position of the alternative that finds the fewest objects by all of its terms, or the first such
// alternative. There must be at least one alternative.
func (x *TermIndex[T, P]) Rarest(alternatives [][]uint64) int {
	rarest, fewest := 0, len(x.objects.base.list)+x.added.Len()+1
	for i, terms := range alternatives {
		count := 0
		for _, term := range terms {
			if count += x.Count(term, fewest-count); count == fewest {
				break
			}
		}
		if count < fewest {
			rarest, fewest = i, count
		}
	}
	return rarest
}

func (x *TermIndex[T, P]) table() *termTable {
	x.base.arrange.Do(func() { fill(x.base, x.objects.base.list, x.of) })
	return x.base
}

// termTable knows at which positions of a slice a term is.
type termTable struct {
	arrange sync.Once
	// numbers has the different terms, counted from 0. The positions of number n are positions[first[n]:first[n+1]].
	numbers          map[uint64]int32
	first, positions []int32
}

func fill[P any](t *termTable, objects []P, of func([]uint64, P) []uint64) {
	t.numbers = make(map[uint64]int32, len(objects))
	// found has the numbers of the terms of all objects, one object after the other, and ends where each one's end.
	found := make([]int32, 0, 2*len(objects))
	ends := make([]int32, 0, len(objects))
	// counts of objects and the last object, counted from 1, by number of the term.
	type count struct{ objects, last int32 }
	counts := make([]count, 0, len(objects))
	var scratch []uint64
	for i, object := range objects {
		scratch = of(scratch[:0], object)
		for _, term := range scratch {
			n, known := t.numbers[term]
			if !known {
				n = int32(len(counts))
				t.numbers[term] = n
				counts = append(counts, count{})
			}
			if c := &counts[n]; c.last != int32(i+1) {
				c.objects, c.last = c.objects+1, int32(i+1)
				found = append(found, n)
			}
		}
		ends = append(ends, int32(len(found)))
	}
	t.first = make([]int32, len(counts)+1)
	for n, c := range counts {
		t.first[n+1] = t.first[n] + c.objects
		counts[n].last = t.first[n]
	}
	t.positions = make([]int32, len(found))
	at := int32(0)
	for i, end := range ends {
		for ; at < end; at++ {
			c := &counts[found[at]]
			t.positions[c.last] = int32(i)
			c.last++
		}
	}
}

// positionsOf returns where the term is.
func (t *termTable) positionsOf(term uint64) []int32 {
	n, known := t.numbers[term]
	if !known {
		return nil
	}
	return t.positions[t.first[n]:t.first[n+1]]
}
