package servicecidr

import (
	"cmp"
	"time"
)

// until says how long a ServiceCIDR is certain to stay, as a place in the order of deletion: by the time at which the
// caller first saw the deletion, if it records that, then deletion timestamp, then name. The zero value says that it
// may be gone at any moment.
type until struct {
	class class
	seen  time.Time // for class atDeletion, where the caller records it
	at    time.Time // for the classes atDeletion and unseen
	name  string
}

type class uint8

const (
	uncertain  class = iota // it may be gone at any moment
	atDeletion              // it is being deleted; its finalizer holds it
	unseen                  // it is being deleted, and when it goes is not known before the caller has seen that
	last                    // it is asked about as if its deletion were the newest of all
	forever                 // it is not being deleted, and its finalizer holds it
)

func (u until) compare(v until) int {
	return cmp.Or(cmp.Compare(u.class, v.class), u.seen.Compare(v.seen), u.at.Compare(v.at), cmp.Compare(u.name, v.name))
}

// setOrder fills in when x goes and how long it covers others.
func (x *object) setOrder() {
	deleting := !x.DeletionTimestamp.IsZero()
	// One that is not being deleted is asked about as if its deletion began now, and then it comes
	// after all the others.
	x.goes = until{class: last}
	if deleting {
		// Times with and without a monotonic reading have no common order: it is taken off.
		x.goes = until{atDeletion, x.seen.Round(0), x.DeletionTimestamp.Time, x.Name}
		if x.unseen {
			x.goes.class = unseen
		}
	}
	switch {
	case !x.protected():
		// D-25: without the finalizer nothing here holds it. Others' finalizers may go, or
		// somebody may delete it, between two plans.
		x.covers = until{}
	case x.unseen:
		// Its place in the order is not known: it may be that its finalizer goes already, by a record that is lost.
		x.covers = until{}
	case deleting:
		x.covers = x.goes
	default:
		x.covers = until{class: forever}
	}
}

// mayRelyOn says whether y covers addresses of x (D-1): y is another one and stays longer. So of
// all that contain an address and are being deleted, the last one has none to rely on. The package
// comment says why a deletion that the plan does not know of comes later in the order.
func (x *object) mayRelyOn(y *object) bool {
	return x.Name != y.Name && y.covers.compare(x.goes) > 0
}
