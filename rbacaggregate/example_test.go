package rbacaggregate_test

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// Both levels are written at once.
func ExamplePlanAll() {
	for _, o := range rbacaggregate.PlanAll(rbacaggregate.Snapshot{ClusterRoles: roles()}, rbacaggregate.Options{}) {
		if o.Err != nil {
			fmt.Println(o.Err)
		}
		for _, a := range o.Result.Actions {
			fmt.Println(a)
			if set, ok := a.(rbacaggregate.SetRules); ok {
				kind, body := set.Patch()
				fmt.Printf("%s %s\n", kind, body)
			}
		}
	}
	// Output:
	// SetRules edit: 1 rule
	// application/apply-patch+yaml {"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"edit"},"rules":[{"verbs":["get"],"apiGroups":["example.com"],"resources":["widgets"]}]}
	// SetRules view: 1 rule
	// application/apply-patch+yaml {"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"view"},"rules":[{"verbs":["get"],"apiGroups":["example.com"],"resources":["widgets"]}]}
}

func ExampleExplain() {
	contributions, err := rbacaggregate.Explain(rbacaggregate.Snapshot{ClusterRoles: roles()}, "edit", rbacaggregate.Options{})
	if err != nil {
		fmt.Println(err)
	}
	for _, c := range contributions {
		fmt.Println(c.Rule.Verbs, c.Rule.Resources, "from", c.From)
	}
	// Output: [get] [widgets] from [view ← widgets-view]
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

func ExampleAffected() {
	old := roles()[2]
	new := old.DeepCopy()
	new.Rules = nil
	fmt.Println(rbacaggregate.Affected(rbacaggregate.Snapshot{ClusterRoles: roles()}, old, new, rbacaggregate.Options{}))
	// Output: [edit view]
}
