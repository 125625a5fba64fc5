package bounds

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/internal/test/largecluster"
	"github.com/purekube/purekube/rbacaggregate"
)

var clusterRoles = Subject{Name: "rbacaggregate", Cluster: func(n int) Cluster {
	s := rbacaggregate.Snapshot{ClusterRoles: largecluster.ClusterRoles(n).ClusterRoles}
	const first = 33 // of those that n counts
	x := rbacaggregate.NewIndex(s, rbacaggregate.Options{})
	operator := func(i int) *rbacv1.ClusterRole { return s.ClusterRoles[first+at(i, n)] }
	// source is a role that another one aggregates.
	source := func(i int) *rbacv1.ClusterRole { return s.ClusterRoles[first+at(i, n)/100*100+5] }
	write := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "new", Labels: map[string]string{"to-view": "true"}},
		Rules: []rbacv1.PolicyRule{largecluster.Rule(999_999_999)}}
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
			{Name: "a role that nobody aggregates is updated", Growth: Logarithmic, Event: true, Ask: func(i int) (int, int) {
				changed := *s.ClusterRoles[first+at(i, n)/100*100+50]
				changed.Rules = write.Rules
				return event(x, roles(&changed))
			}},
			{Name: "a source goes, and returns", Growth: Logarithmic, Event: true, Ask: func(i int) (int, int) { return returns(x, roles(source(i))) }},
			{Name: "a source of view, edit and admin is created", Growth: Logarithmic, Event: true, Ask: func(int) (int, int) { return event(x, roles(write)) }},
			{Name: "Plan", Growth: Logarithmic, Ask: func(i int) (int, int) { return one(x, rbacaggregate.KeyOf(operator(i))) }},
			{Name: "Plan of admin", Growth: Logarithmic, Ask: func(int) (int, int) { return one(x, admin) }},
			{Name: "Explain of admin", Growth: Logarithmic, Ask: func(int) (int, int) { return explained(x.Explain(admin)) }},
			{Name: "Rules of admin", Growth: Logarithmic, Ask: func(int) (int, int) { return explained(x.Rules(admin)) }},
			{Name: "Preview", Growth: Logarithmic, Ask: func(int) (int, int) { return explained(x.Preview(write)) }},
			{Name: "PreviewRole", Growth: Logarithmic, Ask: func(int) (int, int) { return explained(x.PreviewRole(write, admin)) }},
			{Name: "PreviewDelete", Growth: Logarithmic, Ask: func(i int) (int, int) {
				return explained(x.PreviewDelete(rbacaggregate.KeyOf(source(i))))
			}},
			{Name: "Grants", Growth: Logarithmic, Ask: func(int) (int, int) { return explained(x.Grants(nil, write, admin)) }},
			{Name: "NewIndex and Plan", Growth: Linearithmic, Once: true, Ask: func(int) (int, int) {
				return one(rbacaggregate.NewIndex(s, rbacaggregate.Options{}), admin)
			}},
			{Name: "PlanAll", Growth: Linearithmic, Once: true, Ask: func(int) (int, int) { return all(x) }},
		},
	}
}}
