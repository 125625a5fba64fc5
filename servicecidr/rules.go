package servicecidr

import (
	"cmp"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// These are upstream's texts. With other texts, a cluster that changes from one controller to the other would write
	// the status of every ServiceCIDR again.
	messageReady       = "Kubernetes Service CIDR is ready"
	messageTerminating = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new " +
		"ServiceCIDR"
)

// protected is BR-31-01: whether the ServiceCIDR has the finalizer of this package. Other finalizers delay a deletion
// too, but do not wait for addresses.
func protected(c *networkingv1.ServiceCIDR) bool { return slices.Contains(c.Finalizers, Finalizer) }

// wantReady is BR-31-01 and BR-31-02: the condition Ready of a ServiceCIDR that is ready, or that is being deleted and
// in use.
func wantReady(ready bool) metav1.Condition {
	if ready {
		return metav1.Condition{Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
			Message: messageReady}
	}
	return metav1.Condition{
		Type:    networkingv1.ServiceCIDRConditionReady,
		Status:  metav1.ConditionFalse,
		Reason:  networkingv1.ServiceCIDRReasonTerminating,
		Message: messageTerminating,
	}
}

// says reports whether the ServiceCIDR has the condition, with the same status, reason and message. As for upstream,
// the time of the last transition does not count. Otherwise every plan would write the status.
func says(c *networkingv1.ServiceCIDR, want metav1.Condition) bool {
	have := apimeta.FindStatusCondition(c.Status.Conditions, want.Type)
	return have != nil && have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message
}

// orphaned is BR-31-02: whether addresses would be in no ServiceCIDR after the deletion of x. in has the ServiceCIDRs
// that contain them, x included.
//
// BR-31-05 follows: a prefix of another ServiceCIDR that contains a whole prefix of x contains all of its addresses;
// prefix.go says why.
func (o Options) orphaned(x *object, in []*object) bool {
	if o.matchUpstream() {
		// Every entry of every ServiceCIDR counts, except one entry of x. Upstream compares the names only if there is
		// exactly one match, so a second match in x itself counts as another ServiceCIDR.
		return len(in) == 1
	}
	// The first one stays longest, so it decides for all.
	for _, y := range in {
		if y != x {
			return !o.mayRelyOn(x, y)
		}
	}
	return true
}

// mayRelyOn is D-1 and D-25: whether x may rely on another ServiceCIDR y for addresses that both contain, while both
// are being deleted.
//
// ServiceCIDRs that are being deleted are ordered by Snapshot.DeletionSeen if the caller records it, then by deletion
// timestamp, then by name. A ServiceCIDR may rely on ServiceCIDRs that are not being deleted and on later ones in the
// order, never on earlier ones. So, of all ServiceCIDRs that contain an address, the last one stays until the address
// is gone, in whatever order the others go, and whatever mixture of plans removes their finalizers.
//
// An example: a and b both have 10.0.0.0/24, both are being deleted, a first, and a Service has 10.0.0.7.
//
//	                          a                            b
//	upstream                  b contains it: finalizer     a, which the cache still has, contains it: finalizer
//	                          removed                      removed; 10.0.0.7 is in no ServiceCIDR
//	here                      relies on b, which is        a is earlier: Ready=False until the Service gives 10.0.0.7
//	                          later: finalizer removed     back
//
// With a third ServiceCIDR c that has 10.0.0.0/16 and its finalizer, and is not being deleted, both a and b may go.
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
// CheckDeletion of a ServiceCIDR that is not being deleted regards its deletion as the newest. So every ServiceCIDR
// that is being deleted may be gone before it, also one whose timestamp is later than Now or within the same second.
//
// Under MatchUpstream a ServiceCIDR relies on every other one, and on itself if it has two overlapping prefixes; only a
// manifest can have such an object. By default it never relies on itself.
func (o Options) mayRelyOn(x, y *object) bool {
	switch {
	case y.duplicate():
		return false
	case y == x:
		return o.matchUpstream()
	}
	return y.reliable.compare(x.own) > 0
}

// placeOf returns the place of y in the order of deletion, for mayRelyOn. recorded says that the caller records when it
// first sees deletions, in seen.
func (o Options) placeOf(y *object, recorded bool, seen map[types.UID]time.Time) place {
	// A question about a ServiceCIDR that is not being deleted is answered as if its deletion began now. Then it is
	// the last in the order.
	p := place{own: stay{class: untilAsked}, reliable: stay{class: forever}}
	if y.duplicate() || o.matchUpstream() { // Upstream relies on every other ServiceCIDR.
		return p
	}
	if y.deleting() {
		if recorded {
			// The zero time of a missing entry and a recorded zero time mean the same: not seen yet.
			p.seen = seen[y.UID]
			p.unseen = p.seen.IsZero()
		}
		// Times with and without a monotonic reading have no common order, so Round removes the reading.
		p.own = stay{untilDeleted, p.seen.Round(0), y.DeletionTimestamp.Time, y.Name}
		if p.unseen {
			p.own.class = untilSeen
		}
		p.reliable = p.own
	}
	// D-25: without the finalizer, y may be deleted between two plans, even if it has other finalizers now. If the
	// deletion of y is not recorded, its place is unknown: a plan with a lost record may already have removed its
	// finalizer.
	if !protected(y.ServiceCIDR) || p.unseen {
		p.reliable = stay{}
	}
	return p
}

// compareReliable sorts ServiceCIDRs by how long others may rely on them, the longest first, then by name.
func compareReliable(a, b *object) int {
	return cmp.Or(b.reliable.compare(a.reliable), strings.Compare(a.name, b.name))
}

// mindsUnreadable is D-2: whether what cannot be read makes a decision uncertain. An entry of spec.cidrs that does not
// parse may contain any address, and an IPAddress whose name is not an address may be any address. Upstream passes over
// both.
func (o Options) mindsUnreadable() bool { return !o.matchUpstream() }

// graceEnd is BR-31-03: the first moment at which the finalizer of x may be removed.
//
// An API server learns of the deletion through a watch. Until then, its allocator may still give an address of the
// range to a new Service, and no plan can know that address. So the finalizer stays for the grace period even if
// nothing blocks the deletion.
func (o Options) graceEnd(x *object, now time.Time) time.Time {
	seen := x.seen
	if x.unseen {
		// The deletion counts as first seen by this plan, so the grace period cannot be over before the caller records
		// it.
		seen = now
	}
	// Add, not Sub: a difference of two times can overflow.
	ends, own := x.DeletionTimestamp.Add(o.gracePeriod()), seen.Add(o.gracePeriod())
	// Return the later one. If one is over and the other is not, return the other: the caller's times may have a
	// monotonic reading, so that a step of the clock does not end the wait.
	if now.Before(own) && (own.After(ends) || !now.Before(ends)) {
		return own
	}
	return ends
}

// uid is D-3 and D-26: the UID that an action has, so that it is not done to another ServiceCIDR of that name. Upstream
// sends none.
func (o Options) uid(x *object) types.UID {
	if o.matchUpstream() {
		return ""
	}
	return x.UID
}

// affectsOthers is D-4: whether the change of a ServiceCIDR can change the plans of the ServiceCIDRs that it overlaps.
// was is nil if it is new, is if it is gone. Upstream plans the others only after an addition.
func (o Options) affectsOthers(was, is *object) bool {
	switch {
	case o.matchUpstream():
		return was == nil
	// A ServiceCIDR that comes may contain the addresses of another one, and a ServiceCIDR that goes may have done so.
	case was == nil || is == nil || was.duplicate() || is.duplicate():
		return true
	}
	// Status, labels and other fields are left out: the write of a condition must not plan all ServiceCIDRs around
	// again.
	return was.reliable.compare(is.reliable) != 0 || !slices.Equal(was.Spec.CIDRs, is.Spec.CIDRs)
}

// addressAffects reports whether the change of an IPAddress can change the plans of the ServiceCIDRs that contain it.
// Upstream does not listen to updates.
func (o Options) addressAffects(c addressChange) bool {
	if len(c.before) == 0 || len(c.after) == 0 {
		isManaged := func(a address) bool { return managed(a.ip) }
		return slices.ContainsFunc(slices.Concat(c.before, c.after), isManaged)
	}
	// The spec of an IPAddress is only shown to users, so a change of its parent affects nothing.
	return !o.matchUpstream() && familiesOf(c.before) != familiesOf(c.after)
}
