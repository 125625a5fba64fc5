package rbacaggregate_test

import (
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/rbacaggregate"
)

// roles are an aggregated role over another, and one role of a custom resource.
func roles() []*rbacv1.ClusterRole {
	aggregate := func(label string) *rbacv1.AggregationRule {
		return &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
			{MatchLabels: map[string]string{label: "true"}},
		}}
	}
	return []*rbacv1.ClusterRole{{
		ObjectMeta:      metav1.ObjectMeta{Name: "edit"},
		AggregationRule: aggregate("to-edit"),
	}, {
		ObjectMeta:      metav1.ObjectMeta{Name: "view", Labels: map[string]string{"to-edit": "true"}},
		AggregationRule: aggregate("to-view"),
	}, {
		ObjectMeta: metav1.ObjectMeta{Name: "widgets-view", Labels: map[string]string{"to-view": "true"}},
		Rules: []rbacv1.PolicyRule{{
			Verbs: []string{"get"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"},
		}},
	}}
}

// Both levels are written at once. Each action has the whole request that carries it out.
func ExamplePlanAll() {
	outcomes, err := rbacaggregate.PlanAll(rbacaggregate.Snapshot{ClusterRoles: roles()}, rbacaggregate.Options{})
	if err != nil {
		fmt.Println(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			fmt.Println(o.Err)
		}
		for _, a := range o.Result.Actions {
			fmt.Println(a)
			request := a.Request(nil)
			fmt.Println(request)
			fmt.Println(string(request.Patch))
		}
	}
	// Output:
	// SetRules edit: 1 rule
	// patch clusterroles edit
	// {"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"edit"},"rules":[{"verbs":["get"],"apiGroups":["example.com"],"resources":["widgets"]}]}
	// SetRules view: 1 rule
	// patch clusterroles view
	// {"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"view"},"rules":[{"verbs":["get"],"apiGroups":["example.com"],"resources":["widgets"]}]}
}

func ExamplePlan() {
	result, err := rbacaggregate.Plan(rbacaggregate.Snapshot{ClusterRoles: roles()}, rbacaggregate.Key("view"), rbacaggregate.Options{})
	fmt.Println(result.Actions, err)
	// Output: [SetRules view: 1 rule] <nil>
}

func ExampleIndex_Rules() {
	s := rbacaggregate.Snapshot{ClusterRoles: roles()}
	rules, err := rbacaggregate.NewIndex(s, rbacaggregate.Options{}).Rules(rbacaggregate.Key("edit"))
	for _, r := range rules {
		fmt.Println(r.Verbs, r.Resources)
	}
	fmt.Println(err)
	_, err = rbacaggregate.NewIndex(s, rbacaggregate.Options{}).Rules(rbacaggregate.Key("admin"))
	fmt.Println(errors.Is(err, purekube.ErrNotFound))
	// Output:
	// [get] [widgets]
	// <nil>
	// true
}

func ExampleIndex_Explain() {
	e, err := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles()}, rbacaggregate.Options{}).Explain(rbacaggregate.Key("edit"))
	if err != nil {
		fmt.Println(err)
	}
	for _, r := range e.Reasons {
		fmt.Println(r.Code, r)
	}
	for _, c := range e.Rules {
		for _, from := range c.From {
			fmt.Println(c.Rule.Verbs, c.Rule.Resources, "by way of", e.Path(from))
		}
	}
	// Output:
	// ContributesNested aggregationRule.clusterRoleSelectors[0]: it matches view, which aggregates other ClusterRoles
	// RulesDiffer 1 rule is added
	// [get] [widgets] by way of [view widgets-view]
}

func ExampleIndex_ExplainAll() {
	all, err := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles()}, rbacaggregate.Options{}).ExplainAll()
	for _, e := range all {
		fmt.Println(e.Key, e.Reasons[len(e.Reasons)-1])
	}
	fmt.Println(err)
	// Output:
	// ClusterRole/edit 1 rule is added
	// ClusterRole/view 1 rule is added
	// <nil>
}

// What becomes of the rules of one ClusterRole in the end.
func ExampleIndex_PreviewRole() {
	written := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets-admin", Labels: map[string]string{"to-view": "true"}},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"delete"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"}}},
	}
	s := rbacaggregate.Snapshot{ClusterRoles: roles()}
	change, err := rbacaggregate.NewIndex(s, rbacaggregate.Options{}).PreviewRole(written, rbacaggregate.Key("edit"))
	fmt.Println(change.Key.Name, change.Added, change.Removed, err)
	// Output: edit [{[delete] [example.com] [widgets] [] []}] [] <nil>
}

// Who would get the right to delete widgets through one label.
func ExampleIndex_Preview() {
	changed := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets-admin", Labels: map[string]string{"to-view": "true"}},
		Rules: []rbacv1.PolicyRule{{
			Verbs: []string{"delete"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"},
		}},
	}
	changes, err := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles()}, rbacaggregate.Options{}).Preview(changed)
	if err != nil {
		fmt.Println(err)
	}
	for _, c := range changes {
		for _, r := range c.Added {
			fmt.Println(c.Key.Name, "could", r.Verbs, r.Resources)
		}
	}
	// Output:
	// edit could [delete] [widgets]
	// view could [delete] [widgets]
}

func ExampleIndex_PreviewDelete() {
	changes, err := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles()}, rbacaggregate.Options{}).PreviewDelete(rbacaggregate.Key("widgets-view"))
	for _, c := range changes {
		fmt.Println(c.Key.Name, "loses", len(c.Removed), "rule")
	}
	fmt.Println(err)
	// Output:
	// edit loses 1 rule
	// view loses 1 rule
	// <nil>
}

// A controller keeps one Index. Each event gives the next one, and the keys to plan again.
func ExampleIndex() {
	index := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles()}, rbacaggregate.Options{})
	for {
		outcomes, err := index.PlanAll()
		fmt.Println(len(outcomes), "to write", err)
		if len(outcomes) == 0 {
			break
		}
		for _, o := range outcomes {
			for _, a := range o.Result.Actions {
				set := a.(rbacaggregate.SetRules)
				// What the API server makes of it comes back as an event.
				var affected []purekube.Key
				index, affected = index.With(rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{set.Apply(find(roles(), o.Key.Name))}})
				fmt.Println(a, "affects", affected)
			}
		}
	}
	// Output:
	// 2 to write <nil>
	// SetRules edit: 1 rule affects [ClusterRole/edit]
	// SetRules view: 1 rule affects [ClusterRole/view]
	// 0 to write <nil>
}

func ExampleIndex_Without() {
	index := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles()}, rbacaggregate.Options{})
	next, affected := index.Without(rbacaggregate.Snapshot{ClusterRoles: roles()[2:]})
	before, _ := index.Rules(rbacaggregate.Key("edit"))
	after, _ := next.Rules(rbacaggregate.Key("edit"))
	fmt.Println(affected, len(before), len(after))
	// Output: [ClusterRole/edit ClusterRole/view] 1 0
}

// What is wrong with the objects of an Index as a whole.
func ExampleIndex_Err() {
	fmt.Println(rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: append(roles(), nil, roles()[0])}, rbacaggregate.Options{}).Err())
	// Output:
	// ClusterRole: nil object in the snapshot
	// ClusterRole edit: several objects in the snapshot have this name
}

func find(roles []*rbacv1.ClusterRole, name string) *rbacv1.ClusterRole {
	for _, r := range roles {
		if r.Name == name {
			return r
		}
	}
	return nil
}

func ExampleIndex_With() {
	index := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles()}, rbacaggregate.Options{})
	changed := roles()[2].DeepCopy()
	changed.Rules = nil
	_, affected := index.With(rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{changed}})
	fmt.Println(affected)
	// Output: [ClusterRole/edit ClusterRole/view]
}

func ExampleKey() {
	fmt.Println(rbacaggregate.Key("admin"))
	// Output: ClusterRole/admin
}

func ExampleKeyOf() {
	fmt.Println(rbacaggregate.KeyOf(roles()[0]))
	// Output: ClusterRole/edit
}

// Where the API server does not know server-side apply, an update takes its place.
func ExampleSetRules_Apply() {
	latest := roles()[1]
	result, _ := rbacaggregate.Plan(rbacaggregate.Snapshot{ClusterRoles: roles()}, rbacaggregate.Key("view"), rbacaggregate.Options{})
	for _, a := range result.Actions {
		if set, ok := a.(rbacaggregate.SetRules); ok {
			fmt.Println("update", latest.Name, "with", len(set.Apply(latest).Rules), "rule")
		}
	}
	// Output: update view with 1 rule
}
