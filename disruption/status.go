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

// decision is the result for one budget: needs, or a status.
type decision struct {
	needs []purekube.Need
	// budget is a copy with the new status. It is nil if the status in the snapshot is right.
	budget *policyv1.PodDisruptionBudget
	// failure is why the status could not be computed. budget then has the fail-safe status.
	failure *purekube.ObjectError
	// problems are the errors of the objects that the status depends on, failure included.
	problems []*purekube.ObjectError
	events   []purekube.Event
	recheck  time.Time
}

// decide computes the status of the podCount's budget.
func (p *podCount) decide(w *workloads, now time.Time, o Options) decision {
	b := p.budget
	d := decision{problems: p.ambiguities()}
	if p.broken != nil {
		d.events = append(d.events, budgetEvent(b, corev1.EventTypeWarning, "NoPods", "Failed to get pods: "+conditionText(p.broken)))
		return d.failSafe(b, p.broken, now, o)
	}
	if p.pods == 0 {
		d.events = append(d.events, budgetEvent(b, corev1.EventTypeNormal, "NoPods", "No matching pods found"))
	}

	expected, total := p.pods, int64(p.pods)
	if scaleDecides(&b.Spec) {
		x := p.expect(w)
		failed := x.problem != nil
		switch {
		case p.unnamed != nil && o.needsAllNames(&b.Spec):
			// A pod without a name may be the only pod of its controller, whose scale the sum would lack.
			return d.countFailed(b, p.unnamed, now, o)
		case len(x.needs) > 0:
			return decision{needs: x.needs, problems: d.problems}
		case failed && !o.matchUpstream() && forbidsAll(&b.Spec):
			// D-13: with maxUnavailable 0 nothing may be disrupted, whatever the number of expected pods is. The number
			// of existing pods replaces the scale.
			if errors.Is(x.problem, purekube.ErrDuplicate) {
				d.problems = append(d.problems, x.problem)
			}
		case failed:
			return d.countFailed(b, x.problem, now, o)
		default:
			expected, total = o.fit(x.sum), x.sum
		}
	} else if b.Spec.MinAvailable == nil {
		// A budget with neither field expects nothing and allows nothing.
		expected = 0
	}
	desired, problem := desiredHealthy(&b.Spec, total, o)
	if problem != nil {
		problem.Namespace, problem.Name = b.Namespace, b.Name
		return d.countFailed(b, problem, now, o)
	}
	if p.unmanaged > 0 && scaleDecides(&b.Spec) {
		d.events = append(d.events, budgetEvent(b, corev1.EventTypeWarning, "UnmanagedPods", fmt.Sprintf(
			"Pods selected by this PodDisruptionBudget (selector: %v) were found to be unmanaged. "+
				"As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "+
				"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.", b.Spec.Selector)))
	}
	d.events = append(d.events, p.overdueEvents(o)...)
	d.budget = withStatus(b, policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: b.Generation,
		DisruptedPods:      p.disrupted,
		DisruptionsAllowed: disruptionsAllowed(p.healthy, desired, expected, o),
		CurrentHealthy:     p.healthy,
		DesiredHealthy:     desired,
		ExpectedPods:       expected,
	}, now)
	if d.budget == nil && !o.matchUpstream() {
		// D-29: the events were recorded with the write of the current status.
		d.events = nil
	}
	d.recheck = p.recheck
	if !d.recheck.IsZero() && !d.recheck.After(now) {
		// Upstream immediately looks again at an entry that is exactly two minutes old. At the next instant the entry
		// no longer counts.
		d.recheck = now.Add(1)
	}
	return d
}

// overdueEvents are about the pods that were evicted and not deleted (D-15).
func (p *podCount) overdueEvents(o Options) []purekube.Event {
	slices.SortFunc(p.overdue, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	budget := p.budget.Namespace + "/" + p.budget.Name
	if o.matchUpstream() {
		budget = p.budget.Namespace + "/" + p.budget.Namespace
	}
	var events []purekube.Event
	for _, pod := range p.overdue {
		events = append(events, podEvent(pod, "NotDeleted",
			fmt.Sprintf("Pod was expected by PDB %s to be deleted but it wasn't", budget)))
	}
	return events
}

// countFailed completes a decision for which the expected pods cannot be counted.
func (d decision) countFailed(b *policyv1.PodDisruptionBudget, problem *purekube.ObjectError, now time.Time, o Options) decision {
	d.events = append(d.events, budgetEvent(b, corev1.EventTypeWarning, "CalculateExpectedPodCountFailed",
		"Failed to calculate the number of expected pods: "+conditionText(problem)))
	return d.failSafe(b, problem, now, o)
}

// failSafe completes a decision with the status that allows no disruption and leaves the other
// numbers as they were (BR-25-06).
func (d decision) failSafe(b *policyv1.PodDisruptionBudget, problem *purekube.ObjectError, now time.Time, o Options) decision {
	d.failure = problem
	d.problems = append(d.problems, problem)
	updated := b.DeepCopy()
	updated.Status.DisruptionsAllowed = 0
	changed := apimeta.SetStatusCondition(&updated.Status.Conditions, metav1.Condition{
		Type:               policyv1.DisruptionAllowedCondition,
		Status:             metav1.ConditionFalse,
		Reason:             policyv1.SyncFailedReason,
		Message:            message.Condition(conditionText(problem)),
		ObservedGeneration: updated.Status.ObservedGeneration,
		LastTransitionTime: stamp(now),
	})
	// D-18: the same status is not written on every pass.
	if changed || b.Status.DisruptionsAllowed != 0 || o.matchUpstream() {
		d.budget = updated
	}
	return d
}

// result is the decision as a plan returns it.
func (d decision) result() Result {
	r := Result{Events: d.events, Needs: d.needs, RecheckAt: d.recheck}
	if d.budget != nil {
		r.Actions = []Action{UpdateStatus{Budget: d.budget}}
	}
	return r
}

// conditionText returns upstream's text where upstream has one. For errors that only this package reports, it returns
// the text with the object's name.
func conditionText(problem *purekube.ObjectError) string {
	for _, own := range []error{purekube.ErrDuplicate, purekube.ErrNil, snapshot.ErrNoName, errNegative, errOutOfRange} {
		if errors.Is(problem, own) {
			return problem.Error()
		}
	}
	return problem.Err.Error()
}

// withStatus returns a copy of the budget with that status, or nil if the budget already has it (upstream:
// updatePdbStatus). Conditions of other types stay.
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
	conditions := updated.Status.Conditions
	st.DeepCopyInto(&updated.Status)
	updated.Status.Conditions = conditions
	setCondition(&updated.Status, now)
	return updated
}

// conditionSays reports whether the condition DisruptionAllowed agrees with disruptionsAllowed
// (upstream: ConditionsAreUpToDate, which looks at neither its message nor its generation).
func conditionSays(b *policyv1.PodDisruptionBudget) bool {
	c := apimeta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
	want := disruptionCondition(&b.Status)
	return c != nil && c.Status == want.Status && c.Reason == want.Reason
}

// setCondition makes the condition agree with disruptionsAllowed.
func setCondition(st *policyv1.PodDisruptionBudgetStatus, now time.Time) {
	c := disruptionCondition(st)
	c.LastTransitionTime = stamp(now)
	apimeta.SetStatusCondition(&st.Conditions, c)
}

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
