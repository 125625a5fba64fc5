package servicecidr

import (
	"net/netip"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Deletion says whether a ServiceCIDR may go, and why.
type Deletion struct {
	// Safe: nothing would be orphaned, and that is certain. The grace period is not part of it.
	Safe bool `json:"safe"`
	// Coverage says for each entry of spec.cidrs that parses, in its order, who contains it.
	Coverage []Coverage `json:"coverage,omitempty"`
	// Orphans are the addresses that would be left without a range: only this ServiceCIDR, and
	// those that it may not rely on, contain them. Sorted by address, each once.
	Orphans []Orphan `json:"orphans,omitempty"`
	// MoreOrphans: there are others, which maxOrphans of CheckDeletion, or ExplainAll, left out.
	MoreOrphans bool `json:"moreOrphans,omitempty"`
}

// Coverage says who contains a prefix as a whole.
type Coverage struct {
	// Prefix in canonical form.
	Prefix netip.Prefix `json:"prefix"`
	// By are the names of the other ServiceCIDRs with a prefix that contains this one and on which
	// this one may rely, sorted. If there are any, no address of the prefix is orphaned. If there
	// are none, addresses may still be covered one by one, by smaller prefixes inside.
	By []string `json:"by,omitempty"`
	// Unreliable are the names of the other ServiceCIDRs with a prefix that contains this one and
	// that may be gone before it: being deleted earlier (D-1), or without Finalizer (D-25). Sorted.
	Unreliable []string `json:"unreliable,omitempty"`
	// More: there are others, which ExplainAll left out.
	More bool `json:"more,omitempty"`
}

// CheckDeletion says whether the ServiceCIDR of that name may go, and which addresses are in the
// way. For one that is being deleted this is the decision of Plan without the grace period. For one
// that is not, it is the answer as if its deletion began at Now: the newest deletion of all, so
// that it relies on none that is being deleted.
//
// A key that the snapshot does not hold is a [purekube.ObjectError] around [purekube.ErrNotFound], and the
// Deletion is zero. The other errors are those of Plan. If one is about an object that the answer
// rests on, Safe is false; what the rest says is right but may not be all. A webhook should deny the
// deletion in either case. A maxOrphans above 0 is how many orphans are named, the first by address: with an Index a
// refusal then costs the same however many there are. Under MatchUpstream the answer is upstream's, and Safe means that
// upstream would let it go.
func CheckDeletion(s Snapshot, key purekube.Key, maxOrphans int, o Options) (Deletion, error) {
	return NewIndex(s, o).CheckDeletion(key, maxOrphans)
}

// CheckDeletion is [CheckDeletion] for the objects of the Index.
func (x *Index) CheckDeletion(key purekube.Key, maxOrphans int) (Deletion, error) {
	if err := x.o.err(); err != nil {
		return Deletion{}, err
	}
	var problems snapshot.Problems
	x.report(&problems)
	c := x.mustFind(key, &problems)
	if c == nil {
		return Deletion{}, problems.Err()
	}
	e := x.examine(c, maxOrphans, 0)
	e.report(&problems)
	return e.Deletion, problems.Err()
}

// examination is all that is known about the deletion of one ServiceCIDR.
type examination struct {
	obstacles
	Deletion
	// covers are, for each prefix of the ServiceCIDR, the others that bear on it.
	covers []covers
}

// examine finds out whether c may go, or might go if its deletion began now. It names at most so many orphans, and others
// that bear on a prefix; all for 0.
func (x *Index) examine(c *object, maxOrphans, maxOthers int) (e examination) {
	exposed := x.exposed(c)
	e.Orphans, e.MoreOrphans = x.orphans(exposed, c.families, maxOrphans)
	e.obstacles = x.obstacles(c, len(e.Orphans) > 0, len(exposed) > 0)
	e.Safe = e.obstacles.none()
	for _, p := range c.prefixes {
		others := x.coversOf(c, p, maxOthers)
		e.covers = append(e.covers, others)
		e.Coverage = append(e.Coverage, Coverage{Prefix: p, By: namesOf(others.by), Unreliable: namesOf(others.unreliable), More: others.more})
	}
	return e
}

func namesOf(all []*object) []string {
	var names []string
	for _, x := range all {
		names = append(names, x.Name)
	}
	return names
}
