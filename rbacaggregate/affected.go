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

// affected returns the keys whose plan may differ between x and next, which these events made from x.
func (x *Index) affected(next *Index, events []event) (*Index, []purekube.Key) {
	if len(events) == 0 {
		return next, nil
	}
	// stored is false: a plan of the default reads the stored rules of a role that aggregates only if its aggregation
	// fails.
	names := x.reach(next, events, false)
	if x.options.matchUpstream() {
		// BR-27-01: every event plans every ClusterRole with an aggregationRule. An ambiguous name is not in
		// next.aggregations, so it is added here if one of its ClusterRoles aggregates. Otherwise MatchUpstream would
		// name fewer keys than upstream queues.
		for name := range next.aggregations.All() {
			names[name.Name] = true
		}
		for name, versions := range next.objects.AmbiguousNames() {
			if slices.ContainsFunc(versions, func(o *rbacv1.ClusterRole) bool { return o.AggregationRule != nil }) {
				names[name.Name] = true
			}
		}
	}
	// The keys are sorted, and are nil if there are none.
	var keys []purekube.Key
	for _, name := range slices.Sorted(maps.Keys(names)) {
		keys = append(keys, Key(name))
	}
	return next, keys
}

// event is what happens to one name. It adds to a change of the collection which of the fields that aggregation reads
// are different. Without this, the API server's update after a [SetRules] would plan every role above the written role
// again.
type event struct {
	// before and after have no, one or several ClusterRoles. At least one of them is not empty.
	name          string
	before, after role
	// aggregationRule and rules report whether these fields changed. Both are true if the name belongs to another
	// ClusterRole now, or if that is unknown.
	aggregationRule, rules bool
}

// newEvent compares the versions of a name before and after. The UID counts: a ClusterRole that was deleted and created
// again under its name needs a plan of its own, since the UID is part of the request (D-26).
func newEvent(c persistent.Change[*rbacv1.ClusterRole]) event {
	e := event{name: c.Name.Name, before: c.Before, after: c.After, aggregationRule: true, rules: true}
	if before, after := c.Only(); before != nil && after != nil && before.UID == after.UID {
		// Labels are not compared here: reachFirst compares them, only when it must.
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
	stayed, known := staysWithoutRules(e.before[0])
	stay, stillKnown := staysWithoutRules(e.after[0])
	return stayed != stay || known != stillKnown
}

// reached collects the roles whose plan may differ. The set rises has the names in rising.
type reached struct {
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

// addRising adds a name, unless it is there already. A cycle of roles therefore ends the search instead of repeating
// it.
func (r *reached) addRising(name string) {
	r.names[name] = true
	if !r.rises[name] {
		r.rises[name] = true
		r.rising = append(r.rising, name)
	}
}

// reach returns the roles whose plan may differ in next after these events. If stored is true, stored rules count even
// in a role that aggregates.
//
// The roles above the first level are looked up in next only. A role that aggregated a reached role only before the
// events has changed itself, or the reached role has, so reachFirst has added it.
func (x *Index) reach(next *Index, events []event, stored bool) map[string]bool {
	r := &reached{names: map[string]bool{}, rises: map[string]bool{}, before: map[string]bool{}, after: map[string]bool{}}
	for _, e := range events {
		x.reachFirst(next, e, stored, r)
	}
	for i := 0; i < len(r.rising); i++ {
		next.aggregators(next.find(r.rising[i]), r.after, r.addRising)
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
func (x *Index) reachFirst(next *Index, e event, stored bool, r *reached) {
	rules := e.rules || stored && e.ownership()
	if e.before.planned() || e.after.planned() {
		switch {
		// Its own aggregated rules may differ, and with them the rules of the roles above.
		case e.aggregationRule:
			r.addRising(e.name)
		// Its aggregated rules are the same. Only the comparison with its stored rules is different.
		case rules:
			r.names[e.name] = true
		}
	}

	// The role contributes other rules, or may do so because its stored rules differ. An aggregating role that is
	// computable contributes what it aggregates, whatever is stored in it. This is why a SetRules that was just sent
	// names only its own ClusterRole, and not all roles above.
	if e.aggregationRule || rules && (stored || !next.computable(e.after)) {
		x.aggregators(e.before, r.before, r.addRising)
		next.aggregators(e.after, r.after, r.addRising)
		return
	}
	// From here on the name has exactly one ClusterRole before and after: otherwise newEvent sets aggregationRule.
	if maps.Equal(e.before[0].Labels, e.after[0].Labels) {
		return
	}
	// Only its labels changed. Reach the roles that aggregate it only before or only after, or at another position. The
	// marks of r are not used here: roles that aggregate the role before and after are not added, so a selector that is
	// passed through here says nothing about whether its roles are in r.rising.
	was, is := sets.New[string](), sets.New[string]()
	x.aggregators(e.before, nil, func(name string) { was.Insert(name) })
	next.aggregators(e.after, nil, func(name string) { is.Insert(name) })
	// A role does not collect its own rules (BR-27-03), so its own labels do not matter to it.
	for name := range was.Union(is) {
		if name != e.name && (was.Has(name) != is.Has(name) || next.movedIn(name, e)) {
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
		if was, is := e.before.matchedBy(s), e.after.matchedBy(s); was || is {
			return was != is
		}
	}
	return false
}

// computable reports whether a role aggregates and everything that it aggregates is known. It is evaluation.computable
// without an evaluation: an event must not cost an evaluation of everything that its role selects. The loop reads the
// ambiguous names only, and a healthy cluster has none, since the API server admits one ClusterRole for each name.
func (x *Index) computable(r role) bool {
	a, aggregates := x.aggregations.Get(nameOf(r.name()))
	if !aggregates || len(a.problems) > 0 {
		return false
	}
	for _, twins := range x.objects.AmbiguousNames() {
		for _, s := range a.selectors {
			if role(twins).matchedBy(s) {
				return false
			}
		}
	}
	return true
}
