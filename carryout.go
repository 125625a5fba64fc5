package purekube

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// CarryOut sends the requests of one plan, in order. Where a call fails it goes on only if the request says
// ContinueOnError. It makes no call itself: do makes one, with your client, and returns the object as the API server
// has it now. record is your event recorder; it gets the event of an action whose call failed, where there is
// one. Nil is no recorder. The events of the plan itself are up to the caller.
//
// It returns what do returned, in order, with nil for a call that failed and nothing for the calls that it did not make. The error joins those of the calls
// and of the requests ([Request.Err]), each behind its action. After an error take a new snapshot and plan again.
func CarryOut[A Action](actions []A, do func(Request) (runtime.Object, error), record func(Event)) ([]runtime.Object, error) {
	done := make([]runtime.Object, 0, len(actions))
	var failed []error
	for _, action := range actions {
		request := action.Request(done)
		if request.Err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", action, request.Err))
		}
		object, err := do(request)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", action, err))
			object = nil // the actions behind it know it as a call that failed
			if reporter, ok := Action(action).(FailureReporter); ok && record != nil {
				if event, ok := reporter.FailureEvent(err); ok {
					record(event)
				}
			}
		}
		done = append(done, object)
		if err != nil && !request.ContinueOnError {
			break
		}
	}
	return done, errors.Join(failed...)
}
