package docs_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/rbacaggregate"
)

func Example_previewRole() {
	t := &testing.T{} // the test's own
	cluster := purekubetest.NewCluster(t, purekubetest.AggregatedRole("admin", "rbac.example.com/to-admin"))
	index := rbacaggregate.NewIndex(cluster.RBACAggregate(), rbacaggregate.Options{})

	written := purekubetest.ClusterRole("team-data", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}})
	written.Labels = map[string]string{"rbac.example.com/to-admin": "true"}

	change, err := index.PreviewRole(written, rbacaggregate.Key("admin"))
	if err != nil {
		fmt.Println("it cannot be known:", err)
		return
	}
	for _, rule := range change.Added {
		fmt.Println("admin will be able to", rule.Verbs, rule.Resources)
	}
	for _, rule := range change.Removed {
		fmt.Println("admin will no longer be able to", rule.Verbs, rule.Resources)
	}
	// Output: admin will be able to [get] [secrets]
}

func Example_rulesInGitOps() {
	t := &testing.T{} // the test's own
	rule := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"}}
	team := purekubetest.ClusterRole("team-widgets", rule)
	team.Labels = map[string]string{"rbac.example.com/to-admin": "true"}
	admin := purekubetest.AggregatedRole("admin", "rbac.example.com/to-admin")
	admin.Rules = []rbacv1.PolicyRule{{Verbs: []string{"delete"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"}}}
	cluster := purekubetest.NewCluster(t, admin, team) // in a test of manifests: purekubetest.Load

	for _, role := range cluster.ClusterRoles {
		if role.AggregationRule == nil {
			continue
		}
		rules, err := rbacaggregate.NewIndex(cluster.RBACAggregate(), rbacaggregate.Options{}).Rules(rbacaggregate.KeyOf(role))
		if err != nil {
			fmt.Println(err)
			continue
		}
		if !equality.Semantic.DeepEqual(role.Rules, rules) {
			fmt.Println(role.Name, "is committed with", role.Rules)
			fmt.Println(role.Name, "will have", rules)
		}
	}
	// Output:
	// admin is committed with [{[delete] [example.com] [widgets] [] []}]
	// admin will have [{[get] [example.com] [widgets] [] []}]
}
