package rbacaggregate

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/aliasing"
	"github.com/purekube/purekube/internal/test/seed"
)

var (
	anything = rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	upstream = Options{MatchUpstream: purekube.V1_36}
)

func rulesOf(r ...rbacv1.PolicyRule) []rbacv1.PolicyRule { return r }

// broken has a selector that does not convert.
func broken(r *rbacv1.ClusterRole) *rbacv1.ClusterRole {
	r.AggregationRule.ClusterRoleSelectors = append(r.AggregationRule.ClusterRoleSelectors, badSelector())
	return r
}

func TestPreview(t *testing.T) {
	// leaf ─► low ─► top; what is stored in top is out of date.
	s := snapshotOf(plain("leaf", "leaf", pods), sum("low", "low", "leaf", pods), sum("top", "", "low", jobs))
	for _, tc := range []struct {
		name, reason string
		changed      *rbacv1.ClusterRole
		want         []Change
	}{{
		name: "a label gives rules away", reason: "to every level; top's drift is not the write's doing",
		changed: plain("new", "leaf", nodes, pods, nodes),
		want:    []Change{{Key: Key("low"), Added: rulesOf(nodes)}, {Key: Key("top"), Added: rulesOf(nodes)}},
	}, {
		name: "rules of a role that does not aggregate", reason: "it keeps what it says, the others change",
		changed: plain("leaf", "leaf", nodes),
		want: []Change{
			{Key: Key("low"), Added: rulesOf(nodes), Removed: rulesOf(pods)},
			{Key: Key("top"), Added: rulesOf(nodes), Removed: rulesOf(pods)},
		},
	}, {
		name: "a label taken away", reason: "its rules go",
		changed: plain("leaf", "", pods),
		want:    []Change{{Key: Key("low"), Removed: rulesOf(pods)}, {Key: Key("top"), Removed: rulesOf(pods)}},
	}, {
		name: "written by hand", reason: "aggregation puts it right again, and nobody else notices; until then it is granted",
		changed: sum("low", "low", "leaf", secrets, pods),
		want:    []Change{{Key: Key("low"), Overwritten: rulesOf(secrets)}},
	}, {
		name: "the write of the plan", reason: "nothing happens on top of it",
		changed: sum("low", "low", "leaf", pods),
	}, {
		name: "stale rules", reason: "rules that it had are not granted anew", changed: sum("low", "low", "none", pods),
		want: []Change{{Key: Key("low"), Removed: rulesOf(pods)}, {Key: Key("top"), Removed: rulesOf(pods)}},
	}, {
		name: "a new aggregating role", reason: "it is filled",
		changed: sum("new", "", "leaf"),
		want:    []Change{{Key: Key("new"), Added: rulesOf(pods)}},
	}, {
		name: "stops aggregating", reason: "from then on it has what it says, and so have those above",
		changed: plain("low", "low", anything),
		want: []Change{
			{Key: Key("low"), Added: rulesOf(anything), Removed: rulesOf(pods)},
			{Key: Key("top"), Added: rulesOf(anything), Removed: rulesOf(pods)},
		},
	}, {
		name: "begins to aggregate", reason: "its own rules go",
		changed: sum("leaf", "leaf", "none", pods),
		want: []Change{
			{Key: Key("leaf"), Removed: rulesOf(pods)},
			{Key: Key("low"), Removed: rulesOf(pods)}, {Key: Key("top"), Removed: rulesOf(pods)},
		},
	}, {
		name: "nobody selects it", reason: "nothing happens",
		changed: plain("new", "", nodes),
	}} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := NewIndex(s, Options{}).Preview(tc.changed)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tc.want, got), tc.reason)
			require.Empty(t, aliasing.Shared(s, got))
			require.Empty(t, aliasing.Shared(tc.changed, got))
		})
	}
}

// Under MatchUpstream a preview is of where upstream's rounds of writes end. One of a single ClusterRole says the same.
func TestPreviewMatchUpstream(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		changed      *rbacv1.ClusterRole
		want         []Change
	}{{
		name: "all levels", reason: "not the first round alone",
		s:       snapshotOf(plain("leaf", "leaf", pods), sum("low", "low", "leaf", pods), sum("top", "", "low", jobs)),
		changed: plain("new", "leaf", nodes),
		want:    []Change{{Key: Key("low"), Added: rulesOf(nodes)}, {Key: Key("top"), Added: rulesOf(nodes)}},
	}, {
		name: "cycle", reason: "a rule that is stored in one member may go round for ever",
		s:       snapshotOf(sum("x", "x", "y"), sum("y", "y", "x"), sum("top", "", "y")),
		changed: sum("x", "x", "y", secrets),
		want:    []Change{{Key: Key("top"), Added: rulesOf(secrets)}, {Key: Key("x"), Added: rulesOf(secrets)}, {Key: Key("y"), Added: rulesOf(secrets)}},
	}, {
		name: "a source of a cycle goes", reason: "every member has its rules from the others already",
		s:       snapshotOf(plain("leaf", "leaf", pods), sum("x", "x", "y leaf", pods), sum("y", "y", "x", pods)),
		changed: plain("leaf", "", pods),
	}, {
		name: "no rules left, another manager", reason: "upstream's apply does not mention rules, so they stay (D-20), and rise",
		s:       snapshotOf(sum("top", "", "low")),
		changed: ownedRules("kubectl", sum("low", "low", "none", secrets)),
		want:    []Change{{Key: Key("low"), Added: rulesOf(secrets)}, {Key: Key("top"), Added: rulesOf(secrets)}},
	}, {
		name: "no rules left, no managers known", reason: "they may stay",
		s:       snapshotOf(sum("top", "", "low")),
		changed: sum("low", "low", "none", secrets),
		want:    []Change{{Key: Key("low"), Added: rulesOf(secrets)}, {Key: Key("top"), Added: rulesOf(secrets)}},
	}, {
		name: "no rules left, the controller's own", reason: "what only the controller set is removed",
		s:       snapshotOf(sum("top", "", "low")),
		changed: ownedRules(fieldManager, sum("low", "low", "none", secrets)),
		want:    []Change{{Key: Key("low"), Overwritten: rulesOf(secrets)}},
	}, {
		name: "kept rules below a source that grants nothing", reason: "they stay two levels down",
		s:       snapshotOf(sum("top", "", "mid"), sum("mid", "mid", "low", jobs)),
		changed: ownedRules("kubectl", sum("low", "low", "none", secrets)),
		want: []Change{
			{Key: Key("low"), Added: rulesOf(secrets)},
			{Key: Key("mid"), Added: rulesOf(secrets), Removed: rulesOf(jobs)},
			{Key: Key("top"), Added: rulesOf(secrets), Removed: rulesOf(jobs)},
		},
	}, {
		name: "it becomes known who owns kept rules", reason: "until then low might have lost them, and top might have kept its own",
		s:       snapshotOf(sum("top", "", "low", secrets), sum("low", "low", "none", jobs)),
		changed: ownedRules("kubectl", sum("low", "low", "none", jobs)),
		want:    []Change{{Key: Key("low"), Added: rulesOf(jobs)}, {Key: Key("top"), Added: rulesOf(jobs), Removed: rulesOf(secrets)}},
	}, {
		name: "what enters a cycle and what goes round in it", reason: "what has a source comes first",
		s:       snapshotOf(sum("x", "x", "y leaf"), sum("y", "y", "x", secrets), plain("leaf", "leaf", pods), plain("own", "own", nodes)),
		changed: sum("top", "", "x own"),
		want:    []Change{{Key: Key("top"), Added: rulesOf(pods, nodes, secrets)}},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := NewIndex(tc.s, upstream).Preview(tc.changed)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tc.want, got), tc.reason)
			for _, want := range tc.want {
				one, err := NewIndex(tc.s, upstream).PreviewRole(tc.changed, want.Key)
				require.NoError(t, err)
				require.Empty(t, cmp.Diff(want, one), "asked for it alone: %s", tc.reason)
			}
		})
	}
}

// ownedRules is the role, whose rules one field manager owns, and whose metadata kubectl owns.
func ownedRules(manager string, role *rbacv1.ClusterRole) *rbacv1.ClusterRole {
	role.ManagedFields = append(ownedBy("kubectl", "f:metadata"), ownedBy(manager)...)
	return role
}

// ownedBy is the entry of a field manager that applied the rules, or these fields.
func ownedBy(manager string, fields ...string) []metav1.ManagedFieldsEntry {
	if len(fields) == 0 {
		fields = []string{"f:rules"}
	}
	entry := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
		FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"` + strings.Join(fields, `":{},"`) + `":{}}`)}}
	return []metav1.ManagedFieldsEntry{entry}
}

// A write may change nothing but the owners of the rules. That is a change where no source grants them: upstream's apply
// leaves them then.
func TestPreviewNamesWhatANewOwnerKeeps(t *testing.T) {
	stale := sum("low", "low", "none", secrets) // its source is gone, and the controller has not come to it yet
	stale.ManagedFields = ownedBy(fieldManager)
	s := snapshotOf(sum("top", "", "low"), stale)
	owned := stale.DeepCopy()
	owned.ManagedFields = append(owned.ManagedFields, ownedBy("kubectl")...)
	want := []Change{{Key: Key("low"), Added: rulesOf(secrets)}, {Key: Key("top"), Added: rulesOf(secrets)}}
	got, err := NewIndex(s, upstream).Preview(owned)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got))
	got, err = NewIndex(s, Options{}).Preview(owned)
	require.NoError(t, err)
	require.Empty(t, got, "by default who owns them does not count (D-20)")
	require.Empty(t, affectedBy(s, stale, owned, Options{}), "no plan depends on it")

	disowned := stale
	got, err = NewIndex(snapshotOf(sum("top", "", "low"), owned), upstream).Preview(disowned)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]Change{{Key: Key("low"), Removed: rulesOf(secrets)}, {Key: Key("top"), Removed: rulesOf(secrets)}}, got))
}

func TestPreviewOrderAlone(t *testing.T) {
	s := snapshotOf(plain("b", "is", pods), plain("c", "is", nodes), sum("sum", "", "is", pods, nodes))
	changed := plain("a", "is", nodes)
	got, err := NewIndex(s, Options{}).Preview(changed)
	require.NoError(t, err)
	require.Empty(t, got, "the rules are written in another order, but nobody may do more or less")
}

func TestPreviewBadInput(t *testing.T) {
	s := snapshotOf(sum("low", "", "leaf"), sum("top", "", "mid"), nil)

	got, err := NewIndex(s, Options{}).Preview(nil)
	require.ErrorIs(t, err, purekube.ErrNil)
	require.Nil(t, got)
	got, err = NewIndex(s, Options{}).Preview(plain("", "leaf", pods))
	require.ErrorContains(t, err, "metadata.name")
	require.Nil(t, got)
	one, err := NewIndex(s, Options{}).PreviewRole(nil, Key("low"))
	require.ErrorIs(t, err, purekube.ErrNil)
	require.True(t, one.Empty())

	got, err = NewIndex(s, Options{}).Preview(broken(sum("broken", "mid", "leaf", pods)))
	require.ErrorIs(t, err, purekube.ErrNil, "the snapshot's own problem")
	require.ErrorContains(t, err, "ClusterRole broken: aggregationRule.clusterRoleSelectors[1]")
	require.Equal(t, []Change{{Key: Key("broken"), Added: rulesOf(pods)}}, got, "it is not written and grants what is stored in it, but not through others")
	got, err = NewIndex(s, upstream).Preview(broken(sum("broken", "mid", "leaf", pods)))
	require.ErrorIs(t, err, purekube.ErrNil)
	require.Equal(t, []Change{{Key: Key("broken"), Added: rulesOf(pods)}, {Key: Key("top"), Added: rulesOf(pods)}}, got, "upstream passes it on (D-35)")
}

func TestPreviewRole(t *testing.T) {
	admin := func() *rbacv1.ClusterRole { return sum("admin", "", "to-admin", pods) }
	s := snapshotOf(admin(), plain("source", "to-admin", pods), plain("other", "", jobs),
		broken(sum("broken", "unrelated", "to-admin", nodes)))
	twice := snapshotOf(append(s.ClusterRoles, plain("source", "to-admin", jobs))...)
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		changed      *rbacv1.ClusterRole
		role         string
		want         Change
		wantUpstream *Change // where that is another one
		err          string
	}{{
		name: "replaced without an aggregationRule", reason: "from then on it grants what it says",
		s: s, changed: plain("admin", "", anything), role: "admin",
		want: Change{Key: Key("admin"), Added: rulesOf(anything), Removed: rulesOf(pods)},
	}, {
		name: "label", reason: "the broken ClusterRole is none of admin's", s: s, changed: plain("new", "to-admin", nodes), role: "admin",
		want: Change{Key: Key("admin"), Added: rulesOf(nodes)},
	}, {
		name: "not reached", reason: "nothing happens to it", s: s, changed: plain("new", "to-view", nodes), role: "admin",
		want: Change{Key: Key("admin")},
	}, {
		name: "rests on a broken one", reason: "that the broken one would come to nodes is not known, and the error says so",
		s: s, changed: sum("admin", "", "to-admin unrelated", pods), role: "admin",
		want: Change{Key: Key("admin")}, wantUpstream: &Change{Key: Key("admin"), Added: rulesOf(nodes)},
		err: `ClusterRole broken: aggregationRule.clusterRoleSelectors[1]: "Near" is not a valid label selector operator`,
	}, {
		name: "rests on a broken one, and says the rule itself", reason: "what the write stores stays, since the broken one has it too",
		s: s, changed: sum("admin", "", "to-admin unrelated", pods, nodes), role: "admin",
		want: Change{Key: Key("admin"), Added: rulesOf(nodes)},
		err:  `ClusterRole broken: aggregationRule.clusterRoleSelectors[1]: "Near" is not a valid label selector operator`,
	}, {
		name: "breaks", reason: "it is not written any more and grants what it says", s: s, changed: broken(sum("admin", "", "to-admin", anything)), role: "admin",
		want: Change{Key: Key("admin"), Added: rulesOf(anything), Removed: rulesOf(pods)},
		err:  `ClusterRole admin: aggregationRule.clusterRoleSelectors[1]: "Near" is not a valid label selector operator`,
	}, {
		name: "mends", reason: "what the write mends is no reason to refuse it", s: s, changed: sum("broken", "", "to-admin", nodes), role: "broken",
		want: Change{Key: Key("broken"), Added: rulesOf(pods), Removed: rulesOf(nodes)},
	}, {
		name: "without an aggregationRule, changed", reason: "its rules before and after", s: s, changed: plain("other", "", nodes), role: "other",
		want: Change{Key: Key("other"), Added: rulesOf(nodes), Removed: rulesOf(jobs)},
	}, {
		name: "without an aggregationRule", reason: "nothing happens to it", s: s, changed: plain("new", "", nodes), role: "other",
		want: Change{Key: Key("other")},
	}, {
		name: "created", reason: "it had nothing before", s: s, changed: sum("new", "", "to-admin"), role: "new",
		want: Change{Key: Key("new"), Added: rulesOf(pods)},
	}, {
		name: "not there", reason: "an error, not a no", s: s, changed: plain("new", "", nodes), role: "gone",
		err: "ClusterRole gone: not in the snapshot",
	}, {
		name: "a source twice", reason: "it cannot be known what admin comes to", s: twice, changed: plain("new", "to-admin", nodes), role: "admin",
		want: Change{Key: Key("admin")}, err: "ClusterRole source: several objects in the snapshot have this name",
	}, {
		name: "twice itself", reason: "it cannot be known what it grants", s: twice, changed: plain("source", "", anything), role: "source",
		want: Change{Key: Key("source")}, err: "ClusterRole source: several objects in the snapshot have this name",
	}, {
		name: "twice, and not changed", reason: "it is there, and it cannot be known what it grants",
		s: twice, changed: plain("new", "", nodes), role: "source",
		want: Change{Key: Key("source")}, err: "ClusterRole source: several objects in the snapshot have this name",
	}, {
		name: "a nil entry", reason: "it may be anything, a source of admin too", s: snapshotOf(append(s.ClusterRoles, nil)...),
		changed: plain("new", "to-admin", nodes), role: "admin",
		want: Change{Key: Key("admin"), Added: rulesOf(nodes)}, err: "ClusterRole: nil object in the snapshot",
	}} {
		t.Run(tc.name, func(t *testing.T) {
			for _, o := range []Options{{}, upstream} {
				got, err := NewIndex(tc.s, o).PreviewRole(tc.changed, Key(tc.role))
				if tc.err == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, tc.err)
				}
				want := tc.want
				if o.matchUpstream() && tc.wantUpstream != nil {
					want = *tc.wantUpstream
				}
				require.Empty(t, cmp.Diff(want, got), "%s (%+v)", tc.reason, o)
				require.Empty(t, aliasing.Shared(tc.s, got))
			}
		})
	}
}

// A broken ClusterRole that has nothing to do with the write does not fail its preview.
func TestPreviewNamesOnlyWhatIsReached(t *testing.T) {
	s := snapshotOf(sum("admin", "", "to-admin"), broken(sum("broken", "", "else")))
	got, err := NewIndex(s, Options{}).Preview(plain("new", "to-admin", nodes))
	require.NoError(t, err)
	require.Equal(t, []Change{{Key: Key("admin"), Added: rulesOf(nodes)}}, got)

	s = snapshotOf(plain("source", "else", pods), broken(sum("broken", "", "else")))
	for _, o := range []Options{{}, upstream} {
		got, err = NewIndex(s, o).Preview(plain("source", "else", pods))
		require.NoError(t, err, "the write changes nothing")
		require.Empty(t, got)
	}
}

// A source whose aggregation fails keeps its rules, whoever has collected them before.
func TestPreviewOfASourceThatFails(t *testing.T) {
	s := snapshotOf(sum("admin", "", "to-admin"), broken(sum("low", "", "none", pods)))
	got, err := NewIndex(s, Options{}).Preview(broken(sum("low", "to-admin", "none", pods, nodes)))
	require.ErrorContains(t, err, "ClusterRole low: aggregationRule.clusterRoleSelectors[1]")
	require.Empty(t, cmp.Diff([]Change{{Key: Key("low"), Added: rulesOf(nodes)}}, got))
}

func TestPreviewDelete(t *testing.T) {
	s := snapshotOf(plain("leaf", "leaf", pods), sum("low", "low", "leaf", pods), sum("top", "", "low own", jobs), plain("own", "own", jobs))
	for _, tc := range []struct {
		name, reason string
		want         []Change
	}{
		{"leaf", "its rules go from all levels", []Change{{Key: Key("low"), Removed: rulesOf(pods)}, {Key: Key("top"), Removed: rulesOf(pods)}}},
		{"low", "it is gone with all its rules", []Change{{Key: Key("low"), Removed: rulesOf(pods)}, {Key: Key("top"), Removed: rulesOf(pods)}}},
		{"top", "nobody aggregates it", []Change{{Key: Key("top"), Removed: rulesOf(pods, jobs)}}},
	} {
		got, err := NewIndex(s, Options{}).PreviewDelete(Key(tc.name))
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(tc.want, got), "%s: %s", tc.name, tc.reason)
	}
	got, err := NewIndex(s, Options{}).PreviewDelete(Key("gone"))
	require.ErrorIs(t, err, purekube.ErrNotFound)
	require.Nil(t, got)

	twice := snapshotOf(plain("twin", "is", pods), plain("twin", "is", pods), sum("sum", "", "is", pods))
	got, err = NewIndex(twice, Options{}).PreviewDelete(Key("twin"))
	require.EqualError(t, err, "ClusterRole twin: several objects in the snapshot have this name")
	require.Equal(t, []Change{{Key: Key("sum"), Removed: rulesOf(pods)}}, got, "nothing is left to aggregate")
}

// What a preview says is what plans say before and after, and Preview is PreviewRole for each.
func TestPreviewAgreesWithPlans(t *testing.T) {
	changed := 0
	eachRandom(t, true, func(t testing.TB, at string, roles []*rbacv1.ClusterRole) {
		r := rand.New(rand.NewPCG(uint64(len(roles)), 7))
		was := Snapshot{ClusterRoles: roles}
		write := roles[0].DeepCopy()
		switch r.IntN(4) {
		case 0:
			write.Labels = map[string]string{"a": "true", "c": "true"}
		case 1:
			write.AggregationRule = nil
		case 2:
			write.Rules = append(write.Rules, anything)
		default:
			write = plain("new", "a b c", anything, pods)
		}
		is := was.after(nil, write)
		got, err := NewIndex(was, Options{}).Preview(write)
		require.NoError(t, err, at)
		changes := map[string]Change{}
		for _, c := range got {
			require.False(t, c.Empty(), at)
			changes[c.Key.Name] = c
		}
		for _, r := range is.ClusterRoles {
			after, err := NewIndex(is, Options{}).Rules(Key(r.Name))
			require.NoError(t, err, at)
			var before, stored []rbacv1.PolicyRule
			aggregates := r.AggregationRule != nil
			if old := find(roles, r.Name); old != nil {
				before, err = NewIndex(was, Options{}).Rules(Key(r.Name))
				require.NoError(t, err, at)
				aggregates, stored = aggregates || old.AggregationRule != nil, old.Rules
			}
			want := Change{Key: Key(r.Name), Added: difference(after, before), Removed: difference(before, after)}
			if r == write {
				want.Overwritten = difference(difference(difference(write.Rules, after), before), stored)
			}
			one, err := NewIndex(was, Options{}).PreviewRole(write, Key(r.Name))
			require.NoError(t, err, at)
			require.Empty(t, cmp.Diff(want, one), "%s: %s", at, r.Name)
			if want.Empty() || !aggregates {
				want = Change{}
			} else {
				changed++
			}
			require.Empty(t, cmp.Diff(want, changes[r.Name]), "%s: %s", at, r.Name)
		}
	})
	if !seed.Short() {
		require.Greater(t, changed, 200, "too few writes changed anything")
	}
}

// difference returns the rules in a that are not in b, each once.
func difference(a, b []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, rule := range a {
		if !contains(b, rule) && !contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}
