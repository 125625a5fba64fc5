package disruption

import (
	"iter"

	"github.com/purekube/purekube/internal/persistent"
)

// lazyEdit is an edit of a map that begins with the first change: most events change few of the maps of
// an index.
type lazyEdit[K, V any] struct {
	from *persistent.Map[K, V]
	edit *persistent.Edit[K, V]
}

func lazily[K, V any](from *persistent.Map[K, V]) lazyEdit[K, V] { return lazyEdit[K, V]{from: from} }

func (e *lazyEdit[K, V]) begin() *persistent.Edit[K, V] {
	if e.edit == nil {
		e.edit = e.from.Edit()
	}
	return e.edit
}

func (e *lazyEdit[K, V]) get(key K) (V, bool) {
	if e.edit != nil {
		return e.edit.Get(key)
	}
	return e.from.Get(key)
}

// any reports whether there may be entries.
func (e *lazyEdit[K, V]) any() bool { return e.edit != nil || e.from.Len() > 0 }

func (e *lazyEdit[K, V]) set(key K, value V) { e.begin().Set(key, value) }

func (e *lazyEdit[K, V]) delete(key K) {
	if _, there := e.get(key); there {
		e.begin().Delete(key)
	}
}

func (e *lazyEdit[K, V]) since(key K) iter.Seq2[K, V] {
	if e.edit != nil {
		return e.edit.From(key)
	}
	return e.from.From(key)
}

func (e *lazyEdit[K, V]) result() *persistent.Map[K, V] {
	if e.edit == nil {
		return e.from
	}
	return e.edit.Map()
}
