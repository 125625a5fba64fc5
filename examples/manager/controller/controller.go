// Package controller runs a core of purekube as a Kubernetes controller: events become changes of its
// Index, the keys that they affect go into a work queue, and workers plan these keys and carry the
// plans out.
package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// Options are what a core needs beyond its Index. All may be left out but Begin.
type Options[X, S any, K comparable] struct {
	// Begin returns the keys to plan at the start. Before that, no event queues anything: a manager that waits
	// for the Lease would keep the key of each object that there ever was.
	Begin func(index X) []K
	// At returns what the Index does not learn from events: the time, for most cores.
	At func(now time.Time, index X) S
	// Lookup makes one lookup. It is made again if it returns an error; Answer.Err is an error that is final.
	Lookup func(context.Context, purekube.Need) (Answer, error)
	// Answers puts the answers to lookups into a Snapshot.
	Answers func(map[purekube.Need]Answer) S
	// DecidesWithout is for a core that takes an error for the answer to a lookup, and refuses then. After
	// LookupsDeadline it is planned with what is known. Other cores wait.
	DecidesWithout bool
	// Written is told of each object as a write left it.
	Written func(runtime.Object)
	// RetryProblems is for a core whose plans are to be made again when they have an error. For others, only
	// an event can make it go.
	RetryProblems bool
	// Retries is how often a key that fails is tried again in quick succession; 0 is without end.
	Retries int
}

// KeysOf are the keys of the outcomes of a PlanAll: those that there is anything to do for.
func KeysOf[A purekube.Action](outcomes []purekube.Outcome[A]) []purekube.Key {
	keys := make([]purekube.Key, len(outcomes))
	for i := range outcomes {
		keys[i] = outcomes[i].Key
	}
	return keys
}

// PauseAfterRetries is how long a key rests whose Retries did not help.
const PauseAfterRetries = 10 * time.Minute

// writesTimeout is for all writes of one plan together. It does not begin before the lookups have ended, and is
// shorter than the time that a Deployment gives its pods to end.
const writesTimeout = 30 * time.Second

// Controller plans the keys of one core.
type Controller[X Index[X, S, K, A], S any, K comparable, A purekube.Action] struct {
	Options[X, S, K]

	name   string
	client Client
	events record.EventRecorder
	log    *slog.Logger
	queue  workqueue.TypedRateLimitingInterface[K]
	synced []cache.InformerSynced
	asking *lookups[K, X]

	mu      sync.Mutex
	index   X
	working bool
	fences  fences[K]
}

// New returns a controller that starts from this Index, that of a cluster without objects. Watch
// fills it.
func New[X Index[X, S, K, A], S any, K comparable, A purekube.Action](
	name string, index X, client Client, events record.EventRecorder, o Options[X, S, K],
) *Controller[X, S, K, A] {
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[K](),
		workqueue.TypedRateLimitingQueueConfig[K]{Name: name})
	return &Controller[X, S, K, A]{
		Options: o, name: name, index: index, client: client, events: events,
		log: slog.Default().With("controller", name), queue: queue,
		asking: newLookups[K, X](name, o.Lookup, queue.Add),
		fences: fences[K]{seen: map[schema.GroupResource]string{}, of: map[K]fence{}},
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
	c.update(change, schema.GroupResource{}, "")
}

// update replaces the Index by one that has the object of that resource and resourceVersion.
func (c *Controller[X, S, K, A]) update(change func(X) (X, []K), resource schema.GroupResource, version string) {
	c.mu.Lock()
	next, affected := change(c.index)
	c.index = next
	c.fences.see(resource, version)
	working := c.working
	c.mu.Unlock()
	if !working {
		return
	}
	for _, key := range affected {
		c.asking.affected(key)
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

// held reports whether the Index lacks what a plan of the key has written.
func (c *Controller[X, S, K, A]) held(key K) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fences.holds(key)
}

// PlanAll queues all keys that there is anything to do for.
func (c *Controller[X, S, K, A]) PlanAll() {
	for _, key := range c.Begin(c.current()) {
		c.asking.affected(key) // a question from before is planned anew
		c.queue.Add(key)
	}
}

// Run plans with this number of workers until stop is done; each ends with the plan that it is at.
// The requests of plans end with ctx.
func (c *Controller[X, S, K, A]) Run(ctx context.Context, stop <-chan struct{}, workers int) {
	c.mu.Lock()
	c.working = true
	c.mu.Unlock()
	c.PlanAll()
	looking, endLookups := context.WithCancel(ctx)
	defer endLookups()
	var running sync.WaitGroup
	running.Go(func() { c.asking.run(looking) })
	for range workers {
		running.Go(func() { c.work(ctx, stop) })
	}
	<-stop
	endLookups()
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
	if c.held(key) {
		c.queue.AddAfter(key, fencePoll)
		return
	}
	recheckAt, decided, err := c.sync(ctx, key)
	if !recheckAt.IsZero() {
		c.queue.AddAfter(key, time.Until(recheckAt))
	}
	if err == nil {
		if decided {
			c.queue.Forget(key)
		}
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
	c.log.Log(ctx, level, "Will plan again", "key", key, "retry", retry, "error", clip(err.Error(), maxLog))
}

// sync makes the plan for a key and carries it out, or asks for what the plan needs: then it is not decided, and the
// answers queue the key.
func (c *Controller[X, S, K, A]) sync(ctx context.Context, key K) (recheckAt time.Time, decided bool, err error) {
	p := c.plan(key)
	if p.waits {
		return time.Time{}, false, p.failures
	}
	for _, e := range p.result.Events {
		c.record(e)
	}
	if p.problems != nil && !c.RetryProblems {
		c.log.Warn("Plan is not whole", "key", key, "error", clip(p.problems.Error(), maxLog))
		p.problems = nil
	}
	// The writes have their own time: a status that refuses is written for the very reason that lookups took too long.
	ctx, cancel := context.WithTimeout(ctx, writesTimeout)
	defer cancel()
	return p.result.RecheckAt, true, errors.Join(p.problems, p.failures, c.carryOut(ctx, key, p.result.Actions))
}

// planned is a plan with the answers that it needs, or one that waits for them.
type planned[A purekube.Action] struct {
	result   purekube.Result[A]
	problems error
	waits    bool
	// failures are those of lookups, if they are reason to plan again.
	failures error
}

// plan makes the plan for a key with the answers that there are, and asks for those that there are not.
func (c *Controller[X, S, K, A]) plan(key K) (p planned[A]) {
	started := time.Now()
	defer func() {
		if !p.waits {
			observePlan(c.name, time.Since(started), len(p.result.Actions), errors.Join(p.problems, p.failures))
		}
	}()
	q, state := c.asking.of(key)
	late := state == collecting && c.DecidesWithout && q.late()
	switch {
	case state == collecting && !late:
		return planned[A]{waits: true}
	case state == none:
		if p.result, p.problems = c.current().Plan(key); len(p.result.Needs) == 0 {
			return p
		}
		q = c.asking.begin(key, c.DecidesWithout)
		q.index = c.current() // an event after this one marks the question
	case c.DecidesWithout:
		q.index = c.current() // the status that refused has changed the object
	}
	answers, failures := c.asking.answered(q)
	for {
		// The answers serve this plan alone: they are in an Index that nobody else sees.
		index, _ := q.index.With(c.Answers(answers))
		p.result, p.problems = index.Plan(key)
		if len(p.result.Needs) == 0 {
			break
		}
		open := without(p.result.Needs, answers)
		if len(open) == 0 || !late && q.rounds == maxRounds {
			c.asking.drop(key, q)
			if failures == nil {
				failures = fmt.Errorf("still in need of %d lookups after %d rounds, the first is %v", len(p.result.Needs), q.rounds, p.result.Needs[0])
			}
			return planned[A]{waits: true, failures: failures}
		}
		c.asking.ask(key, q, open)
		if late = c.DecidesWithout && q.late(); !late {
			return planned[A]{waits: true}
		}
		for _, n := range open {
			answers[n] = c.asking.instead(q, n)
		}
	}
	if late {
		c.log.Warn("Lookups are late", "key", key, "open", c.asking.openOf(q))
		return p // it is planned again when they are all answered
	}
	if c.asking.finish(key, q, c.DecidesWithout) {
		c.queue.Add(key)
	}
	p.failures = failures
	return p
}

// without are the needs that have no answer.
func without(needs []purekube.Need, answers map[purekube.Need]Answer) []purekube.Need {
	return slices.DeleteFunc(slices.Clone(needs), func(n purekube.Need) bool { _, answered := answers[n]; return answered })
}

// carryOut makes the calls of a plan, in order.
func (c *Controller[X, S, K, A]) carryOut(ctx context.Context, key K, actions []A) error {
	written := map[schema.GroupResource]string{}
	defer func() {
		c.mu.Lock()
		c.fences.set(key, written)
		c.mu.Unlock()
	}()
	n := 0
	_, err := purekube.CarryOut(actions, func(request purekube.Request) (runtime.Object, error) {
		action := actions[n]
		n++
		c.log.Info("Carrying out", "key", key, "action", clip(action.String(), maxLog), "request", clip(request.String(), maxLog))
		object, err := c.client.Do(ctx, request)
		observeAction(c.name, action, err)
		resource := request.Resource.GroupResource()
		switch {
		case err != nil:
			if request.Verb == "create" && unanswered(err) {
				c.mu.Lock()
				c.fences.mayBeThere(written, resource)
				c.mu.Unlock()
			}
		case object != nil && request.Verb != "delete": // what a deletion returns is no more
			if c.Written != nil {
				c.Written(object)
			}
			c.mu.Lock()
			c.fences.written(written, resource, object)
			c.mu.Unlock()
		}
		return object, err
	}, func(e purekube.Event) {
		// Where this manager itself ended the call, at its own end for example, the API server refused nothing.
		if ctx.Err() == nil {
			c.record(e)
		}
	})
	return err
}

func (c *Controller[X, S, K, A]) record(e purekube.Event) {
	c.events.Event(&e.Regarding, e.Type, e.Reason, clip(e.Message, maxEvent))
}
