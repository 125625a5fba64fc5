package cores

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/ttl"
)

func newTTL(c *Cluster) Runner {
	r := controller.New("ttl", ttl.NewIndex(ttl.Snapshot{}, c.TTL), c.Client, c.Events, controller.Options[*ttl.Index, ttl.Snapshot, purekube.Key]{
		Begin: func(x *ttl.Index) []purekube.Key {
			outcomes, err := x.PlanAll()
			return begin(outcomes, err)
		},
	})
	controller.Watch(r, c.Informers.Core().V1().Nodes().Informer(), func(o *corev1.Node) ttl.Snapshot { return ttl.Snapshot{Nodes: []*corev1.Node{o}} })
	return ttlRunner{r, func() { r.Update((*ttl.Index).Recover) }}
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
