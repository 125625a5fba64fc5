package clientgo

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/ttl"
)

// TTLController is the controller of [NewTTL].
type TTLController = Controller[*ttl.Index, ttl.Snapshot, ttl.Action]

// NewTTL returns a controller of the TTL annotations of nodes. It watches Nodes.
func NewTTL(c Cluster, o ttl.Options) (*TTLController, error) {
	controller, err := NewController("ttl", ttl.NewIndex(ttl.Snapshot{}, o), c, Options[*ttl.Index, ttl.Snapshot]{
		// Recover computes the step from the annotations that the nodes carry. While the informer listed the nodes, the
		// Index computed the step of a cluster that grew from nothing.
		Prepare: func(index *ttl.Index) *ttl.Index {
			index, _ = index.Recover()
			return index
		},
	})
	if err != nil {
		return nil, err
	}
	Watch(controller, func(o *corev1.Node) ttl.Snapshot { return ttl.Snapshot{Nodes: []*corev1.Node{o}} })
	return controller, controller.broken
}
