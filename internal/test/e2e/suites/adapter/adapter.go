// Package adapter gives the controllers of the modules clientgo and controllerruntime the form that Kubernetes' own
// suites expect: a controller that is made from clients and run.
package adapter

import (
	"context"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/purekube/purekube/clientgo"
)

// Controller runs one core.
type Controller struct{ run func(context.Context) error }

// New makes the controller of that core, by the module in the environment variable MODULE: clientgo unless it says
// controllerruntime. It has informers of its own.
func New(core string, client kubernetes.Interface, o clientgo.PackageOptions) *Controller {
	newRun := onClients
	if os.Getenv("MODULE") == "controllerruntime" {
		newRun = onManager
	}
	run, err := newRun(core, client, o)
	if err != nil {
		panic(err) // a mistake in the adapter
	}
	return &Controller{run}
}

// Run works until ctx is done.
func (c *Controller) Run(ctx context.Context, _ int) {
	if err := c.run(ctx); err != nil {
		panic(err)
	}
}

// onClients makes the controller of clientgo.
func onClients(
	core string, client kubernetes.Interface, o clientgo.PackageOptions,
) (run func(context.Context) error, err error) {
	factory, events := informers.NewSharedInformerFactory(client, 0), record.NewBroadcaster()
	exec := clientgo.ExecutorFor(client.CoreV1().RESTClient())
	runner, err := clientgo.NewRunner(core, clientgo.Cluster{
		Informers: clientgo.FromFactory(factory), Client: exec,
		Lookup: clientgo.LookupFor(exec, client.Discovery()), ServiceCIDRs: clientgo.ListServiceCIDRs(client),
		Record: clientgo.RecordTo(events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "purekube"})),
	}, o)
	return func(ctx context.Context) error {
		events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
		defer events.Shutdown()
		factory.Start(ctx.Done())
		defer factory.Shutdown()
		return runner.Run(ctx)
	}, err
}
