package clientgo

import (
	"context"
	"time"

	"github.com/purekube/purekube"
)

// Hooks add behaviour of your own to controllers. All may be nil. Workers call them at the same time, and wait for
// them.
type Hooks struct {
	// Filter reports whether a key is to be planned. It is called each time, so its answer may change; a key that was left
	// out is planned after its next event. The objects still count for the plans of other keys. Events and workers of the
	// controller wait for Filter: it must be quick, and must not call the controller.
	Filter func(controller string, key purekube.Key) bool
	// BeforeSend sees each action before it is sent. It may change the request. A claim that is created gets the spec of
	// its template: to change that spec, set the request's Template to nil as well. An error is a veto: the action is not
	// sent, and neither are the later actions of the plan, unless its request says ContinueOnError. The veto is logged,
	// OnAction sees it as [ActionResult.Vetoed], and the key is planned after its next event, or ten minutes later.
	BeforeSend func(ctx context.Context, a Sending) error

	// OnStart gets each controller that begins to plan: this replica leads, and the controller has seen every object.
	// Plans wait for the hook. The controller is what [NewDisruption] and so on return: you can ask it for its Index from
	// then on.
	OnStart func(Runner)
	// OnPlan gets each plan, for example for metrics.
	OnPlan func(PlanResult)
	// OnAction gets each action that was sent or vetoed.
	OnAction func(ActionResult)
	// OnLookup gets each lookup at the API server.
	OnLookup func(LookupResult)
	// OnRetry gets each failure, with the time until the key is planned again.
	OnRetry func(Retry)
}

// Sending is an action that is about to be sent.
type Sending struct {
	Controller string
	Key        purekube.Key
	Action     purekube.Action
	// Request is what is sent. It belongs to the hook until that returns.
	Request *purekube.Request
}

// PlanResult is a plan that was decided.
type PlanResult struct {
	Controller string
	Key        purekube.Key
	Actions    int
	Events     []purekube.Event
	RecheckAt  time.Time
	// Err joins what is wrong with the objects of the plan and the lookups that failed.
	Err error
	// Took is the time for the plan alone, from when a worker took the key: neither lookups nor actions are in it.
	Took time.Duration
	// Late is how many lookups were not answered in time: the plan refuses on their account.
	Late int
}

// ActionResult is what became of one action.
type ActionResult struct {
	Controller string
	Key        purekube.Key
	Action     purekube.Action
	Request    purekube.Request
	// Err is the error of the call, or the error of the hook that vetoed the action.
	Err    error
	Vetoed bool
	Took   time.Duration
}

// LookupResult is what a lookup found. Err is an error that another attempt may mend.
type LookupResult struct {
	Controller string
	Need       purekube.Need
	Answer     purekube.Answer
	Err        error
	Took       time.Duration
}

// Retry says that a key failed and is planned again.
type Retry struct {
	Controller string
	Key        purekube.Key
	Err        error
	// Failures is how often it failed in succession, and After when it is planned again.
	Failures int
	After    time.Duration
}

func (h Hooks) start(r Runner) {
	if h.OnStart != nil {
		h.OnStart(r)
	}
}

func (h Hooks) plan(r PlanResult) {
	if h.OnPlan != nil {
		h.OnPlan(r)
	}
}

func (h Hooks) action(r ActionResult) {
	if h.OnAction != nil {
		h.OnAction(r)
	}
}

func (h Hooks) lookup(r LookupResult) {
	if h.OnLookup != nil {
		h.OnLookup(r)
	}
}

func (h Hooks) retry(r Retry) {
	if h.OnRetry != nil {
		h.OnRetry(r)
	}
}
