package servicecidr

import (
	"cmp"
	"math"
	"slices"
)

const (
	coversAll  = math.MaxInt // it stays
	coversNone = -1          // it may vanish at any moment
)

// setOrder gives each ServiceCIDR its turn in the order of deletion and says whom it covers
// (D-1): x may lean on y if y.cover > x.turn.
//
// The order is by deletion timestamp, then name. Of those that are being deleted each covers the
// ones before it, and none covers itself, so among all that contain an address and are to go,
// the last one has nobody to lean on. A deletion that begins later only appends to the order.
//
// asked, if not nil, is a ServiceCIDR that is not being deleted and takes its turn as if it
// were: after all the others.
func setOrder(objects []*object, asked *object) {
	var leaving []*object
	for _, x := range objects {
		x.turn, x.cover = coversAll, coversAll
		if x.deleting() {
			leaving = append(leaving, x)
		}
	}
	slices.SortFunc(leaving, func(a, b *object) int {
		return cmp.Or(a.DeletionTimestamp.Compare(b.DeletionTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	if asked != nil && !asked.deleting() {
		leaving = append(leaving, asked)
	}
	for i, x := range leaving {
		x.turn, x.cover = i, i
		// Nothing here holds it: others' finalizers may go while we look away.
		if x.deleting() && !x.protected() {
			x.cover = coversNone
		}
	}
}
