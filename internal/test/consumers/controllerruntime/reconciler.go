// Package controllerruntime writes the status of PodDisruptionBudgets with a manager of controller-runtime.
package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

const (
	// maxRounds of lookups for one plan: a ReplicaSet and the scale of its Deployment are two.
	maxRounds = 8
	// lookUpTimeout is for all lookups of one plan. Writes have their own time.
	lookUpTimeout = 30 * time.Second
	// maxPause is how long a key rests at the most after an error, however often it failed.
	maxPause = time.Minute
)

// Budgets writes the status of PodDisruptionBudgets, and the condition DisruptionTarget of pods.
type Budgets struct {
	Do     func(context.Context, purekube.Request) (runtime.Object, error)
	LookUp func(context.Context, purekube.Need) (purekube.Answer, error)
	Record func(purekube.Event)

	mu    sync.Mutex // of index, the pointer; an Index itself needs no lock
	index *disruption.Index
}

type (
	key    = purekube.Key
	index  = disruption.Index
	object = client.Object
	queue  = workqueue.TypedRateLimitingInterface[key]
)

// SetupWithManager makes every event of the manager's cache the next Index, and has the manager reconcile the keys that
// the event affects.
//
// The manager calls Reconcile only after the handlers have seen everything that the cache listed, so that the Index
// is complete by then.
func (b *Budgets) SetupWithManager(manager ctrl.Manager) error {
	b.index = disruption.NewIndex(disruption.Snapshot{}, disruption.Options{})
	with := func(o object, q queue) { b.update(q, o, (*disruption.Index).With) }
	events := handler.TypedFuncs[object, key]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[object], q queue) { with(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[object], q queue) { with(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[object], q queue) {
			b.update(q, e.Object, (*disruption.Index).Without)
		},
	}
	c := builder.TypedControllerManagedBy[key](manager).Named("disruption").WithOptions(controller.TypedOptions[key]{
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[key](5*time.Millisecond, maxPause),
	})
	for _, kind := range []object{&policyv1.PodDisruptionBudget{}, &corev1.Pod{}, &corev1.ReplicationController{},
		&appsv1.ReplicaSet{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}} {
		c = c.Watches(kind, events)
	}
	return c.Complete(b)
}

func (b *Budgets) update(q queue, o object, change func(*index, disruption.Snapshot) (*index, []key)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var keys []key
	b.index, keys = change(b.index, snapshotOf(o))
	for _, k := range keys {
		q.Add(k)
	}
}

func snapshotOf(o object) (s disruption.Snapshot) {
	switch o := o.(type) {
	case *policyv1.PodDisruptionBudget:
		s.Budgets = append(s.Budgets, o)
	case *corev1.Pod:
		s.Pods = append(s.Pods, o)
	case *corev1.ReplicationController:
		s.ReplicationControllers = append(s.ReplicationControllers, o)
	case *appsv1.ReplicaSet:
		s.ReplicaSets = append(s.ReplicaSets, o)
	case *appsv1.Deployment:
		s.Deployments = append(s.Deployments, o)
	case *appsv1.StatefulSet:
		s.StatefulSets = append(s.StatefulSets, o)
	}
	return s
}

// Reconcile plans one budget or pod, and carries the plan out. After an error the manager calls it again, with pauses.
func (b *Budgets) Reconcile(ctx context.Context, k key) (ctrl.Result, error) {
	now := time.Now()
	b.mu.Lock()
	index := b.index
	b.mu.Unlock()
	index, _ = index.With(disruption.Snapshot{Now: now}) // the time of this plan

	result, failed := b.plan(ctx, index, k)
	for _, e := range result.Events {
		b.Record(e)
	}
	// A lookup that failed is in the status, which allows nothing then. That status is written all the same.
	_, err := purekube.CarryOut(result.Actions, func(r purekube.Request) (runtime.Object, error) {
		return b.Do(ctx, r)
	}, b.Record)
	if err = errors.Join(failed, err); err != nil || result.RecheckAt.IsZero() {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: max(time.Millisecond, result.RecheckAt.Sub(now))}, nil // 0 would be never
}

// plan makes the plan for a key, lookups included. Its error is the error of a lookup; another attempt may succeed.
func (b *Budgets) plan(ctx context.Context, index *disruption.Index, k key) (disruption.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	var failed error
	for round := 0; ; round++ {
		result, err := index.Plan(k)
		if len(result.Needs) == 0 {
			if err != nil { // it names objects to mend, and an event brings the key back: no retry
				log.FromContext(ctx).Error(err, "Plan is not whole")
			}
			return result, failed
		}
		if round == maxRounds {
			return disruption.Result{},
				fmt.Errorf("%d lookups open after %d rounds: first %v", len(result.Needs), round, result.Needs[0])
		}
		answers := map[purekube.Need]purekube.Answer{}
		for _, n := range result.Needs {
			answer, err := b.LookUp(ctx, n)
			if failed == nil {
				failed = err // the first says enough: a thousand pods may have a thousand controllers
			}
			answers[n] = answer
		}
		index, _ = index.With(disruption.Snapshot{Answers: answers})
	}
}
