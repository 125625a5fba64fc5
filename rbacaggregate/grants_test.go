package rbacaggregate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/aliasing"
)

// granted are the rules of grants, each with the code and the name of what it comes from.
func granted(grants []Grant) map[string][]string {
	said := map[string][]string{}
	for _, g := range grants {
		for _, reason := range g.Reasons {
			said[g.Rule.Resources[0]] = append(said[g.Rule.Resources[0]], string(reason.Code)+" "+reason.Object.Name)
		}
	}
	return said
}

func TestGrants(t *testing.T) {
	owned := func(r *rbacv1.ClusterRole, managers ...string) *rbacv1.ClusterRole {
		for _, manager := range managers {
			r.ManagedFields = append(r.ManagedFields, ownedBy(manager)...)
		}
		return r
	}
	// view aggregates source, and low, which aggregates leaf.
	view := func(rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
		return owned(sum("view", "", "to-view", rules...), FieldManager)
	}
	low := func(rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
		return owned(sum("low", "to-view", "to-low", rules...), FieldManager)
	}
	source, leaf := plain("source", "to-view", pods), plain("leaf", "to-low", jobs)
	s := snapshotOf(source, leaf, low(jobs), view(jobs, pods))
	// In stale, the source of secrets has gone, and nothing has been written since.
	stale := snapshotOf(leaf, owned(sum("low", "to-view", "none", secrets), FieldManager), view(secrets))
	// In kept, a ClusterRole without sources has rules that kubectl owns: kube-controller-manager never takes
	// them away.
	kept := snapshotOf(source, owned(sum("kept", "to-view", "none", secrets), "kubectl"), view(secrets, pods))
	for _, tc := range []struct {
		name, reason   string
		s              Snapshot
		oldObj, newObj *rbacv1.ClusterRole
		want           map[string][]string
	}{
		{
			"a source", "it is aggregated",
			s, nil, plain("new", "to-view", secrets), map[string][]string{"secrets": {"ContributesRules new"}},
		},
		{"a source with rules that the role has", "nothing is new", s, nil, plain("new", "to-view", pods), nil},
		{
			"a source further down", "through all levels",
			s, nil, plain("new", "to-low", secrets), map[string][]string{"secrets": {"ContributesRules new"}},
		},
		{
			"a ClusterRole that nothing selects", "the role does not depend on it",
			s, nil, plain("new", "", secrets), nil,
		},
		{
			"the rules of a source", "it is aggregated anew",
			s, source, plain("source", "to-view", pods, secrets), map[string][]string{"secrets": {"ContributesRules source"}},
		},
		{
			"the role's own rules", "they are granted until the next pass",
			s, view(jobs, pods), view(jobs, pods, secrets),
			map[string][]string{"secrets": {"WrittenDirectly view"}},
		},
		{
			"stored rules, and no source", "upstream writes nothing, and the role keeps them (D-20)",
			s, nil, sum("new", "to-view", "none", secrets),
			map[string][]string{"secrets": {"ContributesStored new"}},
		},
		{
			"stored rules of a source that aggregates", "they pass through until it is written (D-11)",
			s, nil, sum("new", "to-view", "to-low", secrets),
			map[string][]string{"secrets": {"ContributesStored new"}},
		},
		{
			"stored rules further down", "low passes them on, and then view",
			s, nil, sum("new", "to-low", "none", secrets),
			map[string][]string{"secrets": {"ContributesStored new"}},
		},
		{
			"the role with another selector", "what that selects is new",
			snapshotOf(append(s.ClusterRoles, plain("other", "other", secrets))...), view(jobs, pods), func() *rbacv1.ClusterRole {
				r := view(jobs, pods)
				r.AggregationRule.ClusterRoleSelectors = append(r.AggregationRule.ClusterRoleSelectors, byLabel("other"))
				return r
			}(), map[string][]string{"secrets": {"ContributesRules other"}},
		},
		{
			"the role without its aggregationRule", "it keeps what it has, and that is what it had",
			s, view(jobs, pods), plain("view", "", jobs, pods), nil,
		},
		{
			"the role created", "all that it comes to is new", snapshotOf(source, leaf, low(jobs)), nil, view(secrets),
			map[string][]string{
				"secrets": {"WrittenDirectly view"}, "jobs": {"ContributesRules leaf", "ContributesStored low"}, "pods": {"ContributesRules source"},
			},
		},
		{
			"the role created again", "the cache still has the one that was deleted",
			s, nil, plain("view", "", pods, secrets),
			map[string][]string{"pods": {"WrittenDirectly view"}, "secrets": {"WrittenDirectly view"}},
		},
		{
			"the controller's write", "the cache is behind, and the review has what the role has",
			snapshotOf(source, leaf, low(jobs), view()),
			view(jobs, pods), view(jobs, pods), nil,
		},
		{"the role deleted", "nothing is left", s, view(jobs, pods), nil, nil},
		{"a source deleted", "its rules go", s, source, nil, nil},
		{"a label taken away", "its rules go", s, source, plain("source", "", pods), nil},
		{"a write that changes nothing", "nothing is new", s, leaf, leaf, nil},
		{
			"a new source of rules that go", "the role has them, and would have lost them",
			stale, nil, plain("new", "to-view", secrets),
			map[string][]string{"secrets": {"ContributesStored low", "ContributesRules new"}},
		},
		{
			"a new owner of rules that go", "upstream leaves them then", stale, stale.ClusterRoles[1],
			owned(sum("low", "to-view", "none", secrets), FieldManager, "kubectl"), map[string][]string{"secrets": {"ContributesStored low"}},
		},
		{
			"a new owner of the role's rules that go", "upstream leaves them if no source is left",
			snapshotOf(view(secrets)), view(secrets),
			owned(view(secrets), "kubectl"), map[string][]string{"secrets": {"NotRemoved view"}},
		},
		{
			"the end of an aggregation that is behind", "the role keeps what would have gone",
			snapshotOf(source, view(secrets, pods)), view(secrets, pods),
			plain("view", "", secrets, pods), map[string][]string{"secrets": {"NotRemoved view"}},
		},
		{
			"the last source deleted, where others own the rules", "upstream leaves those that would have gone too",
			snapshotOf(source, owned(view(secrets, pods), "kubectl")), source, nil,
			map[string][]string{"secrets": {"NotRemoved view"}},
		},
		{
			"a cycle", "what is stored in a member may go round",
			snapshotOf(source, owned(sum("view", "v", "to-view", secrets, pods), FieldManager)), nil,
			sum("new", "to-view", "v"), map[string][]string{"secrets": {"NotRemoved view"}},
		},
		{
			"a source, where another is kept", "the role has its rules for good",
			kept, nil, plain("new", "to-view", pods), nil,
		},
		{
			"a source of rules that are kept", "by default they would go", kept, nil, plain("new", "to-view", secrets),
			map[string][]string{"secrets": {"ContributesRules new"}},
		},
		{
			"a source, where another is not written yet", "the role gets the rules of both",
			snapshotOf(source, view()), nil, plain("new", "to-view", nodes),
			map[string][]string{"nodes": {"ContributesRules new"}, "pods": {"ContributesRules source"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, o := range []Options{{}, upstream} {
				x := NewIndex(tc.s, o)
				grants, err := x.Grants(tc.oldObj, tc.newObj, Key("view"))
				require.NoError(t, err)
				got := granted(grants)
				if tc.want == nil {
					tc.want = map[string][]string{}
				}
				require.Empty(t, cmp.Diff(tc.want, got), tc.reason)
				require.Empty(t, aliasing.Shared(tc.s, grants))
				require.Empty(t, aliasing.Shared(tc.newObj, grants))
			}
		})
	}
}

func TestGrantsBadInput(t *testing.T) {
	s := snapshotOf(sum("view", "", "to-view"), broken(sum("broken", "to-view", "none", nodes)), broken(sum("apart", "", "none")))
	for _, tc := range []struct {
		name, reason   string
		s              Snapshot
		oldObj, newObj *rbacv1.ClusterRole
		role           string
		want           map[string][]string
		err            string
	}{
		{"neither object", "no write", s, nil, nil, "view", nil, "ClusterRole: nil object in the snapshot"},
		{
			"no name", "which ClusterRole is written is not known",
			s, nil, plain("", "to-view", secrets), "view", nil, "metadata.name",
		},
		{
			"two names", "a write is of one ClusterRole",
			s, plain("a", ""), plain("b", "to-view", secrets), "view", nil, "ClusterRole b: metadata.name: the write is of ClusterRole a",
		},
		{
			"no such role", "nothing says what it would grant",
			s, nil, plain("new", "to-view"), "gone", nil, "ClusterRole gone: not in the snapshot",
		},
		{
			"a source that fails", "it is not known what it comes to", s, nil, plain("new", "to-view", secrets), "view",
			map[string][]string{"secrets": {"ContributesRules new"}, "nodes": {"ContributesStored broken"}}, "ClusterRole broken: aggregationRule.clusterRoleSelectors[1]",
		},
		{
			"a source that fails, and another role's write", "the role does not depend on the write",
			s, nil, plain("new", "", secrets), "view", nil, "",
		},
		{
			"the role fails", "its aggregation ends, and it keeps what is written",
			s, sum("view", "", "to-view"), broken(sum("view", "", "to-view", secrets)), "view",
			map[string][]string{"secrets": {"WrittenDirectly view"}}, "ClusterRole view: aggregationRule.clusterRoleSelectors[1]",
		},
		{
			"a name twice", "what it grants is not known",
			snapshotOf(append(s.ClusterRoles, plain("twin", "to-view", jobs), plain("twin", ""))...), nil,
			plain("new", "", secrets), "view", nil, "ClusterRole twin: several objects in the snapshot have this name",
		},
		{
			"the role twice", "what it has is not known",
			snapshotOf(append(s.ClusterRoles, plain("view", "", jobs))...), nil,
			plain("new", "", secrets), "view", nil, "ClusterRole view: several objects in the snapshot have this name",
		},
		{
			"a nil entry", "it may be anything",
			snapshotOf(append(s.ClusterRoles, nil)...), nil, plain("new", "", secrets), "view", nil, "ClusterRole: nil object in the snapshot",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			grants, err := NewIndex(tc.s, Options{}).Grants(tc.oldObj, tc.newObj, Key(tc.role))
			if tc.err == "" {
				require.NoError(t, err, tc.reason)
			} else {
				require.ErrorContains(t, err, tc.err, tc.reason)
			}
			if tc.want == nil {
				tc.want = map[string][]string{}
			}
			require.Empty(t, cmp.Diff(tc.want, granted(grants)), tc.reason)
		})
	}
	_, err := NewIndex(s, Options{}).Grants(nil, plain("new", ""), Key("gone"))
	require.ErrorIs(t, err, purekube.ErrNotFound)
}

// In a cluster in which kube-controller-manager has nothing left to do, a write that changes nothing grants
// nothing; nor does one that the role does not depend on.
func TestGrantsOfAWriteThatChangesNothing(t *testing.T) {
	writes := 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 17))
		p, first := newPlay(fewRoles(r), nil)
		var end state
		if !p.all(t, first, asUpstream, func(s state, ends bool) {
			if ends {
				end = s
			}
		}) || end == nil {
			continue
		}
		var roles []*rbacv1.ClusterRole
		for i, role := range p.roles {
			role = role.DeepCopy()
			role.Rules, role.ManagedFields = end[i].rules, ownedBy("somebody", "f:metadata")
			if end[i].mine {
				role.ManagedFields = append(role.ManagedFields, ownedBy(FieldManager)...)
			}
			if end[i].others {
				role.ManagedFields = append(role.ManagedFields, ownedBy("kubectl")...)
			}
			roles = append(roles, role)
		}
		x := NewIndex(Snapshot{ClusterRoles: roles}, Options{})
		for _, role := range roles {
			d := x.dependency(Key(role.Name), &ruleIDs{})
			// A rule that is stored in a cycle, or kept over ClusterRoles that aggregate nothing, may go:
			// the answer is on the safe side.
			if slices.ContainsFunc(d.roles, func(n *node) bool {
				own := x.dependency(Key(n.object.Name), &ruleIDs{})
				return own.roundabout || n.aggregation != nil && keepsStored(n.object) && !n.surelyKept()
			}) {
				continue
			}
			for _, written := range roles {
				same := written.DeepCopy()
				same.Annotations = map[string]string{"a": "note"}
				grants, _ := x.Grants(written, same, Key(role.Name))
				require.Empty(t, grants, "seed %d: %s of a write of %s", seed, role.Name, written.Name)
				writes++
			}
		}
	}
	require.Greater(t, writes, 1000)
}

// The answer is the same in any order of the snapshot, and of an Index that changed.
func TestGrantsAreDeterministic(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 18))
		roles := fewRoles(r)
		oldObj, newObj := smallWrite(r, roles)
		shuffled := Snapshot{ClusterRoles: append([]*rbacv1.ClusterRole{}, roles...)}
		r.Shuffle(len(roles), func(i, j int) {
			shuffled.ClusterRoles[i], shuffled.ClusterRoles[j] = shuffled.ClusterRoles[j], shuffled.ClusterRoles[i]
		})
		grown := NewIndex(Snapshot{}, upstream)
		for _, role := range shuffled.ClusterRoles {
			grown, _ = grown.With(Snapshot{ClusterRoles: []*rbacv1.ClusterRole{role}})
		}
		for _, role := range roles {
			want, err := NewIndex(Snapshot{ClusterRoles: roles}, Options{}).Grants(oldObj, newObj, Key(role.Name))
			for _, x := range []*Index{NewIndex(shuffled, Options{}), grown} {
				got, otherErr := x.Grants(oldObj, newObj, Key(role.Name))
				require.Empty(t, cmp.Diff(want, got), "seed %d", seed)
				require.Equal(t, lines(err), lines(otherErr), "seed %d", seed)
			}
		}
	}
}
