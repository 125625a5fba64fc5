package servicecidr

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

var errNoCIDRs = errors.New("no CIDR")

// object is a ServiceCIDR as the decisions see it.
type object struct {
	*networkingv1.ServiceCIDR
	prefixes []netip.Prefix // the entries of spec.cidrs that parse, masked, in order
	families family         // of all entries of spec.cidrs
	problems []*purekube.ObjectError
	turn     int // its place among those being deleted; see order.go
	cover    int // those whose turn is before this may lean on it; see order.go
}

// deleting is what upstream asks: a zero timestamp is none.
func (x *object) deleting() bool { return !x.DeletionTimestamp.IsZero() }

func (x *object) protected() bool { return slices.Contains(x.Finalizers, Finalizer) }

// roster is the ServiceCIDRs of a snapshot, sorted out.
type roster struct {
	objects []*object // one a name, sorted by name
	byName  map[string]*object
	// doubles are the objects whose name another one has too, by name. Which of them is real
	// cannot be known: nothing is planned for them, and they cover nothing.
	doubles map[string][]*networkingv1.ServiceCIDR
}

// readRoster sorts the ServiceCIDRs out. What belongs to no name goes to problems, nil addresses
// too: they are reported whether a decision rests on them or not.
func readRoster(s Snapshot, problems *snapshot.Problems) roster {
	if slices.Contains(s.IPAddresses, nil) {
		problems.Add(nilAddress())
	}
	present := snapshot.Named(kindServiceCIDR, s.ServiceCIDRs, problems)
	byKey, duplicates := snapshot.Unique(present)

	r := roster{byName: make(map[string]*object, len(byKey))}
	for _, c := range byKey {
		x := readObject(c)
		r.objects = append(r.objects, x)
		r.byName[x.Name] = x
	}
	slices.SortFunc(r.objects, func(a, b *object) int { return cmp.Compare(a.Name, b.Name) })
	if len(duplicates) > 0 {
		r.doubles = make(map[string][]*networkingv1.ServiceCIDR, len(duplicates))
		for _, c := range present {
			if duplicates[snapshot.KeyOf(c)] {
				r.doubles[c.Name] = append(r.doubles[c.Name], c)
			}
		}
	}
	return r
}

// find returns the ServiceCIDR of that name; nil if there is none, or more than one, which is a
// problem.
func (r roster) find(name string, problems *snapshot.Problems) *object {
	if r.doubles[name] != nil {
		problems.Add(duplicate(name))
	}
	return r.byName[name]
}

func duplicate(name string) *purekube.ObjectError {
	return snapshot.DuplicateError(kindServiceCIDR, types.NamespacedName{Name: name})
}

func readObject(c *networkingv1.ServiceCIDR) *object {
	x := &object{ServiceCIDR: c}
	problem := func(field string, err error) {
		x.problems = append(x.problems, &purekube.ObjectError{Kind: kindServiceCIDR, Name: c.Name, Field: field, Err: err})
	}
	if len(c.Spec.CIDRs) == 0 {
		problem("spec.cidrs", errNoCIDRs)
	}
	for i, s := range c.Spec.CIDRs {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			x.families |= familyOfText(s)
			problem(fmt.Sprintf("spec.cidrs[%d]", i), err)
			continue
		}
		x.families |= familyOfPrefix(p)
		x.prefixes = append(x.prefixes, p.Masked())
	}
	return x
}

// hiding returns an error for each double of which a copy overlaps x. If one of the copies is
// real, x may have the cover that it lacks.
func (r roster) hiding(x *object) []*purekube.ObjectError {
	var problems []*purekube.ObjectError
	for name, copies := range r.doubles {
		if slices.ContainsFunc(x.prefixes, func(p netip.Prefix) bool { return len(OverlapsPrefix(copies, p)) > 0 }) {
			problems = append(problems, duplicate(name))
		}
	}
	return problems // in no order: Problems.Err sorts
}
