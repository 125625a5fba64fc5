// Package persistent holds collections that never change. A change gives another collection,
// which shares with the one before whatever is the same in both.
package persistent

import (
	"iter"
	"sync"

	"github.com/purekube/purekube/internal/third_party/btree"
)

// degree of the trees. A change copies one node of up to 2×degree−1 entries on each level, so a
// smaller degree copies less and a larger one has fewer levels.
const degree = 12

// Map is a sorted map that never changes. Reading needs O(log n) and no lock. Any number of
// goroutines may read one Map and derive others from it at the same time.
type Map[K, V any] struct {
	compare func(a, b K) int
	// cloning is held while tree is cloned: a clone writes to the tree that it is made from.
	cloning sync.Mutex
	tree    *btree.BTree[entry[K, V]]
}

type entry[K, V any] struct {
	key   K
	value V
}

// NewMap returns the empty map whose keys are sorted by compare.
func NewMap[K, V any](compare func(a, b K) int) *Map[K, V] {
	less := func(a, b entry[K, V]) bool { return compare(a.key, b.key) < 0 }
	return &Map[K, V]{compare: compare, tree: btree.New(degree, less)}
}

// Len is the number of entries.
func (m *Map[K, V]) Len() int { return m.tree.Len() }

// Get returns the value of the key, and whether there is one.
func (m *Map[K, V]) Get(key K) (V, bool) {
	e, found := m.tree.Get(entry[K, V]{key: key})
	return e.value, found
}

// All returns the entries in the order of their keys.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		m.tree.Ascend(func(e entry[K, V]) bool { return yield(e.key, e.value) })
	}
}

// From returns the entries from key on, that one included, in the order of their keys.
func (m *Map[K, V]) From(key K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		m.tree.AscendGreaterOrEqual(entry[K, V]{key: key}, func(e entry[K, V]) bool { return yield(e.key, e.value) })
	}
}

// With returns the map with this value for the key. Several changes at once are cheaper by way of
// [Map.Edit].
func (m *Map[K, V]) With(key K, value V) *Map[K, V] {
	e := m.Edit()
	e.Set(key, value)
	return e.Map()
}

// Without returns the map without the key; the same map if it does not have it.
func (m *Map[K, V]) Without(key K) *Map[K, V] {
	if _, found := m.Get(key); !found {
		return m
	}
	e := m.Edit()
	e.Delete(key)
	return e.Map()
}

// Edit begins a number of changes that make one other map. It costs O(1), and each change
// O(log n).
func (m *Map[K, V]) Edit() *Edit[K, V] {
	m.cloning.Lock()
	defer m.cloning.Unlock()
	return &Edit[K, V]{next: &Map[K, V]{compare: m.compare, tree: m.tree.Clone()}}
}

// Edit is a map in the making. It belongs to one goroutine.
type Edit[K, V any] struct{ next *Map[K, V] }

// Get returns the value of the key as the changes so far leave it.
func (e *Edit[K, V]) Get(key K) (V, bool) { return e.next.Get(key) }

// From is [Map.From] for the changes so far. The map must not be changed while it is read.
func (e *Edit[K, V]) From(key K) iter.Seq2[K, V] { return e.next.From(key) }

// Set gives the key this value.
func (e *Edit[K, V]) Set(key K, value V) { e.next.tree.ReplaceOrInsert(entry[K, V]{key, value}) }

// Delete takes the key out.
func (e *Edit[K, V]) Delete(key K) { e.next.tree.Delete(entry[K, V]{key: key}) }

// Map returns the map that the changes make, and ends the edit: it cannot be used any more.
func (e *Edit[K, V]) Map() *Map[K, V] {
	m := e.next
	e.next = nil
	return m
}
