package servicecidr

import (
	"cmp"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
)

// deletions are what Snapshot.DeletionSeen says. They never change.
type deletions struct {
	// recorded: the caller records deletions, so that one without a time has not been seen before.
	recorded bool
	times    *persistent.Map[types.UID, time.Time]
	// ignored: MatchUpstream does not know of them.
	ignored bool
}

func newDeletions(o Options) deletions {
	times := persistent.NewMap[types.UID, time.Time](cmp.Compare[types.UID])
	return deletions{times: times, ignored: o.matchUpstream()}
}

func (d deletions) with(seen map[types.UID]time.Time) deletions {
	if seen == nil || d.ignored {
		return d
	}
	times := d.times.Edit()
	for uid, at := range seen {
		times.Set(uid, at)
	}
	d.recorded, d.times = true, times.Map()
	return d
}

func (d deletions) without(gone map[types.UID]time.Time) deletions {
	if len(gone) == 0 {
		return d
	}
	times := d.times.Edit()
	for uid := range gone {
		times.Delete(uid)
	}
	d.times = times.Map()
	return d
}

// ordered returns the ServiceCIDR with its place in the order of deletion; nil for nil.
func (d deletions) ordered(c *networkingv1.ServiceCIDR) *object {
	if c == nil {
		return nil
	}
	x := &object{ServiceCIDR: c}
	if x.deleting() && d.recorded {
		x.seen, _ = d.times.Get(c.UID)
		x.unseen = x.seen.IsZero()
	}
	x.setOrder()
	return x
}

// graceEnd is when the finalizer of x may go, at the very moment (BR-31-03).
func (x *object) graceEnd(now time.Time, o Options) time.Time {
	seen := x.seen
	if x.unseen {
		seen = now
	}
	// Not a difference of times: those overflow.
	end, own := x.DeletionTimestamp.Add(o.gracePeriod()), seen.Add(o.gracePeriod())
	// The later one, and not one that is over while the other is not: the caller's times may have a monotonic reading,
	// by which a step of the clock does not end a wait.
	if now.Before(own) && (own.After(end) || !now.Before(end)) {
		return own
	}
	return end
}

// uidKey is a place in the order of UIDs, which objects that no API server holds may have in common.
type uidKey struct {
	uid  types.UID
	name string
}

func (a uidKey) compare(b uidKey) int {
	return cmp.Or(cmp.Compare(a.uid, b.uid), cmp.Compare(a.name, b.name))
}
