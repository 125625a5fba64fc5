package purekube

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// CarryOut sends the requests of one plan, in order. After a call that fails, it continues only if the request says
// ContinueOnError.
//
// It makes no call itself. do makes one call with your client and returns the object as the API server returned it.
// record is your event recorder, or nil. It gets the event of each action that is a [FailureReporter] and whose call
// failed. Recording the events of the plan is up to you.
//
// CarryOut returns what do returned, in order, with nil for each call that failed. Calls that it did not make have no
// entry. The error joins the errors of the calls and of the requests ([Request.Err]). After an error, take a new
// snapshot and plan again.
func CarryOut[A Action](
	actions []A, do func(Request) (runtime.Object, error), record func(Event),
) ([]runtime.Object, error) {
	done := make([]runtime.Object, 0, len(actions))
	var failed []error
	for _, action := range actions {
		// The request is made now, and not before the first call: it may need the name that the API server gave a new
		// object.
		request := action.Request(done)
		// The call is made all the same: the request is right, but leaves something out that the next plan adds.
		if request.Err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", action, request.Err))
		}
		object, err := do(request)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", action, err))
			object = nil // later actions read nil as a failed call
			if reporter, ok := Action(action).(FailureReporter); ok && record != nil {
				if event, ok := reporter.FailureEvent(err); ok {
					record(event)
				}
			}
		}
		// A failed call has an entry too, so that the position of an object in done is the position of its action.
		done = append(done, object)
		if err != nil && !request.ContinueOnError {
			break
		}
	}
	return done, errors.Join(failed...)
}
