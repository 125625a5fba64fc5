package persistent

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Objects are the objects of one kind, by namespace and name, in a collection that never changes.
//
// An object is found if no other one has its name. If several objects have one name, it is unknown which of them is
// the real one: they are kept as versions of an ambiguous name. Nil pointers and objects without a name are only in the
// collection's problems, and stay there.
//
// NewObjects is one pass over a slice. With and Without cost O(log n) for each object. The collection is rebuilt in
// one pass when n/2 objects, at least 64, have changed since the last pass, so one change in n/2 costs O(n). Until
// then, replaced and removed objects stay in memory: at most n/2 objects, or 64. When all objects are removed, none
// stay. Any number of collections may be made from one: see renewal.
//
// A package keeps the values that it derives from the objects, for example parsed fields, beside the collection under
// the same names, and updates them from the changes that With and Without return. It keeps a few values in a [Map],
// with [Follow]. It keeps a value for each of many objects in other Objects, whose elements embed the API object, with
// Edit. Use a [TermIndex] to find objects by their fields.
type Objects[T any, P snapshot.Object[T]] struct {
	kind string
	// cluster reports that the kind has no namespaces. If an object has a namespace anyway, it is ignored.
	cluster bool
	base    *pass[T, P]
	// changed holds the names that were changed since the last pass, each with its only object, nil if it has none now,
	// or several.
	changed *Map[types.NamespacedName, P]
	// several holds the objects of the ambiguous names.
	several *Map[types.NamespacedName, []P]
	// unique is the number of names that one object has, twins how many objects of base beyond the first of
	// their name were replaced or taken away.
	unique, twins int
	// hasNil: a nil pointer was handed in. nameless are the namespaces of the objects without a name that were,
	// sorted. The slice is shared with other collections.
	hasNil   bool
	nameless []string
	// renewal is nil while few objects have changed since the last pass.
	renewal *renewal[T, P]
}

// pass has the objects that a collection had when all were last looked at. It is never written to afterwards.
type pass[T any, P snapshot.Object[T]] struct {
	list []P
	// only finds the only object of a name. It has nil for a name that several objects have.
	only map[types.NamespacedName]P
}

func (p *pass[T, P]) anyAmbiguous() bool { return len(p.only) < len(p.list) }

// ambiguous reports whether several objects had that name.
func (p *pass[T, P]) ambiguous(name types.NamespacedName) bool {
	if !p.anyAmbiguous() {
		return false
	}
	object, known := p.only[name]
	return known && object == nil
}

// renewal belongs to a collection in which n/4 objects have changed since the last pass. The collections that are made
// from it share one new pass. Otherwise, each would soon make its own: a search that tries a hundred changes of a
// collection close to n/2 would make a hundred passes. The first of them does without, so that one change after the
// other costs a pass only at n/2.
type renewal[T any, P snapshot.Object[T]] struct {
	mu     sync.Mutex
	edited bool
	made   *Objects[T, P]
}

// next is what a collection that is made from o begins with: o in the new pass, or, for the first one, o as it is.
func (r *renewal[T, P]) next(o Objects[T, P]) Objects[T, P] {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.renewal = nil // it is of the collection before
	if !r.edited {
		r.edited = true
		return o
	}
	if r.made == nil {
		r.made = o.inNewPass()
	}
	next := *r.made
	next.hasNil, next.nameless = o.hasNil, o.nameless
	return next
}

// madeFor returns o in the new pass that another collection was made from, or nil if that one has another pass.
func (r *renewal[T, P]) madeFor(other *Objects[T, P]) *Objects[T, P] {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made == nil || r.made.base != other.base {
		return nil
	}
	return r.made
}

// Change is a change of a name: the objects that had the name before, and the objects that have it after. Each list
// has no object, one object, or several if the name is ambiguous. At least one of the lists is not empty.
type Change[P any] struct {
	Name          types.NamespacedName
	Before, After []P
}

// Only returns the only object before and the only one after; nil where there is none, or where there are several.
func (c Change[P]) Only() (before, after P) { return only(c.Before), only(c.After) }

// Ambiguous reports whether there are several objects before or after.
func (c Change[P]) Ambiguous() bool { return len(c.Before) > 1 || len(c.After) > 1 }

func only[P any](list []P) (object P) {
	if len(list) == 1 {
		object = list[0]
	}
	return object
}

// CompareNames sorts by namespace, then by name.
func CompareNames(a, b types.NamespacedName) int {
	if a.Namespace != b.Namespace {
		return strings.Compare(a.Namespace, b.Namespace)
	}
	return strings.Compare(a.Name, b.Name)
}

// fewChanges are too few to make a new pass for.
const fewChanges = 64

// NewObjects returns the collection of the objects in a slice of a snapshot. Nil pointers, objects without a name
// and several objects of one name may be in it. The slice is not kept.
func NewObjects[T any, P snapshot.Object[T]](kind string, list []P) *Objects[T, P] {
	o := &Objects[T, P]{kind: kind}
	return o.arranged(o.named(list))
}

// NewClusterObjects is NewObjects for a kind that has no namespaces: the namespace of a name is empty, and the
// namespace of an object that has one is ignored.
func NewClusterObjects[T any, P snapshot.Object[T]](kind string, list []P) *Objects[T, P] {
	o := &Objects[T, P]{kind: kind, cluster: true}
	return o.arranged(o.named(list))
}

// keyOf is the name of an object in this collection.
func (o *Objects[T, P]) keyOf(object P) types.NamespacedName {
	if o.cluster {
		return types.NamespacedName{Name: object.GetName()}
	}
	return snapshot.KeyOf(object)
}

// named returns the objects that have a name, in a slice of its own, and notes if others were among them.
func (o *Objects[T, P]) named(list []P) []P {
	named := make([]P, 0, len(list))
	for _, object := range list {
		switch {
		case object == nil:
			o.hasNil = true
		case object.GetName() == "":
			namespace := o.keyOf(object).Namespace
			if at, known := slices.BinarySearch(o.nameless, namespace); !known {
				o.nameless = slices.Insert(slices.Clone(o.nameless), at, namespace)
			}
		default:
			named = append(named, object)
		}
	}
	return named
}

// arranged gives a new collection these objects, all of which have a name. It keeps the list.
func (o *Objects[T, P]) arranged(list []P) *Objects[T, P] {
	o.base = &pass[T, P]{list, make(map[types.NamespacedName]P, len(list))}
	several := NewMap[types.NamespacedName, []P](CompareNames).Edit()
	for _, object := range list {
		name := o.keyOf(object)
		switch first, known := o.base.only[name]; {
		case !known:
			o.base.only[name] = object
		case first != nil:
			o.base.only[name] = nil
			several.Set(name, []P{first, object})
		default:
			versions, _ := several.Get(name)
			several.Set(name, append(versions, object))
		}
	}
	o.changed, o.several = NewMap[types.NamespacedName, P](CompareNames), several.Map()
	o.unique, o.twins, o.renewal = len(o.base.only)-o.several.Len(), 0, nil
	return o
}

// inNewPass returns the same collection, which keeps no object in memory that it does not find.
func (o *Objects[T, P]) inNewPass() *Objects[T, P] {
	next := *o
	return next.arranged(slices.AppendSeq(make([]P, 0, o.Len()), o.AllVersions()))
}

// Len is the number of names. A name that several objects have counts once.
func (o *Objects[T, P]) Len() int { return o.unique + o.several.Len() }

// Find returns the only object of that name; nil if there is none, or if there are several.
func (o *Objects[T, P]) Find(name types.NamespacedName) (object P) {
	if o.changed.Len() > 0 {
		if object, changed := o.changed.Get(name); changed {
			return object
		}
	}
	return o.base.only[name]
}

// Lookup is Find, with the error for a name that several objects have.
func (o *Objects[T, P]) Lookup(name types.NamespacedName) (P, *purekube.ObjectError) {
	object := o.Find(name)
	if object == nil && o.Ambiguous(name) {
		return nil, snapshot.DuplicateError(o.kind, name)
	}
	return object, nil
}

// Ambiguous reports whether several objects have that name.
func (o *Objects[T, P]) Ambiguous(name types.NamespacedName) bool {
	if !o.AnyAmbiguous() {
		return false
	}
	_, ambiguous := o.several.Get(name)
	return ambiguous
}

// AnyAmbiguous reports whether several objects have any name.
func (o *Objects[T, P]) AnyAmbiguous() bool { return o.several.Len() > 0 }

// Versions returns all objects of that name. The slice must not be written to.
func (o *Objects[T, P]) Versions(name types.NamespacedName) []P {
	if object := o.Find(name); object != nil {
		return []P{object}
	}
	versions, _ := o.several.Get(name)
	return versions
}

// All returns the objects that Find finds, each once, in no particular order.
func (o *Objects[T, P]) All() iter.Seq[P] {
	return func(yield func(P) bool) {
		for _, object := range o.changed.All() {
			if object != nil && !yield(object) {
				return
			}
		}
		same := o.changed.Len() == 0 && !o.base.anyAmbiguous()
		for _, object := range o.base.list {
			if !same {
				name := o.keyOf(object)
				if _, changed := o.changed.Get(name); changed || o.base.ambiguous(name) {
					continue
				}
			}
			if !yield(object) {
				return
			}
		}
	}
}

// AllVersions returns all objects that have a name, in no particular order.
func (o *Objects[T, P]) AllVersions() iter.Seq[P] {
	return func(yield func(P) bool) {
		for object := range o.All() {
			if !yield(object) {
				return
			}
		}
		for _, versions := range o.several.All() {
			for _, object := range versions {
				if !yield(object) {
					return
				}
			}
		}
	}
}

// AmbiguousNames returns the names that several objects have, sorted, each with these objects. The slices must not be
// written to.
func (o *Objects[T, P]) AmbiguousNames() iter.Seq2[types.NamespacedName, []P] { return o.several.All() }

// AmbiguousIn returns the names of a namespace that several objects have, sorted, each with these objects. The
// slices must not be written to.
func (o *Objects[T, P]) AmbiguousIn(namespace string) iter.Seq2[types.NamespacedName, []P] {
	return func(yield func(types.NamespacedName, []P) bool) {
		if !o.AnyAmbiguous() {
			return
		}
		for name, versions := range o.several.From(types.NamespacedName{Namespace: namespace}) {
			if name.Namespace != namespace || !yield(name, versions) {
				return
			}
		}
	}
}

// Duplicates has an error for each name that several objects have, sorted by name. The errors are the caller's.
func (o *Objects[T, P]) Duplicates() []*purekube.ObjectError {
	var found []*purekube.ObjectError
	for name := range o.several.All() {
		found = append(found, snapshot.DuplicateError(o.kind, name))
	}
	return found
}

// AddTo adds what is wrong with the slices as a whole to problems: nil pointers and objects without a name.
func (o *Objects[T, P]) AddTo(problems *snapshot.Problems) {
	if o.hasNil {
		problems.Add(o.nilError())
	}
	if len(o.nameless) > 0 {
		problems.Add(snapshot.NamelessError(o.kind))
	}
}

// AddDuplicatesTo adds the errors of Duplicates to problems.
func (o *Objects[T, P]) AddDuplicatesTo(problems *snapshot.Problems) {
	problems.Add(o.Duplicates()...)
}

// Unnamed is an error if objects of the namespace were handed in that cannot be named, and nil otherwise. A nil
// pointer may be in place of an object of any namespace, and is reported before objects without a name.
func (o *Objects[T, P]) Unnamed(namespace string) *purekube.ObjectError {
	if o.hasNil {
		return o.nilError()
	}
	if _, nameless := slices.BinarySearch(o.nameless, namespace); nameless {
		return snapshot.NamelessError(o.kind)
	}
	return nil
}

// MoreUnnamed reports whether Unnamed may differ from what it was before, for any namespace: since before, the first
// nil pointer was handed in, or the first object without a name of a namespace.
func (o *Objects[T, P]) MoreUnnamed(before *Objects[T, P]) bool {
	return o.hasNil != before.hasNil || len(o.nameless) != len(before.nameless)
}

func (o *Objects[T, P]) nilError() *purekube.ObjectError {
	return &purekube.ObjectError{Kind: o.kind, Err: purekube.ErrNil}
}

// Changed is With if keep is true, and Without otherwise.
func (o *Objects[T, P]) Changed(by []P, keep bool) (next *Objects[T, P], changes []Change[P]) {
	if keep {
		return o.With(by)
	}
	return o.Without(by)
}

// With returns the collection in which these objects replace the objects of the same names, and the changes, sorted by
// name. If changed has several objects of one name, that name becomes ambiguous.
func (o *Objects[T, P]) With(changed []P) (next *Objects[T, P], changes []Change[P]) {
	if len(changed) == 0 {
		return o, nil
	}
	noted := *o
	return noted.replaced(noted.named(changed), true)
}

// Without returns the collection without the objects of these names, and the changes, sorted by name. Nil pointers,
// objects without a name and names that are not there change nothing.
func (o *Objects[T, P]) Without(gone []P) (next *Objects[T, P], changes []Change[P]) {
	if len(gone) == 0 {
		return o, nil
	}
	scratch := *o
	return o.replaced(scratch.named(gone), false)
}

// replaced puts the objects, all of which have a name, or removes the objects of their names.
func (o *Objects[T, P]) replaced(by []P, keep bool) (*Objects[T, P], []Change[P]) {
	slices.SortStableFunc(by, func(a, b P) int { return CompareNames(o.keyOf(a), o.keyOf(b)) })
	e := o.Edit()
	changes := make([]Change[P], 0, len(by))
	for i := 0; i < len(by); {
		c := Change[P]{Name: o.keyOf(by[i])}
		n := 1
		for i+n < len(by) && o.keyOf(by[i+n]) == c.Name {
			n++
		}
		if keep {
			// A slice of its own: the collection may keep it for longer than the others.
			c.After = slices.Clone(by[i : i+n])
		}
		if object, versions := e.replace(c.Name, only(c.After), c.After); object != nil {
			c.Before = []P{object}
		} else {
			c.Before = versions
		}
		if len(c.Before)+len(c.After) > 0 {
			changes = append(changes, c)
		}
		i += n
	}
	return e.Objects(), changes
}

// Edit begins a number of changes that make one other collection.
func (o *Objects[T, P]) Edit() *ObjectsEdit[T, P] {
	return &ObjectsEdit[T, P]{next: *o}
}

// ObjectsEdit is a collection of objects in the making. It belongs to one goroutine.
type ObjectsEdit[T any, P snapshot.Object[T]] struct {
	next Objects[T, P]
	// changed is the map of this name in next in the making. Nil: it has not changed.
	changed *Edit[types.NamespacedName, P]
}

// Find returns the only object of that name as the changes so far leave it, or nil.
func (e *ObjectsEdit[T, P]) Find(name types.NamespacedName) P { return e.next.Find(name) }

// Put adds the object, which replaces all objects of its name.
func (e *ObjectsEdit[T, P]) Put(object P) {
	e.replace(e.next.keyOf(object), object, nil)
}

// Delete removes the objects of that name, if there are any.
func (e *ObjectsEdit[T, P]) Delete(name types.NamespacedName) { e.replace(name, nil, nil) }

// replace replaces the objects of that name by one object, or by several, whose slice it keeps. It returns the
// replaced objects: the only object, or the versions.
func (e *ObjectsEdit[T, P]) replace(name types.NamespacedName, by P, several []P) (object P, versions []P) {
	if r := e.next.renewal; r != nil {
		e.next = r.next(e.next)
	}
	first, inBase := e.next.base.only[name]
	object, touched := e.next.changed.Get(name)
	if !touched {
		object = first
	}
	if object != nil {
		e.next.unique--
	} else if e.next.AnyAmbiguous() {
		if versions, _ = e.next.several.Get(name); versions != nil {
			e.next.several = e.next.several.Without(name)
		}
		if inBase && !touched {
			e.next.twins += len(versions) - 1
		}
	}
	if by != nil {
		e.next.unique++
	}
	if by != nil || object != nil || inBase {
		if e.changed == nil {
			e.changed = e.next.changed.Edit()
			e.next.changed = e.changed.next
		}
		if by != nil || inBase {
			e.changed.Set(name, by)
		} else {
			e.changed.Delete(name)
		}
	}
	if len(several) > 1 {
		e.next.several = e.next.several.With(name, several)
	}
	return object, versions
}

// Objects returns the collection that the changes make, and ends the edit: it cannot be used any more.
func (e *ObjectsEdit[T, P]) Objects() *Objects[T, P] {
	next := e.next
	// base keeps objects in memory that were replaced or taken away since, so this bounds how many of them there
	// are, too.
	old, had := next.changed.Len()+next.twins, len(next.base.list)
	switch empty := next.Len() == 0 && had > 0; {
	case empty, old >= max(fewChanges, had/2):
		return next.inNewPass()
	case next.renewal == nil && old >= max(fewChanges, had/4):
		next.renewal = &renewal[T, P]{}
	}
	return &next
}

// Follow returns the values that are kept by the names of objects, after these changes: of gives the value of an
// object, and whether there is one. A name that several objects have has none.
func Follow[V, P any](
	values *Map[types.NamespacedName, V], changes []Change[P], of func(P) (value V, there bool),
) *Map[types.NamespacedName, V] {
	if len(changes) == 0 {
		return values
	}
	e := values.Edit()
	for _, c := range changes {
		var value V
		there := len(c.After) == 1
		if there {
			value, there = of(c.After[0])
		}
		if there {
			e.Set(c.Name, value)
		} else if len(c.Before) > 0 {
			e.Delete(c.Name)
		}
	}
	return e.Map()
}
