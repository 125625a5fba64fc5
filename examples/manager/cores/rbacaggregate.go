package cores

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/rbacaggregate"
)

func newRBACAggregate(c *Cluster) Runner {
	index := rbacaggregate.NewIndex(rbacaggregate.Snapshot{}, c.RBACAggregate)
	r := controller.New("rbacaggregate", index, c.Client, c.Events, controller.Options[*rbacaggregate.Index, rbacaggregate.Snapshot, purekube.Key]{
		Begin: func(x *rbacaggregate.Index) []purekube.Key { return begin(x.PlanAll()) },
	})
	controller.Watch(r, c.Informers.Rbac().V1().ClusterRoles().Informer(), func(o *rbacv1.ClusterRole) rbacaggregate.Snapshot {
		return rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{o}}
	})
	return r
}
