package servicecidr

import (
	"cmp"
	"time"
)

// stay says how long a ServiceCIDR is certain to stay, as a place in the order of deletion: by the time at which the
// caller first saw the deletion, if it records that, then deletion timestamp, then name. The zero value says that it
// may be gone at any moment.
type stay struct {
	class class
	seen  time.Time // for class untilDeleted, where the caller records it
	at    time.Time // for the classes untilDeleted and untilSeen
	name  string
}

// class is the first thing that decides: a greater class stays longer, whatever the times.
type class uint8

const (
	uncertain    class = iota // it may be gone at any moment
	untilDeleted              // it is being deleted; its finalizer protects it
	untilSeen                 // it is being deleted, and when it goes is not known before the caller has seen that
	untilAsked                // it is asked about as if its deletion were the newest of all
	forever                   // it is not being deleted, and its finalizer protects it
)

// compare is negative if s is shorter than t, and 0 only for the same ServiceCIDR, or for classes that have no times.
// The name makes the order total: two ServiceCIDRs deleted within one second would otherwise each rely on the other
// (D-1), or each wait for the other.
func (s stay) compare(t stay) int {
	if s.class != t.class {
		return cmp.Compare(s.class, t.class)
	}
	return cmp.Or(s.seen.Compare(t.seen), s.at.Compare(t.at), cmp.Compare(s.name, t.name))
}
