package rbacaggregate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

var (
	pods    = on("pods", "get")
	secrets = on("secrets", "get")
	nodes   = on("nodes", "get")
	jobs    = on("jobs", "get")

	services = on("services", "get")
	events   = on("events", "get")
)

func snapshotOf(roles ...*rbacv1.ClusterRole) Snapshot { return Snapshot{ClusterRoles: roles} }

func TestRules(t *testing.T) {
	both := []Options{{}, {MatchUpstream: purekube.V1_36}}
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		modes        []Options
		want         []rbacv1.PolicyRule
	}{{
		name: "BR-27-02 by name", reason: "matching roles are read in the order of their names, wherever they stand",
		s:     snapshotOf(plain("c", "is", nodes), sum("sum", "", "is"), plain("a", "is", secrets), plain("b", "is", pods)),
		modes: both, want: []rbacv1.PolicyRule{secrets, pods, nodes},
	}, {
		name: "BR-27-02 names, not numbers", reason: "alphabetical: r10 is before r9",
		s:     snapshotOf(plain("r9", "is", nodes), sum("sum", "", "is"), plain("r10", "is", secrets)),
		modes: both, want: []rbacv1.PolicyRule{secrets, nodes},
	}, {
		name: "BR-27-02 selectors in order", reason: "the first selector's roles come first, whatever their names",
		s:     snapshotOf(plain("a", "two", nodes), plain("b", "one", pods), sum("sum", "", "one two")),
		modes: both, want: []rbacv1.PolicyRule{pods, nodes},
	}, {
		name: "BR-27-02 rules in order", reason: "a role's rules stay in the order that it has them in",
		s:     snapshotOf(plain("a", "is", secrets, pods), sum("sum", "", "is")),
		modes: both, want: []rbacv1.PolicyRule{secrets, pods},
	}, {
		name: "BR-27-03 not itself", reason: "a role that its own selector matches does not keep what stands in it",
		s:     snapshotOf(sum("sum", "is", "is", nodes), plain("a", "is", pods)),
		modes: both, want: []rbacv1.PolicyRule{pods},
	}, {
		name: "BR-27-03 not itself, written twice", reason: "the second time is no other place",
		s:     snapshotOf(sum("sum", "is", "is", nodes, nodes), plain("a", "is", pods)),
		modes: both, want: []rbacv1.PolicyRule{pods},
	}, {
		name: "BR-27-03 others have its own rules", reason: "they come in where the first other one has them",
		s: snapshotOf(plain("a", "is", jobs), sum("sum", "is", "is", nodes, pods, secrets), plain("t", "is", services, pods, services),
			plain("u", "is", nodes, events, pods)),
		modes: both, want: []rbacv1.PolicyRule{jobs, services, pods, nodes, events},
	}, {
		name: "BR-27-03 others have its own rules, at the end", reason: "they come in where the first other one has them",
		s:     snapshotOf(sum("sum", "is", "is", nodes, pods), plain("t", "is", services, pods, nodes), plain("u", "is", pods)),
		modes: both, want: []rbacv1.PolicyRule{services, pods, nodes},
	}, {
		name: "BR-27-04 once", reason: "the first place counts",
		s:     snapshotOf(sum("sum", "", "is"), plain("a", "is", pods, nodes, pods), plain("b", "is", secrets, nodes)),
		modes: both, want: []rbacv1.PolicyRule{pods, nodes, secrets},
	}, {
		name: "BR-27-04 nil and empty are equal", reason: "semantic equality; the first one is kept as it is",
		s: snapshotOf(sum("sum", "", "is"),
			plain("a", "is", rbacv1.PolicyRule{Verbs: []string{"get"}}),
			plain("b", "is", rbacv1.PolicyRule{Verbs: []string{"get"}, Resources: []string{}})),
		modes: both, want: []rbacv1.PolicyRule{{Verbs: []string{"get"}}},
	}, {
		name: "BR-27-04 order inside a list", reason: "get, list is not list, get",
		s:     snapshotOf(sum("sum", "", "is"), plain("a", "is", on("pods", "get", "list")), plain("b", "is", on("pods", "list", "get"))),
		modes: both, want: []rbacv1.PolicyRule{on("pods", "get", "list"), on("pods", "list", "get")},
	}, {
		name: "BR-27-04 matched twice", reason: "a role that two selectors match comes in once, with the first",
		s:     snapshotOf(sum("sum", "", "one two"), plain("a", "two", nodes), plain("b", "one two", pods)),
		modes: both, want: []rbacv1.PolicyRule{pods, nodes},
	}, {
		name: "no selectors", reason: "an aggregationRule without any collects nothing",
		s:     snapshotOf(sum("sum", "", "", pods), plain("a", "is", nodes)),
		modes: both, want: []rbacv1.PolicyRule{},
	}, {
		name: "the empty selector", reason: "it matches every ClusterRole, labelled or not",
		s: snapshotOf(plain("b", "", nodes), plain("a", "is", pods), func() *rbacv1.ClusterRole {
			r := sum("sum", "", "")
			r.AggregationRule.ClusterRoleSelectors = []metav1.LabelSelector{{}}
			return r
		}()),
		modes: both, want: []rbacv1.PolicyRule{pods, nodes},
	}, {
		name: "does not aggregate", reason: "its rules are what stands in it, twice if it says so",
		s:     snapshotOf(plain("sum", "", pods, pods)),
		modes: both, want: []rbacv1.PolicyRule{pods, pods},
	}, {
		name: "D-11 nested", reason: "through both levels, though nothing stands in the middle yet",
		s:     snapshotOf(sum("sum", "", "mid"), sum("middle", "mid", "is"), plain("a", "is", pods)),
		modes: []Options{{}}, want: []rbacv1.PolicyRule{pods},
	}, {
		name: "D-11 nested under MatchUpstream", reason: "what stands in the middle counts",
		s:     snapshotOf(sum("sum", "", "mid"), sum("middle", "mid", "is", nodes), plain("a", "is", pods)),
		modes: []Options{{MatchUpstream: purekube.V1_36}}, want: []rbacv1.PolicyRule{nodes},
	}, {
		name: "D-11 written by hand", reason: "what stands in the middle is going to be replaced, so it does not count",
		s:     snapshotOf(sum("sum", "", "mid"), sum("middle", "mid", "is", nodes), plain("a", "is", pods)),
		modes: []Options{{}}, want: []rbacv1.PolicyRule{pods},
	}, {
		name: "D-11 ghost", reason: "nodes has no source any more; only the cycle keeps it",
		s:     snapshotOf(sum("sum", "x", "y is", nodes), sum("other", "y", "x", nodes), plain("a", "is", pods)),
		modes: []Options{{}}, want: []rbacv1.PolicyRule{pods},
	}, {
		name: "D-11 ghost under MatchUpstream", reason: "each member of the cycle takes it from the other, for ever",
		s:     snapshotOf(sum("sum", "x", "y is", nodes), sum("other", "y", "x", nodes), plain("a", "is", pods)),
		modes: []Options{{MatchUpstream: purekube.V1_36}}, want: []rbacv1.PolicyRule{nodes, pods},
	}, {
		name: "D-11 cycle", reason: "what enters at the other member comes in where that member stands in the order",
		s: snapshotOf(sum("sum", "x", "first y last"), sum("other", "y", "x own"),
			plain("f", "first", secrets), plain("l", "last", nodes), plain("o", "own", jobs)),
		modes: []Options{{}}, want: []rbacv1.PolicyRule{secrets, jobs, nodes},
	}, {
		name: "D-11 cycle of four", reason: "once round from sum to a, d and c, which is not the order of their names",
		s: snapshotOf(sum("sum", "toSum", "ownSum toA"), sum("a", "toA", "ownA toD"), sum("d", "toD", "ownD toC"), sum("c", "toC", "ownC toSum"),
			plain("own-sum", "ownSum", pods), plain("own-a", "ownA", nodes), plain("own-d", "ownD", jobs), plain("own-c", "ownC", secrets)),
		modes: []Options{{}}, want: []rbacv1.PolicyRule{pods, nodes, jobs, secrets},
	}, {
		name: "D-11 cycle above another one", reason: "low1 comes first, with all that its cycle collects, in the order of that cycle, though up has one of its selectors",
		s: snapshotOf(sum("sum", "toSum", "toLow1 toUp"), sum("up", "toUp", "one toSum"),
			sum("low1", "toLow1", "toLow2"), sum("low2", "toLow2", "toLow1 one two"), plain("a", "two", nodes), plain("b", "one", pods)),
		modes: []Options{{}}, want: []rbacv1.PolicyRule{pods, nodes},
	}, {
		name: "D-11 cycle through one selector", reason: "b1 does not collect itself, so it comes to b2 before it comes to sum; sum comes to b1 first",
		s: snapshotOf(plain("b0", "s", secrets), sum("b1", "s toX", "s toA"), plain("b2", "s", nodes), sum("sum", "s", "s"),
			sum("a", "toA", "toX own"), plain("o", "own", jobs)),
		modes: []Options{{}}, want: []rbacv1.PolicyRule{secrets, nodes, jobs},
	}} {
		for _, o := range tc.modes {
			t.Run(tc.name, func(t *testing.T) {
				got, err := NewIndex(tc.s, o).Rules(Key("sum"))
				require.NoError(t, err)
				require.Equal(t, tc.want, got, "%s (%+v)", tc.reason, o)

				all, err := NewIndex(tc.s, o).ExplainAll()
				require.NoError(t, err)
				for _, e := range all {
					if e.Key != Key("sum") {
						continue
					}
					got = []rbacv1.PolicyRule{}
					for _, c := range e.Rules {
						got = append(got, c.Rule)
					}
					require.Equal(t, tc.want, got, "among all of them: %s (%+v)", tc.reason, o)
				}
			})
		}
	}
}

func TestPlanWritesOnlyWhatDiffers(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		written      []rbacv1.PolicyRule
		want         bool
	}{
		{"equal", "nothing to do", []rbacv1.PolicyRule{pods, nodes}, false},
		{"equal but for nil lists", "semantically equal", []rbacv1.PolicyRule{
			{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{}}, nodes,
		}, false},
		{"other order", "the order is part of the rules", []rbacv1.PolicyRule{nodes, pods}, true},
		{"one missing", "it differs", []rbacv1.PolicyRule{pods}, true},
		{"one too many", "it differs", []rbacv1.PolicyRule{pods, nodes, secrets}, true},
		{"one twice", "it differs", []rbacv1.PolicyRule{pods, nodes, nodes}, true},
		{"none", "it differs", nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := snapshotOf(sum("sum", "", "is", tc.written...), plain("a", "is", pods, nodes))
			for _, o := range []Options{{}, {MatchUpstream: purekube.V1_36}} {
				got, err := Plan(s, Key("sum"), o)
				require.NoError(t, err)
				if !tc.want {
					require.True(t, got.Empty(), tc.reason)
					continue
				}
				uid := types.UID("uid-sum")
				if o.matchUpstream() {
					uid = ""
				}
				require.Equal(t, Result{Actions: []Action{
					SetRules{Name: "sum", UID: uid, Rules: []rbacv1.PolicyRule{pods, nodes}},
				}}, got, tc.reason)
			}
		})
	}
	for _, name := range []string{"a", "gone"} {
		got, err := Plan(snapshotOf(plain("a", "is", pods, pods)), Key(name), Options{})
		require.NoError(t, err)
		require.True(t, got.Empty(), "a role that does not aggregate, or is not there, is not written")
	}
}

func TestD20_NothingLeft(t *testing.T) {
	s := snapshotOf(sum("sum", "", "is", pods))

	got, err := Plan(s, Key("sum"), Options{})
	require.NoError(t, err)
	require.Len(t, got.Actions, 1)
	body := got.Actions[0].Request(nil).Patch
	require.Equal(t, `{"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"sum","uid":"uid-sum"},"rules":[]}`, string(body))

	got, err = Plan(s, Key("sum"), Options{MatchUpstream: purekube.V1_36})
	require.NoError(t, err)
	require.Len(t, got.Actions, 1)
	body = got.Actions[0].Request(nil).Patch
	require.Equal(t, `{"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"sum"}}`, string(body))

	for _, rules := range [][]rbacv1.PolicyRule{nil, {}} {
		s.ClusterRoles[0].Rules = rules
		for _, o := range []Options{{}, {MatchUpstream: purekube.V1_36}} {
			got, err = Plan(s, Key("sum"), o)
			require.NoError(t, err)
			require.True(t, got.Empty(), "nothing is what it has already")
		}
	}
}

func TestBadInput(t *testing.T) {

	const (
		nilError      = "ClusterRole: nil object in the snapshot"
		namelessError = "ClusterRole: metadata.name: required"
		twiceError    = "ClusterRole a: several objects in the snapshot have this name"
		brokenError   = `ClusterRole broken: aggregationRule.clusterRoleSelectors[1]: "Near" is not a valid label selector operator`
	)
	set := func(name string, rules ...rbacv1.PolicyRule) map[string][]rbacv1.PolicyRule {
		return map[string][]rbacv1.PolicyRule{name: rules}
	}
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		sets         map[string][]rbacv1.PolicyRule
		errs         map[string]string
		upstreamErrs map[string]string // where they are others
		upstreamSets map[string][]rbacv1.PolicyRule
	}{{
		name: "nil and nameless", reason: "left out, reported once, the rest planned",
		s:    snapshotOf(nil, plain("", "is", nodes), sum("sum", "", "is"), nil, plain("a", "is", pods)),
		sets: set("sum", pods), errs: map[string]string{"": nilError + "\n" + namelessError},
	}, {
		name: "selector does not convert", reason: "what it would bring in cannot be known: nothing is written",
		s:    snapshotOf(broken(sum("broken", "", "is", nodes)), plain("a", "is", pods)),
		sets: map[string][]rbacv1.PolicyRule{}, errs: map[string]string{"broken": brokenError},
	}, {
		name: "D-35 source's selector does not convert", reason: "that it would come to the rule that is stored in it is not known; the error is named for both",
		s:    snapshotOf(sum("sum", "", "mid"), broken(sum("broken", "mid", "is", nodes)), plain("a", "is", pods)),
		sets: map[string][]rbacv1.PolicyRule{}, errs: map[string]string{"broken": brokenError, "sum": brokenError},
		upstreamSets: set("sum", nodes), upstreamErrs: map[string]string{"broken": brokenError},
	}, {
		name: "D-35 source's selector does not convert, its rule is granted already", reason: "it stays, in its place; what has no source any more goes",
		s:    snapshotOf(sum("sum", "", "mid is", jobs, nodes), broken(sum("broken", "mid", "is", secrets, nodes)), plain("a", "is", pods)),
		sets: set("sum", nodes, pods), errs: map[string]string{"broken": brokenError, "sum": brokenError},
		upstreamSets: set("sum", secrets, nodes, pods), upstreamErrs: map[string]string{"broken": brokenError},
	}, {
		name: "D-35 another source has the rule too", reason: "it comes in its first place, granted already or not",
		s: snapshotOf(sum("sum", "", "mid is"), sum("has", "", "mid is", nodes), broken(sum("broken", "mid", "is", nodes)),
			plain("a", "is", pods), plain("b", "is", nodes)),
		sets: map[string][]rbacv1.PolicyRule{"sum": {nodes, pods}, "has": {nodes, pods}},
		errs: map[string]string{"broken": brokenError, "sum": brokenError, "has": brokenError}, upstreamErrs: map[string]string{"broken": brokenError},
	}, {
		name: "D-35 source's source's selector does not convert", reason: "what each has stays, whatever those between have",
		s: snapshotOf(sum("top", "", "low", secrets), sum("sum", "low", "mid is", nodes),
			broken(sum("broken", "mid", "is", nodes, secrets)), plain("a", "is", pods)),
		sets: map[string][]rbacv1.PolicyRule{"sum": {nodes, pods}, "top": {secrets, pods}},
		errs: map[string]string{"broken": brokenError, "sum": brokenError, "top": brokenError},

		upstreamSets: map[string][]rbacv1.PolicyRule{"sum": {nodes, secrets, pods}, "top": {nodes}}, upstreamErrs: map[string]string{"broken": brokenError},
	}, {
		name: "D-35 in a cycle", reason: "the rules go round as they do otherwise, and each keeps what it has",
		s:    snapshotOf(sum("ring-1", "ring", "ring mid is", nodes), sum("ring-2", "ring", "ring"), broken(sum("broken", "mid", "is", nodes, secrets)), plain("a", "is", pods)),
		sets: map[string][]rbacv1.PolicyRule{"ring-1": {nodes, pods}, "ring-2": {pods}},
		errs: map[string]string{"broken": brokenError, "ring-1": brokenError, "ring-2": brokenError},

		upstreamSets: map[string][]rbacv1.PolicyRule{"ring-1": {nodes, secrets, pods}, "ring-2": {nodes}}, upstreamErrs: map[string]string{"broken": brokenError},
	}, {
		name: "two of one name", reason: "which labels the name has is not known, so no sum can be known",
		s: snapshotOf(sum("sum", "", "is"), sum("other", "", "else"), plain("a", "is", pods), plain("a", "", nodes),
			plain("b", "else", jobs)),
		sets: map[string][]rbacv1.PolicyRule{}, errs: map[string]string{"a": twiceError, "other": twiceError, "sum": twiceError},
	}, {
		name: "two of one name, two levels down", reason: "nothing is written",
		s:    snapshotOf(sum("sum", "", "mid"), sum("middle", "mid", "is", secrets), plain("a", "", pods), plain("a", "is", nodes)),
		sets: map[string][]rbacv1.PolicyRule{}, errs: map[string]string{"a": twiceError, "middle": twiceError, "sum": twiceError},
	}, {
		name: "two of one name, and all are taken in", reason: "a selector without a label matches them too",
		s: snapshotOf(plain("a", "", pods), plain("a", "", nodes), func() *rbacv1.ClusterRole {
			r := sum("sum", "", "")
			r.AggregationRule.ClusterRoleSelectors = []metav1.LabelSelector{{}}
			return r
		}()),
		sets: map[string][]rbacv1.PolicyRule{}, errs: map[string]string{"a": twiceError, "sum": twiceError},
	}, {
		name: "an aggregating role twice", reason: "which of the two is real cannot be known",
		s:    snapshotOf(sum("a", "", "is"), sum("a", "", "is"), plain("b", "is", pods)),
		sets: map[string][]rbacv1.PolicyRule{}, errs: map[string]string{"a": twiceError},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			for _, o := range []Options{{}, {MatchUpstream: purekube.V1_36}} {
				wantSets, wantErrs := tc.sets, tc.errs
				if o.matchUpstream() && tc.upstreamErrs != nil {
					wantErrs = tc.upstreamErrs
				}
				if o.matchUpstream() && tc.upstreamSets != nil {
					wantSets = tc.upstreamSets
				}
				sets, errs := map[string][]rbacv1.PolicyRule{}, map[string]string{}
				for _, outcome := range planAll(tc.s, o) {
					if outcome.Err != nil {
						errs[outcome.Key.Name] = outcome.Err.Error()
						var objectError *purekube.ObjectError
						require.ErrorAs(t, outcome.Err, &objectError)
						require.Equal(t, "ClusterRole", objectError.Kind)
					}
					for _, a := range outcome.Result.Actions {
						sets[outcome.Key.Name] = a.(SetRules).Rules
					}
				}
				require.Equal(t, wantSets, sets, "%s (%+v)", tc.reason, o)
				require.Equal(t, wantErrs, errs, "%s (%+v)", tc.reason, o)
			}
		})
	}
	for _, name := range []string{"", "gone"} {
		rules, err := NewIndex(snapshotOf(plain("a", "", pods)), Options{}).Rules(Key(name))
		require.ErrorIs(t, err, purekube.ErrNotFound)
		require.Nil(t, rules)
	}
	_, err := Plan(snapshotOf(nil), Key(""), Options{})
	require.ErrorIs(t, err, purekube.ErrNil)
	_, err = NewIndex(snapshotOf(plain("a", ""), plain("a", "")), Options{}).Rules(Key("a"))
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	rules, err := NewIndex(snapshotOf(broken(sum("broken", "", "is", nodes))), Options{}).Rules(Key("broken"))
	require.EqualError(t, err, brokenError)
	require.Nil(t, rules, "unknown is not what stands in it")
}

// Of several labels that are no labels, the first by key is named, though they stand in a map.
func TestSelectorErrorDoesNotDependOnMapOrder(t *testing.T) {
	r := sum("sum", "", "")
	r.AggregationRule.ClusterRoleSelectors = []metav1.LabelSelector{{MatchLabels: map[string]string{
		"z bad": "x", "a bad": "x", "m bad": "x", "k": "not a value!", "good": "x",
	}}}
	_, first := Plan(snapshotOf(r), Key("sum"), Options{})
	require.ErrorContains(t, first, "aggregationRule.clusterRoleSelectors[0]: key: Invalid value: \"a bad\"")
	for range 50 {
		_, again := Plan(snapshotOf(r), Key("sum"), Options{})
		require.EqualError(t, again, first.Error())
	}
}

// The ClusterRoles of a real API server. Upstream needs a round for each level; the end is the same,
// rule by rule.
func TestD11_BootstrapRoles(t *testing.T) {
	before, converged := load(t, "bootstrap.yaml"), load(t, "converged.yaml")

	outcomes := planAll(Snapshot{ClusterRoles: before}, Options{})
	require.Len(t, outcomes, 3)
	after := apply(t, before, outcomes)
	for _, name := range []string{"admin", "edit", "view"} {
		want := find(converged, name).Rules
		require.NotEmpty(t, want)
		require.Empty(t, cmp.Diff(want, find(after, name).Rules), "%s: one write from empty to the end state", name)
	}
	require.Empty(t, planAll(Snapshot{ClusterRoles: after}, Options{}))

	roles, rounds := before, 0
	for outcomes := planAll(Snapshot{ClusterRoles: roles}, Options{MatchUpstream: purekube.V1_36}); len(outcomes) > 0; rounds++ {
		roles = apply(t, roles, outcomes)
		outcomes = planAll(Snapshot{ClusterRoles: roles}, Options{MatchUpstream: purekube.V1_36})
	}
	require.Equal(t, 3, rounds, "upstream goes up one level a round: view, edit, admin")
	for i := range roles {
		require.True(t, equality.Semantic.DeepEqual(roles[i].Rules, after[i].Rules), roles[i].Name)
	}

	for _, o := range []Options{{}, {MatchUpstream: purekube.V1_36}} {
		require.Empty(t, planAll(Snapshot{ClusterRoles: converged}, o), "a cluster at rest: nothing is written")
	}
}

// What is wrong with the snapshot as a whole is PlanAll's error and no outcome.
func TestPlanAllError(t *testing.T) {
	outcomes, err := PlanAll(snapshotOf(nil, plain("", ""), sum("sum", "", "is"), plain("a", "is", pods)), Options{})
	require.ErrorIs(t, err, purekube.ErrNil)
	require.ErrorContains(t, err, "metadata.name")
	require.Len(t, outcomes, 1)
	require.Equal(t, Key("sum"), outcomes[0].Key)
	require.NoError(t, outcomes[0].Err)
	outcomes, err = PlanAll(Snapshot{}, Options{})
	require.NoError(t, err)
	require.Empty(t, outcomes)
}

// A name that several ClusterRoles have has its place among the aggregated ones.
func TestPlanAllSortsAmbiguousNames(t *testing.T) {
	outcomes, err := PlanAll(snapshotOf(sum("b", "", "is"), plain("a", "", pods), plain("a", "", nodes)), Options{})
	require.NoError(t, err)
	require.Len(t, outcomes, 2)
	require.Equal(t, Key("a"), outcomes[0].Key)
	require.ErrorIs(t, outcomes[0].Err, purekube.ErrDuplicate)
	require.Equal(t, Key("b"), outcomes[1].Key)
}

func TestKeyOf(t *testing.T) {
	require.Equal(t, purekube.Key{Kind: "ClusterRole", Name: "sum"}, KeyOf(plain("sum", "")))
	stray := plain("sum", "")
	stray.Namespace = "a ClusterRole has none"
	require.Equal(t, Key("sum"), KeyOf(stray))
	require.Empty(t, KeyOf(nil))
}

// A key of another kind, or one with a namespace, is that of no ClusterRole.
func TestKeyOfAnotherKind(t *testing.T) {
	x := NewIndex(snapshotOf(sum("sum", "", "is"), plain("a", "is", pods)), Options{})
	write := plain("b", "is", jobs)
	for _, key := range []purekube.Key{{}, {Name: "sum"}, {Kind: "Role", Name: "sum"}, {Kind: "ClusterRole", Namespace: "x", Name: "sum"}} {
		result, err := x.Plan(key)
		require.NoError(t, err)
		require.Empty(t, result)
		_, err = x.Rules(key)
		require.ErrorIs(t, err, purekube.ErrNotFound)
		_, err = x.Explain(key)
		require.ErrorIs(t, err, purekube.ErrNotFound)
		_, err = x.PreviewRole(write, key)
		require.ErrorIs(t, err, purekube.ErrNotFound)
		_, err = x.PreviewDelete(key)
		require.ErrorIs(t, err, purekube.ErrNotFound)
	}
}

// The duty not to run beside the stock controller: between the two writes of a cycle, upstream puts
// back into the first member what the second one still has.
func TestD11_UpstreamPutsBackIntoACycle(t *testing.T) {
	roles := []*rbacv1.ClusterRole{sum("a", "x", "y", nodes), sum("b", "y", "x", nodes)}
	ours, err := Plan(Snapshot{ClusterRoles: roles}, Key("a"), Options{})
	require.NoError(t, err)
	require.Equal(t, []rbacv1.PolicyRule{}, ours.Actions[0].(SetRules).Rules)
	roles[0] = ours.Actions[0].(SetRules).Apply(roles[0])
	upstream, err := Plan(Snapshot{ClusterRoles: roles}, Key("a"), Options{MatchUpstream: purekube.V1_36})
	require.NoError(t, err)
	require.Equal(t, []rbacv1.PolicyRule{nodes}, upstream.Actions[0].(SetRules).Rules)
}

// A namespace, which a ClusterRole has not, makes no difference: the name is the key.
func TestNamespaceIsLeftOut(t *testing.T) {
	a, twin := plain("a", "is", pods), plain("a", "", nodes)
	twin.Namespace = "somewhere"
	_, err := NewIndex(snapshotOf(a, twin), Options{}).Rules(Key("a"))
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	rules, err := NewIndex(snapshotOf(twin), Options{}).Rules(Key("a"))
	require.NoError(t, err)
	require.Equal(t, []rbacv1.PolicyRule{nodes}, rules)
	require.Equal(t, "somewhere", twin.Namespace)
}
