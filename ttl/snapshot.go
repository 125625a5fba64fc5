package ttl

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
)

// Snapshot is what a plan is made from.
type Snapshot struct {
	// Step is the step that the cluster is in, as the last PlanAll returned it. The zero value
	// is where kube-controller-manager starts.
	Step int
	// Nodes are all nodes of the cluster, in any order.
	Nodes []*corev1.Node
}

// Options change how a plan is made. The zero value is kube-controller-manager's.
type Options struct {
	// Table holds the steps.
	Table Table
}

// Result is what a plan for one node decided: one [SetTTL], or nothing. A node's TTL raises no
// events, needs no look-ups and does not change with time.
type Result = purekube.Result[Action]

// Outcome is one node's share of [PlanAll]; its key is the node's name.
type Outcome = purekube.OutcomeBy[string, Action]
