package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"

	"github.com/purekube/purekube"
)

// Answer is what a lookup found. The zero value: the API server has no such object.
type Answer = purekube.Answer

const (
	// LookupsDeadline is how long the status of an object waits for the lookups that it needs. A core that
	// can decides without them then, which means that it refuses.
	LookupsDeadline = 15 * time.Second
	// callTimeout is for one lookup.
	callTimeout = 10 * time.Second
	// attempts at a lookup that fails, in quick succession, before the failure is the answer.
	attempts = 4
	// lookers make lookups at the same time.
	lookers = 16
	// maxUseful limits how old an answer may be that stands in for one that is late. It is twice the time that it took to
	// get the answers for the plan before, so that a plan with a few lookups has none.
	maxUseful = 10 * time.Minute
	// maxRounds of lookups: a ReplicaSet, its Deployment and that one's scale are three.
	maxRounds = 8
)

// errLate is the answer where there is none yet.
var errLate = fmt.Errorf("no answer from the API server within %v", LookupsDeadline)

// question is what the plan of one key waits for. No worker does: the key is queued when all is answered.
type question[X any] struct {
	// index is what is planned with the answers. They are newer, except where the core decides without answers.
	index   X
	asked   time.Time
	rounds  int
	open    map[purekube.Need]bool
	answers map[purekube.Need]Answer
	// failures are those that are among the answers.
	failures map[purekube.Need]error
	// again: an event affected the key, so the answers may be older than the event.
	again bool
	// decided: it is here for the answers alone, which may have to stand in for those to the next question.
	decided bool
	// before are the answers to the question before this one. They are useful until beforeUntil.
	before      map[purekube.Need]Answer
	beforeUntil time.Time
	// until is the same of this one's answers.
	until time.Time
	timer *time.Timer
}

func (q *question[X]) late() bool { return time.Since(q.asked) >= LookupsDeadline }

// lookups makes the lookups that plans need. Keys that ask for the same one before it is made share the
// answer; those that ask later get one of their own, since the answer may be older than their Index.
type lookups[K comparable, X any] struct {
	look  func(context.Context, purekube.Need) (Answer, error)
	ready func(K)
	queue workqueue.TypedDelayingInterface[purekube.Need]
	// pauses counts how often a lookup failed.
	pauses workqueue.TypedRateLimiter[purekube.Need]

	mu        sync.Mutex
	questions map[K]*question[X]
	askers    map[purekube.Need]map[K]*question[X]
}

func newLookups[K comparable, X any](name string, look func(context.Context, purekube.Need) (Answer, error), ready func(K)) *lookups[K, X] {
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[purekube.Need]{
		Name: name + "-lookups", Queue: &fair{queued: map[string][]purekube.Need{}}})
	return &lookups[K, X]{
		look: look, ready: ready,
		queue:     workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[purekube.Need]{Queue: queue}),
		pauses:    workqueue.NewTypedItemExponentialFailureRateLimiter[purekube.Need](5*time.Millisecond, time.Second),
		questions: map[K]*question[X]{}, askers: map[purekube.Need]map[K]*question[X]{},
	}
}

// run makes lookups until ctx is done.
func (l *lookups[K, X]) run(ctx context.Context) {
	var running sync.WaitGroup
	for range lookers {
		running.Go(func() {
			for {
				need, shutdown := l.queue.Get()
				if shutdown {
					return
				}
				if ctx.Err() == nil {
					l.answer(ctx, need)
				}
				l.queue.Done(need)
			}
		})
	}
	<-ctx.Done()
	l.queue.ShutDown()
	running.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.questions {
		q.timer.Stop()
	}
}

// ask asks for lookups on account of the key's question.
func (l *lookups[K, X]) ask(key K, q *question[X], needs []purekube.Need) {
	l.mu.Lock()
	if len(q.open) == 0 {
		q.rounds++
	}
	needs = slices.DeleteFunc(slices.Clone(needs), func(n purekube.Need) bool { return q.open[n] })
	for _, n := range needs {
		q.open[n] = true
		l.wants(n, map[K]*question[X]{key: q})
	}
	l.mu.Unlock()
	for _, n := range needs {
		l.queue.Add(n)
	}
}

func (l *lookups[K, X]) wants(n purekube.Need, askers map[K]*question[X]) {
	if l.askers[n] == nil {
		l.askers[n] = map[K]*question[X]{}
	}
	maps.Copy(l.askers[n], askers)
}

// answer makes a lookup for those who have asked by now.
func (l *lookups[K, X]) answer(ctx context.Context, n purekube.Need) {
	l.mu.Lock()
	askers := l.askers[n]
	delete(l.askers, n)
	l.mu.Unlock()
	if len(askers) == 0 { // nobody wants to know any more
		l.pauses.Forget(n)
		return
	}
	calling, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := l.look(calling, n)
	if err != nil {
		if l.pauses.NumRequeues(n) < attempts-1 {
			l.mu.Lock()
			l.wants(n, askers)
			l.mu.Unlock()
			l.again(n, err)
			return
		}
		answer.Err = err
	}
	l.pauses.Forget(n)
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, q := range askers {
		if !q.open[n] {
			continue
		}
		delete(q.open, n)
		if q.answers[n] = answer; err != nil {
			q.failures[n] = err
		}
		if len(q.open) == 0 {
			l.ready(key)
		}
	}
}

// again makes a lookup again a little later, or when the API server says so.
func (l *lookups[K, X]) again(n purekube.Need, err error) {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	// A queue goes by the sooner of two times, so there is one only.
	l.queue.AddAfter(n, max(l.pauses.When(n), time.Duration(seconds)*time.Second))
}

// state of a key's question.
type state int

const (
	none       state = iota // or decided
	collecting              // some lookups are not answered
	answered
)

// of is the question of the key.
func (l *lookups[K, X]) of(key K) (*question[X], state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.questions[key]
	switch {
	case q == nil || q.decided:
		return nil, none
	case len(q.open) > 0:
		return q, collecting
	}
	return q, answered
}

// affected notes that an event affects the key.
func (l *lookups[K, X]) affected(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.questions[key]; q != nil {
		q.again = true
	}
}

// begin is a new question of the key. wake queues the key when it is late.
func (l *lookups[K, X]) begin(key K, wake bool) *question[X] {
	q := &question[X]{asked: time.Now(),
		open: map[purekube.Need]bool{}, answers: map[purekube.Need]Answer{}, failures: map[purekube.Need]error{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.questions[key]; before != nil {
		before.timer.Stop()
		q.before, q.beforeUntil = before.answers, before.until
	}
	q.timer = time.AfterFunc(LookupsDeadline, func() {
		if wake {
			l.ready(key)
		}
	})
	l.questions[key] = q
	return q
}

// drop forgets the key's question.
func (l *lookups[K, X]) drop(key K, q *question[X]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.questions[key] != q {
		return
	}
	q.timer.Stop()
	delete(l.questions, key)
	for n := range q.open {
		delete(l.askers[n], key)
	}
	q.open = nil
}

// finish ends a question that is decided, and reports whether an event came meanwhile. keep leaves its answers for the
// next question of the key, should that be late.
func (l *lookups[K, X]) finish(key K, q *question[X], keep bool) (again bool) {
	if !keep {
		defer l.drop(key, q)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	q.decided, q.before = true, nil
	q.timer.Stop()
	took := time.Since(q.asked)
	q.until = q.asked.Add(LookupsDeadline + min(2*took, maxUseful))
	q.timer = time.AfterFunc(time.Until(q.until), func() { l.drop(key, q) })
	return q.again
}

// answered are the answers by now, and those that failed.
func (l *lookups[K, X]) answered(q *question[X]) (answers map[purekube.Need]Answer, failures error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed []error
	for n, err := range q.failures {
		failed = append(failed, fmt.Errorf("%s %s/%s: %w", n.Kind, n.Namespace, n.Name, err))
	}
	return maps.Clone(q.answers), errors.Join(failed...)
}

// instead is what stands in for an answer that is late.
func (l *lookups[K, X]) instead(q *question[X], n purekube.Need) Answer {
	if before, known := q.before[n]; known && before.Err == nil && time.Now().Before(q.beforeUntil) {
		return before
	}
	return Answer{Err: errLate}
}

// openOf is how many lookups of the question are not answered.
func (l *lookups[K, X]) openOf(q *question[X]) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(q.open)
}
