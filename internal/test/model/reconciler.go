package model

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
)

// LoopWorld is a scenario whose controller is the loop of internal/reconcile, as package clientgo runs it, around the Index of
// a package. Its Controller is asked only whether there is anything left to do when everything is idle.
type LoopWorld[X purekube.Index[X, S, A], S any, A purekube.Action] struct {
	World
	// Empty is the Index of a cluster without objects.
	Empty func() X
	// Unwatched are kinds that the controller does not watch.
	Unwatched []string
	// As is a Snapshot of one object. What the controller remembers about it goes into the facts, which hold what is in
	// the Index.
	As func(o Object, now time.Time, facts map[string]string) (s S, remembered map[string]string)
	// At is a Snapshot of the time.
	At func(now time.Time) S
	// Answers and Answer are for a package that needs lookups: one puts answers into a Snapshot, the other makes a lookup.
	Answers func(map[purekube.Need]purekube.Answer) S
	Answer  func(live *View, n purekube.Need) purekube.Answer
	// DecidesWithout, RetryProblems and Retries go into reconcile.Options.
	DecidesWithout, RetryProblems bool
	Retries                       int
	// Workers plan at the same time.
	Workers int
	// MaxFaults is how often something fails.
	MaxFaults int
	// Replicas: another replica may get the Lease while a write is on its way.
	Replicas bool
	// Hangs: lookups may get no answer any more, until somebody repairs that.
	Hangs bool
	// Hung says what is wrong with the objects when everything is idle and lookups have no answer.
	Hung   func(server *View) string
	Broken broken
}

// broken are defects of a controller around the loop, to be found.
type broken struct {
	StartsWithTheCache, SharesTheContext, LosesRetries, IgnoresFences, DropsWhileProcessing, ForgetsTicks, ForgetsRecheck bool
}

const (
	// maxAgeOfCache is how old an event gets before the handlers see it, in seconds.
	maxAgeOfCache = 5
	// overlap is for how long a request of a replica that lost the Lease may be on its way, in seconds: the Lease's duration
	// less its renew deadline.
	overlap = 5
)

// copyAt is an object as the API server or a handler has it.
type copyAt struct {
	place   placeID
	content contentID // 0: gone
	version int
}

// shown is a change that the handlers have yet to see. listed: it is of the list at the start.
type shown struct {
	copyAt
	at     int
	listed bool
}

type alarm struct {
	key purekube.Key
	at  int
}

// sending is a plan whose requests are being sent.
type sending struct {
	key      purekube.Key
	actions  []purekube.Action
	done     []runtime.Object
	failures []error
}

// sent is a request that was accepted and answered, and whose change no handler has seen.
type sent struct {
	key     purekube.Key
	request string
	kind    int
	version int
	at      int
}

// reconcilerState is a state of a LoopWorld.
type reconcilerState[X purekube.Index[X, S, A], S any, A purekube.Action] struct {
	now, revision int
	server        []copyAt
	counts        []uint8
	ghost         string
	faults        int
	hangs         bool

	loop     *reconcile.Loop[*noted[X, S, A], notes[S], A]
	started  bool
	cached   []copyAt
	pending  []shown
	queue    []purekube.Key
	again    []purekube.Key // queued during their turn
	later    []alarm
	ticks    []alarm
	planning []purekube.Key
	sending  []sending
	looking  []purekube.Need
	calls    []purekube.Need
	lookAt   []purekube.Need // queued during their call
	asked    []alarm         // when a key first asked, where writes share the lookups' context
	sent     []sent
	// stray is a request of the replica that had the Lease before, until strayUntil.
	stray      *purekube.Request
	strayUntil int

	numbers numbers // in its text
}

func (st *reconcilerState[X, S, A]) clone() *reconcilerState[X, S, A] {
	c := *st
	c.server, c.counts, c.cached, c.pending = slices.Clone(st.server), slices.Clone(st.counts), slices.Clone(st.cached), slices.Clone(st.pending)
	c.queue, c.again, c.later, c.ticks = slices.Clone(st.queue), slices.Clone(st.again), slices.Clone(st.later), slices.Clone(st.ticks)
	c.planning, c.sending, c.sent, c.asked = slices.Clone(st.planning), slices.Clone(st.sending), slices.Clone(st.sent), slices.Clone(st.asked)
	c.looking, c.calls, c.lookAt = slices.Clone(st.looking), slices.Clone(st.calls), slices.Clone(st.lookAt)
	c.loop = st.loop.Clone()
	return &c
}

func insert[T any](all []T, one T, compare func(a, b T) int) []T {
	i, there := slices.BinarySearchFunc(all, one, compare)
	if there {
		return all
	}
	return slices.Insert(all, i, one)
}

func remove[T any](all []T, one T, compare func(a, b T) int) []T {
	if i, there := slices.BinarySearchFunc(all, one, compare); there {
		return slices.Delete(all, i, i+1)
	}
	return all
}

func compareNeeds(a, b purekube.Need) int { return strings.Compare(a.String(), b.String()) }

func compareCopies(a, b copyAt) int { return int(a.place) - int(b.place) }

// busy reports whether the key has a turn.
func (st *reconcilerState[X, S, A]) busy(key purekube.Key) bool {
	return slices.Contains(st.planning, key) || slices.ContainsFunc(st.sending, func(s sending) bool { return s.key == key })
}

// enqueue puts a key into the work queue. One that is in its turn gets another one afterwards.
func (st *reconcilerState[X, S, A]) enqueue(key purekube.Key) {
	if st.busy(key) {
		st.again = insert(st.again, key, purekube.Key.Compare)
	} else {
		st.queue = insert(st.queue, key, purekube.Key.Compare)
	}
}

// follow does what the loop says after a turn. The pause before a retry is shorter than a second: anything may come before
// a key that is in the queue.
func (st *reconcilerState[X, S, A]) follow(key purekube.Key, next reconcile.Next, b broken) {
	if slices.Contains(st.again, key) {
		st.again = remove(st.again, key, purekube.Key.Compare)
		st.queue = insert(st.queue, key, purekube.Key.Compare)
	}
	switch {
	case !next.Requeue || next.Err != nil && b.LosesRetries || next.Err == nil && next.After > reconcile.FenceTimeout && b.ForgetsRecheck:
	case next.After < time.Second:
		st.queue = insert(st.queue, key, purekube.Key.Compare)
	default:
		st.later = sooner(st.later, alarm{key, st.now + seconds(next.After)})
	}
}

func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// sooner adds an alarm, unless there is one for the key that is not later.
func sooner(alarms []alarm, a alarm) []alarm {
	if i := slices.IndexFunc(alarms, func(b alarm) bool { return b.key == a.key }); i >= 0 {
		if alarms[i].at <= a.at {
			return alarms
		}
		alarms = slices.Delete(alarms, i, i+1)
	}
	return addAlarm(alarms, a)
}

func addAlarm(alarms []alarm, a alarm) []alarm {
	return insert(alarms, a, func(a, b alarm) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return a.key.Compare(b.key)
	})
}
