package persistent

import (
	"iter"
	"slices"
)

// Sorted holds values in the order of their keys, in a collection that never changes. Several values may have one key.
// The values lie in chunks: one takes little more memory than in a slice, and a change costs O(log n) and the copy of a
// chunk. A key is computed from its value whenever it is needed.
type Sorted[K, V any] struct {
	key     func(V) K
	compare func(a, b K) int
	// chunks are in the order of their values, each under the least key that it may hold. The first one is under the
	// zero K. Values of one key are in one chunk.
	chunks *Map[K, []V]
}

// A new chunk holds chunkSize values, and is divided when it holds twice as many. A change copies a chunk, so a small
// one makes changes cheap; a large one makes the map over the chunks small.
const chunkSize = 128

// NewSorted returns the collection of the values, which are in the order of their keys. No key is before the zero K.
// The slice is not kept.
func NewSorted[K, V any](values []V, key func(V) K, compare func(a, b K) int) *Sorted[K, V] {
	s := &Sorted[K, V]{key: key, compare: compare}
	chunks := NewMap[K, []V](compare).Edit()
	var least K
	for {
		end := s.chunkEnd(values)
		// A copy, since a part of the slice would keep all of its values in memory.
		chunks.Set(least, slices.Clone(values[:end]))
		if values = values[end:]; len(values) == 0 {
			break
		}
		least = key(values[0])
	}
	s.chunks = chunks.Map()
	return s
}

// chunkEnd is the first place from chunkSize on where the values of one key end.
func (s *Sorted[K, V]) chunkEnd(values []V) int {
	end := min(chunkSize, len(values))
	for end < len(values) && s.compare(s.key(values[end-1]), s.key(values[end])) == 0 {
		end++
	}
	return end
}

// place is where in a chunk, whose values have the key least or come after it, the values from the key on begin.
func (s *Sorted[K, V]) place(chunk []V, least, key K) int {
	if s.compare(least, key) == 0 {
		return 0 // computes no keys
	}
	at, _ := slices.BinarySearchFunc(chunk, key, func(v V, key K) int { return s.compare(s.key(v), key) })
	return at
}

// From returns the values whose key is this one or comes after it, in their order.
func (s *Sorted[K, V]) From(key K) iter.Seq[V] {
	return func(yield func(V) bool) {
		least, _, _ := s.chunks.Floor(key)
		first := true
		for _, chunk := range s.chunks.From(least) {
			if first {
				chunk, first = chunk[s.place(chunk, least, key):], false
			}
			for _, v := range chunk {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// Edit begins a number of changes that make one other collection.
func (s *Sorted[K, V]) Edit() *SortedEdit[K, V] { return &SortedEdit[K, V]{*s, s.chunks.Edit()} }

// SortedEdit is a sorted collection in the making. It belongs to one goroutine.
type SortedEdit[K, V any] struct {
	from   Sorted[K, V]
	chunks *Edit[K, []V]
}

// Replace replaces the values of this key by these values, all of which have this key. It returns the replaced values,
// which must not be written to.
func (e *SortedEdit[K, V]) Replace(key K, by ...V) (replaced []V) {
	least, chunk, _ := e.chunks.Floor(key)
	at := e.from.place(chunk, least, key)
	end := at
	for end < len(chunk) && e.from.compare(e.from.key(chunk[end]), key) == 0 {
		end++
	}
	replaced = chunk[at:end:end]
	if len(replaced)+len(by) == 0 {
		return nil
	}
	next := slices.Concat(chunk[:at], by, chunk[end:])
	if size := e.from.chunkEnd(next); len(next) >= 2*chunkSize && size < len(next) {
		e.chunks.Set(e.from.key(next[size]), slices.Clone(next[size:]))
		next = next[:size:size]
	}
	// Values that are added here later go into the previous chunk, so an empty chunk is useful only at the beginning.
	var zero K
	if len(next) == 0 && e.from.compare(least, zero) != 0 {
		e.chunks.Delete(least)
	} else {
		e.chunks.Set(least, next)
	}
	return replaced
}

// Sorted returns the collection that the changes make, and ends the edit: it cannot be used any more.
func (e *SortedEdit[K, V]) Sorted() *Sorted[K, V] {
	next := e.from
	next.chunks = e.chunks.Map()
	return &next
}
