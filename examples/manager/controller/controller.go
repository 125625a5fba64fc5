// Package controller runs a core of purekube as a Kubernetes controller: events become changes of its
// Index, the keys that they affect go into a work queue, and workers plan these keys and carry the
// plans out.
package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"github.com/purekube/purekube"
)

// Index is the state of the cluster as a core sees it: a value, from which each event makes the
// next one. X is the core's Index type, S its Snapshot, K its key, A its Action.
type Index[X, S any, K comparable, A purekube.Action] interface {
	With(changed S) (next X, affected []K)
	Without(gone S) (next X, affected []K)
	Plan(key K) (purekube.Result[A], error)
}

// Client carries out requests: an executor.Executor, or an executor.DryRun.
type Client interface {
	Do(context.Context, purekube.Request) (runtime.Object, error)
}

// Options are what a core needs beyond its Index. All may be left out.
type Options[X, S any] struct {
	// At returns what the Index does not learn from events: the time, for most cores.
	At func(now time.Time, index X) S
	// Answer makes the look-ups that a plan needs. With an error, the key is planned again later.
	Answer func(context.Context, []purekube.Need) (S, error)
	// Written is told of each object as a write left it.
	Written func(runtime.Object)
	// RetryProblems is for a core whose plans are to be made again when they have an error. For others, only
	// an event can make it go.
	RetryProblems bool
	// Retries is how often a key that fails is tried again in quick succession; 0 is without end.
	Retries int
}

// PauseAfterRetries is how long a key rests whose Retries did not help.
const PauseAfterRetries = 10 * time.Minute

// planTimeout is for all requests of one plan together.
const planTimeout = time.Minute

// maxRounds of look-ups: a ReplicaSet, its Deployment and that one's scale are three.
const maxRounds = 8

// Controller plans the keys of one core.
type Controller[X Index[X, S, K, A], S any, K comparable, A purekube.Action] struct {
	Options[X, S]

	name   string
	client Client
	events record.EventRecorder
	log    *slog.Logger
	queue  workqueue.TypedRateLimitingInterface[K]
	synced []cache.InformerSynced

	mu    sync.Mutex
	index X
}

// New returns a controller that starts from this Index, that of a cluster without objects. Watch
// fills it.
func New[X Index[X, S, K, A], S any, K comparable, A purekube.Action](
	name string, index X, client Client, events record.EventRecorder, o Options[X, S],
) *Controller[X, S, K, A] {
	return &Controller[X, S, K, A]{
		Options: o, name: name, index: index, client: client, events: events,
		log: slog.Default().With("controller", name),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[K](),
			workqueue.TypedRateLimitingQueueConfig[K]{Name: name}),
	}
}

// Name of the controller.
func (c *Controller[X, S, K, A]) Name() string { return c.name }

// HasSynced reports whether the Index holds what the informers listed at the start.
func (c *Controller[X, S, K, A]) HasSynced() bool {
	for _, synced := range c.synced {
		if !synced() {
			return false
		}
	}
	return true
}

// Update replaces the Index and queues the keys that this affects.
func (c *Controller[X, S, K, A]) Update(change func(X) (X, []K)) {
	c.mu.Lock()
	next, affected := change(c.index)
	c.index = next
	c.mu.Unlock()
	for _, key := range affected {
		c.queue.Add(key)
	}
}

// current is the Index of now.
func (c *Controller[X, S, K, A]) current() X {
	c.mu.Lock()
	index := c.index
	c.mu.Unlock()
	if c.At != nil {
		index, _ = index.With(c.At(time.Now(), index))
	}
	return index
}

// Run plans with this number of workers until stop is done; each ends with the plan that it is at.
// The requests of plans end with ctx.
func (c *Controller[X, S, K, A]) Run(ctx context.Context, stop <-chan struct{}, workers int) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() { c.work(ctx, stop) })
	}
	<-stop
	c.queue.ShutDown()
	running.Wait()
}

func (c *Controller[X, S, K, A]) work(ctx context.Context, stop <-chan struct{}) {
	for {
		key, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		select {
		case <-stop: // what is still queued is planned after the next start
		default:
			c.process(ctx, key)
		}
		c.queue.Done(key)
	}
}

// process plans a key and says when to plan it again.
func (c *Controller[X, S, K, A]) process(ctx context.Context, key K) {
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	recheckAt, err := c.sync(ctx, key)
	if !recheckAt.IsZero() {
		c.queue.AddAfter(key, time.Until(recheckAt))
	}
	if err == nil {
		c.queue.Forget(key)
		return
	}
	retry := c.queue.NumRequeues(key) + 1
	seconds, asked := apierrors.SuggestsClientDelay(err)
	switch {
	case asked && seconds > 0: // the API server says when: it is busy, and the key is not at fault
		c.queue.AddAfter(key, time.Duration(seconds)*time.Second)
	case c.Retries > 0 && retry > c.Retries:
		c.queue.Forget(key)
		c.queue.AddAfter(key, PauseAfterRetries)
	default:
		c.queue.AddRateLimited(key)
	}
	level := slog.LevelWarn
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		level = slog.LevelInfo // the cluster went on meanwhile
	}
	c.log.Log(ctx, level, "Will plan again", "key", key, "retry", retry, "error", err)
}

// sync makes the plan for a key, look-ups included, and carries it out.
func (c *Controller[X, S, K, A]) sync(ctx context.Context, key K) (recheckAt time.Time, err error) {
	started := time.Now()
	index := c.current()
	result, problems := index.Plan(key)
	var lookups error
	for round := 0; len(result.Needs) > 0 && lookups == nil; round++ {
		if round == maxRounds {
			return time.Time{}, fmt.Errorf("still in need of %v after %d rounds of look-ups", result.Needs, round)
		}
		// The answers serve this plan alone: they are in an Index that nobody else sees.
		var answers S
		answers, lookups = c.Answer(ctx, result.Needs)
		index, _ = index.With(answers)
		result, problems = index.Plan(key)
	}
	observePlan(c.name, time.Since(started), len(result.Actions), errors.Join(problems, lookups))
	for _, e := range result.Events {
		c.record(e)
	}
	if problems != nil && !c.RetryProblems {
		c.log.Warn("Plan is not whole", "key", key, "error", problems)
		problems = nil
	}
	return result.RecheckAt, errors.Join(problems, lookups, c.carryOut(ctx, key, result.Actions))
}

// carryOut makes the calls of a plan, in order.
func (c *Controller[X, S, K, A]) carryOut(ctx context.Context, key K, actions []A) error {
	var done []runtime.Object
	var failures []error
	for _, action := range actions {
		request := action.Request(done)
		c.log.Info("Carrying out", "key", key, "action", action.String(), "request", request.String())
		object, err := c.client.Do(ctx, request)
		observeAction(c.name, action, err)
		if err == nil {
			// What a deletion returns is no more.
			if c.Written != nil && object != nil && request.Verb != "delete" {
				c.Written(object)
			}
			done = append(done, object)
			continue
		}
		failures = append(failures, fmt.Errorf("%s: %w", action, err))
		if reporter, ok := any(action).(purekube.FailureReporter); ok {
			if e, worth := reporter.FailureEvent(err); worth {
				c.record(e)
			}
		}
		if !request.GoOn {
			break
		}
		done = append(done, nil)
	}
	return errors.Join(failures...)
}

func (c *Controller[X, S, K, A]) record(e purekube.Event) {
	c.events.Event(&e.Regarding, e.Type, e.Reason, e.Message)
}
