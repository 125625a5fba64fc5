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
	// LookupsDeadline is how long the status of an object waits for the lookups that it needs. A package that can
	// decides without them then, which means that it refuses.
	LookupsDeadline = 15 * time.Second
	// Attempts at a lookup that fails, in quick succession, before the failure is the answer.
	Attempts = 4
	// lastAttempt is the longest pause between two of them.
	lastAttempt = time.Second
	// MaxAgeOfAnswers is how old an answer may be of a plan that waits for all of its answers. An older answer is from
	// before a restore from a backup, if one was made meanwhile that no watch has shown yet.
	MaxAgeOfAnswers = time.Minute
	// maxRounds of lookups: a ReplicaSet, its Deployment and that one's scale are three.
	maxRounds = 8
)

// errLate is the answer where there is none yet.
var errLate = fmt.Errorf("no answer from the API server within %v", LookupsDeadline)

// question is what the plan of one key waits for.
type question[X any] struct {
	// index is what is planned with the answers. All of them are newer.
	index   X
	asked   time.Time
	rounds  int
	open    map[purekube.Need]bool
	answers map[purekube.Need]purekube.Answer
	// begun are the times of the calls that the answers are from, or will be.
	begun map[purekube.Need]time.Time
	// failures are the errors of lookups that are among the answers.
	failures map[purekube.Need]error
	// again: an event affected the key, so the answers may be older than the event.
	again bool
	// woken: the key was queued for being late.
	woken bool
}

func newQuestion[X any](index X, now time.Time) *question[X] {
	return &question[X]{index: index, asked: now, open: map[purekube.Need]bool{},
		answers: map[purekube.Need]purekube.Answer{}, begun: map[purekube.Need]time.Time{}, failures: map[purekube.Need]error{}}
}

// dropOld drops the answers that are too old, so that the next plan asks for them again. It returns an error if there are any.
func (q *question[X]) dropOld(now time.Time) error {
	all, old := len(q.answers), 0
	for n := range q.answers {
		if now.Sub(q.begun[n]) >= MaxAgeOfAnswers {
			delete(q.answers, n)
			delete(q.failures, n)
			old++
		}
	}
	if old == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d lookups are older than %v and are made again", old, all, MaxAgeOfAnswers)
}

func (q *question[X]) late(now time.Time) bool { return now.Sub(q.asked) >= LookupsDeadline }

// answered returns the answers by now, and the errors of failed lookups.
func (q *question[X]) answered() (answers map[purekube.Need]purekube.Answer, failures error) {
	var failed []error
	for _, n := range sortedBy(q.failures, compareNeeds) {
		failed = append(failed, fmt.Errorf("%v: %w", n, q.failures[n]))
	}
	return maps.Clone(q.answers), errors.Join(failed...)
}

func compareNeeds(a, b purekube.Need) int { return strings.Compare(a.String(), b.String()) }

// lookups are the lookups that plans need. Keys that ask for the same lookup before it is made share the answer. Keys
// that ask later get an answer of their own, since the shared answer may be older than their Index.
type lookups[X any] struct {
	questions map[purekube.Key]*question[X]
	// askers wait for a call that is not begun, served for one that is.
	askers, served map[purekube.Need]map[purekube.Key]*question[X]
	// failed is how often a lookup failed in succession.
	failed map[purekube.Need]int
}

func newLookups[X any]() lookups[X] {
	return lookups[X]{questions: map[purekube.Key]*question[X]{}, failed: map[purekube.Need]int{},
		askers: map[purekube.Need]map[purekube.Key]*question[X]{}, served: map[purekube.Need]map[purekube.Key]*question[X]{}}
}

// ask asks for lookups on account of the key's question, and returns those to queue.
func (l *lookups[X]) ask(key purekube.Key, q *question[X], needs []purekube.Need) []purekube.Need {
	l.questions[key] = q
	if len(q.open) == 0 {
		q.rounds++
	}
	needs = slices.DeleteFunc(slices.Clone(needs), func(n purekube.Need) bool { return q.open[n] })
	for _, n := range needs {
		q.open[n] = true
		l.want(n, map[purekube.Key]*question[X]{key: q})
	}
	return needs
}

func (l *lookups[X]) want(n purekube.Need, askers map[purekube.Key]*question[X]) {
	if l.askers[n] == nil {
		l.askers[n] = map[purekube.Key]*question[X]{}
	}
	maps.Copy(l.askers[n], askers)
}

// drop forgets the key's question.
func (l *lookups[X]) drop(key purekube.Key) {
	q := l.questions[key]
	if q == nil {
		return
	}
	delete(l.questions, key)
	for n := range q.open {
		delete(l.askers[n], key)
	}
	q.open = nil
}

// Look begins the call for a need that was queued. Where it reports false, nobody wants to know any more: make no call.
func (l *Loop[X, S, A]) Look(now time.Time, n purekube.Need) bool {
	askers := l.lookups.askers[n]
	delete(l.lookups.askers, n)
	if len(askers) == 0 {
		delete(l.lookups.failed, n)
		return false
	}
	l.lookups.served[n] = askers
	for _, q := range askers {
		q.begun[n] = now
	}
	return true
}

// Found is told of what the call for a need ended with: an answer, whose Err is final, or an error that another attempt may
// mend. It returns the keys to queue; or, where again is true, the lookup is to be queued after that time.
func (l *Loop[X, S, A]) Found(n purekube.Need, answer purekube.Answer, err error) (keys []purekube.Key, again bool, after time.Duration) {
	askers := l.lookups.served[n]
	delete(l.lookups.served, n)
	// A question that was dropped wants no other attempt: the next one of its key has asked for a call of its own.
	maps.DeleteFunc(askers, func(_ purekube.Key, q *question[X]) bool { return !q.open[n] })
	if len(askers) == 0 {
		delete(l.lookups.failed, n)
		return nil, false, 0
	}
	if err != nil {
		l.lookups.failed[n]++
		if failed := l.lookups.failed[n]; failed < Attempts {
			l.lookups.want(n, askers)
			// A queue goes by the sooner of two times, so there is one only.
			return nil, true, max(backoff(failed, lastAttempt), askedFor(err))
		}
		answer = purekube.Answer{Err: err}
	}
	delete(l.lookups.failed, n)
	for key, q := range askers {
		delete(q.open, n)
		if q.answers[n] = answer; err != nil {
			q.failures[n] = err
		}
		if len(q.open) == 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, purekube.Key.Compare)
	return keys, false, 0
}

// Tick is called when Turn.Tick is over. It reports whether to queue the key: its lookups are late, and it is
// decided without them.
func (l *Loop[X, S, A]) Tick(now time.Time, key purekube.Key) bool {
	q := l.lookups.questions[key]
	if q == nil || q.woken || !l.o.DecidesWithout || !q.late(now) { // the tick of a question before this one
		return false
	}
	q.woken = true
	return len(q.open) > 0
}
