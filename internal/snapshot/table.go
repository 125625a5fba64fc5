package snapshot

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// Table finds objects by namespace and name. It is a hash table of positions, with eight bytes for each object and as
// many spare bytes. It copies no names, so it fits into the processor's cache where a map of 100,000 names does not.
// Names are compared, so the hash affects only the speed.
type Table[T any, P Object[T]] struct {
	kind    string
	objects []P
	// cluster reports that the kind has no namespaces. If an object has a namespace anyway, it is ignored.
	cluster bool
	seed    maphash.Seed
	slots   []slot
	// ambiguous are the names that several objects have. Find does not find them.
	ambiguous map[types.NamespacedName]bool
}

// slot says where an object is. The zero slot is free.
type slot struct {
	position int32 // in objects, counted from 1
	tag      uint32
}

// NewTable returns a table of the objects of a kind, none of which may be nil. It keeps the slice and never writes to
// it.
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
		at, tag, taken := t.search(t.Hash(key), key)
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

// With returns a table of other objects of the same kind.
func (t *Table[T, P]) With(objects []P) *Table[T, P] { return newTable(t.kind, objects, t.cluster) }

// KeyOf returns the key of an object in this table.
func (t *Table[T, P]) KeyOf(o P) types.NamespacedName {
	if t.cluster {
		return types.NamespacedName{Name: o.GetName()}
	}
	return KeyOf(o)
}

// Hash returns the hash of a name. It is the same for the same name in one table, and different in different tables.
func (t *Table[T, P]) Hash(key types.NamespacedName) uint64 {
	hash := maphash.String(t.seed, key.Name)
	if key.Namespace != "" {
		hash += 31 * maphash.String(t.seed, key.Namespace)
	}
	return hash
}

// search returns the slot of the name with this hash, or the free slot where the name belongs.
func (t *Table[T, P]) search(hash uint64, key types.NamespacedName) (at uint64, tag uint32, taken bool) {
	mask := uint64(len(t.slots) - 1)
	tag = uint32(hash >> 32)
	for at = hash & mask; t.slots[at].position != 0; at = (at + 1) & mask {
		if t.slots[at].tag != tag {
			continue
		}
		if o := t.objects[t.slots[at].position-1]; o.GetName() == key.Name &&
			(t.cluster || o.GetNamespace() == key.Namespace) {
			return at, tag, true
		}
	}
	return at, tag, false
}

// Find returns the object of that name, or nil if none or several have the name.
func (t *Table[T, P]) Find(key types.NamespacedName) P {
	if position, found := t.Position(t.Hash(key), key); found && !t.Ambiguous(key) {
		return t.objects[position]
	}
	return nil
}

// Position returns where in the slice the object of the name with this hash is: the first one, if several have it.
func (t *Table[T, P]) Position(hash uint64, key types.NamespacedName) (position int, found bool) {
	at, _, found := t.search(hash, key)
	return int(t.slots[at].position) - 1, found
}

// At returns the object at a position in the slice.
func (t *Table[T, P]) At(position int) P { return t.objects[position] }

// Ambiguous reports whether several objects have that name.
func (t *Table[T, P]) Ambiguous(key types.NamespacedName) bool {
	return len(t.ambiguous) > 0 && t.ambiguous[key]
}

// AnyAmbiguous reports whether any name is ambiguous.
func (t *Table[T, P]) AnyAmbiguous() bool { return len(t.ambiguous) > 0 }

// Duplicates returns an error for each name that several objects have, in no particular order.
func (t *Table[T, P]) Duplicates() []*purekube.ObjectError {
	var found []*purekube.ObjectError
	for key := range t.ambiguous {
		found = append(found, DuplicateError(t.kind, key))
	}
	return found
}

// Len returns the number of objects. Objects of the same name all count.
func (t *Table[T, P]) Len() int { return len(t.objects) }

// All returns all objects, also of ambiguous names, in the order of the slice.
func (t *Table[T, P]) All() iter.Seq[P] { return slices.Values(t.objects) }
