package servicecidr

import (
	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// obstacles are what stands in the way of one deletion.
type obstacles struct {
	// blocked: an address would be left without a range.
	blocked bool
	// doubts are why there may be more in the way than is known. They hold a removal back.
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

// obstaclesOf returns what is in the way of each of the subjects, all of which are being deleted, and
// what is not known about the addresses.
func (c cidrs) obstaclesOf(subjects []*object, ips addresses, o Options) ([]obstacles, unknown) {
	sets := make([]set, len(subjects))
	for i, x := range subjects {
		sets[i] = set{c.prefixes.exposed(x), x.families}
	}
	held, u := ips.hold(sets)
	found := make([]obstacles, len(subjects))
	for i, x := range subjects {
		found[i] = c.obstacles(x, held[i], len(sets[i].ranges) > 0, u, o)
	}
	return found, u
}

// obstacles puts together what is in the way of x: blocked says that an address is, exposed that x is
// the only one to contain any address at all.
func (c cidrs) obstacles(x *object, blocked, exposed bool, u unknown, o Options) obstacles {
	b := obstacles{blocked: blocked}
	if blocked {
		b.duplicates = c.duplicatesOverlapping(x)
	}
	if o.matchUpstream() {
		return b
	}
	// Uncertain is a part of x that cannot be read (D-2), and an address that cannot, if x is the
	// only one to contain any at all.
	b.doubts = x.problems[:len(x.problems):len(x.problems)]
	if !exposed {
		return b
	}
	if u.anyNil {
		b.doubts = append(b.doubts, nilAddress())
	}
	for _, bad := range u.unparsable() {
		if bad.family&x.families != none {
			b.doubts = append(b.doubts, bad.problem)
		}
	}
	return b
}
