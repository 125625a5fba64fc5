package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/ttl"
)

func newTTL(c *cluster) runner {
	r := controller.New("ttl", newTTLIndex(ttl.Options{}), c.client, c.events, controller.Options[ttl.Snapshot]{})
	controller.Watch(r, c.informers.Core().V1().Nodes().Informer(), func(o *corev1.Node) ttl.Snapshot {
		return ttl.Snapshot{Nodes: []*corev1.Node{o}}
	})
	return ttlRunner{r, func() { r.Update(func(x *ttlIndex) (*ttlIndex, []string) { return x.With(ttl.Snapshot{Step: -1}) }) }}
}

// ttlRunner takes the step from the annotations that the nodes carry before it begins: while the nodes were
// counted up, it went through all of them.
type ttlRunner struct {
	runner
	recover func()
}

func (r ttlRunner) Run(ctx context.Context, stop <-chan struct{}, workers int) {
	r.recover()
	r.runner.Run(ctx, stop, workers)
}
