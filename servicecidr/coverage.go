package servicecidr

import (
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
)

// Which other ServiceCIDRs contain the addresses of a prefix p of the ServiceCIDR x, and how long do they stay?
//
//	around p   10.0.0.0/16                        the longest that another one stays decides for all of p: contained
//	p itself   10.0.0.0/24
//	inside p   |  /28  |     | /26 … /28 … |      the parts of p: how long ServiceCIDRs inside p contain each part
//
// An address of x is orphaned if neither lasts longer than x. The parts inside p do not depend on x, so they are
// computed once for all ServiceCIDRs with the prefix p.

// contained reports whether x may rely on one prefix that contains all of its prefix p (BR-31-05). Such a prefix
// contains every address that p contains; prefix.go says why.
//
// It costs O(log n) for each prefix around p, whatever the number of ServiceCIDRs with that prefix: the first of each
// prefix stays longest, so it decides for all.
func (x *Index) contained(c *object, p netip.Prefix) bool {
	for q := range x.prefixes.Around(p) {
		if y := x.lasting(c, p, q); y != nil && x.o.mayRelyOn(c, p, y, q) {
			return true
		}
	}
	return false
}

// lasting returns the ServiceCIDR with the prefix q that stays longest, or nil if there is none. c itself is left out
// unless c may rely on itself. If c may rely on any ServiceCIDR with the prefix q, it may rely on this one.
func (x *Index) lasting(c *object, p, q netip.Prefix) *object {
	for y := range x.prefixes.Of(q) {
		if y != c || x.o.mayRelyOn(c, p, y, q) {
			return y
		}
	}
	return nil
}

// part is a range of usable addresses of a prefix, and how long ServiceCIDRs with smaller prefixes contain it. The
// zero until means that none contains it.
type part struct {
	netipx.IPRange
	covered until
}

// parts divides the usable addresses of a prefix by the prefixes inside it. The prefixes of c are left out unless c
// may rely on itself. c may be nil.
//
// For example, a is in 10.0.0.0/24, b in 10.0.0.0/26, c in 10.0.0.0/28, and d in 10.0.0.128/25, whose usable addresses
// follow one another like this:
//
//	a   .1 ─────────────────────────────────────────── .254
//	b   .1 ────────────── .62
//	c   .1 ── .14
//	d                              .129 ──────────────.254
//
//	parts of a   .1–.14 c or b   .15–.62 b   .63–.128 none   .129–.254 d
//
// "c or b" is whichever of the two stays longer. Only a contains .63, the broadcast address of b, and .128, the network
// address of d.
//
// The prefixes come from the tree in the order of their first addresses, an outer prefix before the prefixes inside it.
// So one walk with a stack is enough: it costs one search for each prefix inside.
func (x *Index) parts(p netip.Prefix, c *object) (parts []part) {
	whole, any := usable(p)
	if !any {
		return nil
	}
	from := whole.From()
	open := []part{{whole, until{}}} // the prefixes around from, the innermost one last
	upTo := func(to netip.Addr) {
		if r := netipx.IPRangeFrom(from, to); r.IsValid() { // else nothing lies between two prefixes
			parts = append(parts, part{r, open[len(open)-1].covered})
		}
		from = to.Next()
	}
	for q := range x.prefixes.Inside(p) {
		r, any := usable(q)
		y := x.lasting(c, p, q)
		if !any || y == nil {
			continue
		}
		// Prefixes are nested or apart, so everything that ends before q is closed, from the innermost outwards.
		for open[len(open)-1].To().Less(r.From()) {
			upTo(open[len(open)-1].To())
			open = open[:len(open)-1]
		}
		// What is left between the last end and q belongs to the innermost prefix around q.
		upTo(r.From().Prev())
		// An address in several prefixes stays contained as long as the last of them stays.
		inner := part{r, open[len(open)-1].covered}
		if y.covers.compare(inner.covered) > 0 {
			inner.covered = y.covers
		}
		open = append(open, inner)
	}
	for ; len(open) > 0; open = open[:len(open)-1] {
		upTo(open[len(open)-1].To())
	}
	return parts
}

// shortest is the minimum of how long the parts of a prefix stay contained: over all its usable addresses, and over
// the parts with an IPAddress that counts. Nil means that there are no such addresses.
type shortest struct{ any, counted *until }

// asked keeps answers that several ServiceCIDRs have in common.
type asked struct {
	// shortest has the answers of shortestOf, which are the same for all ServiceCIDRs that are being deleted.
	shortest map[question]shortest
	// legible reports that no IPAddress may be any address.
	legible bool
}

// question is what shortestOf depends on, beside the Index: not on who asks.
type question struct {
	prefix   netip.Prefix
	families family
}

// shortestOf returns how long the addresses of a prefix are certain to stay contained by ServiceCIDRs inside it. A plan
// compares this with the time at which its own ServiceCIDR goes. Addresses are only looked for in a part that would
// shorten the answer.
//
// Without the kept answers, n ServiceCIDRs with the same range around n small ones would cost n² parts in one PlanAll.
func (x *Index) shortestOf(q question, asked asked) shortest {
	s, known := asked.shortest[q]
	if known {
		return s
	}
	shorter := func(than *until, u until) bool { return than == nil || u.compare(*than) < 0 }
	// nil leaves nobody out. A ServiceCIDR that asks and has a second prefix inside is in the parts, but it does not
	// last longer than itself. Under MatchUpstream it counts, as it does for upstream: see mayRelyOn.
	parts := x.parts(q.prefix, nil)
	for i := range parts {
		part := &parts[i]
		if shorter(s.any, part.covered) {
			s.any = &part.covered
		}
		if shorter(s.counted, part.covered) && x.ips.any(q.families, part.IPRange) {
			s.counted = &part.covered
		}
	}
	asked.shortest[q] = s
	return s
}

// exposed returns the addresses that c contains, and that no ServiceCIDR on which c may rely contains. After the
// deletion of c they would be in no ServiceCIDR (BR-31-02). The ranges are sorted and do not overlap.
func (x *Index) exposed(c *object) []netipx.IPRange {
	var b netipx.IPSetBuilder
	for _, p := range c.unique {
		if x.contained(c, p) {
			continue
		}
		// c is left out, so that a second prefix of c inside p does not make its own addresses safe.
		for _, part := range x.parts(p, c) {
			if part.covered.compare(c.goes) <= 0 {
				b.AddRange(part.IPRange)
			}
		}
	}
	set, _ := b.IPSet() // it was given valid ranges only, so there is no error to report
	return set.Ranges()
}

// The other ServiceCIDRs that contain addresses of one prefix. Each list is sorted by name.
type covers struct {
	by, unreliable []*object // contain it as a whole; see Coverage
	inside         []*object // reliable, with a prefix inside; only where by is empty
	more           bool      // there are others
}

// coversOf returns the other ServiceCIDRs that contain addresses of the prefix p of c: at most limit of each kind, or
// all if limit is 0. Under MatchUpstream, another entry of c counts as another ServiceCIDR.
func (x *Index) coversOf(c *object, p netip.Prefix, atMost int) (o covers) {
	add := func(to *[]*object, y *object) bool {
		if atMost > 0 && len(*to) == atMost {
			o.more = true
			return false
		}
		*to = append(*to, y)
		return true
	}
	// The ServiceCIDRs of a prefix are sorted by how long they stay: behind the first unreliable one, all are
	// unreliable.
	reliable := func(to *[]*object, q netip.Prefix) bool {
		for y := range x.prefixes.Of(q) {
			if x.o.mayRelyOn(c, p, y, q) {
				if !add(to, y) {
					return false
				}
			} else if y != c {
				break
			}
		}
		return true
	}
	// ServiceCIDRs on which others may rely only until c goes.
	unreliable := &object{covers: c.goes}
	full := false // by, up to the limit
	for q := range x.prefixes.Around(p) {
		full = full || !reliable(&o.by, q)
		for y := range x.prefixes.From(q, unreliable) {
			if y != c && !add(&o.unreliable, y) {
				break
			}
		}
	}
	if len(o.by) == 0 {
		for q := range x.prefixes.Inside(p) {
			if _, any := usable(q); any && !reliable(&o.inside, q) {
				break
			}
		}
	}
	for _, list := range []*[]*object{&o.by, &o.unreliable, &o.inside} {
		slices.SortFunc(*list, func(a, b *object) int { return strings.Compare(a.Name, b.Name) })
		*list = slices.Compact(*list)
	}
	return o
}
