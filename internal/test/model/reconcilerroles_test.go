package model

import (
	"fmt"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/rbacaggregate"
)

type roleLoopWorld = LoopWorld[*rbacaggregate.Index, rbacaggregate.Snapshot, rbacaggregate.Action]

// chainLoop is the controller of clientgo.NewRBACAggregate. Role middle aggregates source, and top aggregates middle. A
// user edits them, and another writer puts rules into middle.
func chainLoop() roleLoopWorld {
	w := clusterRoleWorld(rbacaggregate.Options{}).only("rule taken", "source deleted or made")
	w.Name = "ClusterRoles, a chain"
	source := aggregating("source", 1, "", "in-middle")
	source.Rules = []rbacv1.PolicyRule{verbRule("get")}
	w.Objects = []Object{source, aggregating("middle", 2, "in-middle", "in-top"), aggregating("top", 3, "in-top")}
	w.Events[0].Max, w.Events[1].Max = 1, 1
	w.Events = append(w.Events,
		Event{Name: "another writer", Max: 1, Do: func(v *View, do func(string, ...Change)) {
			if r := Get[*rbacv1.ClusterRole](v, "", "middle"); r != nil {
				r = r.DeepCopy()
				r.Rules = []rbacv1.PolicyRule{verbRule("watch")}
				do("another writer puts a rule into middle", Put(r))
			}
		}},
		Event{Name: "role deleted", Max: 1, Do: func(v *View, do func(string, ...Change)) {
			if r := Get[*rbacv1.ClusterRole](v, "", "middle"); r != nil {
				do("the user deletes middle", Remove(r))
			}
		}})
	return roleLoopWorld{
		Scenario: w,
		Empty: func() *rbacaggregate.Index {
			return rbacaggregate.NewIndex(rbacaggregate.Snapshot{}, rbacaggregate.Options{})
		},
		Workers: 2, MaxFaults: 1, Replicas: true, Overlap: 5,
		As: func(o Object, _ time.Time, _ memo) (rbacaggregate.Snapshot, map[string]string) {
			return rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{o.(*rbacv1.ClusterRole)}}, nil
		},
		KeyOf: func(o Object) purekube.Key { return rbacaggregate.Key(o.GetName()) },
	}
}

// filteredLoop is chainLoop where a filter leaves out middle: nobody writes to it, and top has the rules of its source.
func filteredLoop() roleLoopWorld {
	w := chainLoop()
	w.Scenario = w.without("another writer")
	w.Name, w.Workers = "ClusterRoles, filtered", 1
	w.Filter = func(key purekube.Key) bool { return key.Name != "middle" }
	rest := w.Rest
	w.Rest = func(v *View) string {
		seen := *v
		seen.objects = slices.Clone(v.objects)
		for i, o := range seen.objects {
			if r, ok := o.(*rbacv1.ClusterRole); ok && r.Name == "middle" {
				if len(r.Rules) > 0 {
					return "what the filter leaves out is never written: middle has rules"
				}
				r = r.DeepCopy() // as if its plan had been carried out
				if s := Get[*rbacv1.ClusterRole](v, "", "source"); s != nil && s.Labels["in-middle"] != "" {
					r.Rules = s.Rules
				}
				seen.objects[i] = r
			}
		}
		if broken := rest(&seen); broken != "" {
			return fmt.Sprintf("what the filter leaves out counts all the same: %s", broken)
		}
		return ""
	}
	return w
}
