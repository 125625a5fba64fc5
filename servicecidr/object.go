package servicecidr

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
)

// errNoCIDRs is the problem of an empty spec.cidrs. Upstream takes such a ServiceCIDR to be contained in others, and
// removes its finalizer (D-2).
var errNoCIDRs = errors.New("no CIDR")

// object is a ServiceCIDR with its specification parsed. It is made once for each version of a ServiceCIDR, and never
// written to afterwards: Indexes share it.
//
// prefixes and entries belong together: prefixes[i] is the text spec.cidrs[entries[i]]. problems has an error for each
// other entry. The last two fields are different places in the order: for others, a ServiceCIDR without the finalizer
// may be gone at any moment (D-25); its own plan still waits for its addresses.
type object struct {
	*networkingv1.ServiceCIDR
	name     string
	prefixes []netip.Prefix // the entries of spec.cidrs that parse, masked, in order
	entries  []int          // where in spec.cidrs each of the prefixes is
	unique   []netip.Prefix // the prefixes, sorted, each once
	families family         // of all entries of spec.cidrs
	problems []*purekube.ObjectError
	seen     time.Time // when the caller first saw it being deleted; zero if the caller does not record that
	unseen   bool      // the caller records that, and has not recorded this one
	goes     until     // its place in the order of deletion; see order.go
	covers   until     // how long others may rely on it; see order.go
}

// deleting reports whether x is being deleted. As for upstream, a zero timestamp counts as none.
func (x *object) deleting() bool { return !x.DeletionTimestamp.IsZero() }

// protected reports whether the finalizer of this package is there. Other finalizers delay a deletion too, but do not
// wait for addresses.
func (x *object) protected() bool { return slices.Contains(x.Finalizers, Finalizer) }

// repeats reports whether spec.cidrs has the prefix more than once.
func (x *object) repeats(p netip.Prefix) bool {
	// Most ServiceCIDRs have no repeated prefix, so the lengths decide first.
	first := slices.Index(x.prefixes, p)
	return len(x.unique) < len(x.prefixes) && slices.Contains(x.prefixes[first+1:], p)
}

// parse returns the object. An entry that does not parse is a problem of the object and not of the Index: the other
// entries are used.
func (x *Index) parse(c *networkingv1.ServiceCIDR) *object {
	y := &object{ServiceCIDR: c, name: c.Name}
	problem := func(field string, err error) {
		y.problems = append(y.problems, &purekube.ObjectError{Kind: kindServiceCIDR, Name: c.Name, Field: field, Err: err})
	}
	if len(c.Spec.CIDRs) == 0 {
		problem("spec.cidrs", errNoCIDRs)
	}
	for i, s := range c.Spec.CIDRs {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			// The family still counts: an IPAddress of this family may be in the entry that cannot be read.
			y.families |= familyOfText(s)
			problem(cidrField(i), err)
			continue
		}
		y.families |= familyOfPrefix(p)
		// Masked, so that 10.0.0.5/24 and 10.0.0.0/24 are one key in the tree of prefixes.
		y.prefixes = append(y.prefixes, p.Masked())
		y.entries = append(y.entries, i)
	}
	y.unique = slices.Clone(y.prefixes)
	slices.SortFunc(y.unique, persistent.ComparePrefixes)
	y.unique = slices.Compact(y.unique)
	x.order(y)
	return y
}

// cidrField is the path of an entry of spec.cidrs in errors and reasons.
func cidrField(i int) string { return fmt.Sprintf("spec.cidrs[%d]", i) }

// graceEnd is the first moment at which the finalizer of x may be removed (BR-31-03).
//
// An API server learns of the deletion through a watch. Until then, its allocator may still give an address of the
// range to a new Service, and no plan can know that address. So the finalizer stays for the grace period even if
// nothing blocks the deletion.
func (x *object) graceEnd(now time.Time, o Options) time.Time {
	seen := x.seen
	if x.unseen {
		// The deletion counts as first seen by this plan, so the grace period cannot be over before the caller records
		// it.
		seen = now
	}
	// Add, not Sub: a difference of two times can overflow.
	end, own := x.DeletionTimestamp.Add(o.gracePeriod()), seen.Add(o.gracePeriod())
	// Return the later end. If one end is over and the other is not, return the other: the caller's times may have a
	// monotonic reading, so that a step of the clock does not end the wait.
	if now.Before(own) && (own.After(end) || !now.Before(end)) {
		return own
	}
	return end
}
