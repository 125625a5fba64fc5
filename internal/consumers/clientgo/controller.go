// Package clientgo plans from informers' caches, and has the controller and the executor that docs/controller.md shows.
package clientgo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	Queue  workqueue.TypedRateLimitingInterface[string]

	mu    sync.Mutex // of index, the pointer; an Index itself needs no lock
	index *servicecidr.Index
}

// Watch makes every event of the informers the next Index, and queues the names that it affects.
func (c *Controller) Watch(factory informers.SharedInformerFactory) error {
	c.index = servicecidr.NewIndex(servicecidr.Snapshot{}, servicecidr.Options{})
	set := func(object any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		var names []string
		c.index, names = c.index.With(snapshotOf(object))
		c.enqueue(names)
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
			var names []string
			c.index, names = c.index.Without(snapshotOf(object))
			c.enqueue(names)
		},
	}
	_, err1 := factory.Networking().V1().ServiceCIDRs().Informer().AddEventHandler(handlers)
	_, err2 := factory.Networking().V1().IPAddresses().Informer().AddEventHandler(handlers)
	return errors.Join(err1, err2)
}

func (c *Controller) enqueue(names []string) {
	for _, name := range names {
		c.Queue.Add(name)
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

// Run works on the queue until it is shut down. Start it when the caches of both informers have synced.
func (c *Controller) Run(ctx context.Context) {
	for {
		name, shutdown := c.Queue.Get()
		if shutdown {
			return
		}
		err := c.reconcile(ctx, name)
		switch {
		case err == nil:
			c.Queue.Forget(name)
		case c.Queue.NumRequeues(name) < servicecidr.MaxRetries:
			slog.Warn("Trying again", "serviceCIDR", name, "error", err)
			c.Queue.AddRateLimited(name)
		default:
			slog.Error("Dropped until something changes", "serviceCIDR", name, "error", err)
			c.Queue.Forget(name)
		}
		c.Queue.Done(name)
	}
}

// reconcile plans one ServiceCIDR, and carries the plan out.
func (c *Controller) reconcile(ctx context.Context, name string) error {
	now := time.Now()
	c.mu.Lock()
	index := c.index
	c.mu.Unlock()
	index, _ = index.With(servicecidr.Snapshot{Now: now}) // the time of this plan

	result, err := index.Plan(name)
	if err != nil {
		slog.Error("Not planned", "serviceCIDR", name, "error", err) // an event brings it back: no retry
	}
	for _, e := range result.Events {
		c.Record(e)
	}
	if !result.RecheckAt.IsZero() {
		c.Queue.AddAfter(name, result.RecheckAt.Sub(now))
	}
	return CarryOut(ctx, result.Actions, c.Do, c.Record)
}

// CarryOut makes the calls of one plan, of whatever package. Plan again when it returns an error.
func CarryOut[A purekube.Action](ctx context.Context, actions []A, do func(context.Context, purekube.Request) (runtime.Object, error), record func(purekube.Event)) error {
	var done []runtime.Object
	var failed error
	for _, action := range actions {
		request := action.Request(done)
		object, err := do(ctx, request)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", action, err))
			if reporter, ok := purekube.Action(action).(purekube.FailureReporter); ok {
				if event, ok := reporter.FailureEvent(err); ok {
					record(event)
				}
			}
			if !request.GoOn {
				break
			}
			object = nil // the actions behind it know it as a call that failed
		}
		done = append(done, object)
	}
	return failed
}
