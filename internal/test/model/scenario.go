package model

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// Scenario is a small cluster, what may happen in it, and what must never happen.
type Scenario struct {
	Name string
	// Kinds are the resources of the scenario. A report shows changes of an earlier kind first.
	Kinds []schema.GroupVersionResource
	// Lag is how many changes each cache may lag. A kind in Current never lags.
	Lag     int
	Current []schema.GroupVersionResource
	// Until is how far time passes in the search. What follows a state in a settling run has no bound.
	Until time.Duration
	// Objects are there when the controller starts.
	Objects []Object
	Events  []Event
	// Controller under test.
	Controller Controller
	// Assumes is the resource whose objects the controller remembers as the API server returned
	// them, until its cache has them; Remembers the one whose deleted UIDs it remembers.
	Assumes, Remembers schema.GroupVersionResource
	// After a create of an assumed object whose answer was lost, the controller lists that kind before it plans again.
	ListsAnew bool
	// KeepsAssumed: what the controller remembers of its writes outlives a restore from a backup.
	KeepsAssumed bool
	// Backup are the objects that a restore recreates: no other object ever has their UIDs.
	Backup []Object
	Faults Faults
	// Ghost returns what guarantees remember of the past: the new value after a step.
	Ghost      func(s *Step) string
	Guarantees []Guarantee
	// Rest returns what is wrong with the API server's objects when everything is idle.
	Rest func(server *View) string
	// Describe returns a few words about an object, for reports.
	Describe func(Object) string
}

// Faults are what may go wrong, as often as it likes.
type Faults struct {
	Refuse, LoseAnswer, Crash bool
	// Overtake: an object that the controller creates is deleted at once, and its caches show that before the
	// controller has the answer to the create. With Phantom, it believes in the answer all the same.
	Overtake, Phantom bool
	// OldStart: a controller that starts lists what the caches of the controller before it showed, which may be older
	// than what that controller had written.
	OldStart bool
}

// Event is something that anybody but the controller does.
type Event struct {
	Name string
	// Max is how often it happens in the search; 0 is as often as it likes.
	Max int
	// Settles: the event continues when users have stopped. Such an event must end by itself.
	Settles bool
	// Restores: the API server is restored from a backup. The controller lists all caches again.
	Restores bool
	// Do calls do once for each way in which the event can happen now. Without changes, only what guarantees remember
	// may change.
	Do func(server *View, do func(how string, changes ...Change))
}

// Change of an object at the API server.
type Change struct {
	object Object
	gone   bool
}

// Put creates or replaces the object.
func Put(o Object) Change { return Change{object: o} }

// Remove takes the object away, whatever its finalizers.
func Remove(o Object) Change { return Change{object: o, gone: true} }

// Delete is what a deletion does: the object goes, or waits for its finalizers.
func Delete(now time.Time, o Object) Change {
	if len(o.GetFinalizers()) == 0 {
		return Remove(o)
	}
	o = o.DeepCopyObject().(Object)
	if o.GetDeletionTimestamp() == nil {
		o.SetDeletionTimestamp(&metav1.Time{Time: now})
	}
	return Put(o)
}

// Controller is one of the packages, with strings for keys.
type Controller struct {
	// Keys are all that there is to plan.
	Keys func(v *View) []string
	// Plan decides about one key. live is nil at first; when the decision has Needs, Plan is asked
	// again for the same view, with what the API server has to answer them from.
	Plan func(v *View, key string, live *View) Decision
	// Affected are the keys to plan again after an event, in the view after it. One of the
	// objects is nil when the other was added or deleted.
	Affected func(v *View, oldObj, newObj Object) []string
}

// Decision is the result of a plan.
type Decision struct {
	Actions   []purekube.Action
	Needs     []purekube.Need
	RecheckAt time.Time
	Err       error
}

// Actions are a package's actions as the model takes them.
func Actions[A purekube.Action](actions []A) []purekube.Action {
	var out []purekube.Action
	for _, a := range actions {
		out = append(out, a)
	}
	return out
}

// Step is one change at the API server, or one of the passing of time (then neither Request nor Event
// is set).
type Step struct {
	Before, After *View
	// Request is the controller's; nil for everybody else's changes.
	Request *purekube.Request
	// Event is the name of the event; empty for a request.
	Event string
	// Ghost is what is remembered, this step included.
	Ghost string
}

// Guarantee is something that must never happen.
type Guarantee struct {
	Name string
	// Broken says how a step breaks the guarantee, or returns "" if it does not.
	Broken func(s *Step) string
}

// View is a set of objects: what the API server has, or what the controller's caches show.
// Nobody may write to the objects.
type View struct {
	Now     time.Time
	Assumed []Object
	// Fresh is a number that no UID in the scenario has, and Ghost what guarantees remember; for events.
	Fresh int
	Ghost string

	objects []Object
	gone    numbers
	plans   map[uint16]*planned
	live    map[string]*planned
	needs   map[uint16]bool
}

// Gone reports whether the UID was seen to be deleted.
func (v *View) Gone(uid types.UID) bool { return v.gone.has(uidNumber(uid)) }

// All are the view's objects of one kind, sorted as they were first seen.
func All[P Object](v *View) []P {
	var out []P
	for _, o := range v.objects {
		if o, ok := o.(P); ok {
			out = append(out, o)
		}
	}
	return out
}

// Get is the object of that name, or nil.
func Get[P Object](v *View, namespace, name string) P {
	for _, o := range v.objects {
		if o, ok := o.(P); ok && o.GetName() == name && o.GetNamespace() == namespace {
			return o
		}
	}
	var none P
	return none
}

// Start is the time at which every scenario begins.
var Start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
