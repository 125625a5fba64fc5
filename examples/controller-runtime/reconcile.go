package main

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/purekube/purekube"
)

// reconciler plans one key with a core and carries the plan out.
type reconciler[K comparable, A purekube.Action] struct {
	client client.Client
	events events.EventRecorder
	// plan reads what the core needs and asks it. The result is carried out even where there is an error, and the key
	// is planned again then.
	plan func(context.Context, K) (purekube.Result[A], error)
}

// maxPause is how long a key rests at the most after an error, however often it failed. A RecheckAt is that late then:
// controller-runtime takes no RequeueAfter together with an error.
const maxPause = time.Minute

func options[K comparable]() controller.TypedOptions[K] {
	pauses := workqueue.NewTypedItemExponentialFailureRateLimiter[K](5*time.Millisecond, maxPause)
	return controller.TypedOptions[K]{RateLimiter: pauses}
}

// logProblems is for the error of a plan. It names objects to mend, and their events bring the key back, so that
// another attempt is of no use.
func logProblems(ctx context.Context, err error) {
	if err != nil {
		log.FromContext(ctx).Error(err, "Plan is not whole")
	}
}

// Reconcile is called for each key that an event affects, and again when the plan says so. After an error
// controller-runtime tries again, with pauses.
func (r *reconciler[K, A]) Reconcile(ctx context.Context, key K) (reconcile.Result, error) {
	result, err := r.plan(ctx, key)
	for _, e := range result.Events {
		r.record(e)
	}
	_, failed := purekube.CarryOut(result.Actions, func(request purekube.Request) (runtime.Object, error) {
		return do(ctx, r.client, request)
	}, r.record)
	err = errors.Join(err, failed)
	if err != nil || result.RecheckAt.IsZero() {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: max(time.Millisecond, time.Until(result.RecheckAt))}, nil
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
