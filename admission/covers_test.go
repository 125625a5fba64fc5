package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestCovered(t *testing.T) {
	rule := func(verbs, groups, resources []string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: verbs, APIGroups: groups, Resources: resources, ResourceNames: names}
	}
	l := func(s ...string) []string { return s }
	for _, tc := range []struct {
		name, reason string
		by           []rbacv1.PolicyRule
		rule         rbacv1.PolicyRule
		want         bool
	}{
		{"the same", "", []rbacv1.PolicyRule{rule(l("get"), l(""), l("pods"))}, rule(l("get"), l(""), l("pods")), true},
		{
			"by two", "each verb by another rule",
			[]rbacv1.PolicyRule{rule(l("get"), l(""), l("pods")), rule(l("list"), l(""), l("pods"))}, rule(l("get", "list"), l(""), l("pods")), true,
		},
		{
			"another verb", "",
			[]rbacv1.PolicyRule{rule(l("get"), l(""), l("pods"))}, rule(l("get", "delete"), l(""), l("pods")), false,
		},
		{
			"a wildcard", "not allowed by a list, however long",
			[]rbacv1.PolicyRule{rule(l("get", "list", "watch"), l(""), l("pods"))}, rule(l("*"), l(""), l("pods")), false,
		},
		{
			"by a wildcard", "",
			[]rbacv1.PolicyRule{rule(l("*"), l("*"), l("*"))}, rule(l("get"), l("apps"), l("deployments/scale")), true,
		},
		{
			"one name", "allowed for all names",
			[]rbacv1.PolicyRule{rule(l("get"), l(""), l("secrets"))}, rule(l("get"), l(""), l("secrets"), "a"), true,
		},
		{
			"all names", "allowed for one name only",
			[]rbacv1.PolicyRule{rule(l("get"), l(""), l("secrets"), "a")}, rule(l("get"), l(""), l("secrets")), false,
		},
		{
			"another name", "",
			[]rbacv1.PolicyRule{rule(l("get"), l(""), l("secrets"), "a")}, rule(l("get"), l(""), l("secrets"), "b"), false,
		},
		{
			"a URL", "",
			[]rbacv1.PolicyRule{{Verbs: l("get"), NonResourceURLs: l("/healthz")}}, rbacv1.PolicyRule{Verbs: l("get"), NonResourceURLs: l("/healthz")}, true,
		},
		{
			"a URL by resources", "a rule over all resources allows no URL",
			[]rbacv1.PolicyRule{rule(l("*"), l("*"), l("*"))}, rbacv1.PolicyRule{Verbs: l("get"), NonResourceURLs: l("/healthz")}, false,
		},
		{"no list", "it allows nothing", nil, rule(l("get"), l(""), l("pods")), false},
		{
			"the name that is empty", "it is no wildcard",
			[]rbacv1.PolicyRule{rule(l("get"), l(""), l("secrets"), "")}, rule(l("get"), l(""), l("secrets")), false,
		},
		{"both kinds", "the URL is not allowed", []rbacv1.PolicyRule{rule(l("get"), l(""), l("pods"))},
			rbacv1.PolicyRule{Verbs: l("get"), APIGroups: l(""), Resources: l("pods"), NonResourceURLs: l("/healthz")}, false},
		{"a subresource", "of every resource", []rbacv1.PolicyRule{rule(l("get"), l("apps"), l("*/scale"))}, rule(l("get"), l("apps"), l("deployments/scale")), true},
		{"another subresource", "", []rbacv1.PolicyRule{rule(l("get"), l("apps"), l("*/scale"))}, rule(l("get"), l("apps"), l("deployments/status")), false},
		{"a path", "below another", []rbacv1.PolicyRule{{Verbs: l("get"), NonResourceURLs: l("/api/*")}}, rbacv1.PolicyRule{Verbs: l("get"), NonResourceURLs: l("/api/v1")}, true},
		{"all paths", "not below another", []rbacv1.PolicyRule{{Verbs: l("get"), NonResourceURLs: l("/api/*")}}, rbacv1.PolicyRule{Verbs: l("get"), NonResourceURLs: l("*")}, false},
		{"a list in one text", "it is another verb", []rbacv1.PolicyRule{rule(l(`get" "list`), l(""), l("pods"))}, rule(l("get", "list"), l(""), l("pods")), false},
		{"nothing", "a rule without verbs allows nothing", nil, rule(nil, l(""), l("pods")), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, newCoverage(tc.by...).covers(tc.rule), tc.reason)
		})
	}
}

// manyEntries is a rule with so many entries in each of its lists.
func manyEntries(n int) rbacv1.PolicyRule {
	var rule rbacv1.PolicyRule
	for i := range n {
		entry := fmt.Sprintf("e%d", i)
		rule.Verbs, rule.APIGroups = append(rule.Verbs, entry), append(rule.APIGroups, entry)
		rule.Resources, rule.ResourceNames = append(rule.Resources, entry), append(rule.ResourceNames, entry)
	}
	return rule
}

// The work for a rule is bounded by its size, whatever the product of its lists: 40,000 entries in each make a
// product of 2.56e18.
func TestCoverageOfManyEntries(t *testing.T) {
	rule := manyEntries(40_000)
	everyEntry := []string{"*"}
	require.True(t, newCoverage(rbacv1.PolicyRule{Verbs: everyEntry, APIGroups: everyEntry, Resources: everyEntry}).covers(rule))
	require.False(t, newCoverage(rbacv1.PolicyRule{Verbs: everyEntry, APIGroups: everyEntry, Resources: []string{"e0"}}).covers(rule))
	require.False(t, newCoverage().covers(rule))

	// Each entry is in another rule, so that no rule covers many combinations, and one covers each.
	small := manyEntries(80)
	var apart []rbacv1.PolicyRule
	for i := range small.Verbs {
		apart = append(apart,
			rbacv1.PolicyRule{Verbs: small.Verbs[i : i+1], APIGroups: everyEntry, Resources: small.Resources[i/2:]},
			rbacv1.PolicyRule{Verbs: small.Verbs, APIGroups: small.APIGroups[i : i+1], Resources: small.Resources[:i]},
			rbacv1.PolicyRule{Verbs: small.Verbs[i:], APIGroups: small.APIGroups[:i+1], Resources: everyEntry})
	}
	c := newCoverage(apart...)
	c.left = 10_000
	require.False(t, c.covers(small))
	require.Negative(t, c.left, "no more than 10,000 comparisons are made")
	require.Greater(t, c.left, -1000)
	require.False(t, c.covers(rbacv1.PolicyRule{Verbs: small.Verbs[:1], APIGroups: everyEntry, Resources: small.Resources[:1]}), "none are left")
}

// The length of what is compared counts as well.
func TestCoverageOfLongEntries(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	c := newCoverage(rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/a*", "/b*"}})
	require.False(t, c.covers(rbacv1.PolicyRule{Verbs: []string{long}, NonResourceURLs: []string{long}}))
	require.Less(t, c.left, maxComparisons-1<<15)
}

// BenchmarkCovers is the cost of one rule with so many entries in each list.
func BenchmarkCovers(b *testing.B) {
	everyEntry := []string{"*"}
	by := newCoverage([]rbacv1.PolicyRule{
		{Verbs: []string{"e0"}, APIGroups: everyEntry, Resources: everyEntry}, {Verbs: everyEntry, APIGroups: []string{"e1"}, Resources: everyEntry},
		{Verbs: everyEntry, APIGroups: everyEntry, Resources: []string{"e2"}}, {Verbs: everyEntry, APIGroups: everyEntry, Resources: everyEntry},
	}...)
	for _, n := range []int{10, 80, 640, 5120, 40960} {
		rule := manyEntries(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				by.left = maxComparisons
				if !by.covers(rule) {
					b.Fatal()
				}
			}
		})
	}
}

// A review has thousands of rules, and so have the sources of a protected ClusterRole: a rule that the first of them covers
// costs no look at the others.
func TestCostOfACoveredRule(t *testing.T) {
	comparisons := func(n int) int {
		by := []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}
		for i := range n {
			by = append(by, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{fmt.Sprint("a", i)}})
		}
		c := newCoverage(by...)
		covered := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"b"}}
		require.True(t, c.covers(covered))
		require.Less(t, testing.AllocsPerRun(10, func() { c.covers(covered) }), 30.0, "no list of all rules is made")
		return maxComparisons - c.left
	}
	require.Equal(t, comparisons(10), comparisons(10_000))
}
