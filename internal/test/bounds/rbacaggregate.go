package bounds

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/internal/test/largecluster"
	"github.com/purekube/purekube/rbacaggregate"
)

var clusterRoles = Subject{Name: "rbacaggregate", Cluster: func(n int) Cluster {
	list := largecluster.ClusterRoles(n).ClusterRoles
	s := rbacaggregate.Snapshot{ClusterRoles: shuffled(slices.Clone(list))}
	const first = 33 // of the n roles
	x := rbacaggregate.NewIndex(s, rbacaggregate.Options{})
	operator := func(i int) *rbacv1.ClusterRole { return list[first+at(i, n)] }
	// source is a role that another one aggregates.
	source := func(i int) *rbacv1.ClusterRole { return list[first+at(i, n)/100*100+5] }
	write := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "new", Labels: map[string]string{"to-view": "true"}},
		Rules:      []rbacv1.PolicyRule{largecluster.Rule(999_999_999)},
	}
	roles := func(r ...*rbacv1.ClusterRole) rbacaggregate.Snapshot { return rbacaggregate.Snapshot{ClusterRoles: r} }
	admin := rbacaggregate.Key("admin")
	return Cluster{
		Objects: len(s.ClusterRoles),
		NewIndex: func() any {
			x := rbacaggregate.NewIndex(s, rbacaggregate.Options{})
			_, err := x.Plan(admin) // arranges the labels
			must(err)
			return x
		},
		Updated: func() any {
			x := rbacaggregate.NewIndex(s, rbacaggregate.Options{})
			all(x)
			for i := range s.ClusterRoles {
				x, _ = x.With(roles(s.ClusterRoles[i]))
			}
			return x
		},
		Questions: []Question{
			change("a role that nobody aggregates is updated", func(i int) (int, int) {
				changed := *list[first+at(i, n)/100*100+50]
				changed.Rules = write.Rules
				return event(x, roles(&changed))
			}),
			change("a source goes, and returns", func(i int) (int, int) { return returns(x, roles(source(i))) }),
			change("a source of view is created", func(int) (int, int) { return event(x, roles(write)) }),
			about("Plan", func(i int) (int, int) { return one(x, rbacaggregate.KeyOf(operator(i))) }),
			about("Plan of admin", func(int) (int, int) { return one(x, admin) }),
			about("Explain of admin", func(int) (int, int) { return explained(x.Explain(admin)) }),
			about("Rules of admin", func(int) (int, int) { return explained(x.Rules(admin)) }),
			about("Preview", func(int) (int, int) { return explained(x.Preview(write)) }),
			about("PreviewRole", func(int) (int, int) { return explained(x.PreviewRole(write, admin)) }),
			about("PreviewDelete", func(i int) (int, int) {
				return explained(x.PreviewDelete(rbacaggregate.KeyOf(source(i))))
			}),
			ofAll("NewIndex and Plan", func() (int, int) {
				return one(rbacaggregate.NewIndex(s, rbacaggregate.Options{}), admin)
			}),
			ofAll("PlanAll", func() (int, int) { return all(x) }),
		},
	}
}}
