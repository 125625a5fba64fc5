package admission

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
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
		{"nothing", "a rule without verbs allows nothing", nil, rule(nil, l(""), l("pods")), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := notCovered
			if tc.want {
				want = covered
			}
			require.Equal(t, want, newAllowList(tc.by).covers(tc.rule), tc.reason)
		})
	}
}

// coveredOneByOne is the simple second implementation: each single thing that the rule allows has to be allowed
// by one of the others.
func coveredOneByOne(by []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
	for single := range singles(rule) {
		if !slices.ContainsFunc(by, func(b rbacv1.PolicyRule) bool { return allows(b, single) }) {
			return false
		}
	}
	return true
}

// singles are rules with one verb for one resource, or one URL, that together are the rule.
func singles(rule rbacv1.PolicyRule) iter.Seq[rbacv1.PolicyRule] {
	return func(yield func(rbacv1.PolicyRule) bool) {
		names := slices.Collect(slices.Chunk(rule.ResourceNames, 1))
		if len(names) == 0 {
			names = append(names, nil) // every name
		}
		for _, verb := range rule.Verbs {
			for _, url := range rule.NonResourceURLs {
				if !yield(rbacv1.PolicyRule{Verbs: []string{verb}, NonResourceURLs: []string{url}}) {
					return
				}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						if !yield(rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: name}) {
							return
						}
					}
				}
			}
		}
	}
}

func allows(b, single rbacv1.PolicyRule) bool {
	has := func(list, one []string) bool { return slices.Contains(list, "*") || slices.Contains(list, one[0]) }
	if !has(b.Verbs, single.Verbs) {
		return false
	}
	if len(single.NonResourceURLs) > 0 {
		return has(b.NonResourceURLs, single.NonResourceURLs)
	}
	return has(b.APIGroups, single.APIGroups) && has(b.Resources, single.Resources) &&
		(len(b.ResourceNames) == 0 || len(single.ResourceNames) > 0 && slices.Contains(b.ResourceNames, single.ResourceNames[0]))
}

func TestCoversAsOneByOne(t *testing.T) {
	yes, no := 0, 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		random := func() rbacv1.PolicyRule {
			list := func() (list []string) {
				for _, entry := range []string{"a", "b", "c", "*", ""} {
					if r.IntN(3) == 0 {
						list = append(list, entry)
					}
				}
				return list
			}
			rule := rbacv1.PolicyRule{Verbs: list(), APIGroups: list(), Resources: list(), NonResourceURLs: list()}
			if r.IntN(2) == 0 {
				rule.ResourceNames = list()
			}
			return rule
		}
		var by []rbacv1.PolicyRule
		for range r.IntN(200) >> r.IntN(8) {
			by = append(by, random())
		}
		rule := random()
		want := notCovered
		if coveredOneByOne(by, rule) {
			want = covered
			yes++
		} else {
			no++
		}
		require.Equal(t, want, newAllowList(by).covers(rule), "seed %d: %v by %v", seed, rule, by)
	}
	require.Greater(t, yes, 1000)
	require.Greater(t, no, 1000)
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
	everything := []string{"*"}
	require.Equal(t, covered, newAllowList([]rbacv1.PolicyRule{{Verbs: everything, APIGroups: everything, Resources: everything}}).covers(rule))
	require.Equal(t, notCovered, newAllowList([]rbacv1.PolicyRule{{Verbs: everything, APIGroups: everything, Resources: []string{"e0"}}}).covers(rule))
	require.Equal(t, notCovered, newAllowList(nil).covers(rule))

	// Each entry of the allow-list is in another rule, so that no two combinations are alike.
	small := manyEntries(80)
	var apart []rbacv1.PolicyRule
	for i := range small.Verbs {
		apart = append(apart,
			rbacv1.PolicyRule{Verbs: small.Verbs[i : i+1], APIGroups: everything, Resources: small.Resources[i/2:]},
			rbacv1.PolicyRule{Verbs: small.Verbs, APIGroups: small.APIGroups[i : i+1], Resources: small.Resources[:i]},
			rbacv1.PolicyRule{Verbs: small.Verbs[i:], APIGroups: small.APIGroups[:i+1], Resources: everything})
	}
	a := newAllowList(apart)
	require.NotEqual(t, covered, a.covers(small))
	check := &combinations{left: 100}
	lists := []kinds{a.kinds(a.verbs, small.Verbs), a.kinds(a.groups, small.APIGroups), a.kinds(a.resources, small.Resources)}
	require.Equal(t, tooManyCombinations, check.under(a.allRules(), lists), "no more than 100 are tried")
	require.GreaterOrEqual(t, check.left, -1)
}

// BenchmarkCovers is the cost of one rule with so many entries in each list.
func BenchmarkCovers(b *testing.B) {
	everything := []string{"*"}
	by := newAllowList([]rbacv1.PolicyRule{
		{Verbs: []string{"e0"}, APIGroups: everything, Resources: everything}, {Verbs: everything, APIGroups: []string{"e1"}, Resources: everything},
		{Verbs: everything, APIGroups: everything, Resources: []string{"e2"}}, {Verbs: everything, APIGroups: everything, Resources: everything},
	})
	for _, n := range []int{10, 80, 640, 5120, 40960} {
		rule := manyEntries(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if by.covers(rule) != covered {
					b.Fatal()
				}
			}
		})
	}
}
