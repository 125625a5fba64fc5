package rbacaggregate

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
)

// This file answers "which ClusterRoles must be planned again?" after an event.
//
// Upstream does not ask: enqueue adds every ClusterRole with an aggregationRule to the queue at every event (BR-27-01).
// Here, the answer follows the aggregation upwards, from a changed ClusterRole to the roles that aggregate it:
//
//	pods-reader  (rules change)
//	   └─ view   selects it: the rules of view may differ
//	       └─ edit    selects view: the rules of edit may differ
//	           └─ admin   selects edit: the rules of admin may differ
//
// An event may name too many roles, which costs a plan without an action. It must never name too few: then a
// ClusterRole keeps a permission that was taken away, until another event happens to name it.

// With returns the Index with these ClusterRoles, which replace ClusterRoles of the same name. It also returns the
// affected keys, sorted, each once: the keys whose [Outcome] in PlanAll may differ, in its Result or in the text of its
// Err.
//
// By default these are the keys that the changes can reach: a changed ClusterRole, if it has or had an aggregationRule
// and its rules, aggregationRule or UID changed; the ClusterRoles that aggregate it, before or after, if their sources
// or the rules that it contributes changed; and the ClusterRoles that aggregate these ClusterRoles, through all
// levels. A change of nothing else, for example a resync, names no key. The write of a [SetRules] names only the
// ClusterRole that it writes.
//
// Under MatchUpstream every change names every ClusterRole with an aggregationRule (BR-27-01; enqueue in
// clusterroleaggregation_controller.go).
//
// Nil objects and objects without a name belong to no key. Err, PlanAll and every Plan return them as errors. They add
// no key unless they change an outcome. They stay in the Index forever.
//
// It costs O(log n) for each ClusterRole and each of its labels, for n ClusterRoles in the Index, plus the selectors
// that may match it, plus what it affects. Once half of the ClusterRoles or selectors have changed, the Index is
// rebuilt, which costs O(n log n).
func (x *Index) With(changed Snapshot) (next *Index, affected []purekube.Key) {
	return x.affected(x.with(changed.ClusterRoles))
}

// Without returns the Index without the ClusterRoles of these names, and the affected keys, as With does. A name that
// is not in the Index changes nothing. It costs what [Index.With] does.
func (x *Index) Without(gone Snapshot) (next *Index, affected []purekube.Key) {
	return x.affected(x.without(gone.ClusterRoles))
}

// with and without are With and Without with the events themselves, which a preview needs.
func (x *Index) with(objects []*rbacv1.ClusterRole) (next *Index, events []event) {
	return x.replaced(x.objects.With(objects))
}

func (x *Index) without(objects []*rbacv1.ClusterRole) (next *Index, events []event) {
	return x.replaced(x.objects.Without(objects))
}

// replaced returns the Index of these objects, which are the objects of x after these changes.
func (x *Index) replaced(
	objects *clusterRoles, changes []persistent.Change[*rbacv1.ClusterRole],
) (next *Index, events []event) {
	// The first nil object, or the first object without a name, is no change of a name, but changes what Err returns.
	if len(changes) == 0 && !objects.MoreUnnamed(x.objects) {
		return x, nil
	}
	// A copy of the struct: x stays as it is for everybody who has it.
	c := *x
	next = &c
	next.objects = objects
	selectors := converter{}
	// Without a change of an aggregating role the map stays the same map, by which refileSelectors sees that it has
	// nothing to do.
	if slices.ContainsFunc(changes, func(c persistent.Change[*rbacv1.ClusterRole]) bool {
		before, after := c.Only()
		return aggregates(before) || aggregates(after)
	}) {
		next.aggregations = persistent.Follow(x.aggregations, changes, func(object *rbacv1.ClusterRole) (*aggregation, bool) {
			return selectors.aggregation(object), object.AggregationRule != nil
		})
	}
	for _, change := range changes {
		events = append(events, newEvent(change))
	}
	next.refileSelectors(changes, x.aggregations)
	// Filing again drops the entries of selectors that no role has any more. The labels are arranged for the selectors.
	if next.selectors.Stale() {
		next.fileSelectors()
	} else {
		next.labels = x.labels.With(objects, changes)
	}
	return next, events
}

// affected returns the keys whose plan may differ between x and next, which these events made from x.
func (x *Index) affected(next *Index, events []event) (*Index, []purekube.Key) {
	if len(events) == 0 {
		return next, nil
	}
	names := x.reachAll(next, events)
	if x.options.plansAll() {
		next.addPlanned(names)
	}
	// The keys are sorted, and are nil if there are none.
	var keys []purekube.Key
	for _, name := range slices.Sorted(maps.Keys(names)) {
		keys = append(keys, Key(name))
	}
	return next, keys
}

// addPlanned adds the names of all roles with a plan.
func (x *Index) addPlanned(names map[string]bool) {
	for _, key := range x.planned() {
		names[key.Name] = true
	}
}

// event is what happens to one name. It adds to a change of the collection which of the fields that aggregation reads
// are different. Without this, the API server's update after a [SetRules] would plan every role above the written role
// again.
type event struct {
	// before and after are nil if no ClusterRole has the name then, or several. planned reports whether the name has a
	// plan before or after.
	name          string
	before, after *rbacv1.ClusterRole
	planned       bool
	// aggregationRule and rules report whether these fields changed. Both are true if the name belongs to another
	// ClusterRole now, or if that is unknown.
	aggregationRule, rules bool
}

// newEvent compares the objects of a name before and after. The UID counts: a ClusterRole that was deleted and created
// again under its name needs a plan of its own, since the UID is part of the request (D-26).
func newEvent(c persistent.Change[*rbacv1.ClusterRole]) event {
	before, after := c.Only()
	e := event{name: c.Name.Name, before: before, after: after, aggregationRule: true, rules: true}
	e.planned = c.Ambiguous() || aggregates(before) || aggregates(after)
	// Labels are not compared here: reachFirst compares them, only when it must.
	if before != nil && after != nil && before.UID == after.UID {
		e.aggregationRule = !equality.Semantic.DeepEqual(before.AggregationRule, after.AggregationRule)
		e.rules = !slices.EqualFunc(before.Rules, after.Rules, equalRules)
	}
	return e
}

// ownership reports whether the event changes whether upstream's apply without rules leaves the stored rules (D-20),
// or whether that is known. Call it only for an event that does not change the aggregationRule.
//
// An example: `kubectl apply` of unchanged rules makes kubectl a co-owner. The rules are the same, but from then on
// upstream's apply without rules leaves them.
func (e event) ownership() bool {
	stayed, known := staysWithoutRules(e.before)
	stay, stillKnown := staysWithoutRules(e.after)
	return stayed != stay || known != stillKnown
}

// reach collects the roles whose plan may differ. The set rises has the names in rising.
type reach struct {
	// names are the result. It has all of rising, and roles whose plan may differ although their aggregated rules do
	// not: a role into which somebody wrote rules by hand.
	names map[string]bool
	// rising has the names whose rules may differ, in the order in which they were found. The roles that aggregate
	// them are reached too.
	rising []string
	rises  map[string]bool
	// before and after are the texts of the selectors whose roles have all been added as rising. A selector such as
	// "all ClusterRoles with this label" may be in n roles and match n changed roles. With the marks, its roles are
	// added once, and not n² times.
	before, after map[string]bool
}

// addRising adds a name, unless it is there already. Otherwise a role with many selectors would be looked up once for
// each selector that matches a reached role.
func (r *reach) addRising(name string) {
	r.names[name] = true
	if !r.rises[name] {
		r.rises[name] = true
		r.rising = append(r.rising, name)
	}
}

// reachAll returns the roles whose rules may differ in next after these events: in a plan, or in the end state of a
// preview. In the end state of a stock cluster, stored rules of aggregating roles count too: in cycles, and where
// upstream leaves them (D-20).
//
// The roles above the first level are looked up in next only. A role that aggregated a reached role only before the
// events has changed itself, or the reached role has, so reachFirst has added it.
func (x *Index) reachAll(next *Index, events []event) map[string]bool {
	r := &reach{names: map[string]bool{}, rises: map[string]bool{}, before: map[string]bool{}, after: map[string]bool{}}
	for _, e := range events {
		x.reachFirst(next, e, r)
	}
	for i := 0; i < len(r.rising); i++ {
		next.aggregators(next.objects.Find(nameOf(r.rising[i])), r.after, r.addRising)
	}
	// The first name that several ClusterRoles have is the error of every role that aggregates. A role that has a plan
	// only in x has changed itself, so reachFirst has added it.
	if x.firstAmbiguous() != next.firstAmbiguous() {
		next.addPlanned(r.names)
	}
	return r.names
}

// reachFirst adds the role of an event, if its own plan may differ, and the roles that aggregate it, before or after.
//
// The cases, by the field that changed:
//
//	aggregationRule, UID, created, deleted   the role, and all roles that aggregate it
//	rules of a role without aggregation      all roles that aggregate it
//	rules of an aggregating role             the role: its stored rules are wrong, or right again
//	labels                                   the roles that aggregate it only before or only after
//	anything else                            none
func (x *Index) reachFirst(next *Index, e event, r *reach) {
	stored := x.options.contributesStored()
	rules := e.rules || stored && e.ownership()
	if e.planned {
		switch {
		// Its own aggregated rules may differ, and with them the rules of the roles above.
		case e.aggregationRule:
			r.addRising(e.name)
		// Its aggregated rules are the same. Only the comparison with its stored rules is different.
		case rules:
			r.names[e.name] = true
		}
	}

	// The role contributes other rules, or may do so because its stored rules differ. By default an aggregating role that
	// is written contributes what it aggregates, whatever is stored in it (D-11). This is why a SetRules that was just
	// sent names only its own ClusterRole, and not all roles above.
	if e.aggregationRule || rules && (stored || !next.aggregated(e.name)) {
		x.aggregators(e.before, r.before, r.addRising)
		next.aggregators(e.after, r.after, r.addRising)
		return
	}
	// From here on the name has exactly one ClusterRole before and after: otherwise newEvent sets aggregationRule.
	if maps.Equal(e.before.Labels, e.after.Labels) {
		return
	}
	// Only its labels changed. Reach the roles that aggregate it only before or only after, or at another position. The
	// marks of r are not used here: roles that aggregate the role before and after are not added, so a selector that is
	// passed through here says nothing about whether its roles are in r.rising.
	was, is := sets.New[string](), sets.New[string]()
	x.aggregators(e.before, nil, func(name string) { was.Insert(name) })
	next.aggregators(e.after, nil, func(name string) { is.Insert(name) })
	for name := range was.Union(is) {
		if collects(name, e.name) && (was.Has(name) != is.Has(name) || next.movedIn(name, e)) {
			r.addRising(name)
		}
	}
}

// movedIn reports whether the first selector of a role that matches the role of an event is another one than before.
// Rules are collected in the order of the selectors (BR-27-02).
//
// An example: admin has the selectors [{tier: base}, {tier: extra}], and a source changes its label tier from base to
// extra. The same roles are selected, but the rules of the source move behind all rules of the first selector. Upstream
// compares rules in order, so this is a write.
func (x *Index) movedIn(name string, e event) bool {
	// Only roles that aggregate the role in x are asked about, so the aggregation is there.
	a, _ := x.aggregations.Get(nameOf(name))
	for _, s := range a.selectors {
		if s == nil {
			continue
		}
		if was, is := s.matches(e.before.Labels), s.matches(e.after.Labels); was || is {
			return was != is
		}
	}
	return false
}

// aggregated reports whether aggregation writes the ClusterRole of a name.
func (x *Index) aggregated(name string) bool {
	a, _ := x.aggregations.Get(nameOf(name))
	return x.written(a)
}
