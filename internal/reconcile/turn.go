package reconcile

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
)

const (
	// WritesTimeout is for all writes of one plan together.
	WritesTimeout = 30 * time.Second
	// PauseAfterRetries is the pause after which a key is planned again if its Retries did not help, or if its action was
	// vetoed.
	PauseAfterRetries = 10 * time.Minute
	// LongestRecheck is the longest pause before a key is planned again because of its Result.RecheckAt. A later
	// RecheckAt follows from a time that another clock wrote: one of the two clocks is wrong, and may be set right
	// meanwhile.
	LongestRecheck = 10 * time.Minute
	// RecheckNow is the pause before a key is planned again if its Result.RecheckAt is over: the plan was made for a time
	// before now.
	RecheckNow = time.Second

	// ConfirmPause is the shortest pause before a key is planned again if something in its plan was not confirmed, unless
	// an event queues it. The caches may be behind, or hang, and to confirm a plan can take a list of a hundred thousand
	// objects.
	ConfirmPause = 10 * time.Second

	firstRetry, lastRetry = 5 * time.Millisecond, 1000 * time.Second
)

// Step is what a worker does next with its key.
type Step string

const (
	// Wait: the turn is over. Do what Turn.Next says.
	Wait Step = "Wait"
	// Plan: plan Turn.Key with Turn.Index, and call Planned.
	Plan Step = "Plan"
	// Confirm: the plan has actions that cannot be undone. Read what it rests on from the API server, plan Turn.Key again
	// with that, and call Confirmed.
	Confirm Step = "Confirm"
	// CarryOut: record the events of Turn.Result and send its actions, then call End.
	CarryOut Step = "CarryOut"
)

// Next says when to queue a key again.
type Next struct {
	// Requeue: queue the key after this time.
	Requeue bool
	After   time.Duration
	// Err is why, where something failed, and Retry how often in succession.
	Err   error
	Retry int
}

// sooner is the sooner of both. The plan that is made then says again what the other one is for.
func (n Next) sooner(after time.Duration) Next {
	after = max(after, 0)
	if !n.Requeue || after < n.After {
		n.Requeue, n.After = true, after
	}
	return n
}

// Turn is the work on one key, from Begin to Wait or End.
type Turn[X any, A purekube.Action] struct {
	Key  purekube.Key
	Step Step
	// Index is what to plan with.
	Index X
	// Result is the plan to execute, and Problems what is wrong with its objects. Failures are the errors of lookups, and
	// why something was not confirmed.
	Result             purekube.Result[A]
	Problems, Failures error
	// WriteBy is until when the plan's calls may take.
	WriteBy time.Time
	// Late is how many lookups were not answered in time: the plan refuses on their account.
	Late int
	// Next is what to do after Step Wait.
	Next Next
	// Ask are lookups to queue, and Tick is after which time to call Tick. Both are set by Planned, and empty otherwise.
	Ask  []purekube.Need
	Tick time.Duration

	// What follows is the Loop's own. Unconfirmed: an action is not sent that cannot be undone.
	Unconfirmed bool
	Question    *Question[X]
	Answers     map[purekube.Need]purekube.Answer
	// Refusing: the plan is made without answers, whatever is known, since the pods in its Index may be newer than an
	// answer.
	Refusing bool
	// Checking: Result is the plan with the Index of the question, and Index is the Index of now.
	Checking bool
	Again    bool
	Written  map[schema.GroupResource]string
}

// Begin begins the turn of a key that was queued.
func (l *Loop[X, S, A]) Begin(now time.Time, key purekube.Key) *Turn[X, A] {
	t := &Turn[X, A]{Key: key, Step: Wait, Written: map[schema.GroupResource]string{}}
	if l.o.Plans != nil && !l.o.Plans(key) {
		l.forget(key)
		return t
	}
	if hold := l.Fences.hold(now, key); hold > 0 {
		t.Next = t.Next.sooner(hold)
		return t
	}
	q := l.Lookups.Questions[key]
	switch {
	case q == nil:
		t.Question = newQuestion(l.Current(now), now)
		t.Index = t.Question.Index
	case len(q.Open) > 0 && !(l.o.DecidesWithout && q.late(now)):
		return t // its answers queue it
	case len(q.Open) > 0:
		t.Question = q
		l.refuse(now, t)
	default:
		// With thousands of scales, some answers are always too old. They are kept until an event affects the key: its pods
		// have not changed either.
		if !l.o.DecidesWithout || q.Again {
			if old := q.dropOld(now); old != nil {
				t.Next = l.after(key, old)
				return t
			}
		}
		t.Question, t.Index = q, q.Index
		t.Answers, t.Failures = q.answered()
		l.answer(t)
	}
	t.Step = Plan
	l.Turns[key] = t
	return t
}

func (l *Loop[X, S, A]) forget(key purekube.Key) {
	delete(l.Failures, key)
	l.Lookups.drop(key)
}

// answer puts the answers into the Index of the turn. They serve this turn alone: they are in an Index that nobody else
// sees.
func (l *Loop[X, S, A]) answer(t *Turn[X, A]) {
	t.Index, _ = t.Index.With(l.o.Answers(t.Answers))
}

// refuse makes the Index of a turn whose lookups are late: what is there now, and no answers.
func (l *Loop[X, S, A]) refuse(now time.Time, t *Turn[X, A]) {
	t.Refusing, t.Answers = true, map[purekube.Need]purekube.Answer{}
	t.Index = l.Current(now)
}

// Planned is told of the plan that was made with the Index of the turn, and sets its Step.
//
// A plan with answers is made twice: with the Index that asked, and with the Index of now. The first one alone would
// not go by what was shown since. The second one alone would not do either: its pods may be newer than the answers.
// Only what both ask for is sent, and the key is planned again where they differ. A package with Options.DecidesWithout
// sends the first plan as it is before LookupsDeadline, and refuses after that where the two differ: otherwise the
// status of before, which may allow more, would stay while pods keep changing.
func (l *Loop[X, S, A]) Planned(now time.Time, t *Turn[X, A], result purekube.Result[A], problems error) {
	q := t.Question
	t.Ask, t.Tick = nil, 0
	if t.Checking {
		both, same := asBoth(t.Result, result)
		late := l.o.DecidesWithout && q.late(now)
		switch {
		case !same && late:
			// Neither plan is sent, and the status of before may allow more than both.
			l.Lookups.drop(t.Key)
			t.Checking, t.Again = false, true
			l.refuse(now, t)
			return
		case l.o.DecidesWithout && !late:
			both = t.Result
		}
		q.Again = q.Again || !same
		if result, problems = both, t.Problems; !same && !l.o.DecidesWithout {
			result.Events, problems = nil, nil // the next plan has them, if they still hold
		}
	}
	if len(result.Needs) == 0 {
		if t.Answers != nil && !t.Refusing && !t.Checking {
			t.Result, t.Problems, t.Checking = result, problems, true
			// At the time of the question, so that times in a status are the same.
			t.Index = l.Current(q.Asked)
			l.answer(t)
			return
		}
		t.Result, t.Problems, t.Step, t.WriteBy = result, problems, CarryOut, now.Add(WritesTimeout)
		if slices.ContainsFunc(result.Actions, irreversible[A]) {
			t.Step = Confirm
		}
		switch {
		case t.Refusing: // it is planned again when all is answered
			t.Late, t.Failures = len(q.Open), nil
		case t.Answers != nil:
			t.Again = q.Again
			l.Lookups.drop(t.Key)
		}
		return
	}
	open := slices.DeleteFunc(slices.Clone(result.Needs), func(n purekube.Need) bool {
		_, answered := t.Answers[n]
		return answered
	})
	if len(open) == 0 || l.o.Answers == nil || !t.Refusing && q.Rounds == maxRounds {
		l.Lookups.drop(t.Key)
		if t.Failures == nil {
			t.Failures = fmt.Errorf("%d lookups are still open after %d rounds, the first is %v", len(result.Needs), q.Rounds,
				result.Needs[0])
		}
		l.wait(t)
		t.Next = l.after(t.Key, t.Failures)
		return
	}
	if !t.Refusing {
		first := q.Rounds == 0
		t.Ask = l.Lookups.ask(t.Key, q, open)
		if first && l.o.DecidesWithout {
			t.Tick = LookupsDeadline
		}
		if l.o.DecidesWithout && q.late(now) {
			l.refuse(now, t)
		} else {
			l.wait(t)
		}
		return
	}
	for _, n := range open {
		t.Answers[n] = purekube.Answer{Err: errLate}
	}
	l.answer(t)
}

// asBoth is the plan up to the first action that the other plan does not have in the same place, and whether the
// actions of both are the same.
func asBoth[A purekube.Action](plan, other purekube.Result[A]) (both purekube.Result[A], same bool) {
	for i, a := range plan.Actions {
		if i == len(other.Actions) || !sameRequest(a, other.Actions[i]) {
			plan.Actions = plan.Actions[:i]
			return plan, false
		}
	}
	return plan, len(plan.Actions) == len(other.Actions) && len(other.Needs) == 0
}

func sameRequest[A purekube.Action](a, b A) bool {
	return reflect.DeepEqual(a.Request(nil), b.Request(nil))
}

// irreversible reports whether an action cannot be undone.
func irreversible[A purekube.Action](a A) bool { return a.Request(nil).Irreversible }

// ErrUnconfirmed is the error of a plan with an action that cannot be undone, if the plan that is made with what the
// API server has does not have that action.
var ErrUnconfirmed = errors.New("not confirmed by what the API server has")

// Confirmed is told of the plan of the same key that was made with what the API server has, read after Planned, or of
// why there is none. An action that cannot be undone is sent only if that plan has the same request, and nothing that
// follows is sent without it. The writes have all of their time from then on.
func (l *Loop[X, S, A]) Confirmed(now time.Time, t *Turn[X, A], fresh purekube.Result[A], err error) {
	t.Step, t.WriteBy = CarryOut, now.Add(WritesTimeout)
	for i, a := range t.Result.Actions {
		if !irreversible(a) ||
			err == nil && slices.ContainsFunc(fresh.Actions, func(b A) bool { return sameRequest(a, b) }) {
			continue
		}
		if err == nil {
			err = ErrUnconfirmed
		}
		t.Result.Actions, t.Unconfirmed = t.Result.Actions[:i], true
		t.Failures = errors.Join(t.Failures, fmt.Errorf("%s: %w", a, err))
		return
	}
}

// wait ends a turn without a plan.
func (l *Loop[X, S, A]) wait(t *Turn[X, A]) {
	delete(l.Turns, t.Key)
	t.Step = Wait
}

// Sent is told of what a call of the turn's plan ended with. A call that was not made is not told of.
func (l *Loop[X, S, A]) Sent(now time.Time, t *Turn[X, A], r purekube.Request, object runtime.Object, err error) {
	resource := r.Resource.GroupResource()
	switch {
	case err != nil && r.Verb == "create" && unanswered(err):
		l.Fences.mayBeThere(t.Written, resource)
	case err == nil && object != nil && r.Verb != "delete": // a deletion returns an object that is gone
		if l.o.Written != nil {
			l.o.Written(now, object)
		}
		l.Fences.written(t.Written, resource, object)
	}
}

// End ends the turn of a plan that was executed. failed is what failed of the plan, and vetoed says that the shell did
// not send an action on purpose.
func (l *Loop[X, S, A]) End(now time.Time, t *Turn[X, A], failed error, vetoed bool) Next {
	delete(l.Turns, t.Key)
	l.Fences.set(now, t.Key, t.Written, t.Answers != nil && !t.Refusing && l.o.DecidesWithout)
	problems := t.Problems
	if !l.o.RetryProblems {
		problems = nil // only an event can make them go
	}
	next := l.after(t.Key, errors.Join(problems, t.Failures, failed))
	if t.Unconfirmed {
		next.After = max(next.After, ConfirmPause)
	}
	if vetoed {
		next = next.sooner(PauseAfterRetries)
	}
	if at := t.Result.RecheckAt; !at.IsZero() {
		after := min(at.Sub(now), LongestRecheck)
		if after <= 0 {
			after = RecheckNow
		}
		next = next.sooner(after)
	}
	if t.Refusing && failed == nil && !vetoed && len(t.Result.Actions) > 0 && l.Lookups.Questions[t.Key] == t.Question {
		// The status that refuses has changed the object: what was asked for the object before is asked again.
		l.Lookups.drop(t.Key)
		t.Again = true
	}
	if t.Again {
		next = next.sooner(0)
	}
	return next
}

// after is when a key is planned again that ended with this error.
func (l *Loop[X, S, A]) after(key purekube.Key, err error) Next {
	if err == nil {
		delete(l.Failures, key)
		return Next{}
	}
	n := l.Failures[key] + 1
	next := Next{Requeue: true, Err: err, Retry: n}
	if l.o.Retries > 0 && n > l.o.Retries {
		delete(l.Failures, key)
		next.After = PauseAfterRetries
		return next
	}
	l.Failures[key] = n
	next.After = max(Backoff(n), askedFor(err))
	return next
}

// askedFor is the pause that a busy API server asks for, PauseAfterRetries at most. The pauses grow all the same: one
// that stays busy for long would get all requests again each time.
func askedFor(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return min(time.Duration(seconds)*time.Second, PauseAfterRetries)
}

// Backoff is the pause before the nth retry in succession: 5 ms, then twice as long each time, up to 1,000 s. That is
// the pause of client-go's default rate limiter.
func Backoff(n int) time.Duration { return backoff(n, lastRetry) }

func backoff(n int, longest time.Duration) time.Duration {
	if n < 1 {
		return 0
	}
	if n > 20 {
		return longest
	}
	return min(firstRetry<<(n-1), longest)
}
