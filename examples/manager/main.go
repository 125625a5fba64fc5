// Command manager runs the cores of purekube as controllers, in the place of those of
// kube-controller-manager that they mirror.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"

	"github.com/purekube/purekube/examples/manager/cores"
	"github.com/purekube/purekube/examples/manager/executor"
	"github.com/purekube/purekube/examples/manager/scale"
)

// component is the manager's name in events, requests and the Lease.
const component = "purekube-manager"

func main() {
	s, err := parseSettings(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2) // the reason has been printed
	}
	s.setUpLogging(os.Stderr)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, s); err != nil {
		slog.Error("Ended", "error", err)
		os.Exit(1)
	}
	slog.Info("Ended")
}

// run is the manager's life, until ctx is done.
func run(ctx context.Context, s settings) error {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return err
	}
	config.UserAgent, config.QPS, config.Burst = component, s.qps, s.burst
	c, stopEvents, err := connect(config, s)
	if err != nil {
		return err
	}
	defer stopEvents()

	var controllers []cores.Runner
	for _, name := range s.controllers {
		own, err := withClients(c, config, s)
		if err != nil {
			return err
		}
		controllers = append(controllers, cores.All[name](own))
	}
	serving, err := serve(s.address, controllers)
	if err != nil {
		return err
	}
	defer serving.Close()

	watching, endWatches := context.WithCancel(ctx)
	c.Informers.StartWithContext(watching)
	defer c.Informers.Shutdown()
	defer endWatches() // first: a lost Lease leaves ctx as it is
	for _, r := range controllers {
		if !cache.WaitForCacheSync(ctx.Done(), r.HasSynced) {
			return nil // the end came first
		}
	}
	slog.Info("Synced", "controllers", s.controllers)

	work := func(ctx context.Context, stop <-chan struct{}) {
		var running sync.WaitGroup
		for _, r := range controllers {
			running.Go(func() { r.Run(ctx, stop, s.workers) })
		}
		running.Wait()
	}
	if !s.leaderElect || s.dryRun { // a dry run writes nothing, not even a Lease
		work(context.WithoutCancel(ctx), ctx.Done())
		return nil
	}
	return lead(ctx, config, s, work)
}

// connect makes what the cores share, and what sends off the last events.
func connect(config *rest.Config, s settings) (c cores.Cluster, stopEvents func(), err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return c, nil, err
	}
	// Each client has a rate of its own: events must not use up that of the informers.
	recording, err := kubernetes.NewForConfig(config)
	if err != nil {
		return c, nil, err
	}
	events := record.NewBroadcaster()
	c = cores.Cluster{
		Options:   cores.Match(s.matchUpstream),
		Informers: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(trim)),
		Events:    events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
	}
	if s.dryRun {
		events.StartLogging(func(format string, args ...any) { slog.Info("Would record: " + fmt.Sprintf(format, args...)) })
	} else {
		events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: recording.CoreV1().Events("")})
	}
	return c, events.Shutdown, nil
}

// withClients is the cluster with the clients of one core: one for its writes, one for its lookups.
func withClients(c cores.Cluster, config *rest.Config, s settings) (*cores.Cluster, error) {
	writes, err := executor.New(config)
	if err != nil {
		return nil, err
	}
	if c.Client = writes; s.dryRun {
		c.Client = executor.DryRun{Log: slog.Default()}
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.Timeout = s.lookupQPS, max(1, int(s.lookupQPS)), lookupTimeout
	if c.Live, err = executor.New(config); err != nil {
		return nil, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	c.Scales = &scale.Client{
		Getter: c.Live, Discovery: kinds, ResetEvery: 10 * time.Second,
		Mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds)),
	}
	return &c, nil
}

// lookupTimeout is for one call: discovery takes no context.
const lookupTimeout = 10 * time.Second

// trim takes out of an object what no core looks at and what takes the most memory.
func trim(object any) (any, error) {
	if o, ok := object.(interface {
		SetManagedFields([]metav1.ManagedFieldsEntry)
	}); ok {
		o.SetManagedFields(nil)
	}
	return object, nil
}
