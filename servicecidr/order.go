package servicecidr

import (
	"cmp"
	"time"
)

// until says how long a ServiceCIDR is certain to stay, as a place in the order of deletion: by
// deletion timestamp, then name. The zero value says that it may be gone at any moment.
type until struct {
	class class
	at    time.Time // for class atDeletion
	name  string
}

type class uint8

const (
	uncertain  class = iota // it may be gone at any moment
	atDeletion              // it is being deleted; its finalizer holds it
	last                    // it is asked about as if its deletion were the newest of all
	forever                 // it is not being deleted, and its finalizer holds it
)

func (u until) compare(v until) int {
	return cmp.Or(cmp.Compare(u.class, v.class), u.at.Compare(v.at), cmp.Compare(u.name, v.name))
}

// setOrder fills in when x goes and how long it covers others.
func (x *object) setOrder() {
	deleting := !x.DeletionTimestamp.IsZero()
	// One that is not being deleted is asked about as if its deletion began now, and then it comes
	// after all the others.
	x.goes = until{class: last}
	if deleting {
		x.goes = until{atDeletion, x.DeletionTimestamp.Time, x.Name}
	}
	switch {
	case !x.protected():
		// D-25: without the finalizer nothing here holds it. Others' finalizers may go, or
		// somebody may delete it, between two plans.
		x.covers = until{}
	case deleting:
		x.covers = x.goes
	default:
		x.covers = until{class: forever}
	}
}

// mayRelyOn says whether y covers addresses of x (D-1): y is another one and stays longer. So of
// all that contain an address and are being deleted, the last one has none to rely on. A
// deletion that begins later only appends to the order.
func (x *object) mayRelyOn(y *object) bool {
	return x.Name != y.Name && y.covers.compare(x.goes) > 0
}
