package servicecidr

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
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
	seen     time.Time // when the caller first saw it being deleted; zero if the caller does not record that
	unseen   bool      // the caller records that, and has not recorded this one
	goes     until     // its place in the order of deletion; see order.go
	covers   until     // how long others may rely on it; see order.go
}

// deleting is the question that upstream asks: a zero timestamp is none.
func (x *object) deleting() bool { return !x.DeletionTimestamp.IsZero() }

func (x *object) protected() bool { return slices.Contains(x.Finalizers, Finalizer) }

func (d deletions) parse(c *networkingv1.ServiceCIDR) *object {
	x := d.ordered(c)
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

// cidrs are the ServiceCIDRs of a snapshot, parsed. It never changes.
type cidrs struct {
	deletions
	// byName has those whose name no other has.
	byName *persistent.Map[string, *object]
	// deleting has those of byName that are being deleted.
	deleting *persistent.Map[string, *object]
	// byUID has those of deleting, to be found by DeletionSeen.
	byUID *persistent.Map[uidKey, *object]
	// prefixes has the prefixes of those in byName.
	prefixes prefixes
	// duplicates are the ServiceCIDRs whose name another one has too, by name. Which of them is the
	// real one cannot be known: nothing is planned for them, and they cover nothing.
	duplicates map[string][]*networkingv1.ServiceCIDR
	// anyNil and anyNameless: such objects were among them.
	anyNil, anyNameless bool
}

func parseAll(s Snapshot, o Options) cidrs {
	c := cidrs{
		deletions: newDeletions(o),
		byName:    persistent.NewMap[string, *object](strings.Compare),
		deleting:  persistent.NewMap[string, *object](strings.Compare),
		byUID:     persistent.NewMap[uidKey, *object](uidKey.compare),
		prefixes:  newPrefixes(o.matchUpstream()),
	}
	c.deletions = c.deletions.with(s.DeletionSeen)
	c, _ = c.with(groupByName(s.ServiceCIDRs))
	return c
}

// byNames are objects by name; a name without objects is one whose objects are gone.
type byNames[P any] map[string][]P

// grouped are the ServiceCIDRs of a change.
type grouped struct {
	byName              byNames[*networkingv1.ServiceCIDR]
	anyNil, anyNameless bool
}

func groupByName(all []*networkingv1.ServiceCIDR) grouped {
	g := grouped{byName: make(byNames[*networkingv1.ServiceCIDR], len(all))}
	for _, c := range all {
		switch {
		case c == nil:
			g.anyNil = true
		case c.Name == "":
			g.anyNameless = true
		default:
			g.byName[c.Name] = append(g.byName[c.Name], c)
		}
	}
	return g
}

// with returns the ServiceCIDRs with those of each name replaced, and what was there under these
// names before.
func (c cidrs) with(g grouped) (next cidrs, before byNames[*networkingv1.ServiceCIDR]) {
	next = c
	next.anyNil = c.anyNil || g.anyNil
	next.anyNameless = c.anyNameless || g.anyNameless
	byName, deleting, byUID := c.byName.Edit(), c.deleting.Edit(), c.byUID.Edit()
	duplicates := maps.Clone(c.duplicates)
	before = make(byNames[*networkingv1.ServiceCIDR], len(g.byName))
	var gone, added []*object
	for name, objects := range g.byName {
		if x, there := byName.Get(name); there {
			before[name] = []*networkingv1.ServiceCIDR{x.ServiceCIDR}
			gone = append(gone, x)
			byName.Delete(name)
			deleting.Delete(name)
			byUID.Delete(uidKey{x.UID, name})
		} else if same := duplicates[name]; same != nil {
			before[name] = same
			delete(duplicates, name)
		}
		switch len(objects) {
		case 0:
		case 1:
			x := c.parse(objects[0])
			added = append(added, x)
			byName.Set(name, x)
			if x.deleting() {
				deleting.Set(name, x)
				byUID.Set(uidKey{x.UID, name}, x)
			}
		default:
			if duplicates == nil {
				duplicates = map[string][]*networkingv1.ServiceCIDR{}
			}
			duplicates[name] = objects
		}
	}
	next.byName, next.deleting, next.byUID, next.duplicates = byName.Map(), deleting.Map(), byUID.Map(), duplicates
	next.prefixes = c.prefixes.with(gone, added)
	return next, before
}

// report adds what is wrong with the ServiceCIDRs whether a decision rests on it or not.
func (c cidrs) report(problems *snapshot.Problems) {
	if c.anyNil {
		problems.Add(&purekube.ObjectError{Kind: kindServiceCIDR, Err: purekube.ErrNil})
	}
	if c.anyNameless {
		problems.Add(snapshot.NamelessError(kindServiceCIDR))
	}
}

// find returns the ServiceCIDR of that name; nil if there is none, or more than one, which is a
// problem.
func (c cidrs) find(name string, problems *snapshot.Problems) *object {
	if c.duplicates[name] != nil {
		problems.Add(duplicate(name))
	}
	x, _ := c.byName.Get(name)
	return x
}

// mustFind is find for questions: a name that no ServiceCIDR has is a problem too.
func (c cidrs) mustFind(key purekube.Key, problems *snapshot.Problems) *object {
	x := c.find(nameOf(key), problems)
	if x == nil && c.duplicates[nameOf(key)] == nil {
		problems.Add(&purekube.ObjectError{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrNotFound})
	}
	return x
}

func duplicate(name string) *purekube.ObjectError {
	return snapshot.DuplicateError(kindServiceCIDR, types.NamespacedName{Name: name})
}

// duplicatesOverlapping returns an error for each duplicate name of which an object overlaps x. If
// that object is the real one, x may have the cover that it lacks.
func (c cidrs) duplicatesOverlapping(x *object) []*purekube.ObjectError {
	var problems []*purekube.ObjectError
	for name, same := range c.duplicates {
		if slices.ContainsFunc(x.prefixes, func(p netip.Prefix) bool { return len(CIDRsOverlapping(same, p)) > 0 }) {
			problems = append(problems, duplicate(name))
		}
	}
	return problems // in no order: Problems.Err sorts
}
