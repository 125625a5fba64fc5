package disruption

import (
	"errors"
	"maps"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/internal/snapshot"
)

// How a status is written.

// withFailure returns a copy of the budget with the status that allows no disruption and leaves the other numbers as
// they were, or the budget itself if it has that status (BR-25-06; upstream: failSafe).
//
// The other numbers stay because nothing better is known: currentHealthy from the last pass is more useful to a reader
// than 0. observedGeneration stays as well. If the spec has changed since, the eviction handler therefore refuses even
// before it reads disruptionsAllowed. The entries of disruptedPods stay: evicted pods must not count as healthy again
// only because a scale could not be read for a moment.
func (o Options) withFailure(
	b *policyv1.PodDisruptionBudget, problem *purekube.ObjectError, now time.Time,
) *policyv1.PodDisruptionBudget {
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
	// disruptionsAllowed is compared in addition, because another writer may have set the number and left the condition.
	if changed || b.Status.DisruptionsAllowed != 0 || o.repeatsFailure() {
		return updated
	}
	return b
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

// withStatus returns a copy of the budget with that status, or the budget itself if it already has it (upstream:
// updatePdbStatus). Conditions of other types stay. st.Conditions is ignored.
//
// The comparison decides how quiet a cluster is: every pod event leads here, and most change no number. Each compared
// field is one that a reader of the status acts on. A nil and an empty map of disruptedPods are equal, as for
// upstream's semantic DeepEqual; times are compared as instants, because a decoded time and a parsed one differ in
// their location.
func withStatus(
	b *policyv1.PodDisruptionBudget, st policyv1.PodDisruptionBudgetStatus, now time.Time,
) *policyv1.PodDisruptionBudget {
	is := b.Status
	if is.ObservedGeneration == st.ObservedGeneration &&
		is.DisruptionsAllowed == st.DisruptionsAllowed &&
		is.CurrentHealthy == st.CurrentHealthy &&
		is.DesiredHealthy == st.DesiredHealthy &&
		is.ExpectedPods == st.ExpectedPods &&
		maps.EqualFunc(is.DisruptedPods, st.DisruptedPods, func(a, b metav1.Time) bool { return a.Equal(&b) }) &&
		conditionSays(b) {
		return b
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
