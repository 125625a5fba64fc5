package servicecidr

import (
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// ranges is the prefixes of all ServiceCIDRs, each once, so ordered that what a prefix contains
// follows it directly. Prefixes are nested or apart, never anything in between.
type ranges struct {
	nodes         []node
	at            map[netip.Prefix]int
	matchUpstream bool
}

type node struct {
	prefix netip.Prefix
	parent int       // the longest prefix around this one; -1: none
	owners []*object // once for each time that spec.cidrs names the prefix
	cover  int       // the greatest of the owners
}

func newRanges(objects []*object, matchUpstream bool) *ranges {
	type entry struct {
		prefix netip.Prefix
		owner  *object
	}
	entries := make([]entry, 0, len(objects))
	for _, x := range objects {
		for _, p := range x.prefixes {
			entries = append(entries, entry{p, x})
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return a.prefix.Compare(b.prefix) })

	rs := &ranges{nodes: make([]node, 0, len(entries)), at: make(map[netip.Prefix]int, len(entries)), matchUpstream: matchUpstream}
	for _, e := range entries {
		i, known := rs.at[e.prefix]
		if !known {
			i = len(rs.nodes)
			rs.at[e.prefix] = i
			// The one before is around this one, or else one of those around it is.
			parent := i - 1
			for parent >= 0 && !rs.nodes[parent].prefix.Contains(e.prefix.Addr()) {
				parent = rs.nodes[parent].parent
			}
			rs.nodes = append(rs.nodes, node{prefix: e.prefix, parent: parent, cover: coversNone})
		}
		n := &rs.nodes[i]
		n.owners = append(n.owners, e.owner)
		n.cover = max(n.cover, e.owner.cover)
	}
	return rs
}

// leans says whether x may lean on the prefix at i to cover addresses of its prefix at own.
func (rs *ranges) leans(x *object, own, i int) bool {
	if rs.matchUpstream {
		// Every entry of every ServiceCIDR counts, except the one entry that is asked about.
		return i != own || len(rs.nodes[i].owners) > 1
	}
	// If x may lean on any of the owners, then on the one that covers most (D-1).
	return rs.nodes[i].cover > x.turn
}

// exposed returns the addresses that only x contains, of those it may lean on: the ones that
// its going would leave without a range (BR-31-02).
func (rs *ranges) exposed(x *object) *netipx.IPSet {
	var all netipx.IPSetBuilder
	for _, p := range x.prefixes {
		own := rs.at[p]
		r, any := usable(p)
		if !any || rs.contained(x, own) {
			continue
		}
		var b netipx.IPSetBuilder
		b.AddRange(r)
		for i := own + 1; i < len(rs.nodes) && p.Contains(rs.nodes[i].prefix.Addr()); i++ {
			if r, any := usable(rs.nodes[i].prefix); any && rs.leans(x, own, i) {
				b.RemoveRange(r)
			}
		}
		all.AddSet(built(&b))
	}
	return built(&all)
}

// contained says whether x may lean on one prefix that contains all of its prefix at own
// (BR-31-05). It then covers everything that the prefix contains; see the package comment.
func (rs *ranges) contained(x *object, own int) bool {
	for i := own; i >= 0; i = rs.nodes[i].parent {
		if rs.leans(x, own, i) {
			return true
		}
	}
	return false
}

// containing returns the names of the ServiceCIDRs behind contained, sorted, each once.
func (rs *ranges) containing(x *object, own int) []string {
	var names []string
	for i := own; i >= 0; i = rs.nodes[i].parent {
		self := i == own // upstream passes over one entry of x itself, no more
		for _, y := range rs.nodes[i].owners {
			switch {
			case rs.matchUpstream && y == x && self:
				self = false
			case rs.matchUpstream || y.cover > x.turn:
				names = append(names, y.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// built is the builder's set. It was given valid ranges only, so there is no error to report.
func built(b *netipx.IPSetBuilder) *netipx.IPSet {
	set, _ := b.IPSet()
	return set
}
