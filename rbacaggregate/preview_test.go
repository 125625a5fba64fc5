package rbacaggregate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/aliasing"
)

func TestPreview(t *testing.T) {
	rules := func(r ...rbacv1.PolicyRule) []rbacv1.PolicyRule { return r }
	// leaf ─► low ─► top; what stands in top is out of date.
	s := snapshotOf(plain("leaf", "leaf", pods), sum("low", "low", "leaf", pods), sum("top", "", "low", jobs))
	for _, tc := range []struct {
		name, reason string
		changed      *rbacv1.ClusterRole
		o            Options
		want         []Change
	}{{
		name: "a label gives rules away", reason: "to every level; top's drift is not the write's doing",
		changed: plain("new", "leaf", nodes, pods, nodes),
		want:    []Change{{Name: "low", Added: rules(nodes)}, {Name: "top", Added: rules(nodes)}},
	}, {
		name: "under MatchUpstream", reason: "the first round of writes",
		changed: plain("new", "leaf", nodes), o: Options{MatchUpstream: purekube.V1_36},
		want: []Change{{Name: "low", Added: rules(nodes)}},
	}, {
		name: "rules of a role that does not aggregate", reason: "it keeps what it says, the others change",
		changed: plain("leaf", "leaf", nodes),
		want: []Change{
			{Name: "low", Added: rules(nodes), Removed: rules(pods)},
			{Name: "top", Added: rules(nodes), Removed: rules(pods)},
		},
	}, {
		name: "a label taken away", reason: "its rules go",
		changed: plain("leaf", "", pods),
		want:    []Change{{Name: "low", Removed: rules(pods)}, {Name: "top", Removed: rules(pods)}},
	}, {
		name: "written by hand", reason: "aggregation puts it right again, and nobody else notices",
		changed: sum("low", "low", "leaf", secrets),
		want:    []Change{{Name: "low", Added: rules(pods), Removed: rules(secrets)}},
	}, {
		name: "the write of the plan", reason: "nothing happens on top of it",
		changed: sum("low", "low", "leaf", pods),
	}, {
		name: "other selectors", reason: "itself against what is being written, others against what they had",
		changed: sum("low", "low", "none", pods),
		want:    []Change{{Name: "low", Removed: rules(pods)}, {Name: "top", Removed: rules(pods)}},
	}, {
		name: "a new aggregating role", reason: "it is filled",
		changed: sum("new", "", "leaf"),
		want:    []Change{{Name: "new", Added: rules(pods)}},
	}, {
		name: "stops aggregating", reason: "it keeps what it says",
		changed: plain("low", "low", secrets),
		want:    []Change{{Name: "top", Added: rules(secrets), Removed: rules(pods)}},
	}, {
		name: "nobody selects it", reason: "nothing happens",
		changed: plain("new", "", nodes),
	}} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Preview(s, tc.changed, tc.o)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tc.want, got), tc.reason)
			require.Empty(t, aliasing.Shared(s, got))
			require.Empty(t, aliasing.Shared(tc.changed, got))
		})
	}
}

func TestPreviewOrderAlone(t *testing.T) {
	s := snapshotOf(plain("b", "is", pods), plain("c", "is", nodes), sum("sum", "", "is", pods, nodes))
	changed := plain("a", "is", nodes)
	got, err := Preview(s, changed, Options{})
	require.NoError(t, err)
	require.Empty(t, got, "the rules are written in another order, but nobody may do more or less")
}

func TestPreviewBadInput(t *testing.T) {
	broken := sum("broken", "mid", "leaf", pods)
	broken.AggregationRule.ClusterRoleSelectors = append(broken.AggregationRule.ClusterRoleSelectors, badSelector())
	s := snapshotOf(sum("low", "", "leaf"), sum("top", "", "mid"), nil)

	got, err := Preview(s, nil, Options{})
	require.ErrorIs(t, err, purekube.ErrNil)
	require.Nil(t, got)
	got, err = Preview(s, plain("", "leaf", pods), Options{})
	require.ErrorContains(t, err, "metadata.name")
	require.Nil(t, got)

	got, err = Preview(s, broken, Options{})
	require.ErrorIs(t, err, purekube.ErrNil, "the snapshot's own problem")
	require.ErrorContains(t, err, "ClusterRole broken: aggregationRule.clusterRoleSelectors[1]")
	require.Equal(t, []Change{{Name: "top", Added: []rbacv1.PolicyRule{pods}}}, got, "it brings what stands in it")
}

// The preview of a plan's write: nothing but what the plan said itself.
func TestPreviewAgreesWithPlans(t *testing.T) {
	eachRandom(t, true, func(t testing.TB, at string, roles []*rbacv1.ClusterRole) {
		was := Snapshot{ClusterRoles: roles}
		changed := roles[0].DeepCopy()
		changed.Labels = map[string]string{"a": "true", "c": "true"}
		got, err := Preview(was, changed, Options{})
		require.NoError(t, err, at)
		changes := map[string]Change{}
		for _, c := range got {
			changes[c.Name] = c
		}
		is := was.after(nil, changed)
		for _, r := range is.ClusterRoles {
			after, err := Rules(is, r.Name, Options{})
			require.NoError(t, err, at)
			before, err := Rules(was, r.Name, Options{})
			require.NoError(t, err, at)
			if r.Name == changed.Name {
				before = r.Rules
			}
			var want Change
			for _, rule := range after {
				if r.AggregationRule != nil && !contains(before, rule) {
					want.Name, want.Added = r.Name, append(want.Added, rule)
				}
			}
			for _, rule := range before {
				if r.AggregationRule != nil && !contains(after, rule) && !contains(want.Removed, rule) {
					want.Name, want.Removed = r.Name, append(want.Removed, rule)
				}
			}
			require.Empty(t, cmp.Diff(want, changes[r.Name]), "%s: %s", at, r.Name)
		}
	})
}
