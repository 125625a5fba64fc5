package rbacaggregate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
)

// ways is "pods: mid/low/a b": for each rule the paths of the ClusterRoles that it is written in.
func ways(e Explanation) []string {
	var lines []string
	for _, c := range e.Rules {
		var paths []string
		for _, from := range c.From {
			path := e.Path(from)
			if from == e.Key.Name {
				path = []string{"itself"}
			}
			paths = append(paths, strings.Join(path, "/"))
		}
		lines = append(lines, strings.Join(c.Rule.Resources, ",")+": "+strings.Join(paths, " "))
	}
	return lines
}

func TestExplainRules(t *testing.T) {
	nested := snapshotOf(
		sum("top", "", "mid own"), sum("mid", "mid", "low"), sum("low", "low", "leaf"),
		plain("a", "leaf", pods, nodes), plain("b", "own", nodes, nodes), plain("c", "leaf own", jobs),
	)
	nested.ClusterRoles[1].Rules = append(nested.ClusterRoles[1].Rules, secrets, pods)
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		of           string
		o            Options
		want         []string
		sources      []Source
	}{{
		name: "nested", reason: "each ClusterRole that contributes the rule, on its shortest way; what is stored in mid is not what it contributes",
		s: nested, of: "top",
		want: []string{"pods: mid/low/a", "nodes: mid/low/a b", "jobs: c"},
		sources: []Source{
			{Name: "a", Via: "low"}, {Name: "b", Via: "top", Selector: 1}, {Name: "c", Via: "top", Selector: 1},
			{Name: "low", Via: "mid", Aggregates: true}, {Name: "mid", Via: "top", Aggregates: true},
		},
	}, {
		name: "nested under MatchUpstream", reason: "the rules that are stored in the sources count",
		s: nested, of: "top", o: Options{MatchUpstream: purekube.V1_36},
		want:    []string{"secrets: mid", "pods: mid", "nodes: b", "jobs: c"},
		sources: []Source{{Name: "b", Via: "top", Selector: 1}, {Name: "c", Via: "top", Selector: 1}, {Name: "mid", Via: "top"}},
	}, {
		name: "does not aggregate", reason: "its rules are its own",
		s: nested, of: "a", want: []string{"pods: itself", "nodes: itself"},
	}, {
		name: "cycle", reason: "the way leads out of the cycle, once round at most",
		s:  snapshotOf(sum("x", "x", "y"), sum("y", "y", "x leaf"), plain("a", "leaf", pods)),
		of: "x", want: []string{"pods: y/a"},
		sources: []Source{{Name: "a", Via: "y", Selector: 1}, {Name: "y", Via: "x", Aggregates: true}},
	}, {
		name: "up to date", reason: "where its rules come from does not rest on what is stored in it",
		s: snapshotOf(sum("top", "", "leaf", pods), plain("a", "leaf", pods)), of: "top",
		want: []string{"pods: a"}, sources: []Source{{Name: "a", Via: "top"}},
	}, {
		name: "two ways as short", reason: "the one through what is aggregated first",
		s:  snapshotOf(sum("top", "", "second first"), sum("m1", "first", "leaf"), sum("m2", "second", "leaf"), plain("a", "leaf", pods)),
		of: "top", want: []string{"pods: m2/a"},
		sources: []Source{{Name: "a", Via: "m2"}, {Name: "m1", Via: "top", Selector: 1, Aggregates: true}, {Name: "m2", Via: "top", Aggregates: true}},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := NewIndex(tc.s, tc.o).Explain(Key(tc.of))
			require.NoError(t, err)
			require.Equal(t, Key(tc.of), got.Key)
			require.Equal(t, tc.want, ways(got), tc.reason)
			require.Empty(t, cmp.Diff(tc.sources, got.Sources), tc.reason)
			require.Nil(t, got.Path("nobody"))
			require.Nil(t, got.Path(tc.of))
		})
	}
}

// Each code is given for what its comment says.
func TestExplainReasons(t *testing.T) {
	twoBroken := broken(broken(sum("sum", "", "is")))
	twoBroken.AggregationRule.ClusterRoleSelectors[1].MatchExpressions[0].Operator = "Far"
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		o            Options
		want         []string
	}{{
		name: "plain", reason: "nothing is aggregated", s: snapshotOf(plain("sum", "", pods)),
		want: []string{"NotAggregated: there is no aggregationRule: the ClusterRole keeps its rules"},
	}, {
		name: "twice", reason: "which of the two is real cannot be known", s: snapshotOf(plain("sum", ""), sum("sum", "", "is")),
		want: []string{
			"Duplicate sum: several ClusterRoles in the snapshot have this name",
			"RulesUnknown: nothing is written: the rules cannot be computed",
		},
	}, {
		name: "no selectors", reason: "nothing to collect, nothing there", s: snapshotOf(sum("sum", "", "")),
		want: []string{
			"NoSelectors: the aggregationRule has no selectors: no rules are collected",
			"UpToDate: the stored rules are up to date",
		},
	}, {
		name: "sources", reason: "one reason for each source, at the selector that is the first to match it",
		s: snapshotOf(sum("sum", "one", "one two one none", pods, jobs), sum("low", "two", "leaf", jobs),
			plain("a", "one two", pods), plain("leaf", "leaf", nodes, secrets)),
		want: []string{
			"[0] SelectsItself: it matches the ClusterRole itself, which is ignored",
			"[0] ContributesRules a: it matches a, which has 1 rule",
			"[1] ContributesNested low: it matches low, which aggregates other ClusterRoles",
			"[2] SelectsItself: it matches the ClusterRole itself, which is ignored",
			"[2] SelectedBefore: an earlier selector already matches every ClusterRole that it matches",
			"[3] NothingSelected: it matches no other ClusterRole",
			"RulesDiffer: 2 rules are added and 1 removed",
		},
	}, {
		name: "stored rules under MatchUpstream", reason: "what is stored in a source counts", o: upstream,
		s:    snapshotOf(sum("sum", "", "two"), sum("low", "two", "leaf", jobs), plain("leaf", "leaf", nodes, secrets)),
		want: []string{"[0] ContributesStored low: it matches low, which has 1 rule", "RulesDiffer: 1 rule is added"},
	}, {
		name: "cycle", reason: "the source aggregates it in turn", s: snapshotOf(sum("sum", "x", "y"), sum("other", "y", "x")),
		want: []string{
			"[0] ContributesNested other: it matches other, which aggregates other ClusterRoles",
			"[0] Cycle other: other also aggregates this ClusterRole",
			"UpToDate: the stored rules are up to date",
		},
	}, {
		name: "cycle under MatchUpstream", reason: "the source aggregates it in turn; what is stored in it counts", o: upstream,
		s: snapshotOf(sum("sum", "x", "y"), sum("other", "y", "x", jobs)),
		want: []string{
			"[0] ContributesStored other: it matches other, which has 1 rule",
			"[0] Cycle other: other also aggregates this ClusterRole",
			"RulesDiffer: 1 rule is added",
		},
	}, {
		name: "only itself", reason: "that is no other ClusterRole", s: snapshotOf(sum("sum", "x", "x")),
		want: []string{
			"[0] SelectsItself: it matches the ClusterRole itself, which is ignored",
			"[0] NothingSelected: it matches no other ClusterRole",
			"UpToDate: the stored rules are up to date",
		},
	}, {
		name: "one for another", reason: "both numbers are named", s: snapshotOf(sum("sum", "", "is", pods), plain("a", "is", nodes)),
		want: []string{"[0] ContributesRules a: it matches a, which has 1 rule", "RulesDiffer: 1 rule is added and 1 removed"},
	}, {
		name: "two selectors do not convert", reason: "each is named at its place, with its own error", s: snapshotOf(twoBroken),
		want: []string{
			"[0] NothingSelected: it matches no other ClusterRole",
			`[1] InvalidSelector: "Far" is not a valid label selector operator`,
			`[2] InvalidSelector: "Near" is not a valid label selector operator`,
			"RulesUnknown: nothing is written: the rules cannot be computed",
		},
	}, {
		name: "selector does not convert", reason: "the others are explained, but nothing is written",
		s: snapshotOf(broken(sum("sum", "", "is", pods)), plain("a", "is")),
		want: []string{
			"[0] ContributesRules a: it matches a, which has 0 rules",
			`[1] InvalidSelector: "Near" is not a valid label selector operator`,
			"RulesUnknown: nothing is written: the rules cannot be computed",
		},
	}, {
		name: "source's selector does not convert", reason: "it brings no rule that is not here already",
		s: snapshotOf(sum("sum", "", "is", nodes), broken(sum("low", "is", "", nodes, pods))),
		want: []string{
			"[0] SourceFails low: it matches low, which has 2 rules and whose own aggregation fails: rules that both have stay, others are not added",
			"UpToDate: the stored rules are up to date",
		},
	}, {
		name: "source's selector does not convert, as upstream", reason: "what is stored in a source counts, however it came there",
		s: snapshotOf(sum("sum", "", "is", nodes), broken(sum("low", "is", "", nodes, pods))), o: Options{MatchUpstream: purekube.V1_36},
		want: []string{
			"[0] ContributesStored low: it matches low, which has 2 rules and whose own aggregation fails",
			"RulesDiffer: 1 rule is added",
		},
	}, {
		name: "source twice", reason: "its rules cannot be known",
		s: snapshotOf(sum("sum", "", "is"), plain("a", "is"), plain("a", "")),
		want: []string{
			"Duplicate a: several ClusterRoles have the name a, and any selector may match it",
			"[0] NothingSelected: it matches no other ClusterRole",
			"RulesUnknown: nothing is written: the rules cannot be computed",
		},
	}, {
		name: "two names twice", reason: "one is enough to know nothing",
		s: snapshotOf(sum("sum", "", "is"), plain("b", "is"), plain("c", ""), plain("c", ""), plain("d", ""), plain("d", "")),
		want: []string{
			"Duplicate c: several ClusterRoles have the name c, and any selector may match it",
			"[0] ContributesRules b: it matches b, which has 0 rules",
			"RulesUnknown: nothing is written: the rules cannot be computed",
		},
	}, {
		name: "removed", reason: "a rule without a source goes", s: snapshotOf(sum("sum", "", "", pods)),
		want: []string{"NoSelectors: the aggregationRule has no selectors: no rules are collected", "RulesDiffer: 1 rule is removed"},
	}, {
		name: "reordered", reason: "the order is part of the rules", s: snapshotOf(sum("sum", "", "is", pods, nodes), plain("a", "is", nodes, pods)),
		want: []string{"[0] ContributesRules a: it matches a, which has 2 rules", "RulesDiffer: the same rules are written in another order"},
	}, {
		name: "stored twice", reason: "it is written once (BR-27-04)", s: snapshotOf(sum("sum", "", "is", pods, pods), plain("a", "is", pods)),
		want: []string{"[0] ContributesRules a: it matches a, which has 1 rule", "RulesDiffer: repeated rules are removed"},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			got, _ := NewIndex(tc.s, tc.o).Explain(Key("sum"))
			var lines []string
			for _, r := range got.Reasons {
				require.Equal(t, r.Object.Name == "", r.Object == purekube.Key{}, "there is another object, or there is none: %s", r)
				line := string(r.Code)
				if r.Object.Name != "" {
					line += " " + r.Object.Name
				}
				if r.Field != "" {
					line = strings.TrimPrefix(r.Field, "aggregationRule.clusterRoleSelectors") + " " + line
				}
				lines = append(lines, line+": "+r.Message)
			}
			require.Empty(t, cmp.Diff(tc.want, lines), tc.reason)
		})
	}
}

// An Explanation is data, which may have been put together elsewhere: a way that does not come to an end is none.
func TestPathThatGoesRound(t *testing.T) {
	e := Explanation{Key: Key("sum"), Sources: []Source{{Name: "a", Via: "b"}, {Name: "b", Via: "a"}, {Name: "c", Via: "d"}, {Name: "e", Via: "sum"}}}
	require.Nil(t, e.Path("a"))
	require.Nil(t, e.Path("c"), "nor one from nowhere")
	require.Equal(t, []string{"e"}, e.Path("e"))
}

func TestExplainUnknown(t *testing.T) {
	r := sum("sum", "", "is", pods)
	r.AggregationRule.ClusterRoleSelectors = append(r.AggregationRule.ClusterRoleSelectors, badSelector())
	got, err := NewIndex(snapshotOf(r), Options{}).Explain(Key("sum"))
	require.ErrorContains(t, err, "aggregationRule.clusterRoleSelectors[1]")
	require.Nil(t, got.Rules)
	require.Nil(t, got.Sources)

	got, err = NewIndex(snapshotOf(r), Options{}).Explain(Key("gone"))
	require.ErrorIs(t, err, purekube.ErrNotFound)
	require.EqualError(t, err, "ClusterRole gone: not in the snapshot")
	require.Equal(t, Explanation{}, got)
}

// A ladder of diamonds has 2^40 ways from top to bottom.
func TestExplainDoesNotWalkEveryWay(t *testing.T) {
	kind := func(i int) string { return fmt.Sprintf("k%02d", i) }
	s := snapshotOf(plain("leaf", kind(0), pods), plain("twin", kind(0)))
	for i := range 40 {
		s.ClusterRoles = append(s.ClusterRoles, sum("left"+kind(i), kind(i+1), kind(i)), sum("right"+kind(i), kind(i+1), kind(i)))
	}
	got, err := NewIndex(s, Options{}).Explain(Key("leftk39"))
	require.NoError(t, err)
	require.Len(t, got.Rules, 1)
	require.Equal(t, []string{"leaf"}, got.Rules[0].From)
	require.Len(t, got.Path("leaf"), 40)

	s.ClusterRoles[0].Name = "twin" // nor do problems multiply on their way up
	_, err = NewIndex(s, Options{}).Explain(Key("leftk39"))
	require.Equal(t, []string{"ClusterRole twin: several objects in the snapshot have this name"}, lines(err))
}

// Each rule of admin, as a real API server has it, comes from a ClusterRole that has it.
func TestExplainBootstrapAdmin(t *testing.T) {
	s := Snapshot{ClusterRoles: load(t, "bootstrap.yaml")}
	e, err := NewIndex(s, Options{}).Explain(Key("admin"))
	require.NoError(t, err)
	require.Equal(t, len(find(load(t, "converged.yaml"), "admin").Rules), len(e.Rules))
	seen := map[string]bool{}
	for _, c := range e.Rules {
		require.NotEmpty(t, c.From)
		for _, from := range c.From {
			seen[strings.Join(e.Path(from), " ")] = true
			require.True(t, contains(find(s.ClusterRoles, from).Rules, c.Rule), "%v is written in %s", c.Rule, from)
		}
	}
	var paths []string
	for path := range seen {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	require.Equal(t, []string{
		"edit system:aggregate-to-edit", "edit view system:aggregate-to-view", "system:aggregate-to-admin",
	}, paths)
	last := e.Reasons[len(e.Reasons)-1]
	require.Equal(t, Reason{Code: ReasonRulesDiffer, Message: fmt.Sprintf("%d rules are added", len(e.Rules))}, last)
}

// Programs print explanations and changes: the names of their fields stay.
func TestJSON(t *testing.T) {
	s := snapshotOf(plain("a", "is", pods), sum("sum", "", "is"))
	text := func(value any, err error) string {
		require.NoError(t, err)
		data, err := json.Marshal(value)
		require.NoError(t, err)
		return string(data)
	}
	const rule = `{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}`
	e, err := NewIndex(s, Options{}).Explain(Key("sum"))
	e.Reasons = nil
	require.JSONEq(t, `{"key":"ClusterRole/sum","reasons":null,"rules":[{"rule":`+rule+`,"from":["a"]}],
		"sources":[{"name":"a","via":"sum","selector":0,"aggregates":false}]}`, text(e, err))
	c, err := NewIndex(s, Options{}).PreviewRole(plain("a", ""), Key("sum"))
	require.JSONEq(t, `{"key":"ClusterRole/sum","removed":[`+rule+`]}`, text(c, err))
}
