package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/consumers/clientgo"
	"github.com/purekube/purekube/internal/test/consumers/late"
	"github.com/purekube/purekube/internal/test/e2e/cluster"
	"github.com/purekube/purekube/servicecidr"
)

// A controller that starts while a ServiceCIDR with many addresses is being deleted takes none of them for gone: the
// manager, started eight times, and the controller of docs/controller.md with a handler that is late.
func TestStartWhileAServiceCIDRIsBeingDeleted(t *testing.T) {
	t.Parallel()
	const addresses, starts = 200, 8
	forEachModule(t, func(t *testing.T, of module) {
		w := newWorld(t)
		ns := w.namespace(t, "starts")
		m := w.start(t, of, "manager", w.Endpoint(), of.alone...)
		w.createServiceCIDR(t, "leaving", "10.40.0.0/24")
		for i := range addresses {
			w.createService(t, ns, fmt.Sprint("service-", i), fmt.Sprint("10.40.0.", i+1))
		}
		require.NoError(t, w.NetworkingV1().ServiceCIDRs().Delete(t.Context(), "leaving", metav1.DeleteOptions{}))
		stays := w.serviceCIDRIs("leaving", metav1.ConditionFalse, networkingv1.ServiceCIDRReasonTerminating)
		eventually(t, patience, "Terminating", stays)
		m.stop(t)
		time.Sleep(servicecidr.DeletionGracePeriod) // counted from the deletion timestamp, it is over at every start

		for n := range starts {
			m := w.start(t, of, "manager", w.Endpoint(), of.alone...)
			eventually(t, patience, "the manager is ready", m.ready)
			throughout(t, 1500*time.Millisecond, fmt.Sprintf("held by %d addresses after start %d", addresses, n+1), stays)
			m.stop(t)
		}

		release := make(chan struct{})
		synced := w.startPage(t, func() { <-release })
		eventually(t, patience, "the caches are full", func(context.Context) error { return expect("synced", true, synced()) })
		throughout(t, servicecidr.DeletionGracePeriod+2*time.Second, "held while the handler is late", stays)
		close(release)
		throughout(t, 3*time.Second, "held by its addresses", stays)
		for i := range addresses {
			require.NoError(t, w.CoreV1().Services(ns).Delete(t.Context(), fmt.Sprint("service-", i), metav1.DeleteOptions{}))
		}
		eventually(t, patience, "gone with its addresses", w.noServiceCIDR("leaving"))
	})
}

// startPage runs the controller of docs/controller.md until the test ends, with the rights of the manager. before is
// called before its handler sees an IPAddress. It returns whether the caches of the informers are full.
func (w *world) startPage(t *testing.T, before func()) (synced func() bool) {
	t.Helper()
	config := w.Config(cluster.Manager)
	reads, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	writes, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	c := &clientgo.Controller{
		Do: func(ctx context.Context, r purekube.Request) (runtime.Object, error) {
			return clientgo.Do(ctx, writes, r)
		},
		Record: func(purekube.Event) {},
		Queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[purekube.Key]()),
	}
	factory := informers.NewSharedInformerFactory(reads, 0)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run(ctx, late.IPAddresses(factory, before)) }) // its error is that of ctx
	t.Cleanup(func() {
		cancel()
		running.Wait()
		factory.Shutdown()
	})
	networking := factory.Networking().V1()
	informers := []cache.SharedIndexInformer{networking.ServiceCIDRs().Informer(), networking.IPAddresses().Informer()}
	return func() bool { return informers[0].HasSynced() && informers[1].HasSynced() }
}
