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

// object is a ServiceCIDR with its specification parsed.
type object struct {
	*networkingv1.ServiceCIDR
	prefixes []netip.Prefix // the entries of spec.cidrs that parse, masked, in order
	entries  []int          // where in spec.cidrs each of the prefixes is
	families family         // of all entries of spec.cidrs
	problems []*purekube.ObjectError
	goes     until // its place in the order of deletion; see order.go
	covers   until // how long others may rely on it; see order.go
}

// deleting is the question that upstream asks: a zero timestamp is none.
func (x *object) deleting() bool { return !x.DeletionTimestamp.IsZero() }

func (x *object) protected() bool { return slices.Contains(x.Finalizers, Finalizer) }

func parse(c *networkingv1.ServiceCIDR) *object {
	x := &object{ServiceCIDR: c}
	x.setOrder()
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
			problem(cidrField(i), err)
			continue
		}
		x.families |= familyOfPrefix(p)
		x.prefixes = append(x.prefixes, p.Masked())
		x.entries = append(x.entries, i)
	}
	return x
}

func cidrField(i int) string { return fmt.Sprintf("spec.cidrs[%d]", i) }

// objects are the ServiceCIDRs of a snapshot, parsed.
type objects struct {
	sorted []*object // one for each name that only one ServiceCIDR has, sorted by name
	byName map[string]*object
	// duplicates are the ServiceCIDRs whose name another one has too, by name. Which of them is
	// the real one cannot be known: nothing is planned for them, and they cover nothing.
	duplicates map[string][]*networkingv1.ServiceCIDR
}

// parseAll parses the ServiceCIDRs. Nil and nameless objects, nil addresses too, go to problems:
// they are reported whether a decision rests on them or not.
func parseAll(s Snapshot, problems *snapshot.Problems) objects {
	if slices.Contains(s.IPAddresses, nil) {
		problems.Add(nilAddress())
	}
	present := snapshot.Named(kindServiceCIDR, s.ServiceCIDRs, problems)
	byKey, duplicates := snapshot.Unique(present)

	all := objects{byName: make(map[string]*object, len(byKey))}
	for _, c := range byKey {
		x := parse(c)
		all.sorted = append(all.sorted, x)
		all.byName[x.Name] = x
	}
	slices.SortFunc(all.sorted, func(a, b *object) int { return cmp.Compare(a.Name, b.Name) })
	if len(duplicates) > 0 {
		all.duplicates = make(map[string][]*networkingv1.ServiceCIDR, len(duplicates))
		for _, c := range present {
			if duplicates[snapshot.KeyOf(c)] {
				all.duplicates[c.Name] = append(all.duplicates[c.Name], c)
			}
		}
	}
	return all
}

// find returns the ServiceCIDR of that name; nil if there is none, or more than one, which is a
// problem.
func (all objects) find(name string, problems *snapshot.Problems) *object {
	if all.duplicates[name] != nil {
		problems.Add(duplicate(name))
	}
	return all.byName[name]
}

// mustFind is find for questions: a name that no ServiceCIDR has is a problem too.
func (all objects) mustFind(name string, problems *snapshot.Problems) *object {
	x := all.find(name, problems)
	if x == nil && all.duplicates[name] == nil {
		problems.Add(&purekube.ObjectError{Kind: kindServiceCIDR, Name: name, Err: purekube.ErrNotFound})
	}
	return x
}

func duplicate(name string) *purekube.ObjectError {
	return snapshot.DuplicateError(kindServiceCIDR, types.NamespacedName{Name: name})
}

// duplicatesOverlapping returns an error for each duplicate name of which an object overlaps x. If
// that object is the real one, x may have the cover that it lacks.
func (all objects) duplicatesOverlapping(x *object) []*purekube.ObjectError {
	var problems []*purekube.ObjectError
	for name, same := range all.duplicates {
		if slices.ContainsFunc(x.prefixes, func(p netip.Prefix) bool { return len(OverlapsPrefix(same, p)) > 0 }) {
			problems = append(problems, duplicate(name))
		}
	}
	return problems // in no order: Problems.Err sorts
}
