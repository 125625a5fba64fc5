package servicecidr

import (
	"cmp"
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// prefixes are the prefixes of all ServiceCIDRs, each once, in an order in which what a prefix
// contains follows it directly. Two prefixes are nested or apart, never anything in between.
type prefixes struct {
	nodes         []node
	at            map[netip.Prefix]int
	matchUpstream bool
}

type node struct {
	prefix netip.Prefix
	parent int       // the longest prefix around this one; -1: none
	owners []*object // once for each time that spec.cidrs names the prefix
	first  *object   // the owner that covers for longest
	second *object   // the one after it, of another name; nil: none
}

func newPrefixes(all []*object, matchUpstream bool) *prefixes {
	type entry struct {
		prefix netip.Prefix
		owner  *object
	}
	entries := make([]entry, 0, len(all))
	for _, x := range all {
		for _, p := range x.prefixes {
			entries = append(entries, entry{p, x})
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return comparePrefixes(a.prefix, b.prefix) })

	ps := &prefixes{nodes: make([]node, 0, len(entries)), at: make(map[netip.Prefix]int, len(entries)), matchUpstream: matchUpstream}
	for _, e := range entries {
		i, known := ps.at[e.prefix]
		if !known {
			i = len(ps.nodes)
			ps.at[e.prefix] = i
			// The one before is around this one, or else one of those around it is.
			parent := i - 1
			for parent >= 0 && !ps.nodes[parent].prefix.Contains(e.prefix.Addr()) {
				parent = ps.nodes[parent].parent
			}
			ps.nodes = append(ps.nodes, node{prefix: e.prefix, parent: parent})
		}
		ps.nodes[i].add(e.owner)
	}
	return ps
}

// comparePrefixes orders masked prefixes by address, the shorter one first: what a prefix contains
// follows it directly.
func comparePrefixes(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

func (n *node) add(x *object) {
	n.owners = append(n.owners, x)
	switch {
	case x == n.first || x == n.second:
	case n.first == nil || x.covers.compare(n.first.covers) > 0:
		n.first, n.second = x, n.first
	case n.second == nil || x.covers.compare(n.second.covers) > 0:
		n.second = x
	}
}

// covers says whether x may rely on the prefix at i to cover addresses of its prefix at own.
func (ps *prefixes) covers(x *object, own, i int) bool {
	n := &ps.nodes[i]
	if ps.matchUpstream {
		// Every entry of every ServiceCIDR counts, except the one entry that is asked about.
		return i != own || len(n.owners) > 1
	}
	// If x may rely on any of the owners, then on the one that covers for longest (D-1).
	return x.mayRelyOn(n.first) || n.second != nil && x.mayRelyOn(n.second)
}

// exposed returns the addresses that x contains and none of those that it may rely on: the ones
// that its deletion would leave without a range (BR-31-02).
func (ps *prefixes) exposed(x *object) *netipx.IPSet {
	var all netipx.IPSetBuilder
	for _, p := range x.prefixes {
		own := ps.at[p]
		r, any := usable(p)
		if !any || ps.contained(x, own) {
			continue
		}
		var b netipx.IPSetBuilder
		b.AddRange(r)
		for i := own + 1; i < len(ps.nodes) && p.Contains(ps.nodes[i].prefix.Addr()); i++ {
			if r, any := usable(ps.nodes[i].prefix); any && ps.covers(x, own, i) {
				b.RemoveRange(r)
			}
		}
		all.AddSet(built(&b))
	}
	return built(&all)
}

// contained says whether x may rely on one prefix that contains all of its prefix at own
// (BR-31-05). It then covers everything that the prefix contains; see the package comment.
func (ps *prefixes) contained(x *object, own int) bool {
	for i := own; i >= 0; i = ps.nodes[i].parent {
		if ps.covers(x, own, i) {
			return true
		}
	}
	return false
}

// containing returns the other ServiceCIDRs that contain the prefix at own as a whole: those that x
// may rely on, and those that it may not. Both are sorted by name, each once. Under MatchUpstream a
// further entry of x itself counts as another one.
func (ps *prefixes) containing(x *object, own int) (by, unreliable []*object) {
	for i := own; i >= 0; i = ps.nodes[i].parent {
		self := i == own // upstream passes over one entry of x itself, no more
		for _, y := range ps.nodes[i].owners {
			switch {
			case ps.matchUpstream && y == x && self:
				self = false
			case ps.matchUpstream || x.mayRelyOn(y):
				by = append(by, y)
			case y != x:
				unreliable = append(unreliable, y)
			}
		}
	}
	return sortedByName(by), sortedByName(unreliable)
}

// inside returns the other ServiceCIDRs with a prefix that lies in x's prefix at own, is not equal
// to it, and on which x may rely; sorted by name, each once.
func (ps *prefixes) inside(x *object, own int) []*object {
	var found []*object
	p := ps.nodes[own].prefix
	for i := own + 1; i < len(ps.nodes) && p.Contains(ps.nodes[i].prefix.Addr()); i++ {
		if _, any := usable(ps.nodes[i].prefix); !any {
			continue
		}
		for _, y := range ps.nodes[i].owners {
			if ps.matchUpstream || x.mayRelyOn(y) {
				found = append(found, y)
			}
		}
	}
	return sortedByName(found)
}

func sortedByName(all []*object) []*object {
	slices.SortFunc(all, func(a, b *object) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(all)
}

// built is the builder's set. It was given valid ranges only, so there is no error to report.
func built(b *netipx.IPSetBuilder) *netipx.IPSet {
	set, _ := b.IPSet()
	return set
}
