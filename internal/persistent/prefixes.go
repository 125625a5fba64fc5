package persistent

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// Prefixes holds values by prefixes of IP addresses, in a collection that never changes. All prefixes, also in
// questions, are masked. Of two prefixes, one contains the other or they have no address in common. Several values may
// have one prefix. They are in the order of a comparison, and values that it finds equal count as one.
type Prefixes[V any] struct {
	// entries are in an order in which what a prefix contains follows it directly.
	entries *Map[prefixed[V], V]
	// lengths counts the entries by length: the prefixes around another one are looked up by length.
	lengths *prefixLengths
}

// prefixed is a value with its prefix, or the place before or after all values of a prefix.
type prefixed[V any] struct {
	prefix netip.Prefix
	place  int8 // below, at or above 0: before the values, a value, after the values
	value  V
}

type prefixLengths struct {
	four [33]int32
	six  [129]int32
}

func (l *prefixLengths) of(p netip.Prefix) []int32 {
	if p.Addr().Is4() {
		return l.four[:]
	}
	return l.six[:]
}

// NewPrefixes returns the empty collection in which the values of one prefix are in the order of compare.
func NewPrefixes[V any](compare func(a, b V) int) *Prefixes[V] {
	return &Prefixes[V]{lengths: &prefixLengths{}, entries: NewMap[prefixed[V], V](func(a, b prefixed[V]) int {
		if c := ComparePrefixes(a.prefix, b.prefix); c != 0 {
			return c
		}
		if c := cmp.Compare(a.place, b.place); c != 0 || a.place != 0 {
			return c
		}
		return compare(a.value, b.value)
	})}
}

// ComparePrefixes orders masked prefixes by address, the shorter one first: what a prefix contains follows it directly.
func ComparePrefixes(a, b netip.Prefix) int {
	if c := a.Addr().Compare(b.Addr()); c != 0 {
		return c
	}
	return cmp.Compare(a.Bits(), b.Bits())
}

// Of returns the values of the prefix, in their order.
func (ps *Prefixes[V]) Of(p netip.Prefix) iter.Seq[V] {
	return ps.of(prefixed[V]{prefix: p, place: -1})
}

// From returns the values of the prefix from this one on, in their order.
func (ps *Prefixes[V]) From(p netip.Prefix, from V) iter.Seq[V] {
	return ps.of(prefixed[V]{prefix: p, value: from})
}

func (ps *Prefixes[V]) of(from prefixed[V]) iter.Seq[V] {
	return func(yield func(V) bool) {
		for at, value := range ps.entries.From(from) {
			if at.prefix != from.prefix || !yield(value) {
				return
			}
		}
	}
}

// Around returns the prefixes that contain the whole of p, p included, the longest first. Not all of them need have
// values.
func (ps *Prefixes[V]) Around(p netip.Prefix) iter.Seq[netip.Prefix] {
	return func(yield func(netip.Prefix) bool) {
		counts := ps.lengths.of(p)
		for bits := p.Bits(); bits >= 0; bits-- {
			if counts[bits] > 0 && !yield(netip.PrefixFrom(p.Addr(), bits).Masked()) {
				return
			}
		}
	}
}

// Inside returns the longer prefixes that lie in p and have values, each once, what a prefix contains after it.
func (ps *Prefixes[V]) Inside(p netip.Prefix) iter.Seq[netip.Prefix] {
	return func(yield func(netip.Prefix) bool) {
		for from := (prefixed[V]{prefix: p, place: 1}); ; {
			next, _, found := ps.entries.Ceiling(from)
			if !found || !p.Contains(next.prefix.Addr()) || !yield(next.prefix) {
				return
			}
			from.prefix = next.prefix
		}
	}
}

// Overlapping returns the values of the prefixes that have addresses in common with one of these. The values of a
// prefix come once, so that many prefixes cost no more than all values and a look at the lengths for each.
func (ps *Prefixes[V]) Overlapping(with ...netip.Prefix) iter.Seq[V] {
	return func(yield func(V) bool) {
		with := slices.Clone(with)
		slices.SortFunc(with, ComparePrefixes)
		listed := map[netip.Prefix]bool{}
		var last netip.Addr // of the prefix whose inside was listed last
		for _, p := range with {
			if last.IsValid() && !last.Less(p.Addr()) {
				continue // inside that one
			}
			for q := range ps.Around(p) {
				if listed[q] {
					continue
				}
				listed[q] = true
				for value := range ps.Of(q) {
					if !yield(value) {
						return
					}
				}
			}
			last = netipx.PrefixLastIP(p)
			for at, value := range ps.entries.From(prefixed[V]{prefix: p, place: 1}) {
				if last.Less(at.prefix.Addr()) {
					break
				}
				if !yield(value) {
					return
				}
			}
		}
	}
}

// Edit begins a number of changes that make one other collection.
func (ps *Prefixes[V]) Edit() *PrefixesEdit[V] {
	lengths := *ps.lengths
	return &PrefixesEdit[V]{ps.entries.Edit(), &lengths}
}

// PrefixesEdit is a collection of prefixes in the making. It belongs to one goroutine.
type PrefixesEdit[V any] struct {
	entries *Edit[prefixed[V], V]
	lengths *prefixLengths
}

// Put adds a value of a prefix. It replaces an equal value.
func (e *PrefixesEdit[V]) Put(p netip.Prefix, value V) {
	before := e.entries.next.Len()
	e.entries.Set(prefixed[V]{prefix: p, value: value}, value)
	e.lengths.of(p)[p.Bits()] += int32(e.entries.next.Len() - before)
}

// Delete takes a value of a prefix away, if it is there.
func (e *PrefixesEdit[V]) Delete(p netip.Prefix, value V) {
	before := e.entries.next.Len()
	e.entries.Delete(prefixed[V]{prefix: p, value: value})
	e.lengths.of(p)[p.Bits()] += int32(e.entries.next.Len() - before)
}

// Prefixes returns the collection that the changes make, and ends the edit: it cannot be used any more.
func (e *PrefixesEdit[V]) Prefixes() *Prefixes[V] { return &Prefixes[V]{e.entries.Map(), e.lengths} }
