package servicecidr

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Index is a [Snapshot] arranged for many questions. It never changes: With and Without return another Index, which
// shares the unchanged parts with the first. Any number of goroutines may use an Index, and derive others from it, at
// the same time.
//
// For n IPAddresses, Plan, CheckDeletion and Explain cost O(log n) for each range of addresses of the ServiceCIDR that
// begins and ends where a prefix does, and for each named address. Plan stops at the first address that blocks the
// deletion. The first question that needs the addresses sorts them.
//
// CheckDeletion and Explain also compare each entry of the ServiceCIDR's spec.cidrs with all entries of all
// ServiceCIDRs, so ExplainAll costs the square of all entries. The API server allows two entries in each.
type Index struct {
	now     time.Time
	options Options
	// cidrs has the ServiceCIDRs, sorted by name, each name once. A cluster has one to ten of them, and only
	// administrators write them. So a change makes a new list and new stretches.
	cidrs     []*object
	stretches stretches
	// hasNil and nameless say that there was a ServiceCIDR that is nil, or one without a name.
	hasNil, nameless bool
	// recorded says that the caller records deletions, and seen has the record. MatchUpstream ignores it.
	recorded  bool
	seen      map[types.UID]time.Time
	addresses addresses
}

var _ purekube.Index[*Index, Snapshot, Action] = (*Index)(nil)

// NewIndex arranges the snapshot, in about one pass over it. It keeps pointers to its objects, which must not be
// written to, and none to its slices and maps.
func NewIndex(s Snapshot, o Options) *Index {
	empty := &Index{now: s.Now, options: o, addresses: newAddresses(s.IPAddresses)}
	s.IPAddresses = nil
	x, _ := empty.changed(s, true)
	return x
}

// With returns the index with these objects, which replace objects of the same name. It also returns the affected
// keys, sorted, each once. It costs O(log n) for each IPAddress in changed, a pass over all ServiceCIDRs if changed has
// one, and the cost of what is affected. If Now is not zero, it is the new time, and each ServiceCIDR that is being
// deleted is checked once.
//
// With and Without name every key whose [Outcome] in PlanAll may differ: its Result, or the text of its Err. A changed
// ServiceCIDR affects its own key. If it is added or removed, or if its prefixes, deletion timestamp or finalizer
// change, it also affects the ServiceCIDRs that overlap its old or new prefixes (D-4). An IPAddress that is added or
// removed, or whose labels change, affects the ServiceCIDRs that contain it. If its name is not an address, it affects
// all ServiceCIDRs that are being deleted. Under MatchUpstream the keys are the keys that kube-controller-manager puts
// into its queue: the overlapping ServiceCIDRs only after an addition, and none after an update of an IPAddress.
//
// Nil objects and objects without a name belong to no key. Err, PlanAll and every Plan return them as errors. They add
// no key unless they change an outcome. They stay in the Index forever. An IPAddress of this kind changes outcomes: it
// may be any address, so ServiceCIDRs that are being deleted keep their finalizer and are affected. A plan that differs
// only in the time that it writes into a condition counts as the same.
//
// The entries of DeletionSeen are added to the existing entries. A changed entry affects its ServiceCIDR and the
// ServiceCIDRs that overlap it. The first time you pass DeletionSeen, every ServiceCIDR that is being deleted is
// affected. An empty map counts too.
func (x *Index) With(changed Snapshot) (next *Index, affected []purekube.Key) {
	next, names := x.changed(changed, true)
	if !changed.Now.IsZero() {
		next.now = changed.Now
		// Time passes without an event of an object, so all ServiceCIDRs that are being deleted are asked. In a cluster
		// there are few of them.
		for _, y := range next.cidrs {
			if !y.deleting() {
				continue
			}
			// The grace period ends between the old and the new time, or its end depends on which of the two is Now.
			before, after := x.options.graceEnd(y, x.now), x.options.graceEnd(y, next.now)
			if x.now.Before(before) != next.now.Before(after) || !before.Equal(after) {
				names[y.name] = true
			}
		}
	}
	return next, keysOf(names)
}

// Without returns the index without the objects of these names, and the affected keys, as With does. A name that is
// not in the index changes nothing. The time stays. It removes the entries of DeletionSeen with these UIDs, whatever
// their times. Nothing else removes them: when a ServiceCIDR is gone, pass its UID, or the entries accumulate.
func (x *Index) Without(gone Snapshot) (next *Index, affected []purekube.Key) {
	next, names := x.changed(gone, false)
	return next, keysOf(names)
}

// changed returns the index with the objects and the record in by, if keep is true, and without them otherwise. It also
// returns the affected names.
func (x *Index) changed(by Snapshot, keep bool) (next *Index, affected map[string]bool) {
	// A copy of the struct: x stays as it is for everybody who has it.
	derived := *x
	next, affected = &derived, map[string]bool{}
	if len(by.ServiceCIDRs) > 0 || by.DeletionSeen != nil {
		next.record(by.DeletionSeen, keep)
		next.replace(by.ServiceCIDRs, keep)
		next.arrange()
		next.nameChanged(x, affected)
	}
	var changes []addressChange
	next.addresses, changes = x.addresses.changed(by.IPAddresses, keep)
	// A nil or nameless IPAddress may be an address of any ServiceCIDR that is being deleted.
	anywhere := next.addresses.hasNil != x.addresses.hasNil || next.addresses.nameless != x.addresses.nameless
	for _, c := range changes {
		if !x.options.addressAffects(c) {
			continue
		}
		anywhere = anywhere || !c.at.IsValid()
		if at := next.stretches.search(c.at); at >= 0 {
			for _, y := range next.stretches[at].in {
				affected[y.name] = true
			}
		}
	}
	if anywhere && x.options.mindsUnreadable() {
		for _, y := range next.cidrs {
			if y.deleting() {
				affected[y.name] = true
			}
		}
	}
	return next, affected
}

// record adds the entries of Snapshot.DeletionSeen, or removes them unless keep is true. nil says nothing; an empty map
// that is kept says that the caller records deletions.
func (x *Index) record(seen map[types.UID]time.Time, keep bool) {
	if seen == nil {
		return
	}
	known := maps.Clone(x.seen)
	if known == nil {
		known = map[types.UID]time.Time{}
	}
	for uid, at := range seen {
		if known[uid] = at; !keep {
			delete(known, uid)
		}
	}
	// A caller that has recorded deletions once keeps recording them.
	x.recorded, x.seen = x.recorded || keep, known
}

// replace replaces the ServiceCIDRs of the same names by these, or removes the ServiceCIDRs of these names unless keep
// is true. Several ServiceCIDRs of one name make that name unusable.
func (x *Index) replace(by []*networkingv1.ServiceCIDR, keep bool) {
	versions := map[string][]*networkingv1.ServiceCIDR{}
	for _, c := range by {
		switch {
		case c == nil:
			x.hasNil = x.hasNil || keep
		case c.Name == "":
			x.nameless = x.nameless || keep
		default:
			versions[c.Name] = append(versions[c.Name], c)
		}
	}
	x.cidrs = slices.DeleteFunc(slices.Clone(x.cidrs), func(y *object) bool { return versions[y.name] != nil })
	if keep {
		for name, same := range versions {
			x.cidrs = append(x.cidrs, parse(name, same))
		}
	}
	slices.SortFunc(x.cidrs, func(a, b *object) int { return strings.Compare(a.name, b.name) })
}

// arrange gives each ServiceCIDR its place in the order of deletion, and makes the stretches.
func (x *Index) arrange() {
	for i, y := range x.cidrs {
		if p := x.options.placeOf(y, x.recorded, x.seen); p != y.place {
			moved := *y // a copy, since other indexes may have the object
			moved.place = p
			x.cidrs[i] = &moved
		}
	}
	x.stretches = newStretches(x.cidrs)
}

// nameChanged names the ServiceCIDRs that are different from the ServiceCIDRs of the index before, and the ServiceCIDRs
// that overlap them.
func (x *Index) nameChanged(before *Index, affected map[string]bool) {
	var prefixes []netip.Prefix
	changed := func(name string, was, is *object) {
		affected[name] = true
		if x.options.affectsOthers(was, is) {
			for _, y := range []*object{was, is} {
				if y != nil {
					prefixes = append(prefixes, y.prefixes...)
				}
			}
		}
	}
	for _, y := range x.cidrs {
		if was := before.find(Key(y.name)); was != y {
			changed(y.name, was, y)
		}
	}
	for _, y := range before.cidrs {
		if x.find(Key(y.name)) == nil {
			changed(y.name, y, nil)
		}
	}
	// x is enough: a ServiceCIDR that overlaps and is not in x has changed itself, and is named as such.
	for _, y := range x.cidrs {
		if !affected[y.name] && y.overlaps(prefixes) {
			affected[y.name] = true
		}
	}
}

// find returns the ServiceCIDR of that key, or nil if there is none.
func (x *Index) find(key purekube.Key) *object {
	at, found := slices.BinarySearchFunc(x.cidrs, key.Name, func(y *object, name string) int {
		return strings.Compare(y.name, name)
	})
	if !found || key != Key(key.Name) { // a key of another kind
		return nil
	}
	return x.cidrs[at]
}

// keysOf returns the keys of the names, sorted.
func keysOf(names map[string]bool) (keys []purekube.Key) {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		keys = append(keys, Key(name))
	}
	return keys
}

// report adds the problems that every answer returns: nil and nameless objects.
func (x *Index) report(problems *snapshot.Problems) {
	if x.hasNil {
		problems.Add(&purekube.ObjectError{Kind: kindServiceCIDR, Err: purekube.ErrNil})
	}
	if x.nameless {
		problems.Add(snapshot.NamelessError(kindServiceCIDR))
	}
	if x.addresses.hasNil {
		problems.Add(&purekube.ObjectError{Kind: kindIPAddress, Err: purekube.ErrNil})
	}
}

// reportAll adds what is wrong with the snapshot as a whole.
func (x *Index) reportAll(problems *snapshot.Problems) {
	x.report(problems)
	if x.options.mindsUnreadable() {
		problems.Add(x.addresses.unparsable(everyFamily)...)
	}
}

// Err returns what is wrong with the objects as a whole: the error of PlanAll, and the names that several ServiceCIDRs
// have.
func (x *Index) Err() error {
	if err := x.options.err(); err != nil {
		return err
	}
	var problems snapshot.Problems
	x.reportAll(&problems)
	for _, y := range x.cidrs {
		if y.duplicate() {
			problems.Add(duplicate(y.name))
		}
	}
	return problems.Err()
}
