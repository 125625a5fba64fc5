package rbacaggregate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/seed"
)

// D-11 with cycles: the sets are those of the simple least fixed point; and the order is one in which
// summing up the written rules, as upstream does, changes nothing.
func TestD11_AgainstOracle(t *testing.T) {
	eachRandom(t, true, func(t testing.TB, at string, roles []*rbacv1.ClusterRole) {
		want := leastFixedPoint(t, roles)
		after := apply(t, roles, planAll(Snapshot{ClusterRoles: roles}, Options{}))
		for _, r := range after {
			if r.AggregationRule == nil {
				continue
			}
			require.Len(t, r.Rules, len(want[r.Name]), "%s: %s", at, r.Name)
			for _, rule := range want[r.Name] {
				require.True(t, contains(r.Rules, rule), "%s: %s has %v", at, r.Name, rule)
			}
			require.True(t, equality.Semantic.DeepEqual(sumOfSources(t, after, r, written), r.Rules),
				"%s: upstream would rewrite %s", at, r.Name)
		}
		require.Empty(t, planAll(Snapshot{ClusterRoles: after}, Options{}), "%s: does not converge", at)
		require.Empty(t, planAll(Snapshot{ClusterRoles: after}, Options{MatchUpstream: purekube.V1_36}), "%s: upstream goes on", at)
	})
}

// D-11 without cycles: one plan comes to where upstream's rounds end, rule by rule.
func TestD11_EndsWhereUpstreamEnds(t *testing.T) {
	deepest := 0
	eachRandom(t, false, func(t testing.TB, at string, roles []*rbacv1.ClusterRole) {
		end, rounds, ok := upstreamRounds(t, roles)
		require.True(t, ok, "%s: the roles were to have no cycle", at)
		deepest = max(deepest, rounds)
		after := apply(t, roles, planAll(Snapshot{ClusterRoles: roles}, Options{}))
		for i := range end {
			require.True(t, equality.Semantic.DeepEqual(end[i].Rules, after[i].Rules), "%s: %s", at, end[i].Name)
		}
	})
	require.GreaterOrEqual(t, deepest, 3, "the roles were to be nested")
}

// D-35: what comes only from ClusterRoles whose aggregation fails is granted to those that have it already; all else as if they
// had no rules.
func TestD35_AgainstOracle(t *testing.T) {
	kept, refused := 0, 0
	eachRandom(t, true, func(t testing.TB, at string, roles []*rbacv1.ClusterRole) {
		given, with, without := failing(roles)
		all, sure := leastFixedPoint(t, with), leastFixedPoint(t, without)
		for i, r := range with {
			if r.AggregationRule == nil {
				continue
			}
			var want []string
			for _, rule := range all[r.Name] {
				switch {
				case contains(sure[r.Name], rule):
				case contains(r.Rules, rule):
					kept++
				default:
					refused++
					continue
				}
				want = append(want, rule.String())
			}
			got, err := NewIndex(Snapshot{ClusterRoles: given}, Options{}).Rules(Key(r.Name))
			var rules []string
			for _, rule := range got {
				rules = append(rules, rule.String())
			}
			require.ElementsMatch(t, want, rules, "%s: %s", at, given[i].Name)
			if len(all[r.Name]) > len(sure[r.Name]) {
				require.Error(t, err, "%s: %s", at, r.Name)
			}
		}
	})
	require.Greater(t, kept, 10, "too few to say anything")
	require.Greater(t, refused, 10, "too few to say anything")
}

// D-35: what upstream has passed on stays, in upstream's order. Two that work side by side do not undo each other's writes.
func TestD35_LeavesWhatUpstreamWrote(t *testing.T) {
	eachRandom(t, false, func(t testing.TB, at string, roles []*rbacv1.ClusterRole) {
		given, with, _ := failing(roles)
		end, _, ok := upstreamRounds(t, with)
		require.True(t, ok, "%s: the roles were to have no cycle", at)
		for i := range end {
			given[i] = given[i].DeepCopy()
			given[i].Rules = end[i].Rules
		}
		for _, outcome := range planAll(Snapshot{ClusterRoles: given}, Options{}) {
			require.True(t, outcome.Result.Empty(), "%s: %s: %v", at, outcome.Key, outcome.Result)
		}
	})
}

// failing returns the roles where the aggregation of one in three fails, and each of these as one that does not aggregate, with its
// rules and without any.
func failing(roles []*rbacv1.ClusterRole) (given, with, without []*rbacv1.ClusterRole) {
	for i, r := range roles {
		if i%3 != 0 || r.AggregationRule == nil {
			given, with, without = append(given, r), append(with, r), append(without, r)
			continue
		}
		plain := r.DeepCopy()
		plain.AggregationRule = nil
		bare := plain.DeepCopy()
		bare.Rules = nil
		given, with, without = append(given, broken(r.DeepCopy())), append(with, plain), append(without, bare)
	}
	return given, with, without
}

// spoil adds what does not belong into a snapshot.
func spoil(r *rand.Rand, roles []*rbacv1.ClusterRole) []*rbacv1.ClusterRole {
	if r.IntN(3) == 0 {
		roles = append(roles, nil, plain("", "a b c", pods))
	}
	if r.IntN(3) == 0 {
		twin := roles[0].DeepCopy()
		if twin != nil {
			twin.Labels = map[string]string{"a": "true"}
		}
		roles = append(roles, twin)
	}
	for _, role := range roles {
		if role != nil && role.AggregationRule != nil && r.IntN(6) == 0 {
			role.AggregationRule.ClusterRoleSelectors = append(role.AggregationRule.ClusterRoleSelectors, badSelector())
		}
	}
	return roles
}

func eachRandom(t *testing.T, cycles bool, check func(t testing.TB, at string, roles []*rbacv1.ClusterRole)) {
	t.Helper()
	seeds := 400
	if seed.Short() {
		seeds = 100
	}
	for seed := range seed.Each(t, seeds) {
		roles := randomRoles(rand.New(rand.NewPCG(seed, 27)), cycles)
		check(t, fmt.Sprintf("seed %d", seed), roles)
	}
}

// lines are the texts of joined errors, sorted.
func lines(errs ...error) []string {
	var texts []string
	for _, err := range errs {
		if err == nil {
			continue
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				texts = append(texts, e.Error())
			}
		}
	}
	slices.Sort(texts)
	return texts
}
