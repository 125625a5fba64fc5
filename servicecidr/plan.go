package servicecidr

import (
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

const (
	messageReady       = "Kubernetes Service CIDR is ready"
	messageTerminating = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
)

// Plan decides about the ServiceCIDR of that key.
//
// Not being deleted, it gets the finalizer (BR-31-01) and then the condition Ready=True, unless
// they are there. Being deleted, it gets Ready=False as long as an address would be orphaned
// (BR-31-02); otherwise RecheckAt is the end of the grace period (BR-31-03), and from then on the
// finalizer is removed. A blocked deletion has no RecheckAt: an event brings it back, see
// Index.With.
//
// A name that the snapshot does not hold gives an empty result. The error joins
// *purekube.ObjectError: nil objects in the snapshot, and what the package comment lists under
// Bad input, as far as this decision rests on it. What the result holds in spite of an error is
// right: an error keeps the finalizer where it is, and nothing else back.
func Plan(s Snapshot, key purekube.Key, o Options) (Result, error) { return clusterOf(s, o).plan(key) }

func (c cluster) plan(key purekube.Key) (Result, error) {
	if err := c.o.err(); err != nil {
		return Result{}, err
	}
	var problems snapshot.Problems
	c.reportNil(&problems)
	x := c.find(nameOf(key), &problems)
	if x == nil {
		return Result{}, problems.Err()
	}
	var b obstacles
	if x.deleting() {
		found, _ := c.obstaclesOf([]*object{x}, c.ips, c.o)
		b = found[0]
	}
	return decide(c.now, x, b, c.o, &problems), problems.Err()
}

// PlanAll decides about every ServiceCIDR at the cost of about one look at each address. It
// returns the outcomes that have an action, a RecheckAt or an error, sorted by name. The result for
// a name is the one that Plan returns.
//
// The error is what is wrong with the snapshot as a whole: nil objects, ServiceCIDRs without a name,
// and IPAddresses that the API server's allocator manages and whose name is not an address (not
// under MatchUpstream). A problem that a ServiceCIDR's finalizer is kept for is in the error of that
// outcome as well.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) { return clusterOf(s, o).planAll() }

func (c cluster) planAll() ([]Outcome, error) {
	if err := c.o.err(); err != nil {
		return nil, err
	}
	subjects := make([]*object, 0, c.deleting.Len())
	for _, x := range c.deleting.All() {
		subjects = append(subjects, x)
	}
	var shared snapshot.Problems
	c.reportNil(&shared)
	found, u := c.obstaclesOf(subjects, c.ips, c.o)
	u.report(&shared, c.o)

	var outcomes []Outcome
	add := func(x *object, b obstacles) {
		var problems snapshot.Problems
		result := decide(c.now, x, b, c.o, &problems)
		if err := problems.Err(); err != nil || !result.Empty() {
			outcomes = append(outcomes, Outcome{Key: Key(x.Name), Result: result, Err: err})
		}
	}
	for i, x := range subjects {
		add(x, found[i])
	}
	for _, x := range c.byName.All() {
		if !x.deleting() {
			add(x, obstacles{})
		}
	}
	for name := range c.duplicates {
		var problems snapshot.Problems
		problems.Add(duplicate(name))
		outcomes = append(outcomes, Outcome{Key: Key(name), Err: problems.Err()})
	}
	slices.SortFunc(outcomes, func(a, b Outcome) int { return a.Key.Compare(b.Key) })
	return outcomes, shared.Err()
}

// decide returns what to do about x; b counts if x is being deleted.
func decide(now time.Time, x *object, b obstacles, o Options, problems *snapshot.Problems) Result {
	uid := x.UID
	if o.matchUpstream() {
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
		// BR-31-01: upstream's order. A ServiceCIDR is not Ready without the finalizer.
		if !x.protected() {
			act(AddFinalizer{Name: x.Name, UID: uid})
		}
		setReady(now, x, uid, wantReady(true), act)
		return result

	case b.blocked:
		// BR-31-02: it stays, and says why.
		setReady(now, x, uid, wantReady(false), act)

	case b.none():
		if end := x.graceEnd(now, o); now.Before(end) {
			result.RecheckAt = end
		} else if x.protected() {
			act(RemoveFinalizer{Name: x.Name, UID: uid})
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

// says reports whether the condition is there: its status, reason and message are compared.
func (x *object) says(want metav1.Condition) bool {
	have := apimeta.FindStatusCondition(x.Status.Conditions, want.Type)
	return have != nil && have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message
}

// setReady sets the condition unless it is there already.
func setReady(now time.Time, x *object, uid types.UID, want metav1.Condition, act func(Action)) {
	if x.says(want) {
		return
	}
	want.LastTransitionTime = metav1.NewTime(now)
	act(SetCondition{Name: x.Name, UID: uid, Condition: want})
}
