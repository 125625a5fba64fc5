package resourceclaim

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// collection holds the objects of one kind by name and by the terms that they contain. It never
// changes: put and delete are made on a copy.
type collection[T any, P snapshot.Object[T]] struct {
	kind string
	// named are the objects whose name no other one has.
	named *persistent.Objects[T, P]
	// several are those of the other names.
	several *persistent.Map[types.NamespacedName, []P]
	terms   *persistent.Terms[T, P]
	termsOf func(P, func(uint64))
	// size is the number of objects, changes how many were put or deleted since the collection was
	// made in one pass.
	size, changes int
	// missing and nameless report that a slice held nil, or an object without a name.
	missing, nameless bool
}

// change is what became of the objects of one name.
type change[P any] struct{ oldObjs, newObjs []P }

func newCollection[T any, P snapshot.Object[T]](kind string, objects []P, termsOf func(P, func(uint64))) *collection[T, P] {
	c := &collection[T, P]{kind: kind, termsOf: termsOf}
	return c.made(c.usable(objects))
}

// made is a collection of these objects, made in one pass.
func (c *collection[T, P]) made(objects []P) *collection[T, P] {
	next := *c
	next.named = persistent.NewObjects(c.kind, objects)
	next.several = persistent.NewMap[types.NamespacedName, []P](persistent.CompareNames)
	next.terms = persistent.NewTerms(objects, c.termsOf)
	next.size, next.changes = len(objects), 0
	if twice := next.named.Duplicates(); len(twice) > 0 {
		edit := next.several.Edit()
		for _, e := range twice {
			edit.Set(types.NamespacedName{Namespace: e.Namespace, Name: e.Name}, nil)
		}
		for _, o := range objects {
			if others, there := edit.Get(snapshot.KeyOf(o)); there {
				edit.Set(snapshot.KeyOf(o), append(slices.Clip(others), o))
			}
		}
		next.several = edit.Map()
	}
	return &next
}

// usable are the objects that are there and have a name, in a slice of their own.
func (c *collection[T, P]) usable(objects []P) []P {
	out := make([]P, 0, len(objects))
	for _, o := range objects {
		switch {
		case o == nil:
			c.missing = true
		case o.GetName() == "":
			c.nameless = true
		default:
			out = append(out, o)
		}
	}
	return out
}

// find returns the only object of that name, or nil.
func (c *collection[T, P]) find(name types.NamespacedName) P {
	return c.named.Find(name)
}

// ambiguous reports whether there are several objects of that name.
func (c *collection[T, P]) ambiguous(name types.NamespacedName) bool {
	if c.several.Len() == 0 {
		return false
	}
	_, there := c.several.Get(name)
	return there
}

// versions are the objects of that name.
func (c *collection[T, P]) versions(name types.NamespacedName) []P {
	if c.several.Len() > 0 {
		if versions, there := c.several.Get(name); there {
			return versions
		}
	}
	if o := c.named.Find(name); o != nil {
		return []P{o}
	}
	return nil
}

// with returns the objects that contain the term, perhaps some of them twice, and perhaps some that do
// not contain it.
func (c *collection[T, P]) with(term uint64) iter.Seq[P] {
	return func(yield func(P) bool) {
		for listed := range c.terms.Listed(term) {
			// It may have been replaced since.
			if !c.each(snapshot.KeyOf(listed), yield) {
				return
			}
		}
		for name := range c.terms.Changed(term) {
			if !c.each(name, yield) {
				return
			}
		}
	}
}

// each yields the objects of that name. It is false when yield is.
func (c *collection[T, P]) each(name types.NamespacedName, yield func(P) bool) bool {
	if o := c.named.Find(name); o != nil {
		return yield(o)
	}
	if c.several.Len() == 0 {
		return true
	}
	versions, _ := c.several.Get(name)
	return !slices.ContainsFunc(versions, func(o P) bool { return !yield(o) })
}

// put adds the objects, each name of which takes the place of the objects that have it.
func (c *collection[T, P]) put(objects []P) (next *collection[T, P], changes []change[P]) {
	if len(objects) == 0 {
		return c, nil
	}
	copied := *c
	objects = copied.usable(objects)
	slices.SortStableFunc(objects, func(a, b P) int { return persistent.CompareNames(snapshot.KeyOf(a), snapshot.KeyOf(b)) })
	e := copied.edit()
	for len(objects) > 0 {
		name := snapshot.KeyOf(objects[0])
		n := 1
		for n < len(objects) && snapshot.KeyOf(objects[n]) == name {
			n++
		}
		e.replace(name, objects[:n:n])
		objects = objects[n:]
	}
	return e.collection(), e.changes
}

// delete takes away the objects of those names. Names that are not there, nil and objects without a
// name change nothing.
func (c *collection[T, P]) delete(objects []P) (next *collection[T, P], changes []change[P]) {
	if len(objects) == 0 {
		return c, nil
	}
	e := c.edit()
	for _, o := range objects {
		if o != nil {
			e.replace(snapshot.KeyOf(o), nil)
		}
	}
	return e.collection(), e.changes
}

// collectionEdit is a collection in the making.
type collectionEdit[T any, P snapshot.Object[T]] struct {
	next    collection[T, P]
	named   *persistent.ObjectsEdit[T, P]
	terms   *persistent.TermsEdit[T, P] // nil: as they were
	changes []change[P]
}

func (c *collection[T, P]) edit() *collectionEdit[T, P] {
	return &collectionEdit[T, P]{next: *c, named: c.named.Edit()}
}

// changeTerms puts the terms of these objects in the place of those. Where they are the same, the
// name is found by them already.
func (e *collectionEdit[T, P]) changeTerms(oldObjs, newObjs []P) {
	if slices.Equal(e.termsOfAll(oldObjs), e.termsOfAll(newObjs)) {
		return
	}
	if e.terms == nil {
		e.terms = e.next.terms.Edit()
	}
	for _, o := range oldObjs {
		e.terms.Delete(o)
	}
	for _, o := range newObjs {
		e.terms.Put(o)
	}
}

func (e *collectionEdit[T, P]) termsOfAll(objects []P) []uint64 {
	var terms []uint64
	for _, o := range objects {
		e.next.termsOf(o, func(term uint64) { terms = append(terms, term) })
	}
	return terms
}

// replace puts these objects in the place of those of their name.
func (e *collectionEdit[T, P]) replace(name types.NamespacedName, newObjs []P) {
	var oldObjs []P
	several := e.next.ambiguous(name)
	if several {
		oldObjs, _ = e.next.several.Get(name)
	} else if o := e.named.Find(name); o != nil {
		oldObjs = []P{o}
	}
	if len(oldObjs)+len(newObjs) == 0 {
		return
	}
	if several {
		e.next.several = e.next.several.Without(name)
	}
	switch len(newObjs) {
	case 0:
		e.named.Delete(name)
	case 1:
		e.named.Put(newObjs[0])
	default:
		e.named.Delete(name)
		e.next.several = e.next.several.With(name, newObjs)
	}
	e.changeTerms(oldObjs, newObjs)
	e.next.size += len(newObjs) - len(oldObjs)
	e.next.changes++
	e.changes = append(e.changes, change[P]{oldObjs, newObjs})
}

// fewChanges are too few to make the collection anew for.
const fewChanges = 64

func (e *collectionEdit[T, P]) collection() *collection[T, P] {
	next := &e.next
	next.named = e.named.Objects()
	if e.terms != nil {
		next.terms = e.terms.Terms()
	}
	if next.size > 0 && (next.changes < fewChanges || next.changes < next.size/2) {
		return next
	}
	// What was replaced or taken away since the last pass is still in memory. A pass now bounds that, and
	// costs less than the changes before it did.
	return next.made(slices.AppendSeq(make([]P, 0, next.size), next.all()))
}

// all are the objects, those of one name included.
func (c *collection[T, P]) all() iter.Seq[P] {
	return func(yield func(P) bool) {
		for o := range c.named.All() {
			if !yield(o) {
				return
			}
		}
		for _, versions := range c.several.All() {
			for _, o := range versions {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// note adds what is wrong with the objects as a whole: nil and nameless ones.
func (c *collection[T, P]) note(problems *snapshot.Problems) {
	if c.missing {
		problems.Add(&purekube.ObjectError{Kind: c.kind, Err: purekube.ErrNil})
	}
	if c.nameless {
		problems.Add(snapshot.NamelessError(c.kind))
	}
}

// noteSeveral adds an error for each name that several objects have.
func (c *collection[T, P]) noteSeveral(problems *snapshot.Problems) {
	for name := range c.several.All() {
		problems.Add(snapshot.DuplicateError(c.kind, name))
	}
}
