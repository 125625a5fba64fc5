package servicecidr

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

const (
	// These are upstream's texts. With other texts, a cluster that changes from one controller to the other would write
	// the status of every ServiceCIDR again.
	messageReady       = "Kubernetes Service CIDR is ready"
	messageTerminating = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
)

// How a plan is made, and where:
//
//	decide (here)                          which action is next
//	└─ obstaclesOf (obstacles.go)          does anything block the deletion?
//	   ├─ contained (coverage.go)          does one prefix around mine contain it all (BR-31-05)?
//	   │  └─ mayRelyOn (order.go)          and does that ServiceCIDR stay longer than mine (D-1, D-25)?
//	   ├─ shortestOf (coverage.go)         if not: how long do smaller prefixes contain the parts of mine?
//	   │  └─ any (addresses.go)            is there an address in the part (BR-31-02)?
//	   └─ doubts                           what could not be read, and could be such an address (D-2)?
//
// CheckDeletion and Explain take the same steps through examine (deletion.go), with names in place of yes and no: the
// exposed ranges, the orphans in them, and the ServiceCIDRs around.

// Plan decides about the ServiceCIDR of that key:
//
// If the ServiceCIDR is not being deleted, it gets the finalizer (BR-31-01) and then the condition Ready=True, unless
// it has them. If it is being deleted and an address would be orphaned, it gets Ready=False (BR-31-02). Otherwise,
// RecheckAt is the end of the grace period (BR-31-03), and from then on the plan removes the finalizer. A blocked
// deletion has no RecheckAt: an event affects its key again, see Index.With.
//
// The result for a key that is not in the snapshot is empty. The error joins *purekube.ObjectError: nil objects in the
// snapshot, and the bad input of the package comment that this decision depends on. The actions of a result with an
// error are right: an error only prevents the removal of the finalizer.
func Plan(s Snapshot, key purekube.Key, o Options) (Result, error) {
	// One plan of a snapshot reads few of its addresses, so narrowIndex sorts only these.
	return narrowIndex(s, o, plans(func(y *object) bool { return y.Name == key.Name })).Plan(key)
}

// Plan is [Plan] for the objects of the Index.
func (x *Index) Plan(key purekube.Key) (Result, error) {
	if err := x.o.err(); err != nil {
		return Result{}, err
	}
	var problems snapshot.Problems
	x.report(&problems)
	// A key whose ServiceCIDR is gone has an empty plan: the event of its deletion brings the key once more.
	c := x.find(key, &problems)
	if c == nil {
		return Result{}, problems.Err()
	}
	return x.decide(c, asked{shortest: map[question]shortest{}}, &problems), problems.Err()
}

// PlanAll decides about every ServiceCIDR. It returns the outcomes that have an action, a RecheckAt or an error, sorted
// by key. The result for a key is the result of Plan. Each IPAddress costs one search among the ends of the prefixes
// of ServiceCIDRs that are being deleted.
//
// The error is what is wrong with the snapshot as a whole: nil objects, ServiceCIDRs without a name, and IPAddresses
// that the API server's allocator manages and whose name is not an address (not under MatchUpstream). If a problem
// prevents the removal of a ServiceCIDR's finalizer, the error of that outcome has it too.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) {
	return narrowIndex(s, o, plans(func(*object) bool { return true })).PlanAll()
}

// PlanAll is [PlanAll] for the objects of the Index.
func (x *Index) PlanAll() ([]Outcome, error) {
	if err := x.o.err(); err != nil {
		return nil, err
	}
	var shared snapshot.Problems
	x.reportAll(&shared)
	outcomes := make([]Outcome, 0, x.deleting.Len())
	// The answers are kept across ServiceCIDRs: n of them with the same range ask the same question.
	answers := asked{make(map[question]shortest, x.deleting.Len()), len(x.ips.unknown(everyFamily)) == 0}
	for _, c := range x.byName.All() {
		var problems snapshot.Problems
		result := x.decide(c, answers, &problems)
		if err := problems.Err(); err != nil || !result.Empty() {
			outcomes = append(outcomes, Outcome{Key: Key(c.Name), Result: result, Err: err})
		}
	}
	// Each ambiguous name has an outcome with only an error: nothing is written to whichever of its ServiceCIDRs is
	// current.
	for name := range x.cidrs.AmbiguousNames() {
		var problems snapshot.Problems
		problems.Add(duplicate(name.Name))
		outcomes = append(outcomes, Outcome{Key: Key(name.Name), Err: problems.Err()})
	}
	snapshot.SortByKey(outcomes)
	return outcomes, shared.Err()
}

// decide returns what to do about c. It is sync in servicecidrs_controller.go.
func (x *Index) decide(c *object, asked asked, problems *snapshot.Problems) Result {
	uid := c.UID
	if x.o.matchUpstream() {
		uid = "" // upstream sends none (D-3)
	} else {
		for _, e := range c.problems {
			problems.Add(e) // D-2
		}
	}

	var result Result
	act := func(a Action) { result.Actions = append(result.Actions, a) }
	if !c.deleting() {
		// BR-31-01: upstream's order. A ServiceCIDR is not Ready without the finalizer.
		if !c.protected() {
			act(AddFinalizer{Name: c.Name, UID: uid})
		}
		setReady(x.now, c, uid, wantReady(true), act)
		return result
	}
	b := x.obstaclesOf(c, asked)
	switch {
	case b.blocked:
		// BR-31-02: it stays, and says why.
		setReady(x.now, c, uid, wantReady(false), act)

	// If it is uncertain whether something blocks the deletion, neither case applies: nothing is written, and the error
	// says why.
	case b.none():
		if end := c.graceEnd(x.now, x.o); x.now.Before(end) {
			result.RecheckAt = end
		} else if c.protected() {
			act(RemoveFinalizer{Name: c.Name, UID: uid})
		}
	}
	b.report(problems)
	return result
}

// wantReady is the condition Ready of a ServiceCIDR that is ready, or that is being deleted and in
// use.
func wantReady(ready bool) metav1.Condition {
	if ready {
		return metav1.Condition{Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue, Message: messageReady}
	}
	return metav1.Condition{
		Type:    networkingv1.ServiceCIDRConditionReady,
		Status:  metav1.ConditionFalse,
		Reason:  networkingv1.ServiceCIDRReasonTerminating,
		Message: messageTerminating,
	}
}

// says reports whether x has the condition, with the same status, reason and message. As for upstream, the time of the
// last transition does not count. Otherwise every plan would write the status.
func (x *object) says(want metav1.Condition) bool {
	have := apimeta.FindStatusCondition(x.Status.Conditions, want.Type)
	return have != nil && have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message
}

// setReady sets the condition unless x already has it.
func setReady(now time.Time, x *object, uid types.UID, want metav1.Condition, act func(Action)) {
	if x.says(want) {
		return
	}
	// Only the write has a time, so that two plans at different times agree on whether there is a write.
	want.LastTransitionTime = metav1.NewTime(now)
	act(SetCondition{Name: x.Name, UID: uid, Condition: want})
}
