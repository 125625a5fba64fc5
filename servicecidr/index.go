package servicecidr

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// Index is a [Snapshot] arranged for many questions. It never changes: With and Without return another one, which
// shares with it what is the same in both. Any number of goroutines may use one, and derive others from it, at the
// same time.
//
// A function of this package answers as the method does: Plan(s, key, o) as NewIndex(s, o).Plan(key).
//
// For n IPAddresses and ServiceCIDRs, Plan, CheckDeletion and Explain cost O(log n) for each prefix around and inside
// the prefixes of the ServiceCIDR, and for each named address. Plan stops at the first address that blocks the
// deletion. The first question that needs the addresses sorts them.
type Index struct {
	now   time.Time
	o     Options
	cidrs *cidrObjects
	sightings
	// byName has the parsed ServiceCIDRs whose name no other ServiceCIDR has. deleting is the subset that is being
	// deleted.
	byName, deleting *objectMap
	// byUID finds ServiceCIDRs by the UIDs that Snapshot.DeletionSeen has.
	byUID *persistent.TermIndex[networkingv1.ServiceCIDR, *networkingv1.ServiceCIDR]
	hash  persistent.Hash
	// prefixes has the prefixes of the ServiceCIDRs in byName.
	prefixes *persistent.Prefixes[*object]
	// ambiguous has the names that several ServiceCIDRs have, by the prefixes of all these ServiceCIDRs. It is unknown
	// which of them is the real one, so nothing is planned for them, and no other ServiceCIDR may rely on them.
	ambiguous *persistent.Prefixes[string]
	ips       addresses
}

type (
	objectMap   = persistent.Map[types.NamespacedName, *object]
	cidrObjects = persistent.Objects[networkingv1.ServiceCIDR, *networkingv1.ServiceCIDR]
	cidrChange  = persistent.Change[*networkingv1.ServiceCIDR]
)

var _ purekube.Index[*Index, Snapshot, Action] = (*Index)(nil)

// NewIndex arranges the snapshot, in about one pass over it. It keeps pointers to its objects, which must not be
// written to, and none to its slices and maps.
func NewIndex(s Snapshot, o Options) *Index {
	hash := persistent.NewHash()
	x := &Index{
		now: s.Now, o: o,
		cidrs:     persistent.NewClusterObjects(kindServiceCIDR, s.ServiceCIDRs),
		sightings: sightings{seen: persistent.NewMap[types.UID, time.Time](cmp.Compare[types.UID])},
		byName:    persistent.NewMap[types.NamespacedName, *object](persistent.CompareNames),
		deleting:  persistent.NewMap[types.NamespacedName, *object](persistent.CompareNames),
		hash:      hash,
		prefixes:  persistent.NewPrefixes(compareCovers),
		ambiguous: persistent.NewPrefixes(cmp.Compare[string]),
		ips:       newAddresses(s.IPAddresses),
	}
	x.byUID = persistent.NewTermIndex(x.cidrs, func(terms []uint64, c *networkingv1.ServiceCIDR) []uint64 {
		return append(terms, hash.Text(string(c.UID)))
	})
	if !o.matchUpstream() {
		x.sightings = x.sightings.changed(s.DeletionSeen, true)
	}
	x.put(x.cidrs, x.cidrs.Changes(), nil)
	return x
}

// put gives a new index, which nobody else has yet, these ServiceCIDRs. again has unchanged ServiceCIDRs whose place
// in the order of deletion has changed.
//
// These belong together and change together: byName, deleting (a subset of byName) and prefixes (the prefixes of
// byName). An ambiguous name is in none of the three, and its prefixes are in ambiguous.
func (x *Index) put(cidrs *cidrObjects, changes, again []cidrChange) {
	before := x.byName
	x.cidrs = cidrs
	if len(changes)+len(again) == 0 {
		return
	}
	// Only real changes: the UIDs of the ServiceCIDRs in again are the same.
	x.byUID = x.byUID.With(cidrs, changes)
	// The slice is the caller's, who reads it again: the third index makes append copy it.
	changes = append(changes[:len(changes):len(changes)], again...)
	x.byName = persistent.Follow(before, changes, func(c *networkingv1.ServiceCIDR) (*object, bool) { return x.parse(c), true })
	x.deleting = persistent.Follow(x.deleting, changes, func(c *networkingv1.ServiceCIDR) (*object, bool) {
		y := x.named(c.Name)
		return y, y.deleting()
	})
	// The prefixes before the change are read from the parsed object of the Index before, which has the places in the
	// order by which the tree finds the entry. An object parsed again may have another place.
	prefixes := x.prefixes.Edit()
	for _, c := range changes {
		if y, there := before.Get(c.Name); there {
			for _, p := range y.unique {
				prefixes.Delete(p, y)
			}
		}
		if y, there := x.byName.Get(c.Name); there {
			for _, p := range y.unique {
				prefixes.Put(p, y)
			}
		}
	}
	x.prefixes = prefixes.Prefixes()
	if !slices.ContainsFunc(changes, cidrChange.Ambiguous) {
		return
	}
	ambiguous := x.ambiguous.Edit()
	for _, c := range changes {
		if len(c.Before) > 1 {
			for _, p := range prefixesOf(c.Before) {
				ambiguous.Delete(p, c.Name.Name)
			}
		}
		if len(c.After) > 1 {
			for _, p := range prefixesOf(c.After) {
				ambiguous.Put(p, c.Name.Name)
			}
		}
	}
	x.ambiguous = ambiguous.Prefixes()
}

// named returns the ServiceCIDR of that name, or nil if none or several have the name.
func (x *Index) named(name string) *object {
	y, _ := x.byName.Get(types.NamespacedName{Name: name})
	return y
}

// With returns the index with these objects, which replace objects of the same name. It also returns the affected
// keys, sorted, each once. It costs O(log N) for each object in changed, plus the cost of what is affected. If Now is not
// zero, it is the new time, and each ServiceCIDR that is being deleted is checked once.
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
	if !changed.Now.IsZero() && !changed.Now.Equal(x.now) {
		next.now = changed.Now
		// Time passes without an event of an object, so all ServiceCIDRs that are being deleted are asked. In a cluster
		// there are few of them.
		for name, y := range next.deleting.All() {
			// The grace period ends between the old and the new time, or its end depends on which of the two is Now.
			before, after := y.graceEnd(x.now, x.o), y.graceEnd(next.now, x.o)
			if x.now.Before(before) != next.now.Before(after) || !before.Equal(after) {
				names = append(names, name.Name)
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

// changed returns the index with the objects and sightings in by, if keep is true, and without them otherwise. It also
// returns the affected names.
func (x *Index) changed(by Snapshot, keep bool) (next *Index, affected []string) {
	cidrs, changes := x.cidrs.Changed(by.ServiceCIDRs, keep)
	objects, ipChanges := x.ips.objects.Changed(by.IPAddresses, keep)
	nameless := none
	if keep {
		nameless = namelessOf(by.IPAddresses)
	}
	// A copy of the struct: x stays as it is for everybody who has it.
	derived := *x
	next = &derived
	next.ips = x.ips.with(objects, ipChanges, nameless)
	var again []cidrChange
	// MatchUpstream ignores the record: upstream has none, and every ServiceCIDR has the same place for it.
	seen := x.sightings.changed(by.DeletionSeen, keep)
	if !x.o.matchUpstream() && (seen.recorded != x.recorded || len(by.DeletionSeen) > 0) {
		next.sightings = seen
		again = x.orderedAgain(next, changes, by.DeletionSeen)
	}
	next.put(cidrs, changes, again)
	// Each prefix and each deletion is named once, however many changes affect it.
	var prefixes []netip.Prefix
	for _, list := range [][]cidrChange{changes, again} {
		for _, c := range list {
			affected = append(affected, c.Name.Name)
			if c.Ambiguous() || affectsOthers(x.named(c.Name.Name), next.named(c.Name.Name), x.o) {
				prefixes = append(append(prefixes, prefixesOf(c.Before)...), prefixesOf(c.After)...)
			}
		}
	}
	// Next is enough: a ServiceCIDR that overlaps and is not in next has changed itself, and is named as such.
	affected = appendNames(affected, next.prefixes.Overlapping(prefixes...))
	affected = slices.AppendSeq(affected, next.ambiguous.Overlapping(prefixes...))
	// A nil or nameless IPAddress may be an address of any ServiceCIDR that is being deleted.
	deleting := objects.HasNil() != x.ips.objects.HasNil() || next.ips.nameless != x.ips.nameless
	around, aroundAmbiguous := map[netip.Prefix]bool{}, map[netip.Prefix]bool{}
	// The prefixes around a new or removed address are collected first. Upstream's containingServiceCIDRs does the same
	// for one address, and compares it with every ServiceCIDR.
	for _, c := range ipChanges {
		if !affectsCIDRs(c, x.o) {
			continue
		}
		if a, err := netip.ParseAddr(c.Name.Name); err == nil {
			addContaining(around, next.prefixes, a)
			addContaining(aroundAmbiguous, next.ambiguous, a)
		} else {
			deleting = true
		}
	}
	// Addresses first, names second: a thousand new IPAddresses in one prefix name its ServiceCIDRs once.
	for p := range around {
		affected = appendNames(affected, next.prefixes.Of(p))
	}
	for p := range aroundAmbiguous {
		affected = slices.AppendSeq(affected, next.ambiguous.Of(p))
	}
	// Upstream passes over a name that is not an address, so it blocks nothing there.
	if deleting && !x.o.matchUpstream() {
		for name := range next.deleting.All() {
			affected = append(affected, name.Name)
		}
		for name, same := range next.cidrs.AmbiguousNames() {
			if slices.ContainsFunc(same, func(c *networkingv1.ServiceCIDR) bool { return !c.DeletionTimestamp.IsZero() }) {
				affected = append(affected, name.Name)
			}
		}
	}
	return next, affected
}

// appendNames appends the names of the objects.
func appendNames(names []string, of iter.Seq[*object]) []string {
	for y := range of {
		names = append(names, y.name)
	}
	return names
}

// orderedAgain returns the unchanged ServiceCIDRs whose place in the order of deletion is different in next.
func (x *Index) orderedAgain(next *Index, changes []cidrChange, recorded map[types.UID]time.Time) (again []cidrChange) {
	known := map[types.NamespacedName]bool{}
	for _, c := range changes {
		known[c.Name] = true
	}
	// A record of another deletion does not move a ServiceCIDR in the order, so most have not changed.
	add := func(y *object) {
		name := types.NamespacedName{Name: y.Name}
		if !known[name] && next.parse(y.ServiceCIDR).goes.compare(y.goes) != 0 {
			known[name] = true
			same := []*networkingv1.ServiceCIDR{y.ServiceCIDR}
			again = append(again, cidrChange{Name: name, Before: same, After: same})
		}
	}
	// The first record turns every deletion without an entry into one that has not been seen: all may move.
	if next.recorded != x.recorded {
		for _, y := range x.deleting.All() {
			add(y)
		}
		return again
	}
	for uid := range recorded {
		for c := range x.byUID.Find(x.hash.Text(string(uid))) {
			if c.UID == uid {
				add(x.named(c.Name))
			}
		}
	}
	return again
}

// affectsOthers reports whether the event can change the plans of other ServiceCIDRs.
func affectsOthers(was, is *object, o Options) bool {
	switch {
	case o.matchUpstream():
		return was == nil
	// D-4: a ServiceCIDR that comes may contain the addresses of another one, and a ServiceCIDR that goes may have done
	// so.
	case was == nil || is == nil:
		return true
	}
	// Status, labels and other fields are left out: the write of a condition must not plan all ServiceCIDRs around
	// again.
	return was.goes.compare(is.goes) != 0 || was.covers.compare(is.covers) != 0 || !slices.Equal(was.Spec.CIDRs, is.Spec.CIDRs)
}

// affectsCIDRs reports whether the change can change the plan of any ServiceCIDR.
func affectsCIDRs(c ipChange, o Options) bool {
	before, after := c.Only()
	switch {
	case !slices.ContainsFunc(slices.Concat(c.Before, c.After), managed):
		return false
	case c.Ambiguous() || before == nil || after == nil:
		return true
	case o.matchUpstream():
		return false // upstream does not listen to updates
	}
	// The spec of an IPAddress is only shown to users, so a change of its parent names no key.
	return managed(before) != managed(after) || familyOf(before) != familyOf(after)
}

// keysOf returns the keys of the names, sorted, each once.
func keysOf(names []string) (keys []purekube.Key) {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		keys = append(keys, Key(name))
	}
	return keys
}

// find returns the ServiceCIDR of that key, or nil if none or several have the key. Several are a problem.
func (x *Index) find(key purekube.Key, problems *snapshot.Problems) *object {
	if key != Key(key.Name) {
		return nil // a key of another kind
	}
	if x.cidrs.Ambiguous(key.NamespacedName()) {
		problems.Add(duplicate(key.Name))
	}
	return x.named(key.Name)
}

// mustFind is find for questions: a key that no ServiceCIDR has is also a problem.
func (x *Index) mustFind(key purekube.Key, problems *snapshot.Problems) *object {
	y := x.find(key, problems)
	if y == nil && (key != Key(key.Name) || !x.cidrs.Ambiguous(key.NamespacedName())) {
		problems.Add(&purekube.ObjectError{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrNotFound})
	}
	return y
}

// duplicate is the problem of a name that several ServiceCIDRs have.
func duplicate(name string) *purekube.ObjectError {
	return snapshot.DuplicateError(kindServiceCIDR, types.NamespacedName{Name: name})
}

// report adds the problems that every answer returns: nil and nameless objects.
func (x *Index) report(problems *snapshot.Problems) {
	x.cidrs.AddTo(problems)
	if x.ips.objects.HasNil() {
		problems.Add(&purekube.ObjectError{Kind: kindIPAddress, Err: purekube.ErrNil})
	}
}

// reportAll adds what is wrong with the snapshot as a whole.
func (x *Index) reportAll(problems *snapshot.Problems) {
	x.report(problems)
	if !x.o.matchUpstream() { // which passes over a name that is not an address
		problems.Add(x.ips.unparsable(everyFamily)...)
	}
}

// Err returns what is wrong with the objects as a whole: the error of PlanAll, and the names that several ServiceCIDRs
// have.
func (x *Index) Err() error {
	if err := x.o.err(); err != nil {
		return err
	}
	var problems snapshot.Problems
	x.reportAll(&problems)
	x.cidrs.AddDuplicatesTo(&problems)
	return problems.Err()
}
