package servicecidr

import (
	"net/netip"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Index is a [Snapshot] arranged for many questions. It is a value that never changes: With and Without
// return another one, which shares with it what is the same. Any number of goroutines may use one and
// derive others from it.
//
// Every method answers what the function of that name answers for the same objects. For N IPAddresses
// and ServiceCIDRs, Plan, CheckDeletion and Explain cost O(log N) for each prefix around and inside
// the ServiceCIDR's and for each address that they name; Plan looks at no address beyond the first
// that is in the way.
type Index struct{ cluster }

var _ purekube.Index[*Index, Snapshot, Action] = (*Index)(nil)

// NewIndex arranges the snapshot. It keeps pointers to its objects, which must not be written to, and
// none to its slices and maps.
func NewIndex(s Snapshot, o Options) *Index {
	return &Index{cluster{s.Now, o, parseAll(s, o), newAddressIndex(s.IPAddresses)}}
}

// With returns the index with these objects added, or put in the place of those of the same name, and
// the affected keys, sorted, each once. It costs O(log N) for each object in changed,
// plus what is affected. A Now that is not zero is the new time, which costs one look at each ServiceCIDR
// that is being deleted.
//
// With and Without name every key whose [Outcome] in PlanAll may differ: its Result, or the text of its Err.
// Nil objects and objects without a name belong to no key. They are in Err, in the error of PlanAll and in
// that of every Plan, and name no key unless they change an outcome. Nothing takes them out of an Index again.
//
// The entries of DeletionSeen are added to those that are there. A ServiceCIDR for which one changes is affected, and
// those that overlap it. The first map that is not nil, even an empty one, affects all that are being deleted.
//
// A nil IPAddress changes outcomes: it may be any address, so ServiceCIDRs that are being deleted keep
// their finalizer, and are named. The time that a plan writes into a condition is no difference.
func (x *Index) With(changed Snapshot) (next *Index, affected []purekube.Key) {
	cidrs := groupByName(changed.ServiceCIDRs)
	ips := make(byNames[*networkingv1.IPAddress], len(changed.IPAddresses))
	anyNilAddress := false
	for _, ip := range changed.IPAddresses {
		if ip == nil {
			anyNilAddress = true
			continue
		}
		ips[ip.Name] = append(ips[ip.Name], ip)
	}
	next, affected = x.derive(cidrs, ips, anyNilAddress, x.deletions.with(changed.DeletionSeen), changed.DeletionSeen)
	if !changed.Now.IsZero() && !changed.Now.Equal(x.now) {
		next.now = changed.Now
		affected = mergedKeys(affected, next.endedSince(x.now))
	}
	return next, affected
}

// endedSince are the names of the ServiceCIDRs whose grace period ends between the two times, or ends at another time
// by one of them than by the other.
func (x *Index) endedSince(then time.Time) (names []string) {
	for name, cidr := range x.deleting.All() {
		before, after := cidr.graceEnd(then, x.o), cidr.graceEnd(x.now, x.o)
		if then.Before(before) != x.now.Before(after) || !before.Equal(after) {
			names = append(names, name)
		}
	}
	return names
}

// Without returns the index without the objects of these names, and the affected names of ServiceCIDRs, as
// With does. A name that is not there changes nothing. The time stays. Entries of DeletionSeen go by UID, whatever
// their time, and only when they are named here: pass that of a ServiceCIDR that is gone, or they add up.
func (x *Index) Without(gone Snapshot) (next *Index, affected []purekube.Key) {
	cidrs := grouped{byName: make(byNames[*networkingv1.ServiceCIDR], len(gone.ServiceCIDRs))}
	for _, c := range gone.ServiceCIDRs {
		if c != nil && c.Name != "" {
			cidrs.byName[c.Name] = nil
		}
	}
	ips := make(byNames[*networkingv1.IPAddress], len(gone.IPAddresses))
	for _, ip := range gone.IPAddresses {
		if ip != nil {
			ips[ip.Name] = nil
		}
	}
	return x.derive(cidrs, ips, false, x.deletions.without(gone.DeletionSeen), gone.DeletionSeen)
}

// derive returns the index with the objects of each name replaced, and with these deletions, which are others for the
// UIDs of recorded.
func (x *Index) derive(
	cidrs grouped, ips byNames[*networkingv1.IPAddress], anyNilAddress bool,
	seen deletions, recorded map[types.UID]time.Time,
) (*Index, []purekube.Key) {
	next := &Index{x.cluster}
	next.deletions = seen
	x.orderAgain(cidrs.byName, seen, recorded)
	var cidrsBefore byNames[*networkingv1.ServiceCIDR]
	if len(cidrs.byName) > 0 || cidrs.anyNil || cidrs.anyNameless {
		next.cidrs, cidrsBefore = next.cidrs.with(cidrs)
	}
	addresses := x.ips.(addressIndex)
	var ipsBefore byNames[*networkingv1.IPAddress]
	if len(ips) > 0 {
		addresses, ipsBefore = addresses.with(ips)
	}
	firstNil := anyNilAddress && !addresses.hasNil
	addresses.hasNil = addresses.hasNil || anyNilAddress
	next.ips = addresses

	var affected []string
	if firstNil && !x.o.matchUpstream() {
		// It may be an address of any of them.
		for name := range next.deleting.All() {
			affected = append(affected, name)
		}
	}
	for name, after := range cidrs.byName {
		affected = next.affectedByCIDRs(affected, name, x.deletions, cidrsBefore[name], after)
	}
	for name, after := range ips {
		affected = next.affectedByAddresses(affected, name, ipsBefore[name], after)
	}
	return next, sortedKeys(affected)
}

// orderAgain adds to the change the ServiceCIDRs that are the same and whose place in the order of deletion is not.
func (x *Index) orderAgain(change byNames[*networkingv1.ServiceCIDR], seen deletions, recorded map[types.UID]time.Time) {
	again := func(y *object) {
		if _, changes := change[y.Name]; !changes {
			change[y.Name] = []*networkingv1.ServiceCIDR{y.ServiceCIDR}
		}
	}
	if seen.recorded != x.deletions.recorded {
		for _, y := range x.deleting.All() {
			again(y)
		}
		return
	}
	for uid := range recorded {
		for key, y := range x.byUID.From(uidKey{uid: uid}) {
			if key.uid != uid {
				break
			}
			if seen.ordered(y.ServiceCIDR).goes.compare(y.goes) != 0 {
				again(y)
			}
		}
	}
}

// affectedByCIDRs appends the names that a change of the ServiceCIDRs of one name affects, of deletions that were seen
// as given before. There is more than one before or after where the name is ambiguous.
func (x *Index) affectedByCIDRs(
	affected []string, name string, seenBefore deletions, before, after []*networkingv1.ServiceCIDR,
) []string {
	if len(before)+len(after) == 0 {
		return affected
	}
	affected = append(affected, name)
	was, is := seenBefore.ordered(first(before)), x.deletions.ordered(first(after))
	if len(before) <= 1 && len(after) <= 1 && !affectsOthers(was, is, x.o) {
		return affected
	}
	for _, c := range slices.Concat(before, after) {
		for _, p := range prefixesOf(c) {
			affected = append(affected, x.prefixes.overlapping(p)...)
			affected = x.appendDuplicates(affected, p.Overlaps)
		}
	}
	return affected
}

// affectedByAddresses appends the names that a change of the IPAddresses of one name affects.
func (x *Index) affectedByAddresses(affected []string, name string, before, after []*networkingv1.IPAddress) []string {
	if len(before) <= 1 && len(after) <= 1 && !affectsCIDRs(first(before), first(after), x.o) {
		return affected
	}
	if !slices.ContainsFunc(slices.Concat(before, after), managed) {
		return affected
	}
	a, err := netip.ParseAddr(name)
	if err == nil {
		affected = append(affected, x.prefixes.containingAddress(a)...)
		return x.appendDuplicates(affected, func(p netip.Prefix) bool { return PrefixContainsIP(p, a) })
	}
	if x.o.matchUpstream() {
		return affected
	}
	for name := range x.deleting.All() {
		affected = append(affected, name)
	}
	for name, same := range x.duplicates {
		if slices.ContainsFunc(same, func(c *networkingv1.ServiceCIDR) bool { return !c.DeletionTimestamp.IsZero() }) {
			affected = append(affected, name)
		}
	}
	return affected
}

// appendDuplicates appends the ambiguous names whose ServiceCIDRs have a prefix with the property.
func (x *Index) appendDuplicates(names []string, property func(netip.Prefix) bool) []string {
	for _, same := range x.duplicates {
		names = appendNames(names, having(same, property))
	}
	return names
}

// first returns the first of the objects; nil if there is none.
func first[T any](objects []*T) *T {
	if len(objects) == 0 {
		return nil
	}
	return objects[0]
}

// Err is what is wrong with the objects as a whole: the error of PlanAll, and the names that more than
// one ServiceCIDR has.
func (x *Index) Err() error {
	if err := x.o.err(); err != nil {
		return err
	}
	var problems snapshot.Problems
	x.reportNil(&problems)
	_, u := x.ips.hold(nil)
	u.report(&problems, x.o)
	for name := range x.duplicates {
		problems.Add(duplicate(name))
	}
	return problems.Err()
}

// Plan answers as the function [Plan] does.
func (x *Index) Plan(key purekube.Key) (Result, error) { return x.plan(key) }

// PlanAll answers as the function [PlanAll] does.
func (x *Index) PlanAll() ([]Outcome, error) { return x.planAll() }

// CheckDeletion answers as the function [CheckDeletion] does.
func (x *Index) CheckDeletion(key purekube.Key, maxOrphans int) (Deletion, error) {
	return x.checkDeletion(key, maxOrphans)
}

// Explain answers as the function [Explain] does.
func (x *Index) Explain(key purekube.Key) (Explanation, error) { return x.explain(key) }

// ExplainAll answers as the function [ExplainAll] does.
func (x *Index) ExplainAll() ([]Explanation, error) { return x.explainAll() }
