package servicecidr

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"

	"github.com/purekube/purekube/internal/persistent"
)

// prefixes are the prefixes of all ServiceCIDRs, in an order in which what a prefix contains follows
// it directly; two prefixes are nested or apart, never anything in between. Of equal prefixes the one
// comes first whose ServiceCIDR covers others for longest. It never changes.
type prefixes struct {
	entries *persistent.Map[prefixKey, *object]
	// lengths are the prefix lengths that occur: the prefixes around another one are looked up by
	// length.
	lengths       *lengths
	matchUpstream bool
}

// prefixKey is one entry of spec.cidrs. Without a ServiceCIDR it is the place before, or after, all
// entries with an equal prefix.
type prefixKey struct {
	prefix netip.Prefix
	after  bool
	of     *object
	entry  int // in spec.cidrs
}

func (a prefixKey) compare(b prefixKey) int {
	if c := comparePrefixes(a.prefix, b.prefix); c != 0 {
		return c
	}
	switch {
	case a.after != b.after:
		if a.after {
			return 1
		}
		return -1
	case a.of == b.of:
		return cmp.Compare(a.entry, b.entry)
	case a.of == nil:
		return -1
	case b.of == nil:
		return 1
	}
	return cmp.Or(b.of.covers.compare(a.of.covers), strings.Compare(a.of.Name, b.of.Name), cmp.Compare(a.entry, b.entry))
}

// comparePrefixes orders masked prefixes by address, the shorter one first: what a prefix contains
// follows it directly.
func comparePrefixes(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

// lengths counts the prefixes of each length.
type lengths struct {
	four [33]int32
	six  [129]int32
}

// of returns the counts for a family.
func (l *lengths) of(a netip.Addr) []int32 {
	if a.Is4() {
		return l.four[:]
	}
	return l.six[:]
}

func newPrefixes(matchUpstream bool) prefixes {
	return prefixes{
		entries:       persistent.NewMap[prefixKey, *object](prefixKey.compare),
		lengths:       &lengths{},
		matchUpstream: matchUpstream,
	}
}

// with returns the prefixes without those of gone and with those of added.
func (ps prefixes) with(gone, added []*object) prefixes {
	entries, counts := ps.entries.Edit(), *ps.lengths
	for _, x := range gone {
		for i, p := range x.prefixes {
			entries.Delete(prefixKey{prefix: p, of: x, entry: x.entries[i]})
			counts.of(p.Addr())[p.Bits()]--
		}
	}
	for _, x := range added {
		for i, p := range x.prefixes {
			entries.Set(prefixKey{prefix: p, of: x, entry: x.entries[i]}, x)
			counts.of(p.Addr())[p.Bits()]++
		}
	}
	ps.entries, ps.lengths = entries.Map(), &counts
	return ps
}

// equal returns the ServiceCIDRs with this prefix, once for each time that spec.cidrs names it, the
// one that covers others for longest first.
func (ps prefixes) equal(p netip.Prefix) iter.Seq[*object] {
	return func(yield func(*object) bool) {
		for key, x := range ps.entries.From(prefixKey{prefix: p}) {
			if key.prefix != p || !yield(x) {
				return
			}
		}
	}
}

// around returns the prefixes, of lengths that occur, that contain p as a whole, p included, the
// longest first. Not all of them need be there.
func (ps prefixes) around(p netip.Prefix) iter.Seq[netip.Prefix] {
	return func(yield func(netip.Prefix) bool) {
		counts := ps.lengths.of(p.Addr())
		for bits := p.Bits(); bits >= 0; bits-- {
			if counts[bits] > 0 && !yield(netip.PrefixFrom(p.Addr(), bits).Masked()) {
				return
			}
		}
	}
}

// inside returns the prefixes that lie in p and are longer, each once, in their order, except for
// those inside a prefix for which covered, asked just before, said so.
func (ps prefixes) inside(p netip.Prefix, covered func(netip.Prefix) bool) {
	for from := (prefixKey{prefix: p, after: true}); ; {
		var next netip.Prefix
		for key := range ps.entries.From(from) {
			next = key.prefix
			break
		}
		if !next.IsValid() || !p.Contains(next.Addr()) {
			return
		}
		from = prefixKey{prefix: next, after: true}
		if covered(next) {
			from = prefixKey{prefix: afterPrefix(next)}
			if !from.prefix.IsValid() {
				return
			}
		}
	}
}

// afterPrefix is the place right after all prefixes inside p: the zero prefix if p ends with the
// address space, since IPv4 comes before IPv6 but no prefix of the one contains one of the other.
func afterPrefix(p netip.Prefix) netip.Prefix {
	next := netipx.PrefixLastIP(p).Next()
	if !next.IsValid() {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(next, 0)
}

// reliable says whether x may rely on a ServiceCIDR with the prefix q to cover addresses of its own
// prefix p.
func (ps prefixes) reliable(x *object, p, q netip.Prefix) bool {
	entries := 0
	for y := range ps.equal(q) {
		if ps.matchUpstream {
			// Every entry of every ServiceCIDR counts, except the one entry that is asked about.
			if entries++; p != q || entries > 1 {
				return true
			}
			continue
		}
		if y != x {
			// If x may rely on any of them, then on the one that covers for longest (D-1).
			return x.mayRelyOn(y)
		}
	}
	return false
}

// contained says whether x may rely on one prefix that contains all of its prefix p (BR-31-05). It
// then covers everything that p contains; see the package comment.
func (ps prefixes) contained(x *object, p netip.Prefix) bool {
	for q := range ps.around(p) {
		if ps.reliable(x, p, q) {
			return true
		}
	}
	return false
}

// exposed returns the addresses that x contains and none of those that it may rely on: the ones
// that its deletion would leave without a range (BR-31-02). The ranges are sorted and apart.
func (ps prefixes) exposed(x *object) []netipx.IPRange {
	var b netipx.IPSetBuilder
	add := func(from, to netip.Addr) {
		if r := netipx.IPRangeFrom(from, to); r.IsValid() { // else nothing lies between two prefixes
			b.AddRange(r)
		}
	}
	for _, p := range x.prefixes {
		whole, any := usable(p)
		if !any || ps.contained(x, p) {
			continue
		}
		from := whole.From()
		ps.inside(p, func(q netip.Prefix) bool {
			r, any := usable(q)
			if !any || !ps.reliable(x, p, q) {
				return false
			}
			add(from, r.From().Prev())
			from = r.To().Next()
			return true
		})
		add(from, whole.To())
	}
	set, _ := b.IPSet() // it was given valid ranges only, so there is no error to report
	return set.Ranges()
}

// containing returns the other ServiceCIDRs that contain the prefix p of x as a whole: those that x
// may rely on, and those that it may not. Both are sorted by name, each once. Under MatchUpstream a
// further entry of x itself counts as another one.
func (ps prefixes) containing(x *object, p netip.Prefix) (by, unreliable []*object) {
	for q := range ps.around(p) {
		self := q == p // upstream passes over one entry of x itself, no more
		for y := range ps.equal(q) {
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

// coveringInside returns the ServiceCIDRs with a prefix that lies in x's prefix p, is not equal to
// it, and on which x may rely; sorted by name, each once.
func (ps prefixes) coveringInside(x *object, p netip.Prefix) []*object {
	var found []*object
	for key, y := range ps.entries.From(prefixKey{prefix: p, after: true}) {
		if !p.Contains(key.prefix.Addr()) {
			break
		}
		if _, any := usable(key.prefix); any && (ps.matchUpstream || x.mayRelyOn(y)) {
			found = append(found, y)
		}
	}
	return sortedByName(found)
}

// overlapping returns the names of the ServiceCIDRs with a prefix that overlaps p.
func (ps prefixes) overlapping(p netip.Prefix) (names []string) {
	for q := range ps.around(p) {
		for y := range ps.equal(q) {
			names = append(names, y.Name)
		}
	}
	for key, y := range ps.entries.From(prefixKey{prefix: p, after: true}) {
		if !p.Contains(key.prefix.Addr()) {
			break
		}
		names = append(names, y.Name)
	}
	return names
}

// containingAddress returns the names of the ServiceCIDRs that contain the address.
func (ps prefixes) containingAddress(a netip.Addr) (names []string) {
	if !a.IsValid() || a.Zone() != "" {
		return nil
	}
	for q := range ps.around(netip.PrefixFrom(a, a.BitLen())) {
		if !PrefixContainsIP(q, a) {
			continue
		}
		for y := range ps.equal(q) {
			names = append(names, y.Name)
		}
	}
	return names
}

func sortedByName(all []*object) []*object {
	slices.SortFunc(all, func(a, b *object) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(all)
}
