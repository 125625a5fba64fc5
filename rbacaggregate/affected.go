package rbacaggregate

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
)

// AffectedByClusterRole returns the names of the ClusterRoles whose plan may differ after one was
// added (oldObj is nil), updated or deleted (newObj is nil), sorted. Without both there is no event, and
// nothing is affected. s is the snapshot after the event; one from before the event gives the same
// answer.
//
// By default these are the ones that the change can reach: the ClusterRole itself, if it has an
// aggregationRule and its rules, aggregationRule or UID changed; those that aggregate it, before or after,
// if their sources or the rules that it contributes changed; and those that aggregate them, through all
// levels. An event that changes nothing of the sort, for example a resync, affects none. The write
// of a [SetRules] affects only the ClusterRole that it writes.
//
// Under MatchUpstream it is every ClusterRole with an aggregationRule, whatever the event (BR-27-01;
// enqueue in clusterroleaggregation_controller.go).
func AffectedByClusterRole(s Snapshot, oldObj, newObj *rbacv1.ClusterRole, o Options) []string {
	if oldObj == nil && newObj == nil {
		return nil
	}
	if !o.matchUpstream() && oldObj != nil && newObj != nil && (oldObj.Name != newObj.Name || oldObj.UID != newObj.UID) {
		// Two ClusterRoles: one was deleted and one was added, perhaps under the same name.
		names := append(AffectedByClusterRole(s, oldObj, nil, o), AffectedByClusterRole(s, nil, newObj, o)...)
		slices.Sort(names)
		return slices.Compact(names)
	}
	g := newGraph(s.after(oldObj, newObj), o, &ruleIDs{})
	if o.matchUpstream() {
		var names []string
		for i := range g.roles {
			if g.roles[i].mayAggregate() {
				names = append(names, g.roles[i].name)
			}
		}
		return names
	}
	return g.names(g.reached(g.touched(oldObj, newObj)))
}

// after returns the snapshot with newObj in the place of oldObj.
func (s Snapshot) after(oldObj, newObj *rbacv1.ClusterRole) Snapshot {
	roles := make([]*rbacv1.ClusterRole, 0, len(s.ClusterRoles)+1)
	for _, r := range s.ClusterRoles {
		if r != nil && (oldObj != nil && r.Name == oldObj.Name || newObj != nil && r.Name == newObj.Name) {
			continue
		}
		roles = append(roles, r)
	}
	if newObj != nil {
		roles = append(roles, newObj)
	}
	return Snapshot{ClusterRoles: roles}
}

// mayAggregate is for a role of which there may be two objects.
func (r *role) mayAggregate() bool {
	return slices.ContainsFunc(r.objects, func(o *rbacv1.ClusterRole) bool { return o.AggregationRule != nil })
}

// touched returns the roles that a change meets directly: those that have to be planned again, and
// of them those whose own sum of rules may differ now, from which the change goes on.
func (g *graph) touched(oldObj, newObj *rbacv1.ClusterRole) (plan, goOn []int) {
	self := -1
	if newObj != nil {
		if i, found := g.find(newObj.Name); found {
			self = i
		}
	}
	if self >= 0 && g.roles[self].aggregates() && aggregationChanged(oldObj, newObj) {
		goOn = append(goOn, self)
	} else if self >= 0 && g.roles[self].aggregates() && rulesChanged(oldObj, newObj) {
		plan = append(plan, self)
	}

	brings := g.bringsOther(oldObj, newObj, self)
	for i := range g.roles {
		if i == self {
			continue
		}
		before := oldObj != nil && g.matches(i, oldObj)
		after := newObj != nil && g.matches(i, newObj)
		if before != after || brings && after {
			goOn = append(goOn, i)
		}
	}
	return append(plan, goOn...), goOn
}

// bringsOther reports whether a role may bring in other rules than it did.
func (g *graph) bringsOther(oldObj, newObj *rbacv1.ClusterRole, self int) bool {
	if aggregationChanged(oldObj, newObj) {
		return true
	}
	if !rulesChanged(oldObj, newObj) {
		return false
	}
	// What is written in a role that aggregates does not count, if its sum can be known.
	return self < 0 || !g.computable(self)
}

func aggregationChanged(oldObj, newObj *rbacv1.ClusterRole) bool {
	return oldObj == nil || newObj == nil || !equality.Semantic.DeepEqual(oldObj.AggregationRule, newObj.AggregationRule)
}

func rulesChanged(oldObj, newObj *rbacv1.ClusterRole) bool {
	return oldObj == nil || newObj == nil || !equality.Semantic.DeepEqual(oldObj.Rules, newObj.Rules)
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
