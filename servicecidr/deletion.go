package servicecidr

import (
	"net/netip"
	"slices"

	"github.com/purekube/purekube/internal/snapshot"
)

// Deletion says whether a ServiceCIDR may go, and why.
type Deletion struct {
	// Safe: nothing would be orphaned, and that is certain. The grace period is not part of it.
	Safe bool
	// Coverage says for each entry of spec.cidrs that parses, in its order, who contains it.
	Coverage []Coverage
	// Orphans are the addresses of Services that would be left without a range: only this
	// ServiceCIDR, and those it may not lean on, contain them. Sorted, each once.
	Orphans []netip.Addr
}

// Coverage says who contains a prefix as a whole.
type Coverage struct {
	// Prefix in canonical form.
	Prefix netip.Prefix
	// By are the names of the ServiceCIDRs with a prefix that contains this one and on which
	// this one may lean (D-1), sorted. If there are any, no address of the prefix is orphaned.
	// If there are none, addresses may still be covered one by one, by smaller ranges inside.
	By []string
}

// CheckDeletion says whether the ServiceCIDR of that name may go, and which addresses are in the
// way. For one that is being deleted this is the decision of Plan, save the grace period. For one
// that is not, it is the answer as if its deletion began at Now: the newest deletion of all, so
// that it may lean on nobody who is being deleted.
//
// A name that the snapshot does not hold gives the zero Deletion. Errors are those of Plan; with
// one, Safe is false, and what the rest says is right but may not be all. Under MatchUpstream
// the answer is upstream's, and Safe means that upstream would let it go.
func CheckDeletion(s Snapshot, name string, o Options) (Deletion, error) {
	var problems snapshot.Problems
	r := readRoster(s, &problems)
	x := r.find(name, &problems)
	if x == nil {
		return Deletion{}, problems.Err()
	}

	setOrder(r.objects, x)
	rs := newRanges(r.objects, o.MatchUpstream)
	exposed := rs.exposed(x)
	var d Deletion
	for _, p := range x.prefixes {
		d.Coverage = append(d.Coverage, Coverage{Prefix: p, By: rs.containing(x, rs.at[p])})
	}
	var bad []illegible
	anyNil := false
	for _, ip := range s.IPAddresses {
		if ip == nil {
			anyNil = true
			continue
		}
		a, err := netip.ParseAddr(ip.Name)
		if err != nil {
			bad = append(bad, illegible{familyOf(ip), illegibleName(ip, err)})
		} else if exposed.Contains(a) && familyOf(ip)&x.families != none {
			d.Orphans = append(d.Orphans, a)
		}
	}
	slices.SortFunc(d.Orphans, netip.Addr.Compare)
	d.Orphans = slices.Compact(d.Orphans)

	v := verdict{blocked: len(d.Orphans) > 0}
	if v.blocked {
		v.hidden = r.hiding(x)
	}
	if !o.MatchUpstream {
		v.doubts = doubts(x, len(exposed.Ranges()) > 0, anyNil, bad)
	}
	v.report(&problems)
	d.Safe = v.removable()
	return d, problems.Err()
}
