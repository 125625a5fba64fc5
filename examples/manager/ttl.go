package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/ttl"
)

func newTTL(c *cluster) runner {
	nodes := c.informers.Core().V1().Nodes()
	r := controller.New("ttl", ttl.NewIndex(ttl.Snapshot{}, ttl.Options{}), c.client, c.events, controller.Options[*ttl.Index, ttl.Snapshot]{})
	controller.Watch(r, nodes.Informer(), func(o *corev1.Node) ttl.Snapshot { return ttl.Snapshot{Nodes: []*corev1.Node{o}} })
	return ttlRunner{r, func() {
		r.Update(func(*ttl.Index) (*ttl.Index, []string) {
			all, _ := nodes.Lister().List(labels.Everything()) // from memory, without an error
			var names []string
			for _, n := range all {
				names = append(names, n.Name)
			}
			return ttl.NewIndex(ttl.Snapshot{Step: ttl.Table{}.Recover(all), Nodes: all}, ttl.Options{}), names
		})
	}}
}

// ttlRunner takes the step from the annotations that the nodes carry before it begins. The step that it came to
// while the informer listed the nodes is that of a cluster which grew from nothing.
type ttlRunner struct {
	runner
	recover func()
}

func (r ttlRunner) Run(ctx context.Context, stop <-chan struct{}, workers int) {
	r.recover()
	r.runner.Run(ctx, stop, workers)
}
