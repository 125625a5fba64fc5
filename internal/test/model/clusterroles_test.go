package model

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/rbacaggregate"
)

var clusterRoles = rbacv1.SchemeGroupVersion.WithResource("clusterroles")

// clusterRoleController is the package as a controller.
func clusterRoleController(o rbacaggregate.Options) Controller {
	snapshot := func(v *View) rbacaggregate.Snapshot {
		return rbacaggregate.Snapshot{ClusterRoles: All[*rbacv1.ClusterRole](v)}
	}
	return Controller{
		Keys: func(v *View) []string {
			var keys []string
			for _, r := range All[*rbacv1.ClusterRole](v) {
				keys = append(keys, r.Name)
			}
			return keys
		},
		Plan: func(v *View, key string, _ *View) Decision {
			r, err := rbacaggregate.Plan(snapshot(v), rbacaggregate.Key(key), o)
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
		Affected: func(v *View, oldObj, newObj Object) []string {
			one := func(o Object) rbacaggregate.Snapshot {
				return rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{o.(*rbacv1.ClusterRole)}}
			}
			x := rbacaggregate.NewIndex(snapshot(v), o)
			var affected []purekube.Key
			if oldObj == nil { // the view may be from after the event
				x, _ = x.Without(one(newObj))
			} else {
				x, _ = x.With(one(oldObj))
			}
			if newObj == nil {
				_, affected = x.Without(one(oldObj))
			} else {
				_, affected = x.With(one(newObj))
			}
			return namesOf(affected)
		},
	}
}

func namesOf(keys []purekube.Key) []string {
	var names []string
	for _, key := range keys {
		names = append(names, key.Name)
	}
	return names
}

func aggregating(name string, numberOf int, selects string, labels ...string) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, UID: UID(numberOf), Labels: map[string]string{}}}
	for _, l := range labels {
		role.Labels[l] = "true"
	}
	if selects != "" {
		role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{selects: "true"}}}}
	}
	return role
}

func verbRule(verb string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{"pods"}}
}

// clusterRoleWorld is a source with two rules, two roles that aggregate each other, the first also
// the source, and one that aggregates the second of them.
func clusterRoleWorld(o rbacaggregate.Options) Scenario {
	source := aggregating("source", 1, "", "in-ring")
	source.Rules = []rbacv1.PolicyRule{verbRule("get"), verbRule("list")}
	theSource := func(v *View) *rbacv1.ClusterRole { return Get[*rbacv1.ClusterRole](v, "", "source") }
	edited := func(role *rbacv1.ClusterRole, edit func(*rbacv1.ClusterRole)) Change {
		role = role.DeepCopy()
		edit(role)
		return Put(role)
	}
	return Scenario{
		Name:  "ClusterRoles",
		Kinds: []schema.GroupVersionResource{clusterRoles},
		Lag:   2,
		Objects: []Object{
			source,
			aggregating("ring-1", 2, "in-ring", "in-ring-2"),
			aggregating("ring-2", 3, "in-ring-2", "in-ring", "in-top"),
			aggregating("top", 4, "in-top"),
		},
		Events: []Event{
			{Name: "rule taken", Do: func(v *View, do func(string, ...Change)) {
				if s := theSource(v); s != nil && len(s.Rules) > 0 {
					for i, r := range s.Rules {
						do(fmt.Sprintf("the user takes the rule %s from source", r.Verbs[0]),
							edited(s, func(role *rbacv1.ClusterRole) { role.Rules = slices.Delete(role.Rules, i, i+1) }))
					}
				}
			}},
			{Name: "label changed", Do: func(v *View, do func(string, ...Change)) {
				if s := theSource(v); s != nil {
					if s.Labels["in-ring"] != "" {
						do("the user takes the label off source", edited(s, func(role *rbacv1.ClusterRole) { role.Labels = nil }))
					} else {
						do("the user labels source", edited(s, func(role *rbacv1.ClusterRole) { role.Labels = map[string]string{"in-ring": "true"} }))
					}
				}
			}},
			{Name: "source deleted or made", Do: func(v *View, do func(string, ...Change)) {
				if s := theSource(v); s != nil {
					do("the user deletes source", Remove(s))
				} else {
					s = source.DeepCopy()
					s.UID = UID(v.Fresh)
					do("the user makes source again", Put(s))
				}
			}},
			{Name: "a rule written by hand", Do: func(v *View, do func(string, ...Change)) {
				if r := Get[*rbacv1.ClusterRole](v, "", "ring-1"); r != nil {
					do("the user writes a rule into ring-1", edited(r, func(role *rbacv1.ClusterRole) { role.Rules = []rbacv1.PolicyRule{verbRule("watch")} }))
				}
			}},
			{Name: "role deleted", Max: 1, Do: func(v *View, do func(string, ...Change)) {
				if r := Get[*rbacv1.ClusterRole](v, "", "ring-2"); r != nil {
					do("the user deletes ring-2", Remove(r))
				}
			}},
		},
		Controller: clusterRoleController(o),
		Faults:     Faults{Refuse: true, LoseAnswer: true, Crash: true},
		Guarantees: []Guarantee{
			{"nothing the user did is undone", clusterRolesKeepWhatIsTheirs},
		},
		Rest:     rulesHaveSources,
		Describe: describeClusterRole,
	}
}

// clusterRolesKeepWhatIsTheirs: the controller makes no role and deletes none, writes to none that does not aggregate, and nothing but
// rules.
func clusterRolesKeepWhatIsTheirs(s *Step) string {
	if s.Request == nil {
		return ""
	}
	for _, after := range All[*rbacv1.ClusterRole](s.After) {
		before := Get[*rbacv1.ClusterRole](s.Before, "", after.Name)
		switch {
		case before == nil:
			return after.Name + " was deleted, and the controller made it"
		case before.AggregationRule == nil && before.ResourceVersion != after.ResourceVersion:
			return after.Name + " does not aggregate, and the controller wrote to it"
		}
	}
	return writtenBeyond(s, "ClusterRole", "its rules", func(r *rbacv1.ClusterRole) { r.Rules = nil })
}

// rulesHaveSources: a role that aggregates has the rules of the roles that do not, from which it can be reached
// over selectors, and no others.
func rulesHaveSources(v *View) string {
	roles := All[*rbacv1.ClusterRole](v)
	for _, role := range roles {
		if role.AggregationRule == nil {
			continue
		}
		var want, have []string
		reached := map[string]bool{}
		var reach func(*rbacv1.ClusterRole)
		reach = func(r *rbacv1.ClusterRole) {
			if reached[r.Name] {
				return
			}
			reached[r.Name] = true
			if r.AggregationRule == nil {
				for _, rule := range r.Rules {
					want = append(want, rule.Verbs[0])
				}
				return
			}
			for label := range r.AggregationRule.ClusterRoleSelectors[0].MatchLabels {
				for _, from := range roles {
					if from.Labels[label] != "" {
						reach(from)
					}
				}
			}
		}
		reach(role)
		for _, rule := range role.Rules {
			have = append(have, rule.Verbs[0])
		}
		slices.Sort(want)
		slices.Sort(have)
		want = slices.Compact(want) // each rule once
		if !slices.Equal(want, have) {
			return fmt.Sprintf("at rest, no aggregated rule is without a source, and none is missing: %s has %v, its sources %v", role.Name, have, want)
		}
	}
	return ""
}

func describeClusterRole(o Object) string {
	role := o.(*rbacv1.ClusterRole)
	var rules []string
	for _, r := range role.Rules {
		rules = append(rules, r.Verbs...)
	}
	return fmt.Sprintf("ClusterRole %s: rules [%s], labels %v", role.Name, strings.Join(rules, " "), sortedKeys(role.Labels))
}

func matching(match bool) purekube.Upstream {
	if match {
		return purekube.V1_36
	}
	return ""
}
