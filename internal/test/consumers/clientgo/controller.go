// Package clientgo plans from informers' caches, and has the controller and the executor that docs/controller.md shows.
package clientgo

import (
	"context"
	"log/slog"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/servicecidr"
)

// Controller decides about ServiceCIDRs.
type Controller struct {
	Do     func(context.Context, purekube.Request) (runtime.Object, error)
	Record func(purekube.Event)
	Queue  workqueue.TypedRateLimitingInterface[purekube.Key]

	mu     sync.Mutex // of index, the pointer; an Index itself needs no lock
	index  *servicecidr.Index
	synced []cache.InformerSynced  // of the handlers, which fill index
	seen   map[types.UID]time.Time // when each deletion of a ServiceCIDR was seen first, by the clock of the plans
}

// Run plans from the factory's informers until ctx is done. Call it once, and only while no other replica runs.
func (c *Controller) Run(ctx context.Context, factory informers.SharedInformerFactory) error {
	if err := c.watch(factory); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	// The caches are full before the handlers have seen everything in them. A plan from half an Index would take
	// an address that is missing from it for one that is gone.
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return ctx.Err()
	}
	defer context.AfterFunc(ctx, c.Queue.ShutDown)()
	c.work(ctx)
	return ctx.Err()
}

// watch makes every event of the informers the next Index, and queues the keys that it affects.
func (c *Controller) watch(factory informers.SharedInformerFactory) error {
	c.seen = map[types.UID]time.Time{}
	c.index = servicecidr.NewIndex(servicecidr.Snapshot{DeletionSeen: c.seen}, servicecidr.Options{})
	set := func(object any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		s := snapshotOf(object)
		for _, cidr := range s.ServiceCIDRs {
			if cidr.DeletionTimestamp != nil && c.seen[cidr.UID].IsZero() { // later events leave the time as it is
				c.seen[cidr.UID] = time.Now()
			}
			s.DeletionSeen = map[types.UID]time.Time{cidr.UID: c.seen[cidr.UID]}
		}
		var affected []purekube.Key
		c.index, affected = c.index.With(s)
		c.enqueue(affected)
	}
	handlers := cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, object any) { set(object) },
		DeleteFunc: func(object any) {
			if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = missed.Obj
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			s := snapshotOf(object)
			for _, cidr := range s.ServiceCIDRs {
				s.DeletionSeen = map[types.UID]time.Time{cidr.UID: c.seen[cidr.UID]}
				delete(c.seen, cidr.UID)
			}
			var affected []purekube.Key
			c.index, affected = c.index.Without(s)
			c.enqueue(affected)
		},
	}
	networking := factory.Networking().V1()
	watched := []cache.SharedIndexInformer{networking.ServiceCIDRs().Informer(), networking.IPAddresses().Informer()}
	for _, informer := range watched {
		registration, err := informer.AddEventHandler(handlers)
		if err != nil {
			return err
		}
		c.synced = append(c.synced, registration.HasSynced)
	}
	return nil
}

func (c *Controller) enqueue(keys []purekube.Key) {
	for _, key := range keys {
		c.Queue.Add(key)
	}
}

func snapshotOf(object any) (s servicecidr.Snapshot) {
	switch o := object.(type) {
	case *networkingv1.ServiceCIDR:
		s.ServiceCIDRs = append(s.ServiceCIDRs, o)
	case *networkingv1.IPAddress:
		s.IPAddresses = append(s.IPAddresses, o)
	}
	return s
}

// maxRetries is how often a failed plan is tried again in quick succession, as kube-controller-manager does (BR-31-04).
const maxRetries = 15

// work plans what is in the queue until the queue is shut down.
func (c *Controller) work(ctx context.Context) {
	for {
		key, shutdown := c.Queue.Get()
		if shutdown {
			return
		}
		err := c.reconcile(ctx, key)
		switch {
		case err == nil:
			c.Queue.Forget(key)
		case c.Queue.NumRequeues(key) < maxRetries:
			slog.Warn("Trying again", "key", key, "error", err)
			c.Queue.AddRateLimited(key)
		default:
			slog.Error("Resting for ten minutes", "key", key, "error", err)
			c.Queue.Forget(key)
			c.Queue.AddAfter(key, 10*time.Minute) // nothing else may bring it back
		}
		c.Queue.Done(key)
	}
}

// reconcile plans one ServiceCIDR, and carries the plan out.
func (c *Controller) reconcile(ctx context.Context, key purekube.Key) error {
	now := time.Now()
	c.mu.Lock()
	index := c.index
	c.mu.Unlock()
	index, _ = index.With(servicecidr.Snapshot{Now: now}) // the time of this plan

	result, err := index.Plan(key)
	if err != nil {
		slog.Error("Not planned", "key", key, "error", err) // an event brings it back: no retry
	}
	for _, e := range result.Events {
		c.Record(e)
	}
	if !result.RecheckAt.IsZero() {
		c.Queue.AddAfter(key, result.RecheckAt.Sub(now))
	}
	_, err = purekube.CarryOut(result.Actions, func(r purekube.Request) (runtime.Object, error) {
		return c.Do(ctx, r)
	}, c.Record)
	return err
}
