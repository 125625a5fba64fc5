package main

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/rbacaggregate"
)

func newRBACAggregate(c *cluster) runner {
	index := rbacaggregate.NewIndex(rbacaggregate.Snapshot{}, rbacaggregate.Options{MatchUpstream: c.release})
	r := controller.New("rbacaggregate", index, c.client, c.events, controller.Options[*rbacaggregate.Index, rbacaggregate.Snapshot]{})
	controller.Watch(r, c.informers.Rbac().V1().ClusterRoles().Informer(), func(o *rbacv1.ClusterRole) rbacaggregate.Snapshot {
		return rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{o}}
	})
	return r
}
