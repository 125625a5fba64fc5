package servicecidr

import (
	"cmp"
	"net/netip"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
)

// Which of two ServiceCIDRs may rely on the other while both are being deleted (D-1)
//
// ServiceCIDRs that are being deleted are ordered by Snapshot.DeletionSeen if the caller records it, then by deletion
// timestamp, then by name. A ServiceCIDR may rely on ServiceCIDRs that are not being deleted and on later ones in the
// order, never on earlier ones. So, of all ServiceCIDRs that contain an address, the last one stays until the address
// is gone, in whatever order the others go, and whatever mixture of plans removes their finalizers.
//
// For this, a deletion that a plan does not know of must come later in the order. With DeletionSeen it does: the caller
// sees it later. Without, a deletion that began later can have the earlier timestamp if the clocks of two API servers
// differ, and within one second the name decides. The grace period prevents harm: a finalizer goes that long after its
// own timestamp, so an unknown deletion has a later timestamp if the age of the snapshot, the difference of the clocks
// and one second together are less than the grace period.
//
// A process that starts a new record may order deletions differently from the process before. No finalizer goes by the
// new record until a grace period is over. By then, the requests of the earlier process have arrived and are in the
// cache.
//
// A ServiceCIDR never relies on itself. Under MatchUpstream, one with two overlapping prefixes does, and goes with its
// addresses; only a manifest can have such an object.
//
// CheckDeletion of a ServiceCIDR that is not being deleted regards its deletion as the newest. So every ServiceCIDR
// that is being deleted may be gone before it, also one whose timestamp is later than Now or within the same second.

// An example: a and b both have 10.0.0.0/24, both are being deleted, a first, and a Service has 10.0.0.7.
//
//	                          a                            b
//	upstream                  b contains it: finalizer     a, which the cache still has, contains it: finalizer
//	                          removed                      removed; 10.0.0.7 is in no ServiceCIDR
//	here                      relies on b, which is        a is earlier: Ready=False until the Service gives 10.0.0.7
//	                          later: finalizer removed     back
//
// With a third ServiceCIDR c that has 10.0.0.0/16 and its finalizer, and is not being deleted, both a and b may go.

// until says how long a ServiceCIDR is certain to stay, as a place in the order of deletion: by the time at which the
// caller first saw the deletion, if it records that, then deletion timestamp, then name. The zero value says that it
// may be gone at any moment.
type until struct {
	class class
	seen  time.Time // for class atDeletion, where the caller records it
	at    time.Time // for the classes atDeletion and unseen
	name  string
}

// class is the first thing that decides: a greater class stays longer, whatever the times.
type class uint8

const (
	uncertain  class = iota // it may be gone at any moment
	atDeletion              // it is being deleted; its finalizer holds it
	unseen                  // it is being deleted, and when it goes is not known before the caller has seen that
	last                    // it is asked about as if its deletion were the newest of all
	forever                 // it is not being deleted, and its finalizer holds it
)

// compare is negative if u is gone before v, and 0 only for the same ServiceCIDR, or for classes that have no times.
// The name makes the order total: two ServiceCIDRs deleted within one second would otherwise each rely on the other
// (D-1), or each wait for the other.
func (u until) compare(v until) int {
	if u.class != v.class {
		return cmp.Compare(u.class, v.class)
	}
	return cmp.Or(u.seen.Compare(v.seen), u.at.Compare(v.at), cmp.Compare(u.name, v.name))
}

// compareCovers sorts ServiceCIDRs by how long others may rely on them, the longest first, then by name. The tree of
// prefixes keeps them in this order, so that the first ServiceCIDR of a prefix answers "does anything here last longer
// than x?".
func compareCovers(a, b *object) int {
	return cmp.Or(b.covers.compare(a.covers), strings.Compare(a.name, b.name))
}

// order fills in when y goes, and how long others may rely on it.
func (x *Index) order(y *object) {
	// A question about a ServiceCIDR that is not being deleted is answered as if its deletion began now. Then it is
	// the last in the order.
	y.goes, y.covers = until{class: last}, until{class: forever}
	if x.o.matchUpstream() { // Upstream relies on every other ServiceCIDR.
		return
	}
	// The zero time of a missing entry and a recorded zero time mean the same: not seen yet.
	if y.deleting() {
		if x.recorded {
			y.seen, _ = x.seen.Get(y.UID)
			y.unseen = y.seen.IsZero()
		}
		// Times with and without a monotonic reading have no common order, so Round removes the reading.
		y.goes = until{atDeletion, y.seen.Round(0), y.DeletionTimestamp.Time, y.Name}
		if y.unseen {
			y.goes.class = unseen
		}
		y.covers = y.goes
	}
	// D-25: without the finalizer, y may be deleted between two plans, even if it has other finalizers now. If the
	// deletion of y is not recorded, its place is unknown: a plan with a lost record may already have removed its
	// finalizer.
	if !y.protected() || y.unseen {
		y.covers = until{}
	}
}

// mayRelyOn reports whether x, for addresses of its prefix p, may rely on y, which contains them in its prefix q
// (D-1): y is another ServiceCIDR and stays longer. So, of all ServiceCIDRs that contain an address and are being
// deleted, the last one has none to rely on. The beginning of this file says why an unknown deletion comes later in the
// order.
//
// Under MatchUpstream every entry of every ServiceCIDR counts, except the one entry that is asked about.
func (o Options) mayRelyOn(x *object, p netip.Prefix, y *object, q netip.Prefix) bool {
	// Upstream compares the names only if there is exactly one match. A second match in the same ServiceCIDR therefore
	// counts as another ServiceCIDR.
	if x == y {
		return o.matchUpstream() && (p != q || x.repeats(p))
	}
	return y.covers.compare(x.goes) > 0
}

// sightings are the entries of Snapshot.DeletionSeen, and whether the caller records deletions at all. If it does, a
// deletion without an entry has not been seen before. MatchUpstream ignores them.
type sightings struct {
	recorded bool
	seen     *persistent.Map[types.UID, time.Time]
}

// changed adds entries, or removes them unless keep is true. The receiver stays as it is. nil says nothing; an empty map
// that is kept says that the caller records deletions.
func (s sightings) changed(by map[types.UID]time.Time, keep bool) sightings {
	if by == nil {
		return s
	}
	times := s.seen.Edit()
	for uid, at := range by {
		if times.Set(uid, at); !keep {
			times.Delete(uid)
		}
	}
	// A caller that has recorded deletions once keeps recording them.
	return sightings{s.recorded || keep, times.Map()}
}
