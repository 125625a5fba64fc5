package persistent

// node is the root of a sorted binary tree that is kept balanced by weight: of two siblings one weighs at most
// maxRatio times the other. These are Adams' trees, with the parameters that Hirai and Yamamoto ("Balancing
// weight-balanced trees", 2011) proved to be right.
//
// A node is written to only by the edit that made it. Every other edit copies it first: a change makes new nodes
// on the way down from the root and shares all others.
type node[K, V any] struct {
	key         K
	value       V
	left, right *node[K, V]
	size        int // nodes in this tree
	owner       *owner
}

// owner identifies one edit. It is not empty, so that two owners have different addresses.
type owner struct{ _ byte }

const (
	maxRatio = 3
	// doubleRatio: a heavy sibling whose inner child weighs that many times its outer one is rotated itself
	// first.
	doubleRatio = 2
)

func (n *node[K, V]) weight() int {
	if n == nil {
		return 1
	}
	return n.size + 1
}

// own returns the node if the edit made it, or else a copy that the edit may write to.
func (n *node[K, V]) own(by *owner) *node[K, V] {
	if n.owner == by {
		return n
	}
	own := *n
	own.owner = by
	return &own
}

// count updates the size after a subtree was replaced.
func (n *node[K, V]) count() { n.size = n.left.weight() + n.right.weight() - 1 }

// The methods that follow are for nodes that the edit owns.

func (n *node[K, V]) rotateLeft(by *owner) *node[K, V] {
	root := n.right.own(by)
	n.right, root.left = root.left, n
	n.count()
	root.count()
	return root
}

func (n *node[K, V]) rotateRight(by *owner) *node[K, V] {
	root := n.left.own(by)
	n.left, root.right = root.right, n
	n.count()
	root.count()
	return root
}

// balance returns the tree in balance again after one node came into a subtree, or went.
func (n *node[K, V]) balance(by *owner) *node[K, V] {
	switch left, right := n.left.weight(), n.right.weight(); {
	case right > maxRatio*left:
		if n.right.left.weight() >= doubleRatio*n.right.right.weight() {
			n.right = n.right.own(by).rotateRight(by)
		}
		return n.rotateLeft(by)
	case left > maxRatio*right:
		if n.left.right.weight() >= doubleRatio*n.left.left.weight() {
			n.left = n.left.own(by).rotateLeft(by)
		}
		return n.rotateRight(by)
	}
	n.count()
	return n
}

// with returns the tree with this value for the key.
func (n *node[K, V]) with(key K, value V, compare func(a, b K) int, by *owner) *node[K, V] {
	if n == nil {
		return &node[K, V]{key: key, value: value, size: 1, owner: by}
	}
	n = n.own(by)
	switch c := compare(key, n.key); {
	case c < 0:
		n.left = n.left.with(key, value, compare, by)
	case c > 0:
		n.right = n.right.with(key, value, compare, by)
	default:
		n.key, n.value = key, value
		return n
	}
	return n.balance(by)
}

// without returns the tree without the key, which is in it.
func (n *node[K, V]) without(key K, compare func(a, b K) int, by *owner) *node[K, V] {
	switch c := compare(key, n.key); {
	case c < 0:
		n = n.own(by)
		n.left = n.left.without(key, compare, by)
	case c > 0:
		n = n.own(by)
		n.right = n.right.without(key, compare, by)
	case n.left == nil:
		return n.right
	case n.right == nil:
		return n.left
	default:
		// The next node takes its place.
		next := n.right
		for next.left != nil {
			next = next.left
		}
		n = n.own(by)
		n.key, n.value = next.key, next.value
		n.right = n.right.withoutFirst(by)
	}
	return n.balance(by)
}

func (n *node[K, V]) withoutFirst(by *owner) *node[K, V] {
	if n.left == nil {
		return n.right
	}
	n = n.own(by)
	n.left = n.left.withoutFirst(by)
	return n.balance(by)
}

func (n *node[K, V]) find(key K, compare func(a, b K) int) *node[K, V] {
	for n != nil {
		switch c := compare(key, n.key); {
		case c < 0:
			n = n.left
		case c > 0:
			n = n.right
		default:
			return n
		}
	}
	return nil
}

// each yields the nodes in order until yield returns false.
func (n *node[K, V]) each(yield func(K, V) bool) bool {
	return n == nil || n.left.each(yield) && yield(n.key, n.value) && n.right.each(yield)
}

// eachFrom is each without the nodes before the key.
func (n *node[K, V]) eachFrom(key K, compare func(a, b K) int, yield func(K, V) bool) bool {
	for n != nil && compare(key, n.key) > 0 {
		n = n.right
	}
	return n == nil || n.left.eachFrom(key, compare, yield) && yield(n.key, n.value) && n.right.each(yield)
}
