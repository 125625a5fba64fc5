package disruption

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/internal/snapshot"
)

// From counts to a status. A podCount has the counts of one budget; decide turns them into the new status, or into the
// reason why there is none:
//
//	budget ──count──▶ podCount ──decide──▶ decision ──result──▶ Result: UpdateStatus, events, needs, recheckAt
//
// decide has three ends. Lookups are open: the decision has needs and no status. The status cannot be computed:
// failSafe makes a status that allows nothing. In every other case withStatus compares the new status with the written
// one. The order of the checks is the order of trySync and getExpectedPodCount in upstream's disruption.go, because the
// order decides which event and which error a cluster shows.

// decision is the result for one budget: needs, or a status. Explain reads the decision directly; Plan returns it as a
// [Result].
type decision struct {
	// needs are the open lookups. While there are any, every other field but problems is zero: a status computed
	// without the answer could allow too much.
	needs []purekube.Need
	// budget is a copy with the new status. It is nil if the status in the snapshot is right.
	budget *policyv1.PodDisruptionBudget
	// failure is why the status could not be computed. budget then has the fail-safe status.
	failure *purekube.ObjectError
	// problems are the errors of the objects that the status depends on, failure included. They are independent of
	// budget: two pods of one name are a problem although the status is computed (see podCount.addAmbiguous). events
	// have upstream's order. recheck is when the first kept entry of status.disruptedPods expires, or zero.
	problems []*purekube.ObjectError
	events   []purekube.Event
	recheck  time.Time
}

// decide computes the status of the podCount's budget. w must be the workloads of the index that counted the pods, and
// now and o its time and options: the entries in p are classified by them.
//
// It has no side effects on the snapshot, but it sorts p.overdue and may reorder p.refs. A podCount belongs to one
// goroutine.
func (p *podCount) decide(w *workloads, now time.Time, o Options) decision {
	b := p.budget
	d := decision{problems: p.ambiguities()}
	// A selector that does not compile is no selector that matches nothing: with the latter, minAvailable 2 would say
	// "0 healthy, 2 desired", and with neither field set the status would look fine. The API server rejects such a
	// selector, so the budget comes from an old etcd or from a manifest (BR-25-06).
	if p.broken != nil {
		d.events = append(d.events, budgetEvent(b, corev1.EventTypeWarning, "NoPods", "Failed to get pods: "+conditionText(p.broken)))
		return d.failSafe(b, p.broken, now, o)
	}
	// A budget without pods is not an error. It is usual before the first rollout and after the last pod of a
	// scaled-down workload is gone, so upstream records a Normal event and computes the status: disruptionsAllowed is
	// 0.
	if p.pods == 0 {
		d.events = append(d.events, budgetEvent(b, corev1.EventTypeNormal, "NoPods", "No matching pods found"))
	}

	// expected is the figure of the status, which has 32 bits. total is the same number in 64 bits, from which
	// percentages are taken: a figure that was cut at MaxInt32 would give a smaller percentage, and more disruptions
	// (D-23). With minAvailable as a number, both are the number of selected pods, and no controller is looked at
	// (BR-25-01).
	expected, total := p.pods, int64(p.pods)
	if scaleDecides(&b.Spec) {
		// maxUnavailable and percentages refer to what the controllers want and not to what exists (BR-25-01,
		// BR-25-02): while 3 of 10 pods are missing, "30%" must not shrink to 30 % of 7.
		x := p.expect(w)
		failed := x.problem != nil
		switch {
		// A pod without a name may be the only pod of its controller, whose scale the sum would lack. Needs would not
		// help, since no lookup finds the pod's name, so this case comes before them.
		case p.unnamed != nil && o.needsAllNames(&b.Spec) && !forbidsAll(&b.Spec):
			return d.countFailed(b, p.unnamed, now, o)
		// Unknown is not absent: the caller looks the scales up first. The events so far are dropped, because the next
		// plan returns them again and a caller that records both would record each twice.
		case len(x.needs) > 0:
			return decision{needs: x.needs, problems: d.problems}
		case (failed || p.unnamed != nil) && !o.matchUpstream() && forbidsAll(&b.Spec):
			// D-13: with maxUnavailable 0 no pod may be disrupted that a controller wants. The number of existing pods
			// replaces the sum of the scales: at most, all pods are wanted.
			if failed && errors.Is(x.problem, purekube.ErrDuplicate) {
				d.problems = append(d.problems, x.problem)
			}
		// BR-25-06. Examples: a pod of a DaemonSet, whose kind has no scale; a pod that waits for the garbage collector
		// after its controller was deleted; a lookup that the API server answered with 403.
		case failed:
			return d.countFailed(b, x.problem, now, o)
		default:
			expected, total = o.fit(x.sum), x.sum
		}
	} else if b.Spec.MinAvailable == nil {
		// A budget with neither field expects nothing and allows nothing. The API admits such a budget; upstream leaves
		// its results at their zero values.
		expected = 0
	}
	// The numbers of the spec are checked after the scales, as upstream does: with "maxUnavailable: abc" and a missing
	// controller, the status names the controller.
	desired, problem := desiredHealthy(&b.Spec, total, o)
	if problem != nil {
		problem.Namespace, problem.Name = b.Namespace, b.Name
		return d.countFailed(b, problem, now, o)
	}
	// With a number as minAvailable a pod without a controller counts on both sides, so there is nothing to warn about.
	// With a scale it counts as healthy and not as expected: 3 bare pods beside a ReplicaSet of 3 make a budget with
	// maxUnavailable 1 allow 4 disruptions.
	if p.unmanaged > 0 && scaleDecides(&b.Spec) {
		d.events = append(d.events, budgetEvent(b, corev1.EventTypeWarning, "UnmanagedPods", fmt.Sprintf(
			"Pods selected by this PodDisruptionBudget (selector: %v) were found to be unmanaged. "+
				"As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "+
				"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.", b.Spec.Selector)))
	}
	d.events = append(d.events, p.overdueEvents(o)...)
	// disruptedPods is replaced and not merged: p.disrupted has exactly the entries that still count, so entries of
	// pods that are gone, being deleted, or no longer selected disappear here.
	d.budget = withStatus(b, policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: b.Generation,
		DisruptedPods:      p.disrupted,
		DisruptionsAllowed: disruptionsAllowed(p.healthy, desired, expected, o),
		CurrentHealthy:     p.healthy,
		DesiredHealthy:     desired,
		ExpectedPods:       expected,
	}, now)
	if d.budget == nil && !o.matchUpstream() {
		// D-29: the events were recorded with the write of the current status. Repeating them would record the same
		// NoPods on each pass over each unused budget.
		d.events = nil
	}
	d.recheck = p.recheck
	if !d.recheck.IsZero() && !d.recheck.After(now) {
		// With MatchUpstream an entry that is exactly two minutes old is kept (D-19), and upstream looks again at once.
		// A RecheckAt that is not later than Now would let a caller plan in a tight loop on a stopped clock. At the
		// next instant the entry no longer counts, so one nanosecond later gives the same result.
		d.recheck = now.Add(1)
	}
	return d
}

// overdueEvents are about the pods that were evicted and not deleted (D-15), sorted by the pods' names. Such a pod has
// an entry that is older than the deletion timeout and no deletion timestamp: the eviction handler wrote the budget,
// and then the deletion of the pod failed. The entry disappears with the same plan, so the event is recorded once.
func (p *podCount) overdueEvents(o Options) []purekube.Event {
	slices.SortFunc(p.overdue, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	budget := p.budget.Namespace + "/" + p.budget.Name
	if o.matchUpstream() {
		// D-15: buildDisruptedPodMap formats the namespace twice, so the event of every budget in a namespace looks the
		// same.
		budget = p.budget.Namespace + "/" + p.budget.Namespace
	}
	var events []purekube.Event
	for _, pod := range p.overdue {
		events = append(events, podEvent(pod, "NotDeleted",
			fmt.Sprintf("Pod was expected by PDB %s to be deleted but it wasn't", budget)))
	}
	return events
}

// countFailed completes a decision for which the expected pods cannot be counted. It differs from failSafe by the
// event, which upstream records only for errors of getExpectedPodCount. An error of the selector has the event NoPods.
func (d decision) countFailed(b *policyv1.PodDisruptionBudget, problem *purekube.ObjectError, now time.Time, o Options) decision {
	d.events = append(d.events, budgetEvent(b, corev1.EventTypeWarning, "CalculateExpectedPodCountFailed",
		"Failed to calculate the number of expected pods: "+conditionText(problem)))
	return d.failSafe(b, problem, now, o)
}

// failSafe completes a decision with the status that allows no disruption and leaves the other numbers as they were
// (BR-25-06; upstream: failSafe).
//
// The other numbers stay because nothing better is known: currentHealthy from the last pass is more useful to a reader
// than 0. observedGeneration stays as well. If the spec has changed since, the eviction handler therefore refuses even
// before it reads disruptionsAllowed. The entries of disruptedPods stay: evicted pods must not count as healthy again
// only because a scale could not be read for a moment.
func (d decision) failSafe(b *policyv1.PodDisruptionBudget, problem *purekube.ObjectError, now time.Time, o Options) decision {
	d.failure = problem
	d.problems = append(d.problems, problem)
	updated := b.DeepCopy()
	updated.Status.DisruptionsAllowed = 0
	// The condition has the generation of the status and not of the spec: the failed pass has observed nothing. The
	// message is truncated, because the API server rejects a status whose message is longer than 32 KiB. A rejected
	// status would leave the old disruptionsAllowed in place, which may allow an eviction.
	changed := apimeta.SetStatusCondition(&updated.Status.Conditions, metav1.Condition{
		Type:               policyv1.DisruptionAllowedCondition,
		Status:             metav1.ConditionFalse,
		Reason:             policyv1.SyncFailedReason,
		Message:            message.Condition(conditionText(problem)),
		ObservedGeneration: updated.Status.ObservedGeneration,
		LastTransitionTime: stamp(now),
	})
	// D-18: the same status is not written on every pass. Upstream sends an update at each event of each pod of such a
	// budget. disruptionsAllowed is compared in addition, because another writer may have set the number and left the
	// condition.
	if changed || b.Status.DisruptionsAllowed != 0 || o.matchUpstream() {
		d.budget = updated
	}
	return d
}

// result is the decision as a plan returns it. The slices are the decision's own, so a decision makes one result.
func (d decision) result() Result {
	r := Result{Events: d.events, Needs: d.needs, RecheckAt: d.recheck}
	if d.budget != nil {
		r.Actions = []Action{UpdateStatus{Budget: d.budget}}
	}
	return r
}

// conditionText returns upstream's text where upstream has one, so that a status does not change when the writer
// changes, and tools that search for the text still find it. For errors that only this package reports, it returns the
// text with the object's name, because upstream's form has no room for the name and the budget's reader needs it.
func conditionText(problem *purekube.ObjectError) string {
	for _, own := range []error{purekube.ErrDuplicate, purekube.ErrNil, snapshot.ErrNoName, errNegative, errOutOfRange} {
		if errors.Is(problem, own) {
			return problem.Error()
		}
	}
	return problem.Err.Error()
}

// withStatus returns a copy of the budget with that status, or nil if the budget already has it (upstream:
// updatePdbStatus). Conditions of other types stay. st.Conditions is ignored.
//
// The comparison decides how quiet a cluster is: every pod event leads here, and most change no number. Each compared
// field is one that a reader of the status acts on. A nil and an empty map of disruptedPods are equal, as for
// upstream's semantic DeepEqual; times are compared as instants, because a decoded time and a parsed one differ in
// their location.
func withStatus(b *policyv1.PodDisruptionBudget, st policyv1.PodDisruptionBudgetStatus, now time.Time) *policyv1.PodDisruptionBudget {
	is := b.Status
	if is.ObservedGeneration == st.ObservedGeneration &&
		is.DisruptionsAllowed == st.DisruptionsAllowed &&
		is.CurrentHealthy == st.CurrentHealthy &&
		is.DesiredHealthy == st.DesiredHealthy &&
		is.ExpectedPods == st.ExpectedPods &&
		maps.EqualFunc(is.DisruptedPods, st.DisruptedPods, func(a, b metav1.Time) bool { return a.Equal(&b) }) &&
		conditionSays(b) {
		return nil
	}
	updated := b.DeepCopy()
	// DeepCopyInto replaces the whole status, so the copied conditions are put back before DisruptionAllowed is set.
	// That keeps conditions of other writers, and the transition time of a condition whose status does not change.
	conditions := updated.Status.Conditions
	st.DeepCopyInto(&updated.Status)
	updated.Status.Conditions = conditions
	setCondition(&updated.Status, now)
	return updated
}

// conditionSays reports whether the condition DisruptionAllowed agrees with disruptionsAllowed (upstream:
// ConditionsAreUpToDate, which looks at neither its message nor its generation). It reads the written
// disruptionsAllowed; withStatus has already compared that number with the computed one.
//
// After a failure the condition says SyncFailed. The first successful pass writes even if all numbers are the same,
// because the reason differs.
func conditionSays(b *policyv1.PodDisruptionBudget) bool {
	c := apimeta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
	want := disruptionCondition(&b.Status)
	return c != nil && c.Status == want.Status && c.Reason == want.Reason
}

// setCondition makes the condition agree with disruptionsAllowed. It also serves the simulation of the eviction
// handler, which changes the condition when it takes the last allowed disruption. The library keeps the transition time
// unless the condition's status changes.
func setCondition(st *policyv1.PodDisruptionBudgetStatus, now time.Time) {
	c := disruptionCondition(st)
	c.LastTransitionTime = stamp(now)
	apimeta.SetStatusCondition(&st.Conditions, c)
}

// disruptionCondition is the condition for a status that was computed: SufficientPods if an eviction is allowed,
// InsufficientPods if not. There is no message; upstream writes none either. LastTransitionTime is left to the caller.
func disruptionCondition(st *policyv1.PodDisruptionBudgetStatus) metav1.Condition {
	c := metav1.Condition{
		Type:               policyv1.DisruptionAllowedCondition,
		Status:             metav1.ConditionFalse,
		Reason:             policyv1.InsufficientPodsReason,
		ObservedGeneration: st.ObservedGeneration,
	}
	if st.DisruptionsAllowed > 0 {
		c.Status, c.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	return c
}
