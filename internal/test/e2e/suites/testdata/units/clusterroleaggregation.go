package clusterroleaggregation

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/purekube-suites/adapter"
	core "github.com/purekube/purekube/rbacaggregate"
)

func (c *ClusterRoleAggregationController) syncClusterRole(ctx context.Context, key string) error {
	roles, err := c.clusterRoleLister.List(labels.Everything())
	if err != nil {
		return err
	}
	result, err := core.Plan(core.Snapshot{ClusterRoles: roles}, core.Key(key), adapter.Options().RBACAggregate)
	for _, action := range result.Actions {
		r := action.Request(nil)
		_, failure := c.clusterRoleClient.ClusterRoles().Patch(ctx, r.Name, r.PatchType, r.Patch, metav1.PatchOptions{FieldManager: r.FieldManager, Force: &r.Force})
		err = errors.Join(err, failure)
	}
	return err
}
