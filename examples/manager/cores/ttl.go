package cores

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/ttl"
)

func newTTL(c *Cluster) Runner {
	nodes := c.Informers.Core().V1().Nodes()
	r := controller.New("ttl", ttl.NewIndex(ttl.Snapshot{}, c.TTL), c.Client, c.Events, controller.Options[*ttl.Index, ttl.Snapshot]{})
	controller.Watch(r, nodes.Informer(), func(o *corev1.Node) ttl.Snapshot { return ttl.Snapshot{Nodes: []*corev1.Node{o}} })
	return ttlRunner{r, func() {
		r.Update(func(*ttl.Index) (*ttl.Index, []string) {
			all, _ := nodes.Lister().List(labels.Everything()) // from memory, without an error
			var names []string
			for _, n := range all {
				names = append(names, n.Name)
			}
			return ttl.NewIndex(ttl.Snapshot{Step: c.TTL.Table.Recover(all), Nodes: all}, c.TTL), names
		})
	}}
}

// ttlRunner takes the step from the annotations that the nodes carry before it begins. The step that it came to
// while the informer listed the nodes is that of a cluster which grew from nothing.
type ttlRunner struct {
	Runner
	recover func()
}

func (r ttlRunner) Run(ctx context.Context, stop <-chan struct{}, workers int) {
	r.recover()
	r.Runner.Run(ctx, stop, workers)
}
