package servicecidr

import (
	"cmp"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/snapshot"
)

const (
	messageReady       = "Kubernetes Service CIDR is ready"
	messageTerminating = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
)

// Plan decides about the ServiceCIDR of that name.
//
// Not being deleted, it gets the finalizer (BR-31-01) and then the condition Ready=True, unless
// they are there. Being deleted, it gets Ready=False as long as an address would be orphaned
// (BR-31-02); otherwise RecheckAt is the end of the grace period (BR-31-03), and from then on the
// finalizer is removed. A blocked deletion has no RecheckAt: an event brings it back, see
// AffectedByServiceCIDR and AffectedByIPAddress.
//
// A name that the snapshot does not hold gives an empty result. The error joins
// *purekube.ObjectError: nil objects in the snapshot, and what the package comment lists under
// Problems, as far as this decision rests on it. What the result holds in spite of an error is
// right: an error keeps the finalizer where it is, and nothing else back.
func Plan(s Snapshot, name string, o Options) (Result, error) {
	var problems snapshot.Problems
	r := readRoster(s, &problems)
	x := r.find(name, &problems)
	if x == nil {
		return Result{}, problems.Err()
	}
	var v verdict
	if x.deleting() {
		verdicts, _ := r.judge([]*object{x}, s.IPAddresses, o)
		v = verdicts[0]
	}
	return decide(s, x, v, o, &problems), problems.Err()
}

// PlanAll decides about every ServiceCIDR at the cost of about one look at each address. It
// returns the outcomes that have an action, a RecheckAt or an error, sorted by name. The outcome
// with the empty name, if there is one, holds what is wrong with objects that no decision rests
// on. The result for a name is the one that Plan returns.
func PlanAll(s Snapshot, o Options) []Outcome {
	var shared snapshot.Problems
	r := readRoster(s, &shared)
	subjects := make([]*object, 0, len(r.objects))
	for _, x := range r.objects {
		if x.deleting() {
			subjects = append(subjects, x)
		}
	}
	verdicts, rest := r.judge(subjects, s.IPAddresses, o)
	for _, e := range rest {
		shared.Add(e)
	}

	var outcomes []Outcome
	if err := shared.Err(); err != nil {
		outcomes = append(outcomes, Outcome{Err: err})
	}
	for name := range r.doubles {
		var problems snapshot.Problems
		problems.Add(duplicate(name))
		outcomes = append(outcomes, Outcome{Key: name, Err: problems.Err()})
	}
	for _, x := range r.objects {
		var v verdict
		if x.deleting() { // subjects are in the order of objects
			v, verdicts = verdicts[0], verdicts[1:]
		}
		var problems snapshot.Problems
		result := decide(s, x, v, o, &problems)
		if err := problems.Err(); err != nil || !result.Empty() {
			outcomes = append(outcomes, Outcome{Key: x.Name, Result: result, Err: err})
		}
	}
	slices.SortFunc(outcomes, func(a, b Outcome) int { return cmp.Compare(a.Key, b.Key) })
	return outcomes
}

// decide returns what to do about x; v counts if x is being deleted.
func decide(s Snapshot, x *object, v verdict, o Options, problems *snapshot.Problems) Result {
	uid := x.UID
	if o.MatchUpstream {
		uid = "" // upstream sends none (D-3)
	} else {
		for _, e := range x.problems {
			problems.Add(e) // D-2
		}
	}

	var result Result
	act := func(a Action) { result.Actions = append(result.Actions, a) }
	switch {
	case !x.deleting():
		// BR-31-01: upstream's order. Without the finalizer nobody should rely on Ready.
		if !x.protected() {
			act(AddFinalizer{Name: x.Name, UID: uid})
		}
		setReady(s, x, uid, metav1.Condition{Status: metav1.ConditionTrue, Message: messageReady}, act)
		return result

	case v.blocked:
		// BR-31-02: it stays, and says why.
		setReady(s, x, uid, metav1.Condition{
			Status:  metav1.ConditionFalse,
			Reason:  networkingv1.ServiceCIDRReasonTerminating,
			Message: messageTerminating,
		}, act)

	case v.removable():
		// BR-31-03: from the very moment on. Not a difference of times: those overflow.
		end := x.DeletionTimestamp.Add(o.gracePeriod())
		if s.Now.Before(end) {
			result.RecheckAt = end
		} else if x.protected() {
			act(RemoveFinalizer{Name: x.Name, UID: uid})
		}
	}
	v.report(problems)
	return result
}

// setReady sets the condition Ready unless it says so already.
func setReady(s Snapshot, x *object, uid types.UID, want metav1.Condition, act func(Action)) {
	want.Type = networkingv1.ServiceCIDRConditionReady
	have := apimeta.FindStatusCondition(x.Status.Conditions, want.Type)
	if have != nil && have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message {
		return
	}
	want.LastTransitionTime = metav1.NewTime(s.Now)
	act(SetCondition{Name: x.Name, UID: uid, Condition: want})
}
