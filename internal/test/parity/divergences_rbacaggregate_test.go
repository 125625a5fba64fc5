package parity

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/rbacaggregate"
)

var rbacaggregateDivergences = []divergence{
	{
		ID:    "D-11",
		Title: "aggregation of aggregated ClusterRoles",
		Harm: "A ClusterRole lacks new rules, and keeps removed ones, until each level below it has been written, " +
			"one after the other",
		Since: "v1.9",
		Why: "The controller reads the rules that are stored in its sources. Each level of nesting therefore takes " +
			"its own round of writes, and until then the upper ClusterRoles lack rules. By default, purekube " +
			"computes the rules from the ClusterRoles that are not aggregated, through all levels at once: the " +
			"final rules are the same, with one write for each ClusterRole.",
		Given: func() []runtime.Object {
			return []runtime.Object{
				aggregated("all", "in-all"),
				labelled("in-all", aggregated("middle", "in-middle")),
				labelled("in-middle", plain("pods", "get")),
			}
		},
		Run: bothAggregations,
		Upstream: `apply clusterroles middle by clusterrole-aggregation-controller with force: ` +
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"middle"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`,
		Ours: `apply clusterroles all by clusterrole-aggregation-controller with force: ` +
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"all","uid":"uid-all"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}` + "\n" +
			`apply clusterroles middle by clusterrole-aggregation-controller with force: ` +
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"middle","uid":"uid-middle"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`,
	},
	{
		ID:    "D-11",
		Title: "two ClusterRoles that aggregate each other",
		Harm: "A permission whose source was deleted stays forever, because the two ClusterRoles copy it from each " +
			"other",
		Since: "v1.9",
		Why: "Two ClusterRoles aggregate each other, and both have a rule whose source is gone. The controller " +
			"finds the rule in the other ClusterRole and keeps it forever, a permission that no source grants. By " +
			"default, a rule needs a source outside the cycle.",
		Given: func() []runtime.Object {
			a, b := labelled("in-b", aggregated("a", "in-a")), labelled("in-a", aggregated("b", "in-b"))
			a.Rules, b.Rules = plain("", "delete").Rules, plain("", "delete").Rules
			return []runtime.Object{a, b}
		},
		Run:      bothAggregations,
		Upstream: `nothing`,
		Ours: `apply clusterroles a by clusterrole-aggregation-controller with force: ` +
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a","uid":"uid-a"},"rules":[]}` + "\n" +
			`apply clusterroles b by clusterrole-aggregation-controller with force: ` +
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"b","uid":"uid-b"},"rules":[]}`,
	},
	{
		ID:    "D-20",
		Title: "the last source of a ClusterRole is gone",
		Harm: "Rules that another field manager has also set keep granting permissions, and every event of a " +
			"ClusterRole causes an apply without effect",
		Since: "v1.21",
		Why: "Without any source, the controller applies a ClusterRole without the field `rules`. The API server " +
			"then keeps rules that another field manager has set. The permissions stay, and the controller sends " +
			"an apply without effect at every event. By default, purekube applies an empty list, which removes " +
			"all rules.",
		Given: func() []runtime.Object {
			a := aggregated("all", "in-all")
			a.Rules = plain("", "delete").Rules
			return []runtime.Object{a}
		},
		Run: bothAggregations,
		Upstream: `apply clusterroles all by clusterrole-aggregation-controller with force: ` +
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"all"}}`,
		Ours: `apply clusterroles all by clusterrole-aggregation-controller with force: ` +
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"all","uid":"uid-all"},"rules":[]}`,
	},
	{
		ID:    "D-26",
		Title: "the rules are written to a new ClusterRole of the same name",
		Harm: "A deleted ClusterRole exists again with its rules, and its bindings grant them; or a new ClusterRole " +
			"gets the rules of its predecessor",
		Since: "v1.21",
		Why: "The ClusterRole can be deleted, and another one created under its name, before its rules are " +
			"written. The controller's apply then creates the ClusterRole again, with the rules and without the " +
			"aggregationRule, or overwrites the rules of the new one. By default, the apply carries the UID, and " +
			"the API server rejects both.",
		Given: func() []runtime.Object {
			return []runtime.Object{aggregated("all", "in-all"), labelled("in-all", plain("pods", "get"))}
		},
		Run: bothAggregations,
		Upstream: `apply clusterroles all by clusterrole-aggregation-controller with force: ` +
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"all"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`,
		Ours: `apply clusterroles all by clusterrole-aggregation-controller with force: ` +
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"all","uid":"uid-all"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`,
	},
	{
		ID:    "D-35",
		Title: "a rule in a ClusterRole whose aggregation fails",
		Harm: "A rule that somebody wrote into such a ClusterRole is granted by all that aggregate it. An API " +
			"server rejects the selector, so it must have come from elsewhere",
		Since: "v1.9",
		Why: "A ClusterRole with an invalid selector is not written, and a rule that somebody wrote into it stays. " +
			"The controller copies the rule to each ClusterRole that aggregates this one. By default, these " +
			"ClusterRoles keep the rules that they already have from it and get no others, because it is unknown whether the ClusterRole would have the rule " +
			"if its aggregation worked.",
		Given: func() []runtime.Object {
			broken := labelled("in-all", aggregated("middle", "in-middle"))
			broken.AggregationRule.ClusterRoleSelectors[0].MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Near"}}
			broken.Rules = append(plain("", "get").Rules, plain("", "delete").Rules...)
			all := aggregated("all", "in-all")
			all.Rules = plain("", "get").Rules
			return []runtime.Object{all, broken}
		},
		Run: bothAggregations,
		Upstream: `apply clusterroles all by clusterrole-aggregation-controller with force: ` +
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"all"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]},{"apiGroups":[""],"resources":["pods"],"verbs":["delete"]}]}` + "\n" +
			`error for middle`,
		Ours: "error for all\nerror for middle",
	},
}

func bothAggregations(t *testing.T, given []runtime.Object) (upstream, ours string) {
	var s rbacaggregate.Snapshot
	for _, o := range given {
		s.ClusterRoles = append(s.ClusterRoles, o.(*rbacv1.ClusterRole))
	}
	return rbacaggregateCore.RunUpstream(t, s).String(), roleTrace(s, rbacaggregate.Options{}).String()
}

// aggregated is a role of the rules of all roles with the label.
func aggregated(name, label string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		AggregationRule: &rbacv1.AggregationRule{
			ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{label: "true"}}},
		},
	}
}

// plain is a role that allows a verb on pods.
func plain(name, verb string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{"pods"}}},
	}
}

func labelled(label string, role *rbacv1.ClusterRole) *rbacv1.ClusterRole {
	role.Labels = map[string]string{label: "true"}
	return role
}
