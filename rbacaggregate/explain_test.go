package rbacaggregate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestExplain(t *testing.T) {
	nested := snapshotOf(
		sum("top", "", "mid own"), sum("mid", "mid", "low"), sum("low", "low", "leaf"),
		plain("a", "leaf", pods, nodes), plain("b", "own", nodes, nodes), plain("c", "leaf own", jobs),
	)
	nested.ClusterRoles[1].Rules = append(nested.ClusterRoles[1].Rules, secrets)
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		of           string
		o            Options
		want         []Contribution
	}{{
		name: "nested", reason: "each role in which the rule is written, by its shortest way",
		s: nested, of: "top",
		want: []Contribution{
			{Rule: pods, From: []string{"mid ← low ← a"}, Paths: [][]string{{"mid", "low", "a"}}},
			{Rule: nodes, From: []string{"b", "mid ← low ← a"}, Paths: [][]string{{"b"}, {"mid", "low", "a"}}},
			{Rule: jobs, From: []string{"c"}, Paths: [][]string{{"c"}}},
		},
	}, {
		name: "nested under MatchUpstream", reason: "the rules that stand in the sources count",
		s: nested, of: "top", o: Options{MatchUpstream: true},
		want: []Contribution{
			{Rule: secrets, From: []string{"mid"}, Paths: [][]string{{"mid"}}},
			{Rule: nodes, From: []string{"b"}, Paths: [][]string{{"b"}}},
			{Rule: jobs, From: []string{"c"}, Paths: [][]string{{"c"}}},
		},
	}, {
		name: "does not aggregate", reason: "its rules are its own",
		s: nested, of: "a",
		want: []Contribution{
			{Rule: pods, From: []string{"a"}, Paths: [][]string{{"a"}}},
			{Rule: nodes, From: []string{"a"}, Paths: [][]string{{"a"}}},
		},
	}, {
		name: "not there", reason: "nothing to explain", s: nested, of: "gone",
	}, {
		name: "cycle", reason: "the way leads out of the cycle, once round at most",
		s:  snapshotOf(sum("x", "x", "y"), sum("y", "y", "x leaf"), plain("a", "leaf", pods)),
		of: "x",
		want: []Contribution{
			{Rule: pods, From: []string{"y ← a"}, Paths: [][]string{{"y", "a"}}},
		},
	}, {
		name: "two ways as short", reason: "the one through what is aggregated first",
		s:  snapshotOf(sum("top", "", "second first"), sum("m1", "first", "leaf"), sum("m2", "second", "leaf"), plain("a", "leaf", pods)),
		of: "top",
		want: []Contribution{
			{Rule: pods, From: []string{"m2 ← a"}, Paths: [][]string{{"m2", "a"}}},
		},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Explain(tc.s, tc.of, tc.o)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tc.want, got), tc.reason)
		})
	}
}

func TestExplainUnknown(t *testing.T) {
	r := sum("sum", "", "is", pods)
	r.AggregationRule.ClusterRoleSelectors = append(r.AggregationRule.ClusterRoleSelectors, badSelector())
	got, err := Explain(snapshotOf(r), "sum", Options{})
	require.ErrorContains(t, err, "aggregationRule.clusterRoleSelectors[1]")
	require.Nil(t, got)
}

// A ladder of diamonds has 2^40 ways from top to bottom.
func TestExplainDoesNotWalkEveryWay(t *testing.T) {
	s := snapshotOf(plain("leaf", "k0", pods))
	kind := func(i int) string { return "k" + string(rune('0'+i/10)) + string(rune('0'+i%10)) }
	s.ClusterRoles[0].Labels = map[string]string{kind(0): "true"}
	for i := range 40 {
		s.ClusterRoles = append(s.ClusterRoles, sum("left"+kind(i), kind(i+1), kind(i)), sum("right"+kind(i), kind(i+1), kind(i)))
	}
	bad := plain("twin", kind(0))
	s.ClusterRoles = append(s.ClusterRoles, bad)
	got, err := Explain(s, "leftk39", Options{})
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Len(t, got[0].From, 1)
	require.Len(t, got[0].Paths[0], 40)

	s.ClusterRoles[0].Name = "twin" // nor do problems multiply on their way up
	_, err = Explain(s, "leftk39", Options{})
	require.Equal(t, []string{"ClusterRole twin: more than one object of this name in the snapshot"}, lines(err))
}

// What the issue of every rule of admin is: which role brings it in.
func TestExplainBootstrapAdmin(t *testing.T) {
	s := Snapshot{ClusterRoles: load(t, "bootstrap.yaml")}
	contributions, err := Explain(s, "admin", Options{})
	require.NoError(t, err)
	require.Equal(t, len(named(load(t, "converged.yaml"), "admin").Rules), len(contributions))
	seen := map[string]bool{}
	for _, c := range contributions {
		require.NotEmpty(t, c.From)
		for i, from := range c.From {
			seen[from] = true
			path := c.Paths[i]
			source := named(s.ClusterRoles, path[len(path)-1])
			require.True(t, contains(source.Rules, c.Rule), "%v is written in %s", c.Rule, source.Name)
		}
	}
	var ways []string
	for from := range seen {
		ways = append(ways, from)
	}
	slices.Sort(ways)
	require.Equal(t, []string{
		"edit ← system:aggregate-to-edit", "edit ← view ← system:aggregate-to-view", "system:aggregate-to-admin",
	}, ways)
}
