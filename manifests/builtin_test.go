package manifests

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/rbacaggregate"
)

// The roles are those of a real cluster in which kube-controller-manager has aggregated, apart from what an API server adds.
func TestBuiltinClusterRoles(t *testing.T) {
	real, err := Load(Options{}, "../cmd/purekube/testdata/cluster-converged.yaml")
	require.NoError(t, err)
	byName := map[string]*rbacv1.ClusterRole{}
	for _, role := range real.ClusterRoles {
		byName[role.Name] = role
	}
	roles := BuiltinClusterRoles()
	require.Len(t, roles, 6)
	for _, role := range roles {
		want := byName[role.Name]
		require.NotNil(t, want, role.Name)
		require.Equal(t, want.Labels, role.Labels, role.Name)
		require.Equal(t, want.Annotations, role.Annotations, role.Name)
		require.Equal(t, want.AggregationRule, role.AggregationRule, role.Name)
		sorted := cmpopts.SortSlices(func(a, b rbacv1.PolicyRule) bool { return a.String() < b.String() })
		require.Empty(t, cmp.Diff(want.Rules, role.Rules, sorted), role.Name)
	}
	outcomes, err := rbacaggregate.PlanAll(rbacaggregate.Snapshot{ClusterRoles: roles}, rbacaggregate.Options{})
	require.NoError(t, err)
	require.Empty(t, outcomes, "nothing is to be done for them alone")
	roles[0].Rules = nil
	require.NotEmpty(t, BuiltinClusterRoles()[0].Rules, "each call returns new objects")
}

// A role of the set that has the name of one of them stays.
func TestWithBuiltinClusterRoles(t *testing.T) {
	set := &Set{ClusterRoles: []*rbacv1.ClusterRole{{}}}
	set.ClusterRoles[0].Name = "view"
	with := set.WithBuiltinClusterRoles()
	require.Len(t, with.ClusterRoles, 6)
	require.Same(t, set.ClusterRoles[0], with.ClusterRoles[0])
	require.Len(t, set.ClusterRoles, 1)
	require.True(t, with.Seen[ClusterRole])
}
