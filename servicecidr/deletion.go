package servicecidr

import (
	"net/netip"
	"slices"

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
	// MoreOrphans reports that there are more orphans than maxOrphans of CheckDeletion, or the limit of ExplainAll.
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
	// More reports that ExplainAll left out further names.
	More bool `json:"more,omitempty"`
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
// If maxOrphans is above 0, at most that many orphans are named, the first by address. With an Index, the cost of a
// refusal then does not depend on the number of orphans. Under MatchUpstream, Safe means that upstream would remove the
// finalizer.
func CheckDeletion(s Snapshot, key purekube.Key, maxOrphans int, o Options) (Deletion, error) {
	return narrowIndex(s, o, within(key)).CheckDeletion(key, maxOrphans)
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
	// A person or a webhook asks about one ServiceCIDR, so the names of the others are not limited.
	e := x.examine(c, maxOrphans, 0)
	e.report(&problems)
	return e.Deletion, problems.Err()
}

// examination has all that is known about the deletion of one ServiceCIDR. CheckDeletion and Explain read it. Plan asks
// only whether there are obstacles, which is cheaper.
type examination struct {
	obstacles
	Deletion
	// For each prefix of the ServiceCIDR, the other ServiceCIDRs that contain addresses of it.
	covers []covers
}

// examine finds out whether c may go, or might go if its deletion began now. Its limits are the maximum numbers of
// named orphans, and of named other ServiceCIDRs for a prefix. 0 means no limit.
func (x *Index) examine(c *object, maxOrphans, maxOthers int) (e examination) {
	// Ranges first, addresses second: where others contain everything, no address is looked at.
	exposed := x.exposed(c)
	e.Orphans, e.MoreOrphans = x.orphans(exposed, c.families, maxOrphans)
	e.obstacles = x.obstacles(c, len(e.Orphans) > 0, len(exposed) > 0)
	e.Safe = e.obstacles.none()
	// One entry for each entry of spec.cidrs, also for a repeated one, so that Coverage matches the specification.
	for _, p := range c.prefixes {
		others := x.coversOf(c, p, maxOthers)
		e.covers = append(e.covers, others)
		by, unreliable := appendNames(nil, slices.Values(others.by)), appendNames(nil, slices.Values(others.unreliable))
		e.Coverage = append(e.Coverage, Coverage{Prefix: p, By: by, Unreliable: unreliable, More: others.more})
	}
	return e
}
