package parity

import (
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-helpers/auth/rbac/reconciliation"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/rbacaggregate"
)

// When it starts, kube-apiserver adds missing labels to its default ClusterRoles and keeps the rules that they got. No two
// writes that are reviewed bring a protected ClusterRole a rule that way. Each story is two writes and a start.
func TestDefaultClusterRolesAreRepaired(t *testing.T) {
	const toAdmin, toEdit, toView = "rbac.authorization.k8s.io/aggregate-to-admin", "rbac.authorization.k8s.io/aggregate-to-edit", "rbac.authorization.k8s.io/aggregate-to-view"
	things := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"example.com"}, Resources: []string{"things"}}
	without := func(r *rbacv1.ClusterRole, label string) *rbacv1.ClusterRole {
		r = r.DeepCopy()
		delete(r.Labels, label)
		return r
	}
	for _, tc := range []struct {
		name, protected, source, label string
		// brings is the write after the one that takes the label from the source, of the source or of another ClusterRole.
		brings func(unlabelled *rbacv1.ClusterRole) *rbacv1.ClusterRole
	}{
		{"a rule in the source", "view", "system:aggregate-to-view", toView, func(r *rbacv1.ClusterRole) *rbacv1.ClusterRole {
			r = r.DeepCopy()
			r.Rules = append(r.Rules, things)
			return r
		}},
		{"a source of the source", "admin", "edit", toAdmin, func(*rbacv1.ClusterRole) *rbacv1.ClusterRole {
			return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "mine", Labels: map[string]string{toEdit: "true"}}, Rules: []rbacv1.PolicyRule{things}}
		}},
	} {
		for _, reviewed := range []bool{true, false} {
			cluster := map[string]*rbacv1.ClusterRole{}
			for _, r := range manifests.BuiltinClusterRoles() {
				cluster[r.Name] = r
			}
			index := func() *rbacaggregate.Index {
				var s rbacaggregate.Snapshot
				for _, r := range cluster {
					s.ClusterRoles = append(s.ClusterRoles, r)
				}
				return rbacaggregate.NewIndex(s, rbacaggregate.Options{})
			}
			o := admission.ClusterRoleOptions{Allowed: map[string][]rbacv1.PolicyRule{tc.protected: nil}}
			write := func(r *rbacv1.ClusterRole) {
				if !reviewed || admission.ClusterRoleWrite(index(), reviews.WritesRole(cluster[r.Name], r).Review(t), o).Allowed {
					cluster[r.Name] = r
				}
			}
			write(without(cluster[tc.source], tc.label))
			write(tc.brings(cluster[tc.source]))
			client := fake.NewClientset()
			for _, r := range cluster {
				_, err := client.RbacV1().ClusterRoles().Create(t.Context(), r, metav1.CreateOptions{})
				require.NoError(t, err)
			}
			for _, r := range manifests.BuiltinClusterRoles() {
				repairs := reconciliation.ReconcileRoleOptions{Role: reconciliation.ClusterRoleRuleOwner{ClusterRole: r},
					Client: reconciliation.ClusterRoleModifier{Client: client.RbacV1().ClusterRoles()}, Confirm: true}
				_, err := repairs.Run()
				require.NoError(t, err)
			}
			repaired, err := client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			for i := range repaired.Items {
				cluster[repaired.Items[i].Name] = &repaired.Items[i]
			}
			rules, err := index().Rules(rbacaggregate.Key(tc.protected))
			require.NoError(t, err)
			if reviewed {
				require.NotContains(t, rules, things, tc.name)
			} else {
				require.Contains(t, rules, things, "%s: without reviews, the story ends badly", tc.name)
			}
		}
	}
}
