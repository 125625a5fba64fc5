package rbacaggregate

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
)

// Affected returns the names of the ClusterRoles to plan again after one was added (old is nil),
// updated or deleted (new is nil), sorted. It does not matter whether s is from before the event or
// after it.
//
// By default these are the ones that the change can reach: the ClusterRole itself, if it aggregates
// and its rules or aggregationRule changed; those that aggregate it, before or after, if their
// sources or what it brings in changed; and those that aggregate them, through all levels. An
// event that changes nothing of the sort, a resync for one, affects none. Nor does the write of a
// [SetRules] affect more than its own ClusterRole.
//
// Under MatchUpstream it is every ClusterRole that aggregates, whatever the event (BR-27-01; enqueue in
// clusterroleaggregation_controller.go).
func Affected(s Snapshot, old, new *rbacv1.ClusterRole, o Options) []string {
	if !o.MatchUpstream && old != nil && new != nil && (old.Name != new.Name || old.UID != new.UID) {
		// Two ClusterRoles: one went and one came, perhaps under the same name.
		names := append(Affected(s, old, nil, o), Affected(s, nil, new, o)...)
		slices.Sort(names)
		return slices.Compact(names)
	}
	g := newGraph(s.after(old, new), o, &ruleIDs{})
	if o.MatchUpstream {
		var names []string
		for i := range g.roles {
			if g.roles[i].mayAggregate() {
				names = append(names, g.roles[i].name)
			}
		}
		return names
	}
	if old == nil && new == nil {
		return nil
	}
	return g.names(g.reached(g.touched(old, new)))
}

// after returns the snapshot with new in the place of old.
func (s Snapshot) after(old, new *rbacv1.ClusterRole) Snapshot {
	roles := make([]*rbacv1.ClusterRole, 0, len(s.ClusterRoles)+1)
	for _, r := range s.ClusterRoles {
		if r != nil && (old != nil && r.Name == old.Name || new != nil && r.Name == new.Name) {
			continue
		}
		roles = append(roles, r)
	}
	if new != nil {
		roles = append(roles, new)
	}
	return Snapshot{ClusterRoles: roles}
}

// mayAggregate is for a role of which there may be two objects.
func (r *role) mayAggregate() bool {
	return slices.ContainsFunc(r.objects, func(o *rbacv1.ClusterRole) bool { return o.AggregationRule != nil })
}

// touched returns the roles that a change meets directly: those that have to be planned again, and
// of them those whose own sum of rules may differ now, from which the change goes on.
func (g *graph) touched(old, new *rbacv1.ClusterRole) (plan, goOn []int) {
	self := -1
	if new != nil {
		if i, found := g.find(new.Name); found {
			self = i
		}
	}
	if self >= 0 && g.roles[self].aggregates() && aggregationChanged(old, new) {
		goOn = append(goOn, self)
	} else if self >= 0 && g.roles[self].aggregates() && rulesChanged(old, new) {
		plan = append(plan, self)
	}

	brings := g.bringsOther(old, new, self)
	for i := range g.roles {
		if i == self {
			continue
		}
		before := old != nil && g.matches(i, old)
		after := new != nil && g.matches(i, new)
		if before != after || brings && after {
			goOn = append(goOn, i)
		}
	}
	return append(plan, goOn...), goOn
}

// bringsOther reports whether a role may bring in other rules than it did.
func (g *graph) bringsOther(old, new *rbacv1.ClusterRole, self int) bool {
	if aggregationChanged(old, new) {
		return true
	}
	if !rulesChanged(old, new) {
		return false
	}
	// What is written in a role that aggregates does not count, if its sum can be known.
	return self < 0 || !g.computable(self)
}

func aggregationChanged(old, new *rbacv1.ClusterRole) bool {
	return old == nil || new == nil || !equality.Semantic.DeepEqual(old.AggregationRule, new.AggregationRule)
}

func rulesChanged(old, new *rbacv1.ClusterRole) bool {
	return old == nil || new == nil || !equality.Semantic.DeepEqual(old.Rules, new.Rules)
}

// matches reports whether a role aggregates whatever has these labels.
func (g *graph) matches(i int, object *rbacv1.ClusterRole) bool {
	return slices.ContainsFunc(g.from(i).selectors, func(s labels.Selector) bool {
		return s.Matches(labels.Set(object.Labels))
	})
}

// reached returns the roles of plan and all that aggregate one of goOn, through all levels.
func (g *graph) reached(plan, goOn []int) map[int]bool {
	reached := map[int]bool{}
	for _, i := range plan {
		reached[i] = true
	}
	if len(goOn) == 0 {
		return reached
	}
	aggregatedBy := make([][]int, len(g.roles))
	for i := range g.roles {
		for _, source := range g.from(i).sources {
			aggregatedBy[source] = append(aggregatedBy[source], i)
		}
	}
	went := map[int]bool{}
	for queue := goOn; len(queue) > 0; queue = queue[1:] {
		for _, i := range aggregatedBy[queue[0]] {
			if !went[i] {
				went[i] = true
				reached[i] = true
				queue = append(queue, i)
			}
		}
	}
	return reached
}

func (g *graph) names(of map[int]bool) []string {
	var names []string
	for i := range g.roles {
		if of[i] {
			names = append(names, g.roles[i].name)
		}
	}
	return names
}
