// Package adapter gives the controllers of package clientgo the form that Kubernetes' own suites expect: a
// controller that is made from clients and run.
package adapter

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/record"

	"github.com/purekube/purekube/clientgo"
)

// Controller runs one core.
type Controller struct {
	clientgo.Runner
	informers informers.SharedInformerFactory
	events    record.EventBroadcaster
	client    kubernetes.Interface
}

// New makes the controller of that core. It has informers of its own.
func New(core string, client kubernetes.Interface, o clientgo.PackageOptions) *Controller {
	exec := clientgo.ExecutorFor(client.CoreV1().RESTClient())
	c := &Controller{informers: informers.NewSharedInformerFactory(client, 0), events: record.NewBroadcaster(), client: client}
	var err error
	c.Runner, err = clientgo.NewRunner(core, clientgo.Cluster{
		Informers: clientgo.FromFactory(c.informers), Client: exec,
		Lookup: clientgo.LookupFor(exec, client.Discovery(), restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))),
		Record: clientgo.RecordTo(c.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "purekube"})),
	}, o)
	if err != nil {
		panic(err) // a mistake in the adapter
	}
	return c
}

// Run works until ctx is done.
func (c *Controller) Run(ctx context.Context, _ int) {
	c.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.client.CoreV1().Events("")})
	defer c.events.Shutdown()
	c.informers.Start(ctx.Done())
	defer c.informers.Shutdown()
	if err := c.Runner.Run(ctx); err != nil {
		panic(err)
	}
}
