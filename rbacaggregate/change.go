package rbacaggregate

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
)

// fewChanges are too few to make a new table for.
const fewChanges = 64

// With returns the Index with these ClusterRoles added, or put in the place of those of their names, and the keys
// whose [Outcome] in PlanAll may differ, in its Result or in the text of its Err. The keys are sorted, each once.
//
// By default these are the keys that the changes can reach: a changed ClusterRole, if it has or had an aggregationRule
// and its rules, aggregationRule or UID changed; the ClusterRoles that aggregate it, before or after, if their sources
// or the rules that it contributes changed; and the ClusterRoles that aggregate those, through all levels. A change of
// nothing else, for example a resync, names no key. The write of a [SetRules] names only the ClusterRole that it writes.
//
// Under MatchUpstream every change names every ClusterRole with an aggregationRule (BR-27-01; enqueue in
// clusterroleaggregation_controller.go).
//
// Nil objects and objects without a name belong to no key. They are in Err, in the error of PlanAll and in
// that of every Plan, and name no key unless they change an outcome. Nothing takes them out of an Index again.
//
// It costs O(log n) for each ClusterRole and each of its labels, for n ClusterRoles in the Index, plus the
// selectors that may match it, plus what it affects. Twice it costs O(n): when as many ClusterRoles have
// changed as half of those that the Index was made from, and the first time that a selector asks for a
// label that none asked for when the Index was made.
func (x *Index) With(changed Snapshot) (next *Index, affected []purekube.Key) {
	objects, problems := usable(changed.ClusterRoles)
	changes := map[string][]*rbacv1.ClusterRole{}
	for _, o := range objects {
		changes[o.Name] = append(changes[o.Name], o)
	}
	next, affected = x.change(changes)
	if len(problems) > 0 {
		c := *next
		c.problems = append(slices.Clip(c.problems), problems...)
		slices.SortFunc(c.problems, compareProblems)
		c.problems = slices.CompactFunc(c.problems, func(a, b *purekube.ObjectError) bool { return compareProblems(a, b) == 0 })
		next = &c
	}
	return next, affected
}

// Without returns the Index without the ClusterRoles of these names, and the keys that With would name.
// A name that is not there changes nothing. It costs what [Index.With] does.
func (x *Index) Without(gone Snapshot) (next *Index, affected []purekube.Key) {
	changes := map[string][]*rbacv1.ClusterRole{}
	for _, o := range gone.ClusterRoles {
		if o != nil && o.Name != "" {
			changes[o.Name] = nil
		}
	}
	return x.change(changes)
}

// change gives each name these ClusterRoles; none: it takes the name away.
func (x *Index) change(changes map[string][]*rbacv1.ClusterRole) (next *Index, affected []purekube.Key) {
	next, events := x.replace(changes)
	if len(events) == 0 {
		return next, nil
	}
	r := x.reach(next, events, false)
	if x.options.matchUpstream() {
		// BR-27-01.
		for name := range next.aggregating() {
			r.add(name)
		}
	}
	return next, r.sorted()
}

// replace is change without what it affects.
func (x *Index) replace(changes map[string][]*rbacv1.ClusterRole) (next *Index, events []event) {
	var names []string
	for name, objects := range changes {
		if _, found := x.find(name); found || len(objects) > 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return x, nil
	}
	slices.Sort(names)
	c := *x
	next = &c
	changed, changedLabels := x.changed.Edit(), x.changedLabels.Edit()
	aggregated, ambiguous := x.aggregated.Edit(), x.ambiguous.Edit()
	requests := requestsEdit{x.requests.Edit(), x.selectors.Edit()}
	selectors := converter{}
	for _, name := range names {
		var after role
		if objects := changes[name]; len(objects) > 0 {
			after = roleOf(objects)
		}
		before, wasThere := x.find(name)
		events = append(events, newEvent(before, after, wasThere, len(changes[name]) > 0))

		if was, _ := x.changed.Get(name); was != nil {
			eachLabel(*was, func(l label) { changedLabels.Delete(labelled{l, name}) })
		}
		had, _ := x.aggregated.Get(name)
		var has *aggregation
		if after.aggregates() {
			has = selectors.aggregation(after.object)
			aggregated.Set(name, has)
		} else {
			aggregated.Delete(name)
		}
		requests.replace(name, had, has)
		if wasThere && before.ambiguous() {
			ambiguous.Delete(name)
		}
		if len(changes[name]) == 0 {
			if _, inBase := x.base.find(name); inBase {
				changed.Set(name, nil)
			} else {
				changed.Delete(name)
			}
			continue
		}
		changed.Set(name, &after)
		eachLabel(after, func(l label) { changedLabels.Set(labelled{l, name}, struct{}{}) })
		if after.ambiguous() {
			ambiguous.Set(name, struct{}{})
		}
	}
	next.changed, next.changedLabels = changed.Map(), changedLabels.Map()
	next.aggregated, next.ambiguous = aggregated.Map(), ambiguous.Map()
	next.requests, next.selectors = requests.requests.Map(), requests.selectors.Selectors()
	next.renew()
	return next, events
}

// renew makes a new base once the old one has little left in it. It also lets go of the ClusterRoles
// that were replaced.
func (x *Index) renew() {
	if n := x.changed.Len(); n < fewChanges || n < len(x.base.objects)/2 {
		return
	}
	var objects []*rbacv1.ClusterRole
	x.each(func(r role) {
		if r.object != nil {
			objects = append(objects, r.object)
		}
		objects = append(objects, r.twins...)
	})
	selectors := converter{}
	for _, a := range x.aggregated.All() {
		for _, s := range a.selectors {
			if s != nil {
				selectors[s.text] = s
			}
		}
	}
	empty := NewIndex(Snapshot{}, x.options)
	x.base, x.changed, x.changedLabels = newTable(objects), empty.changed, empty.changedLabels
	x.fileSelectors(selectors)
}

func compareProblems(a, b *purekube.ObjectError) int { return strings.Compare(a.Error(), b.Error()) }
