package servicecidr

import (
	"net/netip"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Deletion says whether a ServiceCIDR may go, and why.
type Deletion struct {
	// Safe reports that it is certain that no address would be orphaned. It does not depend on the grace period.
	Safe bool `json:"safe"`
	// Coverage lists, for each entry of spec.cidrs that parses, in order, the ServiceCIDRs that contain it.
	Coverage []Coverage `json:"coverage,omitempty"`
	// Orphans are the addresses that would be orphaned. Only this ServiceCIDR, and ServiceCIDRs on which it may not
	// rely, contain them. They are sorted by address, each once.
	Orphans []Orphan `json:"orphans,omitempty"`
	// MoreOrphans reports that there are more orphans than maxOrphans of CheckDeletion.
	MoreOrphans bool `json:"moreOrphans,omitempty"`
}

// Coverage lists the ServiceCIDRs that contain a whole prefix.
type Coverage struct {
	// Prefix is the prefix in canonical form.
	Prefix netip.Prefix `json:"prefix"`
	// By has the sorted names of the other ServiceCIDRs that contain the prefix and on which this ServiceCIDR may
	// rely. If there are any, no address of the prefix is orphaned. If there are none, smaller prefixes inside may
	// still contain the addresses.
	By []string `json:"by,omitempty"`
	// Unreliable has the sorted names of the other ServiceCIDRs that contain the prefix but may be gone first, because
	// they are earlier in the order of deletion (D-1) or do not have Finalizer (D-25).
	Unreliable []string `json:"unreliable,omitempty"`
}

// CheckDeletion says whether the ServiceCIDR of that key may go, and which addresses block its deletion. If the
// ServiceCIDR is being deleted, this is the decision of Plan without the grace period. Otherwise, the answer is as if
// its deletion began at Now, as the newest deletion of all. The ServiceCIDR then relies on no ServiceCIDR that is being
// deleted.
//
// For a key that is not in the snapshot, the error is a [purekube.ObjectError] around [purekube.ErrNotFound], and the
// Deletion is zero. Other errors are the same as for Plan. If an error is about an object that the answer depends on,
// Safe is false, and the other fields are right but may be incomplete. A webhook should deny the deletion if there is
// an error or Safe is false.
//
// If maxOrphans is above 0, at most that many orphans are named, the first by address. The cost of a refusal
// then does not depend on the number of orphans. Under MatchUpstream, Safe means that upstream would remove the
// finalizer.
func (x *Index) CheckDeletion(key purekube.Key, maxOrphans int) (Deletion, error) {
	if err := x.options.err(); err != nil {
		return Deletion{}, err
	}
	var problems snapshot.Problems
	x.report(&problems)
	c := x.find(key)
	if c == nil {
		problems.Add(missing(key))
		return Deletion{}, problems.Err()
	}
	e := x.examine(c, maxOrphans)
	problems.Add(e.problems...)
	return e.Deletion, problems.Err()
}

// missing is the error of a question about a key that no ServiceCIDR has.
func missing(key purekube.Key) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrNotFound}
}

// examination has all that is known about the deletion of one ServiceCIDR. CheckDeletion and Explain read it. Plan
// reads only the verdict, which is cheaper.
type examination struct {
	verdict
	Deletion
	// others has, for each prefix of the ServiceCIDR, the other ServiceCIDRs that contain addresses of it.
	others []others
}

// examine finds out whether c may go, or might go if its deletion began now. It names at most maxOrphans addresses; 0
// means all.
func (x *Index) examine(c *object, maxOrphans int) examination {
	e := examination{verdict: x.decide(c)}
	if c.duplicate() {
		return e
	}
	if !c.deleting() {
		e.obstacles = x.obstaclesOf(c)
		e.problems = e.obstacles.errors()
	}
	e.Safe = e.none()
	e.Orphans, e.MoreOrphans = x.orphans(e.exposed, c.families, maxOrphans)
	// One entry for each entry of spec.cidrs, also for a repeated one, so that Coverage matches the specification.
	for i, p := range c.prefixes {
		o := x.othersOf(c, i)
		e.others = append(e.others, o)
		e.Coverage = append(e.Coverage, Coverage{Prefix: p, By: namesOf(o.by), Unreliable: namesOf(o.unreliable)})
	}
	return e
}

// others are the other ServiceCIDRs that contain addresses of one prefix. Each list is sorted by name.
type others struct {
	by, unreliable []*object // contain it as a whole; see Coverage
	inside         []*object // reliable, with a prefix inside
}

// othersOf returns the other ServiceCIDRs that contain addresses of a prefix of c. Under MatchUpstream, another entry
// of c counts as another ServiceCIDR.
func (x *Index) othersOf(c *object, i int) (o others) {
	p := c.prefixes[i]
	for _, y := range x.cidrs {
		around, inside := false, false
		for j, q := range y.prefixes {
			switch _, any := usable(q); {
			case y == c && i == j, !p.Overlaps(q):
			case q.Bits() <= p.Bits():
				around = true
			case any:
				inside = true
			}
		}
		reliable := x.options.mayRelyOn(c, y)
		switch {
		case around && reliable:
			o.by = append(o.by, y)
		case around && y != c && !y.duplicate():
			o.unreliable = append(o.unreliable, y)
		case inside && reliable:
			o.inside = append(o.inside, y)
		}
	}
	return o
}

// namesOf returns the names of the ServiceCIDRs.
func namesOf(cidrs []*object) (names []string) {
	for _, y := range cidrs {
		names = append(names, y.name)
	}
	return names
}
