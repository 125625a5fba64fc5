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
	result, err := rbacaggregate.Plan(rbacaggregate.Snapshot{ClusterRoles: roles()}, "view", rbacaggregate.Options{})
	fmt.Println(result.Actions, err)
	// Output: [SetRules view: 1 rule] <nil>
}

func ExampleRules() {
	s := rbacaggregate.Snapshot{ClusterRoles: roles()}
	rules, err := rbacaggregate.Rules(s, "edit", rbacaggregate.Options{})
	for _, r := range rules {
		fmt.Println(r.Verbs, r.Resources)
	}
	fmt.Println(err)
	_, err = rbacaggregate.Rules(s, "admin", rbacaggregate.Options{})
	fmt.Println(errors.Is(err, purekube.ErrNotFound))
	// Output:
	// [get] [widgets]
	// <nil>
	// true
}

func ExampleExplain() {
	e, err := rbacaggregate.Explain(rbacaggregate.Snapshot{ClusterRoles: roles()}, "edit", rbacaggregate.Options{})
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
	// ContributesNested aggregationRule.clusterRoleSelectors[0]: it matches view, which aggregates 1 rule
	// RulesDiffer 1 rule is added
	// [get] [widgets] by way of [view widgets-view]
}

func ExampleExplainAll() {
	all, err := rbacaggregate.ExplainAll(rbacaggregate.Snapshot{ClusterRoles: roles()}, rbacaggregate.Options{})
	for _, e := range all {
		fmt.Println(e.Key, e.Reasons[len(e.Reasons)-1])
	}
	fmt.Println(err)
	// Output:
	// edit 1 rule is added
	// view 1 rule is added
	// <nil>
}

// An admission webhook sees who would get the right to delete widgets through one label.
func ExamplePreview() {
	changed := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets-admin", Labels: map[string]string{"to-view": "true"}},
		Rules: []rbacv1.PolicyRule{{
			Verbs: []string{"delete"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"},
		}},
	}
	changes, err := rbacaggregate.Preview(rbacaggregate.Snapshot{ClusterRoles: roles()}, changed, rbacaggregate.Options{})
	if err != nil {
		fmt.Println(err)
	}
	for _, c := range changes {
		for _, r := range c.Added {
			fmt.Println(c.Name, "could", r.Verbs, r.Resources)
		}
	}
	// Output:
	// edit could [delete] [widgets]
	// view could [delete] [widgets]
}

func ExampleAffectedByClusterRole() {
	oldObj := roles()[2]
	newObj := oldObj.DeepCopy()
	newObj.Rules = nil
	s := rbacaggregate.Snapshot{ClusterRoles: append(roles()[:2], newObj)}
	fmt.Println(rbacaggregate.AffectedByClusterRole(s, oldObj, newObj, rbacaggregate.Options{}))
	// Output: [edit view]
}

func ExampleKeyOf() {
	fmt.Println(rbacaggregate.KeyOf(roles()[0]))
	// Output: edit
}

// Where the API server does not know server-side apply, an update takes its place.
func ExampleSetRules_Apply() {
	latest := roles()[1]
	result, _ := rbacaggregate.Plan(rbacaggregate.Snapshot{ClusterRoles: roles()}, "view", rbacaggregate.Options{})
	for _, a := range result.Actions {
		if set, ok := a.(rbacaggregate.SetRules); ok {
			fmt.Println("update", latest.Name, "with", len(set.Apply(latest).Rules), "rule")
		}
	}
	// Output: update view with 1 rule
}
