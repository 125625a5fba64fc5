package purekube

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Result is what a plan decided. The zero value means that there is nothing to do.
type Result[A Action] struct {
	// Actions are the writes to make, in order. If a call fails, make the later calls only if its Request says
	// ContinueOnError. In any case, take a new snapshot and plan again after a failure.
	Actions []A
	// Events are for the caller's event recorder. They are best effort: losing one
	// changes no later decision.
	Events []Event
	// Needs are lookups to make before anything can be decided. While there are Needs, Actions is empty. Put the
	// answers into the snapshot and plan again.
	Needs []Need
	// RecheckAt is when to plan again even if no object changes. It is always after the snapshot's Now. The zero time
	// means that no such plan is needed.
	RecheckAt time.Time
}

// Empty reports whether the result asks for nothing: no write, no event, no lookup and no
// later plan.
func (r Result[A]) Empty() bool {
	return len(r.Actions) == 0 && len(r.Events) == 0 && len(r.Needs) == 0 && r.RecheckAt.IsZero()
}

// Event is a Kubernetes event to record.
type Event struct {
	// Regarding is the object that the event is about.
	Regarding corev1.ObjectReference
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is the machine-readable CamelCase reason.
	Reason string
	// Message is the text for people. It is truncated to 1,024 bytes, the limit of events.k8s.io/v1. Plans under
	// MatchUpstream do not truncate it: kube-controller-manager records events of v1, which have no such limit.
	Message string
}

// Outcome is one object's share of a whole-cluster plan.
type Outcome[A Action] struct {
	// Key names the object.
	Key Key
	// Result is what Plan returns for that key.
	Result Result[A]
	// Err joins what is wrong with the objects that the decision depends on. Result still has the valid part of the
	// plan.
	Err error
}
