package servicecidr

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// errNoCIDRs is the problem of an empty spec.cidrs. Upstream takes such a ServiceCIDR to be contained in others, and
// removes its finalizer (D-2).
var errNoCIDRs = errors.New("no CIDR")

// object is a ServiceCIDR with its specification parsed. It is made once for each version of a ServiceCIDR, and never
// written to afterwards: Indexes share it.
type object struct {
	// ServiceCIDR is nil if several ServiceCIDRs have the name. It is unknown which of them is the real one, so nothing
	// is planned for them, and they contain nothing for others. prefixes has the prefixes of all of them.
	*networkingv1.ServiceCIDR
	name     string
	prefixes []netip.Prefix          // the entries of spec.cidrs that parse, masked, in order
	families family                  // of all entries of spec.cidrs
	problems []*purekube.ObjectError // an error for each other entry, or for no entry at all
	place
}

// place is where a ServiceCIDR is in the order of deletion. own and reliable are different: for others, a ServiceCIDR
// without the finalizer may be gone at any moment (D-25); its own plan still waits for its addresses.
type place struct {
	seen     time.Time // when the caller first saw it being deleted; zero if the caller does not record that
	unseen   bool      // the caller records that, and has not recorded this one
	own      stay      // until when its own plan keeps it
	reliable stay      // until when others may rely on it
}

// parse returns the object of the ServiceCIDRs of one name, without its place in the order of deletion. An entry that
// does not parse is a problem of the object and not of the Index: the other entries are used.
func parse(name string, versions []*networkingv1.ServiceCIDR) *object {
	y := &object{name: name}
	for _, c := range versions {
		y.read(c)
	}
	if len(versions) == 1 {
		y.ServiceCIDR = versions[0]
	}
	return y
}

// read adds the specification of c.
func (x *object) read(c *networkingv1.ServiceCIDR) {
	problem := func(field string, err error) {
		x.problems = append(x.problems, &purekube.ObjectError{Kind: kindServiceCIDR, Name: c.Name, Field: field, Err: err})
	}
	if len(c.Spec.CIDRs) == 0 {
		problem("spec.cidrs", errNoCIDRs)
	}
	for i, s := range c.Spec.CIDRs {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			// The family still counts: an IPAddress of this family may be in the entry that cannot be read.
			x.families |= familyOfText(s)
			problem(cidrField(i), err)
			continue
		}
		x.families |= familyOfPrefix(p)
		// Masked, so that 10.0.0.5/24 and 10.0.0.0/24 are the same prefix.
		x.prefixes = append(x.prefixes, p.Masked())
	}
}

// cidrField is the path of an entry of spec.cidrs in errors and reasons.
func cidrField(i int) string { return fmt.Sprintf("spec.cidrs[%d]", i) }

// duplicate reports whether several ServiceCIDRs have the name.
func (x *object) duplicate() bool { return x.ServiceCIDR == nil }

// deleting reports whether x is being deleted. As for upstream, a zero timestamp counts as none.
func (x *object) deleting() bool { return !x.duplicate() && !x.DeletionTimestamp.IsZero() }

// overlaps reports whether x has an address in common with one of the prefixes.
func (x *object) overlaps(prefixes []netip.Prefix) bool {
	return slices.ContainsFunc(x.prefixes, func(p netip.Prefix) bool {
		return slices.ContainsFunc(prefixes, p.Overlaps)
	})
}

// duplicate is the problem of a name that several ServiceCIDRs have.
func duplicate(name string) *purekube.ObjectError {
	return snapshot.DuplicateError(kindServiceCIDR, types.NamespacedName{Name: name})
}
