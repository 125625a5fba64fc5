package ttl

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
)

// Snapshot is what a plan is made from. Nothing in it is written to.
type Snapshot struct {
	// Step is the step of the cluster, as [Index.Step] returned it for the previous plan.
	// kube-controller-manager starts at 0, the zero value.
	Step int
	// Nodes are all nodes of the cluster, in any order. Plan and Explain need only the node of their key.
	Nodes []*corev1.Node
}

// Options has no fields, because a TTL has no options. It exists so that all five packages have the same form.
type Options struct {
	// steps are other steps than upstream's. Tests have them, to move the step of a small cluster.
	steps table
}

// stepTable returns the steps. Do not write to them.
func (o Options) stepTable() table {
	if o.steps == nil {
		return Steps()
	}
	return o.steps
}

const kindNode = "Node"

// Key returns the key of the node of this name.
func Key(name string) purekube.Key { return purekube.Key{Kind: kindNode, Name: name} }

// KeyOf returns the key of a node. It returns the zero key for nil.
func KeyOf(n *corev1.Node) purekube.Key {
	if n == nil {
		return purekube.Key{}
	}
	return Key(n.Name)
}
