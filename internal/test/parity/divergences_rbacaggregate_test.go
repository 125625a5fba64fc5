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
		Title: "aggregates of aggregates, level by level",
		Why: "Upstream reads the written rules of its sources, so that each level of nesting takes a round " +
			"of writes of its own, and until then the upper roles lack rules. The default computes the rules from the roles " +
			"that are not aggregated, through all levels at once: the same end, one write for each role.",
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
		Title: "a rule without a source in a cycle of aggregates",
		Why: "Two roles that aggregate each other, both with a rule whose source is gone: upstream finds the rule in the other " +
			"one and keeps it for ever, a permission that nobody grants. In the default a rule needs a source outside of the cycle.",
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
		Title: "a role whose last source is gone",
		Why: "Without any source upstream applies a role without the key rules. The server then leaves the rules alone that another manager " +
			"has set, so that the permissions stay and upstream applies in vain at every event. The default applies an empty list, which empties the role.",
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
		Title: "the rules of this role, not of the next one of its name",
		Why: "The role may have been deleted by the time that its rules are written, and another of its name made. Upstream's apply then makes the role anew, " +
			"with the rules and without the aggregationRule, or overwrites those of the other one. The default's carries the UID, so that the API server refuses both.",
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
		Title: "a rule that stands in a role whose aggregation fails",
		Why: "A role with a selector that does not convert is not written, and a rule that somebody put into it by hand stays. Upstream passes it on to each role " +
			"that aggregates this one. In the default these keep what they have of its rules and get none that they do not have: whether the role would come to them " +
			"is not known.",
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
