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
	// MaxAgeOfAnswers is how old the oldest answer of a plan may be that waits for all of its answers. An older answer is from
	// before a restore from a backup, if one was made meanwhile that no watch has shown yet.
	MaxAgeOfAnswers = time.Minute
	// maxUseful limits how old an answer may be that is used in place of a late answer. The limit of a plan is twice
	// the time that it took to get the answers for the plan before, so that a plan with a few lookups uses none.
	maxUseful = 10 * time.Minute
	// maxRounds of lookups: a ReplicaSet, its Deployment and that one's scale are three.
	maxRounds = 8
)

// errLate is the answer where there is none yet.
var errLate = fmt.Errorf("no answer from the API server within %v", LookupsDeadline)

// question is what the plan of one key waits for.
type question[X any] struct {
	// index is what is planned with the answers. They are newer, except where the package decides without answers.
	index X
	asked time.Time
	// begun is when the first call for it was begun.
	begun   time.Time
	rounds  int
	open    map[purekube.Need]bool
	answers map[purekube.Need]purekube.Answer
	// failures are the errors of lookups that are among the answers.
	failures map[purekube.Need]error
	// again: an event affected the key, so the answers may be older than the event.
	again bool
	// woken: the key was queued for being late.
	woken bool
	// decided: the plan was made. The question stays for its answers, which may be used in place of late answers to the
	// next question.
	decided bool
	// until is how long the answers may be used so.
	until time.Time
	// before are the answers to the question before this one. They are useful until beforeUntil.
	before      map[purekube.Need]purekube.Answer
	beforeUntil time.Time
}

func newQuestion[X any](index X, now time.Time) *question[X] {
	return &question[X]{index: index, asked: now, open: map[purekube.Need]bool{},
		answers: map[purekube.Need]purekube.Answer{}, failures: map[purekube.Need]error{}}
}

// stale reports whether it is to be asked again, its answers being too old.
func (q *question[X]) stale(now time.Time) bool {
	return !q.begun.IsZero() && now.Sub(q.begun) >= MaxAgeOfAnswers
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

// instead is what is used in place of a late answer.
func (q *question[X]) instead(now time.Time, n purekube.Need) purekube.Answer {
	if before, known := q.before[n]; known && before.Err == nil && now.Before(q.beforeUntil) {
		return before
	}
	return purekube.Answer{Err: errLate}
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
	if before := l.questions[key]; before != q {
		if before != nil {
			q.before, q.beforeUntil = before.answers, before.until
		}
		l.questions[key] = q
	}
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

// decided ends a question. keep leaves its answers for the next question of the key, should that be late, and says
// after which time to drop them.
func (l *lookups[X]) decided(now time.Time, key purekube.Key, q *question[X], keep bool) (tick time.Duration) {
	if !keep {
		l.drop(key)
		return 0
	}
	q.decided, q.before = true, nil
	q.until = q.asked.Add(LookupsDeadline + min(2*now.Sub(q.asked), maxUseful))
	return max(q.until.Sub(now), 0)
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

// dropAll forgets all questions, and returns their keys. Calls under way answer nobody.
func (l *lookups[X]) dropAll() []purekube.Key {
	keys := sortedBy(l.questions, purekube.Key.Compare)
	for _, key := range keys {
		l.drop(key)
	}
	return keys
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
		if q.begun.IsZero() {
			q.begun = now
		}
	}
	return true
}

// Found is told of what the call for a need ended with: an answer, whose Err is final, or an error that another attempt may
// mend. It returns the keys to queue; or, where again is true, the lookup is to be queued after that time.
func (l *Loop[X, S, A]) Found(n purekube.Need, answer purekube.Answer, err error) (keys []purekube.Key, again bool, after time.Duration) {
	askers := l.lookups.served[n]
	delete(l.lookups.served, n)
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
		if !q.open[n] {
			continue
		}
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
	switch {
	case q == nil:
		return false
	case q.decided:
		if !now.Before(q.until) {
			l.lookups.drop(key)
		}
		return false
	case q.woken || !l.o.DecidesWithout || !q.late(now): // the tick of a question before this one
		return false
	}
	q.woken = true
	return len(q.open) > 0
}
