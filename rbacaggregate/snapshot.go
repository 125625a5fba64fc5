package rbacaggregate

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
)

// Snapshot is what a plan is made from.
type Snapshot struct {
	// ClusterRoles are all ClusterRoles of the cluster, in any order: those that aggregate and
	// those that they aggregate.
	ClusterRoles []*rbacv1.ClusterRole
}

// Options change how a plan is made. The zero value is the default mode.
type Options struct {
	// MatchUpstream asks for the requests that kube-controller-manager v1.36.3 would send for this
	// snapshot: the divergences in the package's comment do not apply.
	MatchUpstream bool
}

// Result is what a plan for one ClusterRole decided: one [SetRules], or nothing. Aggregation raises
// no events, needs no look-ups and does not change with time.
type Result = purekube.Result[Action]

// Outcome is one ClusterRole's share of [PlanAll]; its key is the ClusterRole's name.
type Outcome = purekube.Outcome[string, Action]
