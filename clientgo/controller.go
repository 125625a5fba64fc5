package clientgo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
)

// LookupsDeadline is how long the status of a PodDisruptionBudget waits for lookups. Then the status is written that
// allows nothing, and the right one when all lookups are answered.
const LookupsDeadline = reconcile.LookupsDeadline

// PauseAfterRetries is the pause after which a key is planned again if its retries did not help, or if its action was
// vetoed.
const PauseAfterRetries = reconcile.PauseAfterRetries

// cachesPause is how often a controller without work looks whether etcd was restored from a backup.
const cachesPause = 10 * time.Second

// Runner is a controller of any package.
type Runner interface {
	// Name is the name of the controller, for example "ttl".
	Name() string
	// HasSynced reports whether the controller has seen every object that was listed at the start.
	HasSynced() bool
	// Run plans until ctx is done. After Stop it returns as soon as the plans under way are finished.
	Run(ctx context.Context) error
	// Stop lets no new plan begin.
	Stop()
}

// Options are what a package needs beyond its Index. All may be left out.
type Options[X, S any] struct {
	// Prepare gets the Index that has the listed objects, and returns the Index to start with.
	Prepare func(index X) X
	// At returns what the Index does not learn from events: the time, for most packages.
	At func(now time.Time, index X) S
	// Confirm reads from the API server, past every cache, what the plan of a key depends on. It returns a Snapshot with
	// all that the plan reads, including the time. The key is planned again with it before a request is sent that is
	// Irreversible: see [purekube.Request]. Nil: no such request is sent.
	Confirm func(ctx context.Context, key purekube.Key) (S, error)
	// Answers puts the answers to lookups into a Snapshot. Nil: the package has no Needs.
	Answers func(map[purekube.Need]purekube.Answer) S
	// DecidesWithout is for a package that takes an error as the answer to a lookup, and then refuses. After
	// LookupsDeadline, it plans with what is known. Other packages wait.
	DecidesWithout bool
	// Written gets each object as a write left it.
	Written func(now time.Time, object runtime.Object)
	// RetryProblems is for a package whose plans are retried when they have an error. For other packages, only an event
	// can clear the error.
	RetryProblems bool
	// Retries is how often a key that fails is tried again in quick succession, before it rests for PauseAfterRetries; 0
	// is without end.
	Retries int
}

// Controller runs a package of purekube: events become changes of its Index, the keys that they affect go into a work
// queue, and workers plan these keys and carry the plans out. X is the Index of the package, S its Snapshot, A its
// Action.
//
// What is queued, what waits and what is tried again is decided by internal/reconcile, which the model of
// internal/test searches.
type Controller[X purekube.Index[X, S, A], S any, A purekube.Action] struct {
	name    string
	cluster Cluster
	queue   workqueue.TypedDelayingInterface[purekube.Key]
	looking workqueue.TypedDelayingInterface[purekube.Need]
	watched []*watched
	broken  error
	// empty is the Index of a cluster without objects, and reads are Options.Confirm. One plan is confirmed at a time:
	// what is read for it may be as large as the caches.
	empty      X
	reads      func(context.Context, purekube.Key) (S, error)
	confirming chan struct{}
	// waiting are the workers with a plan that is confirmed, or waits for that: all but one, so that lists that hang delay
	// no other plan.
	waiting chan struct{}
	// retryProblems is Options.RetryProblems.
	retryProblems bool
	// lookupsOfATurn is how many lookups of a namespace are made before it is the turn of the next one.
	lookupsOfATurn int

	stopped chan struct{}
	stop    func()

	mu   sync.Mutex
	loop *reconcile.Loop[X, S, A]
	ran  bool
	// planning: from when the Index has every object until no plan may begin any more.
	planning bool
}

// NewController returns a controller that begins with this Index, the Index of a cluster without objects. [Watch] fills
// it.
func NewController[X purekube.Index[X, S, A], S any, A purekube.Action](
	name string, index X, c Cluster, o Options[X, S],
) (*Controller[X, S, A], error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if o.Answers != nil && c.Lookup == nil {
		return nil, fmt.Errorf("%s: %w", name, errNoLookup)
	}
	controller := &Controller[X, S, A]{
		name: name, cluster: c, empty: index, reads: o.Confirm, confirming: make(chan struct{}, 1),
		retryProblems: o.RetryProblems,
		waiting:       make(chan struct{}, max(1, c.workers()-1)), stopped: make(chan struct{}),
	}
	if controller.lookupsOfATurn = lookupsOfAClaim; o.DecidesWithout {
		controller.lookupsOfATurn = lookupsOfATurn
	}
	controller.stop = sync.OnceFunc(func() { close(controller.stopped) })
	var plans func(purekube.Key) bool
	if filter := c.Hooks.Filter; filter != nil {
		plans = func(key purekube.Key) bool { return filter(name, key) }
	}
	controller.loop = reconcile.New(index, reconcile.Options[X, S]{
		Synced: controller.HasSynced, Prepare: o.Prepare, Plans: plans, At: o.At, Answers: o.Answers,
		DecidesWithout: o.DecidesWithout,
		Written:        o.Written, RetryProblems: o.RetryProblems, Retries: o.Retries,
	})
	return controller, nil
}

// Name is the name of the controller.
func (c *Controller[X, S, A]) Name() string { return c.name }

// HasSynced reports whether the handlers have seen every object that the informers listed at the start. A full cache is
// not enough: a plan from half an Index would regard what is missing from it as gone.
func (c *Controller[X, S, A]) HasSynced() bool {
	for _, w := range c.watched {
		if !w.synced() {
			return false
		}
	}
	return true
}

// lateList is how long a controller waits for its informers before it says so: one that was not started says nothing.
const lateList = 15 * time.Second

// unsynced are the resources whose listed objects the handlers have not seen yet.
func (c *Controller[X, S, A]) unsynced() (resources []string) {
	for _, w := range c.watched {
		if !w.synced() {
			resources = append(resources, w.resource.GroupResource().String())
		}
	}
	return resources
}

// Index returns the current Index, without answers to lookups. It reports false while the controller does not plan:
// before it has seen every object, after its end, and on a replica that does not lead.
func (c *Controller[X, S, A]) Index() (index X, planning bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.planning {
		return index, false
	}
	return c.loop.Current(time.Now()), true
}

// Update changes the Index beyond what informers show, and queues the keys that this affects.
func (c *Controller[X, S, A]) Update(change func(X) (X, []purekube.Key)) {
	c.enqueue(c.event(schema.GroupResource{}, "", change))
}

func (c *Controller[X, S, A]) event(
	resource schema.GroupResource, version string, change func(X) (X, []purekube.Key),
) []purekube.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loop.Event(resource, version, change)
}

func (c *Controller[X, S, A]) enqueue(keys []purekube.Key) {
	for _, key := range keys {
		c.queue.Add(key)
	}
}

// Stop lets no new plan begin. Run returns when the plans under way are finished: their writes take 30 seconds at most.
func (c *Controller[X, S, A]) Stop() { c.stop() }

// ErrRestored is the error of Run where the cache of an informer went back to an older resourceVersion: etcd was
// restored from a backup. End the process, and start it again: what its controllers remember, looked up and wait for is
// of the cluster from before the restore.
var ErrRestored = errors.New("etcd was restored from a backup: start again")

var errRanBefore = errors.New("a controller runs once")

// Run waits until HasSynced, and plans until ctx is done. Then it returns nil: calls under way end with ctx. To let
// plans under way finish, call Stop first. Run it once, and only while no other replica runs.
//
// It returns [ErrRestored] where etcd was restored from a backup. Calls under way end then, too.
//
// It logs with the logger of the context (klog.FromContext).
func (c *Controller[X, S, A]) Run(ctx context.Context) error {
	if c.broken != nil {
		return c.broken
	}
	c.mu.Lock()
	ran := c.ran
	c.ran = true
	c.mu.Unlock()
	if ran {
		return fmt.Errorf("%s: %w", c.name, errRanBefore)
	}
	log := klog.FromContext(ctx).WithValues("controller", c.name)
	ctx, cutOff := context.WithCancelCause(klog.NewContext(ctx, log))
	defer cutOff(nil)
	defer c.leave(log)
	ending, end := context.WithCancel(ctx) // with ctx or Stop
	defer end()
	go func() {
		defer end()
		select {
		case <-c.stopped:
		case <-ending.Done():
		}
	}()
	late := time.AfterFunc(lateList, func() {
		log.Info("Still waiting for what the informers list: have they been started?", "resources", c.unsynced())
	})
	synced := cache.WaitForCacheSync(ending.Done(), c.HasSynced)
	late.Stop()
	if !synced || c.ended(ctx) {
		return nil // the end came first
	}
	c.mu.Lock()
	c.open()
	keys, problems, _ := c.loop.Start(time.Now()) // it is synced, so it starts
	c.planning = true
	c.mu.Unlock()
	defer c.queue.ShutDown()
	defer c.looking.ShutDown()
	if problems != nil {
		log.Error(clipped(problems), "Some objects that were listed at the start are wrong")
	}
	c.cluster.Hooks.start(c)
	c.enqueue(keys)

	var running sync.WaitGroup
	for range lookers {
		running.Go(func() { c.lookUpAll(ending) })
	}
	running.Go(func() {
		for ending.Err() == nil {
			c.lookAtCaches(cutOff) // where no event queues a key
			select {
			case <-ending.Done():
			case <-time.After(cachesPause):
			}
		}
	})
	for range c.cluster.workers() {
		running.Go(func() { c.work(ctx, ending, cutOff) })
	}
	<-ending.Done()
	c.mu.Lock()
	c.planning = false
	c.mu.Unlock()
	c.looking.ShutDown()
	c.queue.ShutDown()
	running.Wait()
	if err := context.Cause(ctx); errors.Is(err, ErrRestored) {
		return err
	}
	return nil
}

// leave removes the handlers from informers, which may go on without this controller.
func (c *Controller[X, S, A]) leave(log klog.Logger) {
	for _, w := range c.watched {
		if err := w.remove(); err != nil {
			log.Error(err, "The handler could not be removed from its informer", "resource", w.resource.GroupResource())
		}
	}
}

// open makes the queues, which have goroutines of their own: a controller that never runs leaves none behind. No key is
// queued before the Loop starts.
func (c *Controller[X, S, A]) open() {
	c.queue = fairQueue(c.name, fairKeys())
	c.looking = fairQueue(c.name+"-lookups", fairLookups(c.lookupsOfATurn))
}

func fairQueue[T comparable](name string, order workqueue.Queue[T]) workqueue.TypedDelayingInterface[T] {
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{
		Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Name: name, Queue: order})})
}

// ended reports whether no plan may begin any more.
func (c *Controller[X, S, A]) ended(ctx context.Context) bool {
	select {
	case <-c.stopped:
		return true
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// work plans what is queued, and makes the calls of plans with ctx. Plans are confirmed until ending.
func (c *Controller[X, S, A]) work(ctx, ending context.Context, cutOff context.CancelCauseFunc) {
	for {
		key, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		c.lookAtCaches(cutOff)
		if !c.ended(ctx) { // what is still queued is planned after the next start
			c.process(ctx, ending, key)
		}
		c.queue.Done(key)
	}
}

// lookAtCaches ends everything with ErrRestored where the cache of an informer is at an older version than at the last
// look.
func (c *Controller[X, S, A]) lookAtCaches(cutOff context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watched {
		if w.version == nil {
			continue
		}
		version := w.version()
		if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
			continue // an empty cache has no version. The next version is compared with the last one that has an order
		}
		if order, err := resourceversion.CompareResourceVersion(version, w.at); err == nil && order < 0 {
			cutOff(fmt.Errorf("%s: the cache of %s went back from resourceVersion %s to %s: %w", c.name,
				w.resource.GroupResource(), w.at, version, ErrRestored))
			continue
		}
		w.at = version
	}
}

// process is the turn of a key.
func (c *Controller[X, S, A]) process(ctx, ending context.Context, key purekube.Key) {
	started := time.Now()
	c.mu.Lock()
	t := c.loop.Begin(started, key)
	c.mu.Unlock()
	for t.Step == reconcile.Plan {
		result, problems := t.Index.Plan(key)
		c.mu.Lock()
		c.loop.Planned(time.Now(), t, result, problems)
		c.mu.Unlock()
		c.ask(t.Ask)
		c.tick(key, t.Tick)
	}
	if t.Step == reconcile.Wait {
		c.follow(ctx, key, t.Next)
		return
	}
	if t.Step == reconcile.Confirm {
		c.confirm(ending, t)
	}
	c.cluster.Hooks.plan(PlanResult{Controller: c.name, Key: key, Actions: len(t.Result.Actions), Events: t.Result.Events,
		RecheckAt: t.Result.RecheckAt,
		Err:       errors.Join(t.Problems, t.Failures), Took: time.Since(started), Late: t.Late})
	for _, e := range t.Result.Events {
		c.record(e)
	}
	log := klog.FromContext(ctx)
	if t.Problems != nil && !c.retryProblems { // otherwise the line about the retry has them
		log.Error(clipped(t.Problems), "The plan leaves something out", "key", key)
	}
	if t.Late > 0 {
		log.Info("Refusing: lookups are late", "key", key, "open", t.Late)
	}
	// The writes have their own time: a status that refuses is written for the very reason that lookups took too long.
	writing, cancel := context.WithDeadline(ctx, t.WriteBy)
	failed, vetoed := c.carryOut(writing, t)
	cancel()
	c.mu.Lock()
	next := c.loop.End(time.Now(), t, failed, vetoed)
	c.mu.Unlock()
	c.follow(ctx, key, next)
}

// follow queues a key again.
func (c *Controller[X, S, A]) follow(ctx context.Context, key purekube.Key, next reconcile.Next) {
	if next.Requeue {
		c.queue.AddAfter(key, next.After)
	}
	if next.Err == nil {
		return
	}
	log := klog.FromContext(ctx).WithValues("key", key, "retry", next.Retry, "after", next.After)
	if errors.Is(next.Err, reconcile.ErrUnconfirmed) || apierrors.IsConflict(next.Err) || apierrors.IsNotFound(next.Err) {
		log.Info("Planning again: the cluster changed meanwhile", "reason", clip(next.Err.Error(), maxLog))
	} else {
		log.Error(clipped(next.Err), "Planning again")
	}
	c.cluster.Hooks.retry(Retry{Controller: c.name, Key: key, Err: next.Err, Failures: next.Retry, After: next.After})
}

func (c *Controller[X, S, A]) record(e purekube.Event) {
	if c.cluster.Record != nil {
		c.cluster.Record(e)
	}
}
