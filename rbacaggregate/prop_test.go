package rbacaggregate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/purekube/purekube/internal/test/aliasing"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/seed"
)

// One level as upstream does it, against the simple implementation, rule by rule.
func TestMatchUpstreamAgainstOracle(t *testing.T) {
	eachRandom(t, true, func(t testing.TB, at string, roles []*rbacv1.ClusterRole) {
		o := Options{MatchUpstream: purekube.V1_36}
		for _, r := range roles {
			got, err := Plan(Snapshot{ClusterRoles: roles}, Key(r.Name), o)
			require.NoError(t, err, at)
			var want Result
			if r.AggregationRule != nil {
				if sum := sumOfSources(t, roles, r, written); !equality.Semantic.DeepEqual(sum, r.Rules) {
					set := SetRules{Name: r.Name, Rules: sum}
					if len(sum) == 0 {
						set.Rules = nil
					}
					want.Actions = []Action{set}
				}
			}
			require.Empty(t, cmp.Diff(want, got), "%s: %s", at, r.Name)
		}
	})
}

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

func TestContract(t *testing.T) {
	eachRandom(t, true, func(t testing.TB, at string, roles []*rbacv1.ClusterRole) {
		r := rand.New(rand.NewPCG(uint64(len(roles)), 1))
		roles = spoil(r, roles)
		var before []*rbacv1.ClusterRole
		for _, role := range roles {
			before = append(before, role.DeepCopy())
		}
		s := Snapshot{ClusterRoles: roles}
		shuffled := Snapshot{ClusterRoles: slices.Clone(roles)}
		r.Shuffle(len(roles), func(i, j int) {
			shuffled.ClusterRoles[i], shuffled.ClusterRoles[j] = shuffled.ClusterRoles[j], shuffled.ClusterRoles[i]
		})

		for _, o := range []Options{{}, {MatchUpstream: purekube.V1_36}} {
			outcomes := planAll(s, o)
			require.Empty(t, aliasing.Shared(s, outcomes), at)
			requireSame(t, outcomes, planAll(shuffled, o), at)

			byKey := map[string]Outcome{}
			for i, outcome := range outcomes {
				require.True(t, i == 0 || outcomes[i-1].Key.Compare(outcome.Key) < 0, "%s: sorted, each key once", at)
				require.False(t, outcome.Err == nil && outcome.Result.Empty(), "%s: %s has nothing to say", at, outcome.Key)
				byKey[outcome.Key.Name] = outcome
			}
			for _, role := range roles {
				if role == nil || role.Name == "" {
					continue
				}
				got, err := Plan(s, Key(role.Name), o)
				require.Empty(t, cmp.Diff(byKey[role.Name].Result, got), "%s: %s", at, role.Name)
				require.Equal(t, lines(byKey[""].Err, byKey[role.Name].Err), lines(err), "%s: %s", at, role.Name)

				rules, err := NewIndex(s, o).Rules(Key(role.Name))
				require.Equal(t, lines(byKey[""].Err, byKey[role.Name].Err), lines(err), "%s: %s", at, role.Name)
				e, err := NewIndex(s, o).Explain(Key(role.Name))
				require.Equal(t, lines(byKey[""].Err, byKey[role.Name].Err), lines(err), "%s: %s", at, role.Name)
				require.Len(t, e.Rules, len(rules), "%s: %s", at, role.Name)
				for k, c := range e.Rules {
					require.Empty(t, cmp.Diff(rules[k], c.Rule), at)
					require.NotEmpty(t, c.From, "%s: %s: %v comes from somewhere", at, role.Name, c.Rule)
					require.True(t, slices.IsSorted(c.From), at)
					for _, from := range c.From {
						require.True(t, from == e.Key.Name && len(e.Sources) == 0 || e.Path(from) != nil, "%s: %s: no way to %s", at, role.Name, from)
					}
				}
				planned := e.Reasons[len(e.Reasons)-1].Code
				require.Equal(t, !byKey[role.Name].Result.Empty(), planned == ReasonRulesDiffer, "%s: %s: %s", at, role.Name, planned)
				require.Empty(t, aliasing.Shared(s, rules), at)
				require.Empty(t, aliasing.Shared(s, e), at)
			}

			after := apply(t, roles, outcomes)
			if !o.matchUpstream() {
				for _, outcome := range planAll(Snapshot{ClusterRoles: after}, o) {
					require.True(t, outcome.Result.Empty(), "%s: %s is written again", at, outcome.Key)
				}
			}
		}
		require.Empty(t, cmp.Diff(before, roles), "%s: an input was written to", at)
	})
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

func requireSame(t testing.TB, a, b []Outcome, at string) {
	t.Helper()
	require.Len(t, b, len(a), at)
	for i := range a {
		require.Equal(t, a[i].Key, b[i].Key, at)
		require.Empty(t, cmp.Diff(a[i].Result, b[i].Result), at)
		require.Equal(t, lines(a[i].Err), lines(b[i].Err), at)
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
