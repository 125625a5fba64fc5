package clientgo

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/rbacaggregate"
)

// RBACAggregateController is the controller of [NewRBACAggregate].
type RBACAggregateController = Controller[*rbacaggregate.Index, rbacaggregate.Snapshot, rbacaggregate.Action]

// NewRBACAggregate returns a controller of aggregated ClusterRoles. It watches ClusterRoles.
func NewRBACAggregate(c Cluster, o rbacaggregate.Options) (*RBACAggregateController, error) {
	type S = rbacaggregate.Snapshot
	controller, err := NewController("rbacaggregate", rbacaggregate.NewIndex(S{}, o), c,
		Options[*rbacaggregate.Index, S]{})
	if err != nil {
		return nil, err
	}
	Watch(controller, func(o *rbacv1.ClusterRole) S { return S{ClusterRoles: []*rbacv1.ClusterRole{o}} })
	return controller, controller.broken
}
