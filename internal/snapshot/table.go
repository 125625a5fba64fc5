package snapshot

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// Table finds objects by namespace and name. It is a hash table of positions, eight bytes for
// each object and as many spare: it copies no names, and stays in the processor's cache where a
// map of 100,000 names does not. Names are compared, so that the hash decides about speed only.
type Table[T any, P Object[T]] struct {
	kind    string
	objects []P
	// cluster: the kind has no namespaces, and one that an object has all the same is passed over.
	cluster bool
	seed    maphash.Seed
	slots   []slot
	// ambiguous are the names that more than one object has. They are not found.
	ambiguous map[types.NamespacedName]bool
}

// slot says where an object is. The zero slot is free.
type slot struct {
	position int32 // in objects, counted from 1
	tag      uint32
}

// NewTable makes a table of the objects of a kind, none of which is nil. It keeps the slice and never writes to it.
func NewTable[T any, P Object[T]](kind string, objects []P) *Table[T, P] {
	return newTable(kind, objects, false)
}

// NewClusterTable is NewTable for a kind that has no namespaces: the name alone is the key of an object.
func NewClusterTable[T any, P Object[T]](kind string, objects []P) *Table[T, P] {
	return newTable(kind, objects, true)
}

func newTable[T any, P Object[T]](kind string, objects []P, cluster bool) *Table[T, P] {
	t := &Table[T, P]{
		kind:    kind,
		objects: objects,
		cluster: cluster,
		seed:    maphash.MakeSeed(),
		// At least half of the slots stay free, so that a search ends soon, and at least one.
		slots: make([]slot, 1<<bits.Len(uint(2*len(objects)))),
	}
	for i, o := range objects {
		key := t.KeyOf(o)
		at, tag, taken := t.search(key)
		if !taken {
			t.slots[at] = slot{position: int32(i + 1), tag: tag}
			continue
		}
		if t.ambiguous == nil {
			t.ambiguous = map[types.NamespacedName]bool{}
		}
		t.ambiguous[key] = true
	}
	return t
}

// With makes a table of other objects of the same kind.
func (t *Table[T, P]) With(objects []P) *Table[T, P] { return newTable(t.kind, objects, t.cluster) }

// KeyOf is the key of an object in this table.
func (t *Table[T, P]) KeyOf(o P) types.NamespacedName {
	if t.cluster {
		return types.NamespacedName{Name: o.GetName()}
	}
	return KeyOf(o)
}

// Hash is what the table sorts the name by: the same for the same name in one table, and another in another.
func (t *Table[T, P]) Hash(key types.NamespacedName) uint64 {
	return maphash.String(t.seed, key.Name) + 31*maphash.String(t.seed, key.Namespace)
}

// search returns the slot that holds the name, or else the free one where it belongs.
func (t *Table[T, P]) search(key types.NamespacedName) (at uint64, tag uint32, taken bool) {
	h := t.Hash(key)
	mask := uint64(len(t.slots) - 1)
	tag = uint32(h >> 32)
	for at = h & mask; t.slots[at].position != 0; at = (at + 1) & mask {
		if t.slots[at].tag != tag {
			continue
		}
		if o := t.objects[t.slots[at].position-1]; o.GetName() == key.Name && (t.cluster || o.GetNamespace() == key.Namespace) {
			return at, tag, true
		}
	}
	return at, tag, false
}

// Find returns the only object of that name, or nil.
func (t *Table[T, P]) Find(key types.NamespacedName) P {
	if i := t.Position(key); i >= 0 {
		return t.objects[i]
	}
	return nil
}

// Position returns where in the objects the only one of that name is, or -1.
func (t *Table[T, P]) Position(key types.NamespacedName) int {
	if at, _, taken := t.search(key); taken && !t.Ambiguous(key) {
		return int(t.slots[at].position) - 1
	}
	return -1
}

// At returns the object at a position that Position returned.
func (t *Table[T, P]) At(position int) P { return t.objects[position] }

// Ambiguous reports whether more than one object has that name.
func (t *Table[T, P]) Ambiguous(key types.NamespacedName) bool {
	return len(t.ambiguous) > 0 && t.ambiguous[key]
}

// AnyAmbiguous reports whether any name is ambiguous.
func (t *Table[T, P]) AnyAmbiguous() bool { return len(t.ambiguous) > 0 }

// Duplicates has an error for each name that more than one object has, in no particular order.
func (t *Table[T, P]) Duplicates() []*purekube.ObjectError {
	var found []*purekube.ObjectError
	for key := range t.ambiguous {
		found = append(found, DuplicateError(t.kind, key))
	}
	return found
}

// Len is the number of objects, those of one name included.
func (t *Table[T, P]) Len() int { return len(t.objects) }

// All returns all objects, those of one name included, in the order in which they came.
func (t *Table[T, P]) All() iter.Seq[P] { return slices.Values(t.objects) }
