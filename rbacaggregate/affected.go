package rbacaggregate

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
)

// affected returns the keys whose plan may differ between x and next, which these events made from x.
func (x *Index) affected(next *Index, events []event) (*Index, []purekube.Key) {
	if len(events) == 0 {
		return next, nil
	}
	names := x.reach(next, events, false)
	if x.options.matchUpstream() {
		// BR-27-01.
		for name := range next.aggregations.All() {
			names[name.Name] = true
		}
		for name, versions := range next.objects.AmbiguousNames() {
			if slices.ContainsFunc(versions, func(o *rbacv1.ClusterRole) bool { return o.AggregationRule != nil }) {
				names[name.Name] = true
			}
		}
	}
	var keys []purekube.Key
	for _, name := range slices.Sorted(maps.Keys(names)) {
		keys = append(keys, Key(name))
	}
	return next, keys
}

// event is what happens to one name.
type event struct {
	name          string
	before, after role
	// aggregationRule and rules report whether these fields changed. Both are true if the name belongs to another
	// ClusterRole now, or if that is unknown.
	aggregationRule, rules bool
}

func newEvent(c persistent.Change[*rbacv1.ClusterRole]) event {
	e := event{name: c.Name.Name, before: c.Before, after: c.After, aggregationRule: true, rules: true}
	if before, after := c.Only(); before != nil && after != nil && before.UID == after.UID {
		e.aggregationRule = !equality.Semantic.DeepEqual(before.AggregationRule, after.AggregationRule)
		e.rules = !slices.EqualFunc(before.Rules, after.Rules, equalRules)
	}
	return e
}

// ownership reports whether the event changes whether upstream's apply without rules leaves the stored rules (D-20),
// or whether that is known. Call it only for an event that does not change the aggregationRule.
func (e event) ownership() bool {
	stayed, known := staysWithoutRules(e.before[0])
	stay, stillKnown := staysWithoutRules(e.after[0])
	return stayed != stay || known != stillKnown
}

// reached collects the roles whose plan may differ.
type reached struct {
	names map[string]bool
	// rising has the names whose rules may differ, in the order in which they were found. The roles that aggregate
	// them are reached too.
	rising []string
	rises  map[string]bool
	// before and after are the texts of the selectors whose roles have all been added as rising.
	before, after map[string]bool
}

func (r *reached) addRising(name string) {
	r.names[name] = true
	if !r.rises[name] {
		r.rises[name] = true
		r.rising = append(r.rising, name)
	}
}

// reach returns the roles whose plan may differ in next after these events. If stored is true, stored rules count even
// in a role that aggregates.
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
func (x *Index) reachFirst(next *Index, e event, stored bool, r *reached) {
	rules := e.rules || stored && e.ownership()
	if e.before.planned() || e.after.planned() {
		switch {
		case e.aggregationRule:
			r.addRising(e.name)
		case rules:
			r.names[e.name] = true
		}
	}

	// The role contributes other rules, or may do so because its stored rules differ.
	if e.aggregationRule || rules && (stored || !next.computable(e.after)) {
		x.aggregators(e.before, r.before, r.addRising)
		next.aggregators(e.after, r.after, r.addRising)
		return
	}
	if maps.Equal(e.before[0].Labels, e.after[0].Labels) {
		return
	}
	// Only its labels changed. Reach the roles that aggregate it only before or only after, or at another position.
	was, is := map[string]bool{}, map[string]bool{}
	x.aggregators(e.before, nil, func(name string) { was[name] = true })
	next.aggregators(e.after, nil, func(name string) { is[name] = true })
	for name := range was {
		if name != e.name && (!is[name] || next.movedIn(name, e)) {
			r.addRising(name)
		}
	}
	for name := range is {
		if name != e.name && !was[name] {
			r.addRising(name)
		}
	}
}

// movedIn reports whether the first selector of a role that matches the role of an event is another one than before.
// Rules are collected in the order of the selectors (BR-27-02).
func (x *Index) movedIn(name string, e event) bool {
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

// computable reports whether a role aggregates and everything that it aggregates is known.
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
