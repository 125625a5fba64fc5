package persistent

// cells are values by position. They are a tree in which the digits of a position, in base 8 and the last one first,
// say the way, and a value lies in the first cell on its way that is free when it is set. So for m values of n
// positions, reading and setting one need O(log n), and O(log m) where the positions are spread. The zero value is
// empty. Like a Map, cells never change: set returns others, which share with the first what both have.
type cells[V any] struct {
	root *cell[V]
	len  int // of the positions that have a value
}

type cell[V any] struct {
	below    [8]*cell[V]
	position int
	value    V
	owner    *owner
}

// get returns the value at the position, and whether there is one.
func (c cells[V]) get(position int) (value V, found bool) {
	digits := position
	for n := c.root; n != nil; digits /= len(n.below) {
		if n.position == position {
			return n.value, true
		}
		n = n.below[digits%len(n.below)]
	}
	return value, false
}

// with returns the cells with this value at the position. Only cells of this owner are written to.
func (c cells[V]) with(position int, value V, by *owner) cells[V] {
	at := &c.root
	for digits := position; ; {
		n := *at
		if n == nil {
			*at = &cell[V]{position: position, value: value, owner: by}
			c.len++
			return c
		}
		if n.owner != by {
			copied := *n
			copied.owner = by
			n, *at = &copied, &copied
		}
		if n.position == position {
			n.value = value
			return c
		}
		at, digits = &n.below[digits%len(n.below)], digits/len(n.below)
	}
}

// each yields the values, in no particular order, until yield returns false.
func (n *cell[V]) each(yield func(V) bool) bool {
	if n == nil {
		return true
	}
	if !yield(n.value) {
		return false
	}
	for _, below := range n.below {
		if !below.each(yield) {
			return false
		}
	}
	return true
}
