package persistent

import (
	"cmp"
	"iter"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Objects are the objects of one kind by namespace and name, in a collection that never changes.
// It is made in one pass over a slice. What is changed later lies in a map over that, sorted by hash, until
// there are so many changes that a new pass costs less than it saves: so a change costs
// O(log n), one in n/2 of them n. Until that pass, objects that were replaced or taken away stay in memory:
// at most n/2 of them, or 64. None stay once all objects are taken away.
//
// An object of the slice whose name another one has is not found: which of them is the real one
// cannot be known. An object that is put there later takes the place of all of them.
type Objects[T any, P snapshot.Object[T]] struct {
	kind string
	base *snapshot.Table[T, P]
	// size is the number of objects in base, and live how many objects Find finds.
	size, live int
	// changed holds the objects put there since, nil for those taken away.
	changed *Map[hashedName, P]
}

// hashedName is a name behind its hash, so that a search of a map compares numbers that lie in the map's nodes,
// and reads the text of one name at its end.
type hashedName struct {
	hash uint64
	types.NamespacedName
}

func compareHashedNames(a, b hashedName) int {
	if c := cmp.Compare(a.hash, b.hash); c != 0 {
		return c
	}
	return CompareNames(a.NamespacedName, b.NamespacedName)
}

// fewChanges are too few to make a new table for.
const fewChanges = 64

// NewObjects returns the collection of these objects, all of which are there (not nil). It keeps
// the slice and never writes to it.
func NewObjects[T any, P snapshot.Object[T]](kind string, objects []P) *Objects[T, P] {
	o := &Objects[T, P]{
		kind: kind, base: snapshot.NewTable(kind, objects), size: len(objects), live: len(objects),
		changed: NewMap[hashedName, P](compareHashedNames),
	}
	if o.base.AnyAmbiguous() {
		o.live = 0
		for range o.All() {
			o.live++
		}
	}
	return o
}

// Renewed reports whether the collection was made in a new pass since before: then it holds no object that
// before holds and it does not find.
func (o *Objects[T, P]) Renewed(before *Objects[T, P]) bool { return o.base != before.base }

// CompareNames sorts by namespace, then by name.
func CompareNames(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

func (o *Objects[T, P]) hashed(key types.NamespacedName) hashedName {
	return hashedName{hash: o.base.Hash(key), NamespacedName: key}
}

// Find returns the only object of that name, or nil.
func (o *Objects[T, P]) Find(key types.NamespacedName) P {
	if o.changed.Len() > 0 {
		if object, changed := o.changed.Get(o.hashed(key)); changed {
			return object
		}
	}
	return o.base.Find(key)
}

// Ambiguous reports whether more than one object has that name.
func (o *Objects[T, P]) Ambiguous(key types.NamespacedName) bool {
	if !o.base.Ambiguous(key) {
		return false
	}
	_, changed := o.changed.Get(o.hashed(key))
	return !changed
}

// Duplicates has an error for each name that more than one object has, in no particular order.
func (o *Objects[T, P]) Duplicates() []*purekube.ObjectError {
	var found []*purekube.ObjectError
	for _, e := range o.base.Duplicates() {
		if o.Ambiguous(types.NamespacedName{Namespace: e.Namespace, Name: e.Name}) {
			found = append(found, e)
		}
	}
	return found
}

// All returns the objects that Find finds, each once, in no particular order.
func (o *Objects[T, P]) All() iter.Seq[P] {
	return func(yield func(P) bool) {
		for _, object := range o.changed.All() {
			if object != nil && !yield(object) {
				return
			}
		}
		for object := range o.base.All() {
			key := snapshot.KeyOf(object)
			if o.base.Ambiguous(key) {
				continue
			}
			if o.changed.Len() > 0 {
				if _, changed := o.changed.Get(o.hashed(key)); changed {
					continue
				}
			}
			if !yield(object) {
				return
			}
		}
	}
}

// Edit begins a number of changes that make one other collection.
func (o *Objects[T, P]) Edit() *ObjectsEdit[T, P] {
	return &ObjectsEdit[T, P]{from: o, changed: o.changed.Edit(), live: o.live}
}

// ObjectsEdit is a collection of objects in the making. It belongs to one goroutine.
type ObjectsEdit[T any, P snapshot.Object[T]] struct {
	from    *Objects[T, P]
	changed *Edit[hashedName, P]
	live    int
}

// Find returns the only object of that name as the changes so far leave it, or nil.
func (e *ObjectsEdit[T, P]) Find(key types.NamespacedName) P {
	if object, changed := e.changed.Get(e.from.hashed(key)); changed {
		return object
	}
	return e.from.base.Find(key)
}

// Put adds the object, or puts it in the place of the one of its name.
func (e *ObjectsEdit[T, P]) Put(object P) {
	key := snapshot.KeyOf(object)
	if e.Find(key) == nil {
		e.live++
	}
	e.changed.Set(e.from.hashed(key), object)
}

// Delete takes away the objects of that name, if there are any.
func (e *ObjectsEdit[T, P]) Delete(key types.NamespacedName) {
	if e.Find(key) != nil {
		e.live--
	}
	if e.from.base.Position(key) < 0 && !e.from.base.Ambiguous(key) {
		e.changed.Delete(e.from.hashed(key))
		return
	}
	e.changed.Set(e.from.hashed(key), nil)
}

// Objects returns the collection that the changes make, and ends the edit: it cannot be used any
// more.
func (e *ObjectsEdit[T, P]) Objects() *Objects[T, P] {
	next := &Objects[T, P]{kind: e.from.kind, base: e.from.base, size: e.from.size, live: e.live, changed: e.changed.Map()}
	// The slice keeps objects in memory that were replaced or taken away since, so this bounds how many of
	// them there are, too.
	many := next.changed.Len() >= fewChanges && next.changed.Len() >= next.size/2
	empty := next.live == 0 && !next.base.AnyAmbiguous()
	if !many && !empty {
		return next
	}
	objects := make([]P, 0, next.live)
	for object := range next.All() {
		objects = append(objects, object)
	}
	// Those of a name that several have are there, though not found.
	if next.base.AnyAmbiguous() {
		for object := range next.base.All() {
			if next.Ambiguous(snapshot.KeyOf(object)) {
				objects = append(objects, object)
			}
		}
	}
	return NewObjects(next.kind, objects)
}
