package reconcile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/purekube/purekube"
)

const (
	// LookupsDeadline is how long the status of an object waits for the lookups that it needs. Then a package with
	// Options.DecidesWithout decides without them: it refuses.
	LookupsDeadline = 15 * time.Second
	// Attempts at a lookup that fails, in quick succession, before the failure is the answer.
	Attempts = 4
	// lastAttempt is the longest pause between two of them.
	lastAttempt = time.Second
	// MaxAgeOfAnswers is how old an answer may be when a plan uses it. An older answer is from before a restore from a
	// backup, if one was made meanwhile that no watch has shown yet. A package with Options.DecidesWithout uses older ones
	// while no event affects the key. After an event they are dropped: the workload may have grown, and the plan would
	// count its new pods with the old scale.
	MaxAgeOfAnswers = time.Minute
	// maxRounds of lookups: a ReplicaSet, its Deployment and the scale of the Deployment are three.
	maxRounds = 8
)

// errLate is the answer where there is none yet, or none that holds for the objects of now. It is one text for both: a
// status that refuses already is not written for another text.
var errLate = fmt.Errorf("no answer from the API server within %v that still holds", LookupsDeadline)

// Question is what the plan of one key waits for.
type Question[X any] struct {
	// Index is what is planned with the answers. All of them are newer.
	Index   X
	Asked   time.Time
	Rounds  int
	Open    map[purekube.Need]bool
	Answers map[purekube.Need]purekube.Answer
	// Begun are the times of the calls that the answers are from, or will be.
	Begun map[purekube.Need]time.Time
	// Failures are the errors of lookups that are among the answers.
	Failures map[purekube.Need]error
	// Again: an event affected the key, so the answers may be older than the event.
	Again bool
	// Woken: the key was queued for being late.
	Woken bool
}

func newQuestion[X any](index X, now time.Time) *Question[X] {
	return &Question[X]{Index: index, Asked: now, Open: map[purekube.Need]bool{},
		Answers: map[purekube.Need]purekube.Answer{}, Begun: map[purekube.Need]time.Time{},
		Failures: map[purekube.Need]error{}}
}

// dropOld drops the answers that are too old, so that the next plan asks for them again. It returns an error if there
// are any.
func (q *Question[X]) dropOld(now time.Time) error {
	all, old := len(q.Answers), 0
	for n := range q.Answers {
		if now.Sub(q.Begun[n]) >= MaxAgeOfAnswers {
			delete(q.Answers, n)
			delete(q.Failures, n)
			old++
		}
	}
	if old == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d lookups are older than %v and are made again", old, all, MaxAgeOfAnswers)
}

func (q *Question[X]) late(now time.Time) bool { return now.Sub(q.Asked) >= LookupsDeadline }

// answered returns the answers by now, and the errors of failed lookups.
func (q *Question[X]) answered() (answers map[purekube.Need]purekube.Answer, failures error) {
	var failed []error
	for _, n := range slices.SortedFunc(maps.Keys(q.Failures), compareNeeds) {
		failed = append(failed, fmt.Errorf("%v: %w", n, q.Failures[n]))
	}
	return maps.Clone(q.Answers), errors.Join(failed...)
}

func compareNeeds(a, b purekube.Need) int { return strings.Compare(a.String(), b.String()) }

// Lookups are the lookups that plans need. Keys that ask for the same lookup before it is made share the answer. Keys
// that ask later get an answer of their own, since the shared answer may be older than their Index.
type Lookups[X any] struct {
	Questions map[purekube.Key]*Question[X]
	// Askers wait for a call that is not begun, Served for one that is.
	Askers, Served map[purekube.Need]map[purekube.Key]*Question[X]
	// Failed is how often a lookup failed in succession.
	Failed map[purekube.Need]int
}

func newLookups[X any]() Lookups[X] {
	return Lookups[X]{Questions: map[purekube.Key]*Question[X]{}, Failed: map[purekube.Need]int{},
		Askers: map[purekube.Need]map[purekube.Key]*Question[X]{}, Served: map[purekube.Need]map[purekube.Key]*Question[X]{}}
}

// ask asks for lookups on account of the key's question, and returns those to queue.
func (l *Lookups[X]) ask(key purekube.Key, q *Question[X], needs []purekube.Need) []purekube.Need {
	l.Questions[key] = q
	if len(q.Open) == 0 {
		q.Rounds++
	}
	needs = slices.DeleteFunc(slices.Clone(needs), func(n purekube.Need) bool { return q.Open[n] })
	for _, n := range needs {
		q.Open[n] = true
		l.want(n, map[purekube.Key]*Question[X]{key: q})
	}
	return needs
}

func (l *Lookups[X]) want(n purekube.Need, askers map[purekube.Key]*Question[X]) {
	if l.Askers[n] == nil {
		l.Askers[n] = map[purekube.Key]*Question[X]{}
	}
	maps.Copy(l.Askers[n], askers)
}

// drop forgets the key's question.
func (l *Lookups[X]) drop(key purekube.Key) {
	q := l.Questions[key]
	if q == nil {
		return
	}
	delete(l.Questions, key)
	for n := range q.Open {
		delete(l.Askers[n], key)
	}
	q.Open = nil
}

// Look begins the call for a need that was queued. Where it reports false, nobody wants to know any more: make no call.
func (l *Loop[X, S, A]) Look(now time.Time, n purekube.Need) bool {
	askers := l.Lookups.Askers[n]
	delete(l.Lookups.Askers, n)
	if len(askers) == 0 {
		delete(l.Lookups.Failed, n)
		return false
	}
	l.Lookups.Served[n] = askers
	for _, q := range askers {
		q.Begun[n] = now
	}
	return true
}

// Found is told of what the call for a need ended with: an answer, whose Err is final, or an error that another attempt
// may mend. It returns the keys to queue; or, where again is true, the lookup is to be queued after that time.
func (l *Loop[X, S, A]) Found(
	n purekube.Need, answer purekube.Answer, err error,
) (keys []purekube.Key, again bool, after time.Duration) {
	askers := l.Lookups.Served[n]
	delete(l.Lookups.Served, n)
	// A question that was dropped wants no other attempt: the next one of its key has asked for a call of its own.
	maps.DeleteFunc(askers, func(_ purekube.Key, q *Question[X]) bool { return !q.Open[n] })
	if len(askers) == 0 {
		delete(l.Lookups.Failed, n)
		return nil, false, 0
	}
	if err != nil {
		l.Lookups.Failed[n]++
		if failed := l.Lookups.Failed[n]; failed < Attempts {
			l.Lookups.want(n, askers)
			// A queue would use the sooner of two pauses, so only the longer one is returned.
			return nil, true, max(backoff(failed, lastAttempt), askedFor(err))
		}
		answer = purekube.Answer{Err: err}
	}
	delete(l.Lookups.Failed, n)
	for key, q := range askers {
		delete(q.Open, n)
		if q.Answers[n] = answer; err != nil {
			q.Failures[n] = err
		}
		if len(q.Open) == 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, purekube.Key.Compare)
	return keys, false, 0
}

// Tick is called when Turn.Tick is over. It reports whether to queue the key: its lookups are late, and it is
// decided without them.
func (l *Loop[X, S, A]) Tick(now time.Time, key purekube.Key) bool {
	q := l.Lookups.Questions[key]
	if q == nil || q.Woken || !l.o.DecidesWithout || !q.late(now) { // the tick of a question before this one
		return false
	}
	q.Woken = true
	return len(q.Open) > 0
}
