package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/manifests"

	"github.com/purekube/purekube/rbacaggregate"
)

// The ClusterRoles of a real API server before any controller ran: the three aggregated roles get
// the rules that kube-controller-manager gave them, and each rule says where it comes from.
func TestBootstrapClusterRoles(t *testing.T) {
	got := plan(t, nil, "", "--explain", "--core", "rbacaggregate", "testdata/clusterroles.yaml")
	require.Empty(t, got.stderr)
	require.Equal(t, exitPlanned, got.status)

	// What kube-controller-manager made of admin: 29 rules.
	real, err := manifests.Load(manifests.Options{}, "testdata/cluster-converged.yaml")
	require.NoError(t, err)
	var admin *rbacv1.ClusterRole
	for _, role := range real.ClusterRoles {
		if role.Name == "admin" {
			admin = role
		}
	}
	require.Len(t, admin.Rules, 29)
	require.Contains(t, got.stdout, "    SetRules admin: 29 rules, +29\n")

	_, section, found := strings.Cut(got.stdout, "  ClusterRole admin\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "  ClusterRole edit\n")
	text := strings.Join(strings.Fields(section), " ")
	for _, rule := range admin.Rules {
		_, behind, found := strings.Cut(text, " "+ruleText(rule)+" ")
		require.True(t, found, "rule of admin that is not explained: %s", ruleText(rule))
		require.True(t, strings.HasPrefix(behind, "from "), "rule of admin without a source: %s", ruleText(rule))
	}
	// One rule of each level, read off the manifests.
	for _, line := range []string{
		"create: localsubjectaccessreviews in authorization.k8s.io from system:aggregate-to-admin ",
		"impersonate: serviceaccounts in core from edit ← system:aggregate-to-edit ",
		"get, list, watch: namespaces in core from edit ← view ← system:aggregate-to-view ",
	} {
		require.Contains(t, text, line)
	}
	for line := range strings.Lines(got.stdout) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, line)
	}
}

func TestDescribeRules(t *testing.T) {
	rule := func(verbs ...string) rbacv1.PolicyRule { return rbacv1.PolicyRule{Verbs: verbs} }
	from := func(r rbacv1.PolicyRule, names ...string) rbacaggregate.Contribution {
		return rbacaggregate.Contribution{Rule: r, From: names}
	}
	for _, tc := range []struct {
		name, reason  string
		is, to        []rbacv1.PolicyRule
		contributions []rbacaggregate.Contribution
		want          string
	}{
		{"added", "the role that has the rule is named, not the one it comes through",
			nil, []rbacv1.PolicyRule{rule("get")}, []rbacaggregate.Contribution{from(rule("get"), "low", "other")},
			", +1: 1 rule from low, other"},
		{"removed", "who had it is not known any more",
			[]rbacv1.PolicyRule{rule("get"), rule("list")}, []rbacv1.PolicyRule{rule("get")}, []rbacaggregate.Contribution{from(rule("get"), "low")},
			", -1: 1 not in any ClusterRole that it aggregates"},
		{"reordered", "a write without a rule more or less",
			[]rbacv1.PolicyRule{rule("get"), rule("list")}, []rbacv1.PolicyRule{rule("list"), rule("get")}, nil,
			", reordered: the same rules, in the order of the aggregated ClusterRoles"},
		{"nil and empty", "nil and empty lists are the same rule",
			[]rbacv1.PolicyRule{{Verbs: []string{}, Resources: []string{}}}, []rbacv1.PolicyRule{{}}, nil,
			", reordered: the same rules, in the order of the aggregated ClusterRoles"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			more, why := describeRules(tc.is, tc.to, tc.contributions)
			if diff := cmp.Diff(tc.want, more+": "+why); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
