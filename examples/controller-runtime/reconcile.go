package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/purekube/purekube"
)

// reconciler plans one key with a core and carries the plan out.
type reconciler[K comparable, A purekube.Action] struct {
	client client.Client
	events events.EventRecorder
	// plan reads what the core needs and asks it.
	plan func(context.Context, K) (purekube.Result[A], error)
}

// Reconcile is called for each key that an event affects, and again when the plan says so. After an error
// controller-runtime tries again, with pauses.
func (r *reconciler[K, A]) Reconcile(ctx context.Context, key K) (reconcile.Result, error) {
	result, err := r.plan(ctx, key)
	for _, e := range result.Events {
		r.record(e)
	}
	err = errors.Join(err, r.carryOut(ctx, result.Actions))
	if result.RecheckAt.IsZero() {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: max(time.Millisecond, time.Until(result.RecheckAt))}, err
}

func (r *reconciler[K, A]) carryOut(ctx context.Context, actions []A) error {
	var done []runtime.Object
	var failures []error
	for _, action := range actions {
		request := action.Request(done)
		object, err := do(ctx, r.client, request)
		if err == nil {
			done = append(done, object)
			continue
		}
		failures = append(failures, fmt.Errorf("%s: %w", action, err))
		if reporter, ok := any(action).(purekube.FailureReporter); ok {
			if e, worth := reporter.FailureEvent(err); worth {
				r.record(e)
			}
		}
		if !request.GoOn {
			break
		}
		done = append(done, nil)
	}
	return errors.Join(failures...)
}

func (r *reconciler[K, A]) record(e purekube.Event) {
	r.events.Eventf(&e.Regarding, nil, e.Type, e.Reason, "Plan", "%s", e.Message)
}

// pointers are what the cores take.
func pointers[T any](list []T) []*T {
	var p []*T
	for i := range list {
		p = append(p, &list[i])
	}
	return p
}
