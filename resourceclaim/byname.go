package resourceclaim

import (
	"hash/maphash"
	"math/bits"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/snapshot"
)

// byName finds objects by namespace and name. It is a hash table of positions, eight bytes for
// each object and as many spare: it copies no names, and stays in the processor's cache where a
// map of 100,000 names does not. Names are compared, so that the hash decides about speed only.
type byName[T any, P snapshot.Object[T]] struct {
	objects []P
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

// indexByName indexes objects, none of which is nil.
func indexByName[T any, P snapshot.Object[T]](objects []P) *byName[T, P] {
	n := &byName[T, P]{
		objects: objects,
		seed:    maphash.MakeSeed(),
		// At least half of the slots stay free, so that a search ends soon, and at least one.
		slots: make([]slot, 1<<bits.Len(uint(2*len(objects)))),
	}
	for i, o := range objects {
		name := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
		at, tag, taken := n.search(name)
		if !taken {
			n.slots[at] = slot{position: int32(i + 1), tag: tag}
			continue
		}
		if n.ambiguous == nil {
			n.ambiguous = map[types.NamespacedName]bool{}
		}
		n.ambiguous[name] = true
	}
	return n
}

// search returns the slot that holds the name, or else the free one where it belongs.
func (n *byName[T, P]) search(name types.NamespacedName) (at uint64, tag uint32, taken bool) {
	h := maphash.String(n.seed, name.Name) + 31*maphash.String(n.seed, name.Namespace)
	mask := uint64(len(n.slots) - 1)
	tag = uint32(h >> 32)
	for at = h & mask; n.slots[at].position != 0; at = (at + 1) & mask {
		if n.slots[at].tag != tag {
			continue
		}
		if o := n.objects[n.slots[at].position-1]; o.GetName() == name.Name && o.GetNamespace() == name.Namespace {
			return at, tag, true
		}
	}
	return at, tag, false
}

// find returns the only object of that name, or nil.
func (n *byName[T, P]) find(name types.NamespacedName) P {
	if at, _, taken := n.search(name); taken && !(len(n.ambiguous) > 0 && n.ambiguous[name]) {
		return n.objects[n.slots[at].position-1]
	}
	return nil
}
