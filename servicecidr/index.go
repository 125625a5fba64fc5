package servicecidr

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// Index is a [Snapshot] arranged for many questions. It is a value that never changes: With and Without
// return another one, which shares with it what is the same. Any number of goroutines may use one and
// derive others from it.
//
// For N IPAddresses and ServiceCIDRs, Plan, CheckDeletion and Explain cost O(log N) for each prefix around
// and inside the ServiceCIDR's and for each address that they name; Plan looks at no address beyond the first
// that is in the way. The addresses are put in order when a question needs them for the first time.
type Index struct {
	now   time.Time
	o     Options
	cidrs *cidrObjects
	sightings
	// byName has the ServiceCIDRs whose name no other one has, parsed, and deleting those of them that are being deleted.
	byName, deleting *objectMap
	// byUID finds ServiceCIDRs by the UIDs that Snapshot.DeletionSeen has.
	byUID *persistent.TermIndex[networkingv1.ServiceCIDR, *networkingv1.ServiceCIDR]
	hash  persistent.Hash
	// prefixes has those of byName.
	prefixes *persistent.Prefixes[*object]
	// ambiguous has the names that several ServiceCIDRs have, by the prefixes of all of these. Which of them is the real
	// one cannot be known: nothing is planned for them, and they cover nothing.
	ambiguous *persistent.Prefixes[string]
	ips       addresses
}

type (
	objectMap   = persistent.Map[types.NamespacedName, *object]
	cidrObjects = persistent.Objects[networkingv1.ServiceCIDR, *networkingv1.ServiceCIDR]
	cidrChange  = persistent.Change[*networkingv1.ServiceCIDR]
)

var _ purekube.Index[*Index, Snapshot, Action] = (*Index)(nil)

// NewIndex arranges the snapshot. It keeps pointers to its objects, which must not be written to, and
// none to its slices and maps.
func NewIndex(s Snapshot, o Options) *Index {
	hash := persistent.NewHash()
	x := &Index{
		now: s.Now, o: o,
		cidrs:     persistent.NewClusterObjects[networkingv1.ServiceCIDR](kindServiceCIDR, nil),
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
		x.sightings = x.sightings.with(s.DeletionSeen)
	}
	cidrs, changes := x.cidrs.With(s.ServiceCIDRs)
	return x.arranged(cidrs, changes, nil)
}

// arranged returns the index with these ServiceCIDRs. again has those that are the same, and whose place in the order of
// deletion is not.
func (x *Index) arranged(cidrs *cidrObjects, changes, again []cidrChange) *Index {
	next := *x
	next.cidrs = cidrs
	if len(changes)+len(again) == 0 {
		return &next
	}
	next.byUID = x.byUID.With(cidrs, changes)
	changes = slices.Concat(changes, again)
	next.byName = persistent.Follow(x.byName, changes, func(c *networkingv1.ServiceCIDR) (*object, bool) { return x.parse(c), true })
	next.deleting = persistent.Follow(x.deleting, changes, func(c *networkingv1.ServiceCIDR) (*object, bool) {
		y := next.named(c.Name)
		return y, y.deleting()
	})
	prefixes, ambiguous := x.prefixes.Edit(), x.ambiguous.Edit()
	for _, c := range changes {
		if y := x.named(c.Name.Name); y != nil {
			for _, p := range y.unique {
				prefixes.Delete(p, y)
			}
		}
		if y := next.named(c.Name.Name); y != nil {
			for _, p := range y.unique {
				prefixes.Put(p, y)
			}
		}
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
	next.prefixes, next.ambiguous = prefixes.Prefixes(), ambiguous.Prefixes()
	return &next
}

// named returns the ServiceCIDR of that name; nil if there is none, or more than one.
func (x *Index) named(name string) *object {
	y, _ := x.byName.Get(types.NamespacedName{Name: name})
	return y
}

// With returns the index with these objects added, or put in the place of those of the same name, and
// the affected keys, sorted, each once. It costs O(log N) for each object in changed,
// plus what is affected. A Now that is not zero is the new time, which costs one look at each ServiceCIDR
// that is being deleted.
//
// With and Without name every key whose [Outcome] in PlanAll may differ: its Result, or the text of its Err.
// A change of an object names its own key. A ServiceCIDR that comes, goes, or changes its prefixes, its deletion timestamp
// or its finalizer also affects those that overlap it, as it was or as it is (D-4); an IPAddress that comes,
// goes or changes its labels affects those that contain it, and those that are being deleted if its name is not an
// address. Under MatchUpstream the keys are those that kube-controller-manager puts into its queue: the overlapping
// ServiceCIDRs only after an addition, and none after an update of an IPAddress.
//
// Nil objects and objects without a name belong to no key. They are in Err, in the error of PlanAll and in
// that of every Plan, and name no key unless they change an outcome. Nothing takes them out of an Index again.
// Such an IPAddress changes outcomes: it may be any address, so ServiceCIDRs that are being deleted keep
// their finalizer, and are named. The time that a plan writes into a condition is no difference.
//
// The entries of DeletionSeen are added to those that are there. A ServiceCIDR for which one changes is affected, and
// those that overlap it. The first map that is not nil, even an empty one, affects all that are being deleted.
func (x *Index) With(changed Snapshot) (next *Index, affected []purekube.Key) {
	cidrs, changes := x.cidrs.With(changed.ServiceCIDRs)
	objects, ipChanges := x.ips.objects.With(changed.IPAddresses)
	ips := x.ips.with(objects, ipChanges, namelessOf(changed.IPAddresses))
	next, names := x.derive(cidrs, changes, ips, ipChanges, x.sightings.with(changed.DeletionSeen), changed.DeletionSeen)
	if !changed.Now.IsZero() && !changed.Now.Equal(x.now) {
		next.now = changed.Now
		for name, y := range next.deleting.All() {
			// Its grace period ends between the two times, or ends at another time by one of them than by the other.
			before, after := y.graceEnd(x.now, x.o), y.graceEnd(next.now, x.o)
			if x.now.Before(before) != next.now.Before(after) || !before.Equal(after) {
				names = append(names, name.Name)
			}
		}
	}
	return next, keysOf(names)
}

// Without returns the index without the objects of these names, and the affected keys, as
// With does. A name that is not there changes nothing. The time stays. Entries of DeletionSeen go by UID, whatever
// their time, and only when they are named here: pass that of a ServiceCIDR that is gone, or they add up.
func (x *Index) Without(gone Snapshot) (next *Index, affected []purekube.Key) {
	cidrs, changes := x.cidrs.Without(gone.ServiceCIDRs)
	objects, ipChanges := x.ips.objects.Without(gone.IPAddresses)
	ips := x.ips.with(objects, ipChanges, none)
	next, names := x.derive(cidrs, changes, ips, ipChanges, x.sightings.without(gone.DeletionSeen), gone.DeletionSeen)
	return next, keysOf(names)
}

// derive returns the index with these objects and sightings, which are others for the UIDs of recorded, and the affected
// names.
func (x *Index) derive(
	cidrs *cidrObjects, changes []cidrChange, ips addresses, ipChanges []ipChange, seen sightings, recorded map[types.UID]time.Time,
) (next *Index, affected []string) {
	from := *x
	var again []cidrChange
	if !x.o.matchUpstream() {
		from.sightings = seen
		again = x.orderedAgain(&from, changes, recorded)
	}
	next = from.arranged(cidrs, changes, again)
	next.ips = ips
	if (ips.objects.HasNil() != x.ips.objects.HasNil() || ips.nameless != x.ips.nameless) && !x.o.matchUpstream() {
		affected = next.appendDeleting(affected) // it may be an address of any of them
	}
	for _, list := range [][]cidrChange{changes, again} {
		for _, c := range list {
			affected = next.affectedByCIDR(affected, c, x.named(c.Name.Name))
		}
	}
	for _, c := range ipChanges {
		affected = next.affectedByAddress(affected, c)
	}
	return next, affected
}

// orderedAgain returns the ServiceCIDRs that do not change and have another place in the order of deletion in next.
func (x *Index) orderedAgain(next *Index, changes []cidrChange, recorded map[types.UID]time.Time) (again []cidrChange) {
	known := map[types.NamespacedName]bool{}
	for _, c := range changes {
		known[c.Name] = true
	}
	add := func(y *object) {
		name := types.NamespacedName{Name: y.Name}
		if !known[name] && next.parse(y.ServiceCIDR).goes.compare(y.goes) != 0 {
			known[name] = true
			same := []*networkingv1.ServiceCIDR{y.ServiceCIDR}
			again = append(again, cidrChange{Name: name, Before: same, After: same})
		}
	}
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

// affectedByCIDR appends the names that a change of ServiceCIDRs affects. was is the only one before, if there is one.
func (x *Index) affectedByCIDR(affected []string, c cidrChange, was *object) []string {
	affected = append(affected, c.Name.Name)
	if is := x.named(c.Name.Name); !c.Ambiguous() && !affectsOthers(was, is, x.o) {
		return affected
	}
	for _, p := range append(prefixesOf(c.Before), prefixesOf(c.After)...) {
		for y := range x.prefixes.Overlapping(p) {
			affected = append(affected, y.Name)
		}
		affected = slices.AppendSeq(affected, x.ambiguous.Overlapping(p))
	}
	return affected
}

// affectsOthers reports whether the event can change the plans of other ServiceCIDRs.
func affectsOthers(was, is *object, o Options) bool {
	switch {
	case o.matchUpstream():
		return was == nil
	case was == nil || is == nil:
		return true
	}
	return was.goes.compare(is.goes) != 0 || was.covers.compare(is.covers) != 0 || !slices.Equal(was.Spec.CIDRs, is.Spec.CIDRs)
}

// affectedByAddress appends the names that a change of the IPAddresses of one name affects.
func (x *Index) affectedByAddress(affected []string, c ipChange) []string {
	before, after := c.Only()
	switch {
	case !slices.ContainsFunc(slices.Concat(c.Before, c.After), managed):
		return affected
	case c.Ambiguous() || before == nil || after == nil:
	case x.o.matchUpstream(), managed(before) == managed(after) && familyOf(before) == familyOf(after):
		return affected // upstream does not listen to updates
	}
	a, err := netip.ParseAddr(c.Name.Name)
	if err == nil {
		for y := range containing(x.prefixes, a) {
			affected = append(affected, y.Name)
		}
		return slices.AppendSeq(affected, containing(x.ambiguous, a))
	}
	if x.o.matchUpstream() {
		return affected
	}
	for name, same := range x.cidrs.AmbiguousNames() {
		if slices.ContainsFunc(same, func(c *networkingv1.ServiceCIDR) bool { return !c.DeletionTimestamp.IsZero() }) {
			affected = append(affected, name.Name)
		}
	}
	return x.appendDeleting(affected)
}

func (x *Index) appendDeleting(names []string) []string {
	for name := range x.deleting.All() {
		names = append(names, name.Name)
	}
	return names
}

// keysOf returns the keys of the names, sorted, each once.
func keysOf(names []string) (keys []purekube.Key) {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		keys = append(keys, Key(name))
	}
	return keys
}

// find returns the ServiceCIDR of that key; nil if there is none, or more than one, which is a problem.
func (x *Index) find(key purekube.Key, problems *snapshot.Problems) *object {
	if key != Key(key.Name) {
		return nil // a key of another kind
	}
	if x.cidrs.Ambiguous(key.NamespacedName()) {
		problems.Add(duplicate(key.Name))
	}
	return x.named(key.Name)
}

// mustFind is find for questions: a key that no ServiceCIDR has is a problem too.
func (x *Index) mustFind(key purekube.Key, problems *snapshot.Problems) *object {
	y := x.find(key, problems)
	if y == nil && (key != Key(key.Name) || !x.cidrs.Ambiguous(key.NamespacedName())) {
		problems.Add(&purekube.ObjectError{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrNotFound})
	}
	return y
}

func duplicate(name string) *purekube.ObjectError {
	return snapshot.DuplicateError(kindServiceCIDR, types.NamespacedName{Name: name})
}

// report adds the problems that every answer names: nil and nameless objects.
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
		for _, e := range x.ips.unparsable(everyFamily) {
			problems.Add(e)
		}
	}
}

// Err is what is wrong with the objects as a whole: the error of PlanAll, and the names that more than
// one ServiceCIDR has.
func (x *Index) Err() error {
	if err := x.o.err(); err != nil {
		return err
	}
	var problems snapshot.Problems
	x.reportAll(&problems)
	x.cidrs.AddDuplicatesTo(&problems)
	return problems.Err()
}
