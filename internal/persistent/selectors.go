package persistent

import (
	"cmp"
	"hash/maphash"
	"iter"
	"slices"
)

// Demand is a label that a selector demands: its key with one of these values, or, without any, with any value.
type Demand struct {
	Key    string
	Values []string // each once
}

func compareDemands(a, b Demand) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), slices.Compare(a.Values, b.Values))
}

// Filed is a selector that Selectors find by its demands. It belongs to one collection and to all collections that are
// derived from it.
type Filed[S any] struct {
	// Scope is where the selector applies: it is found for objects of the same scope only.
	Scope string
	// Name tells the selectors of a scope apart.
	Name string
	// Demands are what every object has that the selector matches.
	Demands []Demand
	Value   S

	// nodes are where it is found, later the places if it was put later.
	nodes []uint64
	later []place
}

// Selectors find the selectors that may match an object, by the labels that they demand. They never change.
//
// They are a tree. A selector is at the node of the rarest label that it demands. If more than a few selectors share a
// node, each goes on to the node of its next label, and so on. A search walks the tree along the labels of the object.
// If n selectors demand the same k keys, whatever the values, the search takes k steps. It finds the selectors at the
// ends of its walk. Some of these may not match: selectors that share a node are not distinguished, and labels are
// compared by their hash. The caller must check each selector.
//
// Nothing better than n² steps is known for n objects and n selectors in general: selectors that demand value 0 of
// labels of their own choice among more than log n keys, and objects that have all these keys with value 0 or 1, are
// the orthogonal vectors problem. What an object walks is then as many nodes as there are selectors whose rarest
// labels it has.
//
// The tree is made in one pass over a list. Selectors that are put later lie in a sorted map, in a tree of the same
// kind. Selectors of the list are found even when they were deleted since: the caller knows which of them count. A new
// pass is up to the caller; see Stale.
type Selectors[S any] struct {
	seed  maphash.Seed
	nodes map[uint64]*selectorNode[S]
	later *Map[place, *Filed[S]]
	// size is the length of the list, changes how many selectors were put or deleted since.
	size, changes int
}

// selectorNode is a node of the tree, and known by the hash of the labels on the way to it.
type selectorNode[S any] struct {
	hash uint64
	// ends are the selectors at this node.
	ends []*Filed[S]
	// keys are those by which selectors go on; any: some of them whatever the value.
	keys []nodeKey
	any  bool
}

type nodeKey struct {
	key  string
	hash uint64
}

// place is an entry of the tree of selectors that were put later: a selector at a node, or a selector that goes on
// from there.
type place struct {
	node        uint64
	goesOn      bool
	scope, name string
}

func comparePlaces(a, b place) int {
	if c := cmp.Compare(a.node, b.node); c != 0 {
		return c
	}
	if a.goesOn != b.goesOn {
		if a.goesOn {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.name, b.name))
}

const (
	// crowd is how many selectors may share one node although they demand more labels.
	crowd = 8
	// manyPaths are too many ways to one selector: the numbers of values of its demands multiply.
	manyPaths = 16
)

// climber is a selector on its way through the tree.
type climber[S any] struct {
	filed *Filed[S]
	order []rankedDemand
}

type rankedDemand struct {
	Demand
	cost  int
	paths int // so many ways lead to here
}

// NewSelectors returns the collection of these selectors, and keeps them. The list is not kept.
func NewSelectors[S any](list []*Filed[S]) *Selectors[S] {
	x := &Selectors[S]{
		seed: maphash.MakeSeed(), nodes: make(map[uint64]*selectorNode[S], len(list)),
		later: NewMap[place, *Filed[S]](comparePlaces), size: len(list),
	}
	// The number of selectors that demand a label is an estimate of the number of objects that have it: of {app: web,
	// tier: front}, many objects likely share the second.
	popularity := make(map[uint64]int, len(list))
	for _, f := range list {
		for _, d := range f.Demands {
			for next := range x.steps(x.root(f.Scope), d) {
				popularity[next]++
			}
		}
	}
	climbers := make([]climber[S], len(list))
	scopes := map[uint64][]*climber[S]{}
	for i, f := range list {
		root := x.root(f.Scope)
		order := make([]rankedDemand, len(f.Demands))
		for j, d := range f.Demands {
			order[j].Demand = d
			for next := range x.steps(root, d) {
				order[j].cost += popularity[next]
			}
			if len(d.Values) == 0 {
				order[j].cost += len(list) // objects have it whatever the value
			}
		}
		slices.SortFunc(order, func(a, b rankedDemand) int {
			return cmp.Or(cmp.Compare(a.cost, b.cost), compareDemands(a.Demand, b.Demand))
		})
		paths := 1
		for j := range order {
			paths = min(paths*max(1, len(order[j].Values)), manyPaths+1)
			order[j].paths = paths
		}
		climbers[i] = climber[S]{f, order}
		scopes[root] = append(scopes[root], &climbers[i])
	}
	for root, all := range scopes {
		x.grow(root, all, 0)
	}
	return x
}

// grow makes the node that these selectors have come to, all of them in so many steps, and what is behind it.
func (x *Selectors[S]) grow(hash uint64, all []*climber[S], depth int) {
	n := x.nodes[hash]
	if n == nil {
		n = &selectorNode[S]{hash: hash}
		x.nodes[hash] = n
	}
	groups := map[uint64][]*climber[S]{}
	var keys map[string]bool
	for _, c := range all {
		if depth == len(c.order) || depth > 0 && (len(all) <= crowd || c.order[depth].paths > manyPaths) {
			n.ends = append(n.ends, c.filed)
			c.filed.nodes = append(c.filed.nodes, hash)
			continue
		}
		d := c.order[depth]
		if !keys[d.Key] {
			if keys == nil {
				keys = map[string]bool{}
			}
			keys[d.Key] = true
			n.keys = append(n.keys, nodeKey{d.Key, maphash.String(x.seed, d.Key)})
		}
		n.any = n.any || len(d.Values) == 0
		for next := range x.steps(hash, d.Demand) {
			groups[next] = append(groups[next], c)
		}
	}
	for next, group := range groups {
		x.grow(next, group, depth+1)
	}
}

func (x *Selectors[S]) root(scope string) uint64 { return maphash.String(x.seed, scope) }

// steps are the nodes that a demand leads to from a node: one for each value.
func (x *Selectors[S]) steps(node uint64, d Demand) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		next := Mix(node, maphash.String(x.seed, d.Key))
		if len(d.Values) == 0 {
			yield(next)
			return
		}
		for _, v := range d.Values {
			if !yield(Mix(next, maphash.String(x.seed, v))) {
				return
			}
		}
	}
}

// Mix is a hash of hashes.
func Mix(parts ...uint64) (h uint64) {
	for _, p := range parts {
		h = (h ^ p) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	return h
}

// Append appends the selectors that may match an object with these labels, in no particular order, each once.
func (x *Selectors[S]) Append(found []*Filed[S], scope string, labels map[string]string) []*Filed[S] {
	root := x.root(scope)
	if n := x.nodes[root]; n != nil {
		found = x.walk(found, n, labels)
	}
	if x.later.Len() > 0 {
		found = x.walkLater(found, x.later.From, root, labels)
	}
	return found
}

func (x *Selectors[S]) walk(found []*Filed[S], n *selectorNode[S], labels map[string]string) []*Filed[S] {
	found = append(found, n.ends...)
	for next := range x.next(n, labels) {
		found = x.walk(found, next, labels)
	}
	return found
}

// next are the nodes that an object walks to from a node.
func (x *Selectors[S]) next(n *selectorNode[S], labels map[string]string) iter.Seq[*selectorNode[S]] {
	return func(yield func(*selectorNode[S]) bool) {
		step := func(key uint64, value string) bool {
			at := Mix(n.hash, key)
			if n.any {
				if next := x.nodes[at]; next != nil && !yield(next) {
					return false
				}
			}
			next := x.nodes[Mix(at, maphash.String(x.seed, value))]
			return next == nil || yield(next)
		}
		// Iterate over the labels of the object or over the keys of the node, whichever are fewer.
		if len(n.keys) <= len(labels) {
			for _, k := range n.keys {
				if v, has := labels[k.key]; has && !step(k.hash, v) {
					return
				}
			}
			return
		}
		for k, v := range labels {
			if !step(maphash.String(x.seed, k), v) {
				return
			}
		}
	}
}

// walkLater is walk among the selectors that were put later.
func (x *Selectors[S]) walkLater(
	found []*Filed[S], from func(place) iter.Seq2[place, *Filed[S]], node uint64, labels map[string]string,
) []*Filed[S] {
	goesOn := false
	for p, f := range from(place{node: node}) {
		if goesOn = p.node == node && p.goesOn; p.node != node || goesOn {
			break
		}
		found = append(found, f)
	}
	if goesOn {
		for k, v := range labels {
			any := Mix(node, maphash.String(x.seed, k))
			found = x.walkLater(found, from, any, labels)
			found = x.walkLater(found, from, Mix(any, maphash.String(x.seed, v)), labels)
		}
	}
	return found
}

// AppendTerms appends the terms by which a [TermIndex] finds an object with these labels for [Selectors.Alternatives]:
// its labels, and the nodes with selectors of the list's tree that it walks to. They are the same for all collections
// that are derived from one list.
func (x *Selectors[S]) AppendTerms(terms []uint64, scope string, labels map[string]string) []uint64 {
	root := x.root(scope)
	for key, value := range labels {
		anyValue := Mix(root, maphash.String(x.seed, key))
		for _, first := range [...]uint64{anyValue, Mix(anyValue, maphash.String(x.seed, value))} {
			terms = append(terms, first)
			if n := x.nodes[first]; n != nil {
				terms = x.appendNodes(terms, n, labels)
			}
		}
	}
	return terms
}

// appendNodes appends the nodes with selectors that an object walks to from a node.
func (x *Selectors[S]) appendNodes(terms []uint64, n *selectorNode[S], labels map[string]string) []uint64 {
	for next := range x.next(n, labels) {
		if len(next.ends) > 0 {
			terms = append(terms, next.hash)
		}
		terms = x.appendNodes(terms, next, labels)
	}
	return terms
}

// Alternatives returns lists of terms: an object that the selector matches has a term of each list. There are none
// for a selector without demands, which any object may match.
func (x *Selectors[S]) Alternatives(f *Filed[S]) (lists [][]uint64) {
	if len(f.Demands) > 0 && len(f.nodes) > 0 {
		return [][]uint64{f.nodes}
	}
	for _, d := range f.Demands {
		lists = append(lists, slices.Collect(x.steps(x.root(f.Scope), d)))
	}
	return lists
}

// fewSelectors are too few to make a new tree for.
const fewSelectors = 64

// Stale reports whether so many selectors were put or deleted that a new pass costs less than it saves.
func (x *Selectors[S]) Stale() bool { return x.changes >= fewSelectors && x.changes >= x.size/2 }

// Edit begins a number of changes that make one other collection.
func (x *Selectors[S]) Edit() *SelectorsEdit[S] {
	return &SelectorsEdit[S]{next: *x, later: x.later.Edit()}
}

// SelectorsEdit is a collection in the making. It belongs to one goroutine.
type SelectorsEdit[S any] struct {
	next  Selectors[S]
	later *Edit[place, *Filed[S]]
}

// Append is [Selectors.Append] for the changes so far.
func (e *SelectorsEdit[S]) Append(found []*Filed[S], scope string, labels map[string]string) []*Filed[S] {
	root := e.next.root(scope)
	if n := e.next.nodes[root]; n != nil {
		found = e.next.walk(found, n, labels)
	}
	return e.next.walkLater(found, e.later.From, root, labels)
}

// Put adds a selector that is in no collection.
func (e *SelectorsEdit[S]) Put(f *Filed[S]) {
	put := func(node uint64, goesOn bool) {
		p := place{node, goesOn, f.Scope, f.Name}
		f.later = append(f.later, p)
		e.later.Set(p, f)
	}
	at := []uint64{e.next.root(f.Scope)}
	left := slices.Clone(f.Demands)
	slices.SortFunc(left, compareDemands)
	for alone := false; !alone; {
		// The first step is the demand that the fewest other selectors have taken. The next steps are in the order of
		// the keys, so that several selectors share them.
		best, fewest := -1, 0
		var next []uint64
		first := len(f.later) == 0
		for i, d := range left {
			if !first && len(at)*len(d.Values) > manyPaths {
				continue
			}
			others, nodes := 0, []uint64(nil)
			for _, node := range at {
				for step := range e.next.steps(node, d) {
					nodes = append(nodes, step)
					others += e.count(step)
				}
			}
			if best < 0 || others < fewest || others == fewest && len(left[best].Values) == 0 {
				best, fewest, next = i, others, nodes
			}
			if !first {
				break
			}
		}
		if best < 0 {
			break
		}
		for _, node := range at {
			put(node, true)
		}
		at, alone = next, fewest <= crowd
		left = slices.Delete(left, best, best+1)
	}
	for _, node := range at {
		put(node, false)
	}
	e.next.changes++
}

// count is how many selectors are at a node, as far as that matters.
func (e *SelectorsEdit[S]) count(node uint64) (n int) {
	for p := range e.later.From(place{node: node}) {
		if p.node != node || n > crowd {
			break
		}
		n++
	}
	return n
}

// Delete removes a selector. A selector of the list is still found.
func (e *SelectorsEdit[S]) Delete(f *Filed[S]) {
	for _, p := range f.later {
		e.later.Delete(p)
	}
	e.next.changes++
}

// Selectors returns the collection that the changes make, and ends the edit: it cannot be used any more.
func (e *SelectorsEdit[S]) Selectors() *Selectors[S] {
	next := e.next
	next.later = e.later.Map()
	return &next
}
