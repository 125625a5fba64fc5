package reports

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
)

func startAggregation(t *testing.T, client *fake.Clientset) {
	t.Helper()
	start(t, client, func(_ context.Context, f informers.SharedInformerFactory) func(context.Context) {
		c := clusterroleaggregation.NewClusterRoleAggregation(f.Rbac().V1().ClusterRoles(), client.RbacV1())
		return func(ctx context.Context) { c.Run(ctx, 5) }
	})
}

// clusterRole has the label to=…, and aggregates the ClusterRoles with the label to=from unless from is empty.
func clusterRole(name, to, from string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	metadata := metav1.ObjectMeta{Name: name, Labels: map[string]string{"to": to}}
	role := &rbacv1.ClusterRole{ObjectMeta: metadata, Rules: rules}
	if from != "" {
		role.AggregationRule = &rbacv1.AggregationRule{
			ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"to": from}}},
		}
	}
	return role
}

func deletePods() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"delete"}}
}

// With the defect fixed, the last assertion finds no rules: a rule comes from a ClusterRole that does not aggregate.
func TestClusterRolesThatAggregateEachOther(t *testing.T) {
	expectDefect(t, "D-11.md", func(t *testing.T) error {
		source := clusterRole("source", "a", "", deletePods())
		client := newCluster(t, nil, clusterRole("a", "b", "a"), clusterRole("b", "a", "b"), source)
		startAggregation(t, client)
		roles := client.RbacV1().ClusterRoles()
		for _, name := range []string{"a", "b"} {
			role, err := roles.Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err)
			require.NotEmpty(t, role.Rules)
		}

		require.NoError(t, roles.Delete(t.Context(), "source", metav1.DeleteOptions{}))
		time.Sleep(time.Hour)
		role, err := roles.Get(t.Context(), "a", metav1.GetOptions{})
		require.NoError(t, err)
		if len(role.Rules) > 0 {
			return fmt.Errorf("nothing grants %v any more, and ClusterRole a still has it", role.Rules)
		}
		return nil
	})
}

// With the defect fixed, the apply has an empty list of rules in place of none.
func TestClusterRoleWithoutASource(t *testing.T) {
	t.Run("rules", func(t *testing.T) {
		expectDefect(t, "D-20.md", func(t *testing.T) error {
			client := newCluster(t, nil)
			roles := client.RbacV1().ClusterRoles()
			monitor := clusterRole("monitor", "", "monitor", deletePods())
			_, err := roles.Create(t.Context(), monitor, metav1.CreateOptions{FieldManager: "kubectl"})
			require.NoError(t, err)
			startAggregation(t, client)

			time.Sleep(time.Hour)
			role, err := roles.Get(t.Context(), "monitor", metav1.GetOptions{})
			require.NoError(t, err)
			if len(role.Rules) > 0 {
				return fmt.Errorf("no ClusterRole has what ClusterRole monitor aggregates, and it grants %v", role.Rules)
			}
			return nil
		})
	})
	t.Run("requests", func(t *testing.T) {
		expectDefect(t, "D-20.md", func(t *testing.T) error {
			client := newCluster(t, nil)
			roles := client.RbacV1().ClusterRoles()
			monitor := clusterRole("monitor", "", "monitor", deletePods())
			_, err := roles.Create(t.Context(), monitor, metav1.CreateOptions{FieldManager: "kubectl"})
			require.NoError(t, err)
			startAggregation(t, client)

			client.ClearActions()
			for i := range 10 {
				_, err := roles.Create(t.Context(), clusterRole(fmt.Sprintf("unrelated-%d", i), "", ""), metav1.CreateOptions{})
				require.NoError(t, err)
				time.Sleep(time.Minute)
			}
			if n := count(client, "patch", "clusterroles", ""); n >= 10 {
				return fmt.Errorf("10 ClusterRoles that ClusterRole monitor does not select caused %d applies without effect", n)
			}
			return nil
		})
	})
}

// count is the number of requests of a kind since the actions were cleared.
func count(client *fake.Clientset, verb, resource, subresource string) (n int) {
	for _, a := range client.Actions() {
		if a.Matches(verb, resource) && a.GetSubresource() == subresource {
			n++
		}
	}
	return n
}
