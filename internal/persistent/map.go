// Package persistent has collections that never change. A change returns another collection, which shares all
// unchanged data with the previous collection.
package persistent

import "iter"

// Map is a sorted map that never changes. Reading needs O(log n) and no lock. Any number of
// goroutines may read one Map and derive others from it at the same time.
type Map[K, V any] struct {
	compare func(a, b K) int
	root    *node[K, V]
}

// NewMap returns the empty map whose keys are sorted by compare.
func NewMap[K, V any](compare func(a, b K) int) *Map[K, V] { return &Map[K, V]{compare: compare} }

// Len is the number of entries.
func (m *Map[K, V]) Len() int { return m.root.weight() - 1 }

// Get returns the value of the key, and whether there is one.
func (m *Map[K, V]) Get(key K) (value V, found bool) {
	if n := m.root.find(key, m.compare); n != nil {
		return n.value, true
	}
	return value, false
}

// All returns the entries in the order of their keys.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.each(yield) }
}

// From returns the entries from key on, that one included, in the order of their keys.
func (m *Map[K, V]) From(key K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.eachFrom(key, m.compare, yield) }
}

// Floor returns the last entry whose key is not after this one, and whether there is one.
func (m *Map[K, V]) Floor(key K) (at K, value V, found bool) {
	for n := m.root; n != nil; {
		if m.compare(key, n.key) < 0 {
			n = n.left
			continue
		}
		at, value, found = n.key, n.value, true
		n = n.right
	}
	return at, value, found
}

// Ceiling returns the first entry whose key is not before this one, and whether there is one.
func (m *Map[K, V]) Ceiling(key K) (at K, value V, found bool) {
	for n := m.root; n != nil; {
		if m.compare(key, n.key) > 0 {
			n = n.right
			continue
		}
		at, value, found = n.key, n.value, true
		n = n.left
	}
	return at, value, found
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
	return &Edit[K, V]{next: &Map[K, V]{compare: m.compare, root: m.root}, owner: &owner{}}
}

// Edit is a map in the making. It belongs to one goroutine.
type Edit[K, V any] struct {
	next  *Map[K, V]
	owner *owner
}

// Get returns the value of the key as the changes so far leave it.
func (e *Edit[K, V]) Get(key K) (V, bool) { return e.next.Get(key) }

// Floor is [Map.Floor] for the changes so far.
func (e *Edit[K, V]) Floor(key K) (at K, value V, found bool) { return e.next.Floor(key) }

// Ceiling is [Map.Ceiling] for the changes so far.
func (e *Edit[K, V]) Ceiling(key K) (at K, value V, found bool) { return e.next.Ceiling(key) }

// From is [Map.From] for the changes so far. The map must not be changed while it is read.
func (e *Edit[K, V]) From(key K) iter.Seq2[K, V] { return e.next.From(key) }

// Set gives the key this value.
func (e *Edit[K, V]) Set(key K, value V) {
	e.next.root = e.next.root.with(key, value, e.next.compare, e.owner)
}

// Delete takes the key out.
func (e *Edit[K, V]) Delete(key K) {
	if e.next.root.find(key, e.next.compare) != nil {
		e.next.root = e.next.root.without(key, e.next.compare, e.owner)
	}
}

// Map returns the map that the changes make, and ends the edit: it cannot be used any more.
func (e *Edit[K, V]) Map() *Map[K, V] {
	m := e.next
	e.next = nil
	return m
}
