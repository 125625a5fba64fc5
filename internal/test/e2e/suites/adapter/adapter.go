// Package adapter gives the controllers of examples/manager the form that Kubernetes' own suites expect: a
// controller that is made from clients and run.
package adapter

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/purekube/purekube/examples/manager/cores"
	"github.com/purekube/purekube/examples/manager/executor"
	"github.com/purekube/purekube/examples/manager/scale"
)

// Controller runs one core.
type Controller struct {
	runner  cores.Runner
	cluster *cores.Cluster
	events  record.EventBroadcaster
	client  kubernetes.Interface
}

// New makes the controller of that core. It has informers of its own.
func New(core string, client kubernetes.Interface, o cores.Options) *Controller {
	exec := executor.With(client.CoreV1().RESTClient())
	events := record.NewBroadcaster()
	c := &cores.Cluster{
		Options: o, Client: exec, Live: exec,
		Scales: &scale.Client{Getter: exec, Discovery: client.Discovery(), ResetEvery: time.Second,
			Mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))},
		Informers: informers.NewSharedInformerFactory(client, 0),
		Events:    events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "purekube"}),
	}
	return &Controller{runner: cores.All[core](c), cluster: c, events: events, client: client}
}

// Run works until ctx is done.
func (c *Controller) Run(ctx context.Context, workers int) {
	c.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.client.CoreV1().Events("")})
	defer c.events.Shutdown()
	c.cluster.Informers.StartWithContext(ctx)
	defer c.cluster.Informers.Shutdown()
	// False where ctx is done already. Then Run ends at once, and its queue with it.
	cache.WaitForCacheSync(ctx.Done(), c.runner.HasSynced)
	c.runner.Run(ctx, ctx.Done(), workers)
}
