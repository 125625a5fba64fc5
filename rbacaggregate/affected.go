package rbacaggregate

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/purekube/purekube"
)

// event is what happens to one name.
type event struct {
	before, after     role
	wasThere, isThere bool
	// aggregationRule and rules are whether these changed. Both did if the name is another ClusterRole's than
	// before, or is not known to be the same one's.
	aggregationRule, rules bool
}

func newEvent(before, after role, wasThere, isThere bool) event {
	e := event{before: before, after: after, wasThere: wasThere, isThere: isThere, aggregationRule: true, rules: true}
	// There is no object of a name that was not there, or is not.
	if !before.ambiguous() && !after.ambiguous() && before.object.UID == after.object.UID {
		e.aggregationRule = !equality.Semantic.DeepEqual(before.object.AggregationRule, after.object.AggregationRule)
		e.rules = !slices.EqualFunc(before.object.Rules, after.object.Rules, equalRules)
	}
	return e
}

// planned reports whether the name has a plan, before or after. That of an ambiguous name is an error.
func (e event) planned() bool {
	return e.wasThere && (e.before.ambiguous() || e.before.aggregates()) || e.isThere && (e.after.ambiguous() || e.after.aggregates())
}

// ownership reports whether upstream's apply without rules leaves the stored ones now and did not before, or the other
// way round (D-20).
func (e event) ownership() bool { return keepsStored(e.before.object) != keepsStored(e.after.object) }

func (e event) name() string {
	if e.isThere {
		return e.after.name
	}
	return e.before.name
}

// reached collects the roles whose plan may differ.
type reached struct {
	names map[string]bool
	// rising are those of names whose rules may differ, so that those that aggregate them are reached
	// too, in the order in which they were found.
	rising []string
	rises  map[string]bool
	// before and after are the texts of the selectors, all roles of which have been added as rising.
	before, after map[string]bool
}

func (r *reached) add(name string) { r.names[name] = true }

func (r *reached) addRising(name string) {
	r.names[name] = true
	if !r.rises[name] {
		r.rises[name] = true
		r.rising = append(r.rising, name)
	}
}

func (r *reached) sorted() []purekube.Key {
	var keys []purekube.Key
	for _, name := range slices.Sorted(maps.Keys(r.names)) {
		keys = append(keys, Key(name))
	}
	return keys
}

// reach returns the roles whose plan may differ in next after these events. With stored, the rules that are
// stored in a role count even if it aggregates.
func (x *Index) reach(next *Index, events []event, stored bool) *reached {
	r := &reached{names: map[string]bool{}, rises: map[string]bool{}, before: map[string]bool{}, after: map[string]bool{}}
	for _, e := range events {
		x.reachFirst(next, e, stored, r)
	}
	for i := 0; i < len(r.rising); i++ {
		if role, found := next.find(r.rising[i]); found {
			next.aggregators(role, r.after, r.addRising)
		}
	}
	return r
}

// reachFirst adds the role of an event, if its own plan may differ, and those that aggregate it, before or
// after.
func (x *Index) reachFirst(next *Index, e event, stored bool, r *reached) {
	rules := e.rules || stored && e.ownership()
	switch {
	case e.planned() && e.aggregationRule:
		r.addRising(e.name())
	case e.planned() && rules:
		r.add(e.name())
	}

	// It contributes other rules; or what is stored in it is not what it contributes.
	if e.aggregationRule || rules && (stored || !next.computable(e.after)) {
		if e.wasThere {
			x.aggregators(e.before, r.before, r.addRising)
		}
		if e.isThere {
			next.aggregators(e.after, r.after, r.addRising)
		}
		return
	}
	if maps.Equal(e.before.object.Labels, e.after.object.Labels) {
		return
	}
	// It comes in where it did not, does not where it did, or comes in at another place.
	was, is := map[string]bool{}, map[string]bool{}
	x.aggregators(e.before, nil, func(name string) { was[name] = true })
	next.aggregators(e.after, nil, func(name string) { is[name] = true })
	for name := range was {
		if name != e.name() && (!is[name] || next.movedIn(name, e)) {
			r.addRising(name)
		}
	}
	for name := range is {
		if !was[name] && name != e.name() {
			r.addRising(name)
		}
	}
}

// movedIn reports whether another selector of a role than before is now the first to match the role of an event. The
// rules are collected in the order of the selectors (BR-27-02).
func (x *Index) movedIn(name string, e event) bool {
	a, _ := x.aggregated.Get(name)
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

// computable reports whether a role aggregates and all that it aggregates is known.
func (x *Index) computable(r role) bool {
	a, aggregates := x.aggregated.Get(r.name)
	if !aggregates || len(a.problems) > 0 {
		return false
	}
	for name := range x.ambiguous.All() {
		twins, _ := x.find(name)
		for _, s := range a.selectors {
			if twins.matchedBy(s) {
				return false
			}
		}
	}
	return true
}

// aggregating returns the names that BR-27-01 evaluates again, sorted.
func (x *Index) aggregating() map[string]bool {
	names := map[string]bool{}
	for name := range x.aggregated.All() {
		names[name] = true
	}
	for name := range x.ambiguous.All() {
		if twins, _ := x.find(name); twins.mayAggregate() {
			names[name] = true
		}
	}
	return names
}
