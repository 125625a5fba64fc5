package disruption

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// objects are those of one kind in an index.
type objects[T any, P snapshot.Object[T]] struct {
	kind string
	// unique are those whose name no other one has, double the others by name.
	unique *persistent.Objects[T, P]
	double *persistent.Map[types.NamespacedName, []P]
	// hasNil: a nil pointer was handed in. nameless are the namespaces of the objects without a name that were,
	// sorted. The slice is shared with other indexes.
	hasNil   bool
	nameless []string
}

// newObjects arranges the objects of a slice, and returns those that have a name.
func newObjects[T any, P snapshot.Object[T]](kind string, list []P) (objects[T, P], []P) {
	c := objects[T, P]{kind: kind, double: persistent.NewMap[types.NamespacedName, []P](persistent.CompareNames)}
	named := c.named(list)
	c.unique = persistent.NewObjects(kind, named)
	if len(c.unique.Duplicates()) > 0 {
		edit := c.double.Edit()
		for _, o := range named {
			if key := snapshot.KeyOf(o); c.unique.Ambiguous(key) {
				same, _ := edit.Get(key)
				edit.Set(key, append(same, o))
			}
		}
		c.double = edit.Map()
	}
	return c, named
}

// named returns the objects that have a name, in a slice of its own, and notes if others were among them.
func (c *objects[T, P]) named(list []P) []P {
	named := make([]P, 0, len(list))
	for _, o := range list {
		switch {
		case o == nil:
			c.hasNil = true
		case o.GetName() == "":
			if at, known := slices.BinarySearch(c.nameless, o.GetNamespace()); !known {
				c.nameless = slices.Insert(slices.Clone(c.nameless), at, o.GetNamespace())
			}
		default:
			named = append(named, o)
		}
	}
	return named
}

// Find returns the only object of that name, or nil.
func (c *objects[T, P]) Find(key types.NamespacedName) P {
	if c.ambiguous(key) {
		return nil
	}
	return c.unique.Find(key)
}

// find returns the only object of that name, or nil; and a problem if there is more than one.
func (c *objects[T, P]) find(key types.NamespacedName) (P, *purekube.ObjectError) {
	if c.ambiguous(key) {
		return nil, snapshot.DuplicateError(c.kind, key)
	}
	return c.unique.Find(key), nil
}

func (c *objects[T, P]) ambiguous(key types.NamespacedName) bool {
	if c.double.Len() == 0 {
		return false
	}
	_, found := c.double.Get(key)
	return found
}

// doubles are the objects of a namespace whose name another one has, by name.
func (c *objects[T, P]) doubles(namespace string) iter.Seq2[types.NamespacedName, []P] {
	return func(yield func(types.NamespacedName, []P) bool) {
		if c.double.Len() == 0 {
			return
		}
		for key, same := range c.double.From(types.NamespacedName{Namespace: namespace}) {
			if key.Namespace != namespace || !yield(key, same) {
				return
			}
		}
	}
}

// duplicates has an error for each name that more than one object has.
func (c *objects[T, P]) duplicates() []*purekube.ObjectError {
	var found []*purekube.ObjectError
	for key := range c.double.All() {
		found = append(found, snapshot.DuplicateError(c.kind, key))
	}
	return found
}

// addTo adds what is wrong with the objects as a whole to problems: nil pointers and objects without
// a name.
func (c *objects[T, P]) addTo(problems *snapshot.Problems) {
	if c.hasNil {
		problems.Add(c.nilError())
	}
	if len(c.nameless) > 0 {
		problems.Add(snapshot.NamelessError(c.kind))
	}
}

// unnamed is an error if objects of the namespace were handed in that cannot be named, and nil otherwise. A
// nil pointer may stand for an object of any namespace.
func (c *objects[T, P]) unnamed(namespace string) *purekube.ObjectError {
	if c.hasNil {
		return c.nilError()
	}
	if slices.Contains(c.nameless, namespace) {
		return snapshot.NamelessError(c.kind)
	}
	return nil
}

func (c *objects[T, P]) nilError() *purekube.ObjectError {
	return &purekube.ObjectError{Kind: c.kind, Err: purekube.ErrNil}
}

// change is what became of a name: the objects that had it before and after, none of them, one, or
// several where it is ambiguous.
type change[P any] struct{ before, after []P }

// with returns the objects with the changed ones added, or in the place of those of the same name.
func (c objects[T, P]) with(changed []P) (objects[T, P], []change[P]) {
	if len(changed) == 0 {
		return c, nil
	}
	return c.replaced(c.named(changed), true)
}

// without returns the objects without those of the same name as these.
func (c objects[T, P]) without(gone []P) (objects[T, P], []change[P]) {
	// Nil pointers and objects without a name cannot be gone.
	scratch := c
	gone = scratch.named(gone)
	return c.replaced(gone, false)
}

// replaced puts the objects, if there are any, or takes those of their names away.
func (c objects[T, P]) replaced(by []P, keep bool) (objects[T, P], []change[P]) {
	if len(by) == 0 {
		return c, nil
	}
	slices.SortStableFunc(by, func(a, b P) int { return persistent.CompareNames(snapshot.KeyOf(a), snapshot.KeyOf(b)) })
	unique, double := c.unique.Edit(), lazily(c.double)
	var changes []change[P]
	for i := 0; i < len(by); {
		key := snapshot.KeyOf(by[i])
		n := 1
		for i+n < len(by) && snapshot.KeyOf(by[i+n]) == key {
			n++
		}
		var x change[P]
		if same, found := double.get(key); found {
			x.before = same
			double.delete(key)
		} else if o := c.unique.Find(key); o != nil {
			x.before = []P{o}
		}
		switch {
		case !keep:
			unique.Delete(key)
		case n == 1:
			x.after = by[i : i+1 : i+1]
			unique.Put(by[i])
		default:
			x.after = slices.Clone(by[i : i+n])
			unique.Delete(key)
			double.set(key, x.after)
		}
		if len(x.before)+len(x.after) > 0 {
			changes = append(changes, x)
		}
		i += n
	}
	c.unique, c.double = unique.Objects(), double.result()
	return c, changes
}

// only is the object if there is exactly one.
func only[P any](list []P) P {
	var none P
	if len(list) == 1 {
		return list[0]
	}
	return none
}
