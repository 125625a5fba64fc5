package reconcile

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
)

// Options are what a package needs beyond its Index. All but Synced may be left out.
type Options[X, S any] struct {
	// Synced reports whether every handler has seen what its informer listed at the start. That the caches have it is
	// not enough: the Index has what the handlers have seen.
	Synced func() bool
	// Prepare gets the Index that has the listed objects, and returns the Index to start with.
	Prepare func(index X) X
	// Plans reports whether the key is to be planned. It is asked before each plan. Nil: every key is.
	Plans func(purekube.Key) bool
	// At returns what the Index does not learn from events: the time, for most packages.
	At func(now time.Time, index X) S
	// Answers puts the answers to lookups into a Snapshot.
	Answers func(map[purekube.Need]purekube.Answer) S
	// DecidesWithout is for a package that accepts an error as the answer to a lookup, and then refuses. After
	// LookupsDeadline it is planned with what is known. Other packages wait.
	DecidesWithout bool
	// Written is told of each object as a write left it.
	Written func(now time.Time, object runtime.Object)
	// RetryProblems is for a package whose plans are to be made again when they have an error. For others, only an event
	// can clear the error.
	RetryProblems bool
	// Retries is how often a key that fails is tried again in quick succession; 0 is without end.
	Retries int
}

// Loop is the state of one controller: X is the Index of a package, S its Snapshot, A its Action. Its fields are for
// the model of internal/test, which clones and compares Loops. A shell calls methods, and reads a Turn.
type Loop[X purekube.Index[X, S, A], S any, A purekube.Action] struct {
	o       Options[X, S]
	Index   X
	Started bool
	// Turns are the turns that have begun and not ended.
	Turns    map[purekube.Key]*Turn[X, A]
	Failures map[purekube.Key]int
	Fences   Fences
	Lookups  Lookups[X]
}

// New returns a Loop that begins with this Index, the Index of a cluster without objects. Events fill it.
func New[X purekube.Index[X, S, A], S any, A purekube.Action](index X, o Options[X, S]) *Loop[X, S, A] {
	return &Loop[X, S, A]{o: o, Index: index, Turns: map[purekube.Key]*Turn[X, A]{}, Failures: map[purekube.Key]int{},
		Fences: newFences(), Lookups: newLookups[X]()}
}

// Watches says that the informer of that resource is watched: fences wait for its events.
func (l *Loop[X, S, A]) Watches(resource schema.GroupResource) { l.Fences.watch(resource) }

// Event puts a change into the Index: the change of an object of this resource, which has this resourceVersion. It
// returns the keys to queue. Before Start there are none: otherwise a controller that waits for a Lease would keep the
// key of each object that ever existed.
func (l *Loop[X, S, A]) Event(
	resource schema.GroupResource, version string, change func(X) (X, []purekube.Key),
) []purekube.Key {
	next, affected := change(l.Index)
	l.Index = next
	l.Fences.see(resource, version)
	if !l.Started {
		return nil
	}
	affected = slices.DeleteFunc(slices.Clone(affected), func(key purekube.Key) bool {
		return l.Fences.own(key, resource, version)
	})
	for _, key := range affected { // the answers that its plan waits for may be older than the event
		if t := l.Turns[key]; t != nil {
			t.Question.Again = true
		}
		if q := l.Lookups.Questions[key]; q != nil {
			q.Again = true
		}
	}
	return affected
}

// Start lets turns begin, once every handler has seen what was listed; until then it reports false. It returns the keys
// that there is something to do for, and what is wrong with the objects as a whole.
func (l *Loop[X, S, A]) Start(now time.Time) (keys []purekube.Key, problems error, started bool) {
	if l.o.Synced == nil || !l.o.Synced() {
		return nil, nil, false
	}
	if l.o.Prepare != nil && !l.Started {
		l.Index = l.o.Prepare(l.Index)
	}
	l.Started = true
	outcomes, problems := l.Current(now).PlanAll()
	for _, o := range outcomes {
		keys = append(keys, o.Key)
	}
	return keys, problems, true
}

// Current is the Index of now.
func (l *Loop[X, S, A]) Current(now time.Time) X {
	if l.o.At == nil {
		return l.Index
	}
	index, _ := l.Index.With(l.o.At(now, l.Index))
	return index
}
