package servicecidr

import (
	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// obstacles are what stands in the way of one deletion.
type obstacles struct {
	// blocked: an address would be left without a range.
	blocked bool
	// doubts are why there may be more in the way than is known. They hold a removal back. The first ones are those of the
	// ServiceCIDR itself.
	doubts []*purekube.ObjectError
	// duplicates are the ServiceCIDRs that may be the cover which is missing.
	duplicates []*purekube.ObjectError
}

// none: nothing is in the way, and that is certain.
func (b obstacles) none() bool { return !b.blocked && len(b.doubts) == 0 }

func (b obstacles) report(problems *snapshot.Problems) {
	for _, e := range b.doubts {
		problems.Add(e)
	}
	for _, e := range b.duplicates {
		problems.Add(e)
	}
}

// obstaclesOf returns what is in the way of c, which is being deleted.
func (x *Index) obstaclesOf(c *object, asked asked) obstacles {
	blocked, exposed := false, false
	covered := func(u *until) bool { return u == nil || u.compare(c.goes) > 0 }
	for _, p := range c.unique {
		if x.contained(c, p) {
			continue
		}
		s := x.shortestOf(question{p, c.families}, asked)
		exposed, blocked = exposed || !covered(s.any), blocked || !covered(s.counted)
	}
	return x.obstacles(c, blocked, exposed)
}

// obstacles puts together what is in the way of c: blocked says that an address is, exposed that c is
// the only one to contain any address at all.
func (x *Index) obstacles(c *object, blocked, exposed bool) obstacles {
	b := obstacles{blocked: blocked}
	if blocked {
		// If an object of a name that several have is the real one, c may have the cover that it lacks.
		for _, p := range c.unique {
			for name := range x.ambiguous.Overlapping(p) {
				b.duplicates = append(b.duplicates, duplicate(name))
			}
		}
	}
	if x.o.matchUpstream() {
		return b
	}
	// Uncertain is a part of c that cannot be read (D-2), and an address that cannot, if c is the
	// only one to contain any at all.
	b.doubts = c.problems[:len(c.problems):len(c.problems)]
	if exposed {
		b.doubts = append(b.doubts, x.ips.unknown(c.families)...)
	}
	return b
}
