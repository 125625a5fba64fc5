package persistent

// cells are values by position, for positions that are known to be below some n: a tree of n cells that is never
// balanced, in which a position says the way to its cell. Reading and setting one need O(log n). The zero value is
// empty. Like a Map, cells never change: set returns others, which share with the first what both have.
//
//	position   way from the root, 8 cells below each
//	0          (the root)
//	1 … 8      0 … 7
//	9, 17, …   0 and then 0, 1, …
type cells[V any] struct {
	root *cell[V]
	len  int // of the positions that have a value
}

type cell[V any] struct {
	below [8]*cell[V]
	value V
	set   bool
	owner *owner
}

// get returns the value at the position, and whether there is one.
func (c cells[V]) get(position int) (value V, found bool) {
	n := c.root
	for ; n != nil && position > 0; position /= len(n.below) {
		position--
		n = n.below[position%len(n.below)]
	}
	if n == nil {
		return value, false
	}
	return n.value, n.set
}

// with returns the cells with this value at the position. Only cells of this owner are written to.
func (c cells[V]) with(position int, value V, by *owner) cells[V] {
	root, added := c.root.with(position, value, by)
	if added {
		c.len++
	}
	c.root = root
	return c
}

func (n *cell[V]) with(position int, value V, by *owner) (own *cell[V], added bool) {
	switch {
	case n == nil:
		own = &cell[V]{owner: by}
	case n.owner != by:
		copied := *n
		copied.owner = by
		own = &copied
	default:
		own = n
	}
	if position == 0 {
		added = !own.set
		own.value, own.set = value, true
		return own, added
	}
	position--
	next := &own.below[position%len(own.below)]
	*next, added = (*next).with(position/len(own.below), value, by)
	return own, added
}

// each yields the values, in no particular order, until yield returns false.
func (n *cell[V]) each(yield func(V) bool) bool {
	if n == nil {
		return true
	}
	if n.set && !yield(n.value) {
		return false
	}
	for _, below := range n.below {
		if !below.each(yield) {
			return false
		}
	}
	return true
}
