package rbacaggregate

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// sumOfSources is the deliberately simple second implementation of one level, from the rules: every
// selector asks every role, every rule is compared with every other. rulesOf says what a source has.
func sumOfSources(t testing.TB, roles []*rbacv1.ClusterRole, r *rbacv1.ClusterRole, rulesOf func(*rbacv1.ClusterRole) []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	t.Helper()
	byName := slices.Clone(roles)
	slices.SortFunc(byName, func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	sum := []rbacv1.PolicyRule{}
	for _, ls := range r.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&ls)
		require.NoError(t, err)
		for _, source := range byName {
			if source.Name == r.Name || !selector.Matches(labels.Set(source.Labels)) {
				continue
			}
			for _, rule := range rulesOf(source) {
				if !contains(sum, rule) {
					sum = append(sum, rule)
				}
			}
		}
	}
	return sum
}

func contains(rules []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(r, rule) })
}

func written(r *rbacv1.ClusterRole) []rbacv1.PolicyRule { return r.Rules }

// leastFixedPoint lets every aggregating role begin with nothing and sums until no role has more:
// the sets of rules of D-11. Their order is not this oracle's business.
func leastFixedPoint(t testing.TB, roles []*rbacv1.ClusterRole) map[string][]rbacv1.PolicyRule {
	t.Helper()
	have := map[string][]rbacv1.PolicyRule{}
	for grew := true; grew; {
		grew = false
		for _, r := range roles {
			if r.AggregationRule == nil {
				continue
			}
			sum := sumOfSources(t, roles, r, func(source *rbacv1.ClusterRole) []rbacv1.PolicyRule {
				if source.AggregationRule != nil {
					return have[source.Name]
				}
				return source.Rules
			})
			if len(sum) > len(have[r.Name]) {
				have[r.Name], grew = sum, true
			}
		}
	}
	return have
}

// upstreamRounds writes what upstream would, round by round, until it writes nothing; ok is false
// if it does not come to an end.
func upstreamRounds(t testing.TB, roles []*rbacv1.ClusterRole) (end []*rbacv1.ClusterRole, rounds int, ok bool) {
	t.Helper()
	for ; rounds < 30; rounds++ {
		next := make([]*rbacv1.ClusterRole, len(roles))
		wrote := false
		for i, r := range roles {
			next[i] = r
			if r.AggregationRule == nil {
				continue
			}
			if sum := sumOfSources(t, roles, r, written); !equality.Semantic.DeepEqual(sum, r.Rules) {
				next[i] = r.DeepCopy()
				next[i].Rules, wrote = sum, true
			}
		}
		if !wrote {
			return roles, rounds, true
		}
		roles = next
	}
	return nil, rounds, false
}

// planAll is PlanAll with its error as an outcome without a key.
func planAll(s Snapshot, o Options) []Outcome {
	outcomes, err := PlanAll(s, o)
	if err != nil {
		outcomes = append([]Outcome{{Err: err}}, outcomes...)
	}
	return outcomes
}

// apply carries the outcomes out, in a new slice.
func apply(t testing.TB, roles []*rbacv1.ClusterRole, outcomes []Outcome) []*rbacv1.ClusterRole {
	t.Helper()
	sets := map[string]SetRules{}
	for _, o := range outcomes {
		for _, a := range o.Result.Actions {
			sets[o.Key.Name] = a.(SetRules)
		}
	}
	after := make([]*rbacv1.ClusterRole, len(roles))
	for i, r := range roles {
		after[i] = r
		if r == nil {
			continue
		}
		if set, ok := sets[r.Name]; ok {
			after[i] = set.Apply(r)
		}
	}
	return after
}

// on is a rule about one resource.
func on(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{""}, Resources: []string{resource}}
}

// plain is a role with the label "is" for each kind, and rules of its own.
func plain(name, kinds string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	r := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}, Rules: rules}
	for _, kind := range strings.Fields(kinds) {
		metav1.SetMetaDataLabel(&r.ObjectMeta, kind, "true")
	}
	return r
}

// sum is a role that aggregates, with a selector for each kind.
func sum(name, kinds, of string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	r := plain(name, kinds, rules...)
	r.AggregationRule = &rbacv1.AggregationRule{}
	for _, kind := range strings.Fields(of) {
		r.AggregationRule.ClusterRoleSelectors = append(r.AggregationRule.ClusterRoleSelectors, byLabel(kind))
	}
	return r
}

func byLabel(kind string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{kind: "true"}}
}

func badSelector() metav1.LabelSelector {
	return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "is", Operator: "Near"}}}
}

// load reads the ClusterRoles of a file in testdata.
func load(t testing.TB, file string) []*rbacv1.ClusterRole {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	var list struct {
		Items []*rbacv1.ClusterRole `json:"items"`
	}
	require.NoError(t, yaml.Unmarshal(data, &list))
	require.Len(t, list.Items, 69)
	return list.Items
}

func find(roles []*rbacv1.ClusterRole, name string) *rbacv1.ClusterRole {
	for _, r := range roles {
		if r != nil && r.Name == name {
			return r
		}
	}
	return nil
}

// randomRoles makes roles of which some aggregate, some in cycles.
func randomRoles(r *rand.Rand, cycles bool) []*rbacv1.ClusterRole {
	kinds := []string{"a", "b", "c", "d", "e", "f"}
	rules := []rbacv1.PolicyRule{
		on("pods", "get"), on("pods", "get", "list"), on("pods", "list", "get"), on("secrets", "get"),
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz"}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz"}, APIGroups: []string{}, Resources: []string{}},
		{Verbs: []string{"get"}, ResourceNames: []string{"/healthz"}}, {}, on("nodes", "*"), on("", ""),
	}
	roles := make([]*rbacv1.ClusterRole, 1+r.IntN(12))
	for i := range roles {
		name := fmt.Sprintf("r%02d", i)
		role := plain(name, "")
		// Without cycles, a role has kinds below those that it aggregates.
		level := r.IntN(len(kinds))
		for k, kind := range kinds {
			if (cycles || k < level) && r.IntN(3) == 0 {
				metav1.SetMetaDataLabel(&role.ObjectMeta, kind, []string{"true", "true", "false"}[r.IntN(3)])
			}
		}
		for range r.IntN(4) {
			role.Rules = append(role.Rules, *rules[r.IntN(len(rules))].DeepCopy())
		}
		if r.IntN(2) == 0 {
			role.AggregationRule = &rbacv1.AggregationRule{}
			for range r.IntN(4) {
				role.AggregationRule.ClusterRoleSelectors = append(role.AggregationRule.ClusterRoleSelectors,
					randomSelector(r, kinds, level, cycles))
			}
		}
		roles[i] = role
	}
	r.Shuffle(len(roles), func(i, j int) { roles[i], roles[j] = roles[j], roles[i] })
	return roles
}

// randomSelector asks, without cycles, for a kind of the level or above: a role of that kind is on a
// higher level. So levels strictly fall from a source to what aggregates it.
func randomSelector(r *rand.Rand, kinds []string, level int, cycles bool) metav1.LabelSelector {
	if cycles {
		level = 0
	}
	kind := kinds[level+r.IntN(len(kinds)-level)]
	switch r.IntN(6) {
	case 0:
		return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: kind, Operator: metav1.LabelSelectorOpExists}}}
	case 1:
		return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: kind, Operator: metav1.LabelSelectorOpIn, Values: []string{"true", "false"}},
		}}
	case 2:
		return metav1.LabelSelector{MatchLabels: map[string]string{kind: "true", kinds[level+r.IntN(len(kinds)-level)]: "true"}}
	case 3:
		if cycles && r.IntN(3) == 0 {
			return metav1.LabelSelector{} // everyone
		}
	}
	return byLabel(kind)
}
