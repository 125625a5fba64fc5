package parity

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/rbacaggregate"
)

// BenchmarkRBACAggregate gathers the rules of twenty roles, each rule once, into one.
func BenchmarkRBACAggregate(b *testing.B) {
	for _, rules := range []int{1000, 4000} {
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
			s := rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{aggregated("all", "in-all")}}
			const sources = 20
			for n := range sources {
				source := labelled("in-all", plain(fmt.Sprintf("source-%02d", n), "get"))
				source.Rules = nil
				for i := range rules / sources {
					source.Rules = append(source.Rules, rbacv1.PolicyRule{
						Verbs:     []string{"get", "list", "watch"},
						APIGroups: []string{fmt.Sprintf("group-%d.example.com", n)},
						Resources: []string{fmt.Sprintf("resource-%d", i)},
					})
				}
				s.ClusterRoles = append(s.ClusterRoles, source)
			}
			SideBySide(b, 5, asObjects(s.ClusterRoles), startAggregation, func() int {
				requests := 0
				outcomes, _ := rbacaggregate.PlanAll(s, rbacaggregate.Options{MatchUpstream: Release})
				for _, o := range outcomes {
					for _, a := range o.Result.Actions {
						if len(a.Request(nil).Patch) > 0 {
							requests++
						}
					}
				}
				return requests
			})
		})
	}
}
