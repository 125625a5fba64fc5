package disruption

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// Plan computes the status of one budget (BR-25-01 … BR-25-04, BR-25-06), or decides about one pod's condition
// DisruptionTarget (BR-25-05).
//
// For a budget:
//
//  1. The budget is not in the snapshot: an empty result, since the budget is gone. Two budgets have the name: an empty
//     result and an error.
//  2. The snapshot lacks the scale of a controller: all Needs at once, and nothing else. A Need is for the scale of a
//     controller, or for a ReplicaSet: the controller of the ReplicaSet decides whose scale counts (D-22). An answer
//     may bring another Need.
//  3. The status cannot be computed: UpdateStatus with disruptionsAllowed 0 and the reason in the condition, and the
//     error. The causes are a selector or a percentage that does not parse and, if the status depends on scales, a
//     controller that does not exist or has no scale, or a pod that is nil, has no name or has the name of another, so
//     that its controller is unknown. If several pods have no controller, the error is about the first of them by name.
//     Needs of pods with earlier names come first.
//  4. In every other case: UpdateStatus, unless the status is already right.
//
// RecheckAt is when the first entry of status.disruptedPods stops counting.
//
// For a pod:
//
//   - The condition DisruptionTarget is True, although the pod is not being deleted and has not ended: after
//     StaleDisruptionTimeout, ClearDisruptionTarget (BR-25-05); until then, RecheckAt. A condition that the kubelet set
//     (reason TerminationByKubelet) stays, since the kubelet may set it long before the pod is deleted.
//   - More than one budget selects the pod: with MatchUpstream, the event MultiplePodDisruptionBudgets (D-29). The API
//     server refuses evictions of such a pod.
//   - The pod is not in the snapshot: an empty result. Two pods have the name: an empty result and an error.
//
// The error joins one [purekube.ObjectError] for each problem that affects the decision, and one for each kind of which
// the snapshot has nil pointers or objects without a name.
func Plan(s Snapshot, key purekube.Key, o Options) (Result, error) {
	return NewIndex(s, o).Plan(key)
}

// PlanAll plans all budgets and pods. It returns the outcomes that are not empty, sorted by key; each has the Result
// that Plan has for its key. The error joins the problems of the snapshot as a whole: nil pointers, objects without a
// name, and names of several workloads that no budget's status depends on.
//
// PlanAll costs about one pass over the pods and one over the budgets, and Plan as much: use an [Index] for more than
// one question.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) { return NewIndex(s, o).PlanAll() }

// Plan is the function [Plan] for the objects of the Index.
func (x *Index) Plan(key purekube.Key) (Result, error) {
	if err := x.options.err(); err != nil {
		return Result{}, err
	}
	problems := x.problems()
	// A kind that is neither a budget nor a pod has no plan and no error: event handlers may pass on each key that they
	// see.
	switch key.Kind {
	case budgetKind:
		// No status is written for a name that several budgets have. The write would be an update of one of them, with
		// a number that may belong to the other.
		if x.budgets.Ambiguous(key.NamespacedName()) {
			problems.Add(snapshot.DuplicateError(budgetKind, key.NamespacedName()))
		}
		st := x.states.Find(key.NamespacedName())
		if st == nil {
			return Result{}, problems.Err()
		}
		v := x.decide(st, nil)
		problems.Add(v.problems...)
		return v.result, problems.Err()
	case podKind:
		pod, problem := x.pods.Lookup(key.NamespacedName())
		if problem != nil {
			problems.Add(problem)
		}
		if pod == nil {
			return Result{}, problems.Err()
		}
		result, _ := x.decidePod(pod)
		return result, problems.Err()
	}
	return Result{}, nil
}

// PlanAll is the function [PlanAll] for the objects of the Index.
func (x *Index) PlanAll() ([]Outcome, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	var outcomes []Outcome
	for st := range x.states.All() {
		v := x.decide(st, nil)
		var problems snapshot.Problems
		problems.Add(v.problems...)
		outcomes = appendOutcome(outcomes, KeyOf(st.PodDisruptionBudget), v.result, problems)
	}
	for pod := range x.pods.All() {
		result, _ := x.decidePod(pod)
		outcomes = appendOutcome(outcomes, KeyOf(pod), result, snapshot.Problems{})
	}
	outcomes = appendDuplicates(outcomes, x.budgets.Duplicates())
	outcomes = appendDuplicates(outcomes, x.pods.Duplicates())
	snapshot.SortByKey(outcomes)
	return outcomes, x.wholeSnapshot()
}

// wholeSnapshot returns the problems that belong to no key. Duplicate budgets and pods are outcomes of their own keys;
// a duplicate workload has no key in this package.
func (x *Index) wholeSnapshot() error {
	problems := x.problems()
	problems.Add(x.workloads.duplicates()...)
	return problems.Err()
}

// verdict is what is decided about a budget: needs, or a status. Plan returns its result, CheckEviction goes by its
// budget, and Explain puts it into words.
type verdict struct {
	// result has the UpdateStatus, if the status must be written, or the open lookups and nothing else: a status computed
	// without the answers could allow too much. Its events have upstream's order.
	result Result
	// budget has the computed status. It is the object of the Index if its status is right, and nil with open lookups.
	budget *policyv1.PodDisruptionBudget
	// failure is why the status could not be computed. budget then has the fail-safe status.
	failure *purekube.ObjectError
	// problems are the errors of the objects that the status depends on, failure included.
	problems []*purekube.ObjectError
}

// decide computes the status of a budget. It has three ends: lookups are open; the status cannot be computed, and the
// fail-safe status allows nothing; the status is computed. The order of the checks is the order of trySync and
// getExpectedPodCount in upstream's disruption.go, because the order decides which event and which error a cluster
// shows.
//
// each, if set, is told what is known about each controller whose scale counts.
func (x *Index) decide(st *budgetState, each func(reference, finding)) verdict {
	b, o := st.PodDisruptionBudget, x.options
	var v verdict
	event := func(eventType, reason, message string) {
		v.result.Events = append(v.result.Events, budgetEvent(b, eventType, reason, o.eventText(message)))
	}
	write := func(status *policyv1.PodDisruptionBudget) {
		if v.budget = status; status != b {
			v.result.Actions = []Action{UpdateStatus{Budget: status}}
		}
	}
	fail := func(problem *purekube.ObjectError) verdict {
		v.failure, v.problems = problem, append(v.problems, problem)
		write(o.withFailure(b, problem, x.now))
		return v
	}
	// Upstream records this event only for errors of getExpectedPodCount.
	notCounted := func(problem *purekube.ObjectError) verdict {
		event(corev1.EventTypeWarning, "CalculateExpectedPodCountFailed",
			"Failed to calculate the number of expected pods: "+conditionText(problem))
		return fail(problem)
	}
	unusable := x.unusablePod(b.Namespace)
	// If minAvailable is a number, the status is computed without these pods, which makes it only stricter. The error
	// names one of them.
	if unusable != nil && errors.Is(unusable, purekube.ErrDuplicate) {
		v.problems = append(v.problems, unusable)
	}
	// A selector that does not compile is not the same as a selector that matches nothing: with the latter, minAvailable
	// 2 would say "0 healthy, 2 desired", and with neither field set the status would look fine. The API server rejects
	// such a selector, so the budget comes from an old etcd or from a manifest (BR-25-06).
	if st.broken != nil {
		event(corev1.EventTypeWarning, "NoPods", "Failed to get pods: "+conditionText(st.broken))
		return fail(st.broken)
	}
	// A budget without pods is not an error. It is usual before the first rollout and after the last pod of a
	// scaled-down workload is gone, so upstream records a Normal event and computes the status: disruptionsAllowed is
	// 0.
	if st.pods == 0 {
		event(corev1.EventTypeNormal, "NoPods", "No matching pods found")
	}

	// expected is the count of the status, which has 32 bits. total is the same number in 64 bits, from which
	// percentages are taken: a count that was cut at MaxInt32 would give a smaller percentage, and more disruptions
	// (D-23). With minAvailable as a number, both are the number of selected pods, and no controller is looked at
	// (BR-25-01).
	expected, total := st.pods, int64(st.pods)
	switch {
	case scaleDecides(&b.Spec):
		// maxUnavailable and percentages refer to what the controllers want and not to what exists (BR-25-01,
		// BR-25-02): while 3 of 10 pods are missing, "30%" must not shrink to 30% of 7.
		// Needs would not help against an unusable pod, so it comes before them.
		e := expectation{problem: unusable}
		if unusable == nil {
			e = x.expect(st, each)
		}
		switch {
		// Unknown is not absent: the caller looks the scales up first. The events so far are dropped, because the next
		// plan returns them again and a caller that records both would record each twice.
		case len(e.needs) > 0:
			return verdict{result: Result{Needs: e.needs}, problems: v.problems}
		case e.problem == nil:
			expected, total = o.fit(e.sum), e.sum
		// BR-25-06. Examples: a pod of a DaemonSet, whose kind has no scale; a pod that waits for the garbage collector
		// after its controller was deleted; a lookup that the API server answered with 403.
		case !o.countsPods(&b.Spec):
			return notCounted(e.problem)
		case errors.Is(e.problem, purekube.ErrDuplicate):
			v.problems = append(v.problems, e.problem)
		}
	// A budget with neither field expects nothing and allows nothing. The API admits such a budget; upstream leaves its
	// results at their zero values.
	case b.Spec.MinAvailable == nil:
		expected = 0
	}
	// The numbers of the spec are checked after the scales, as upstream does: with "maxUnavailable: abc" and a missing
	// controller, the status names the controller.
	desired, problem := o.desiredHealthy(&b.Spec, total)
	if problem != nil {
		problem.Namespace, problem.Name = b.Namespace, b.Name
		return notCounted(problem)
	}
	// With a number as minAvailable a pod without a controller counts on both sides, so there is nothing to warn about.
	// With a scale it counts as healthy and not as expected: 3 bare pods beside a ReplicaSet of 3 make a budget with
	// maxUnavailable 1 allow 4 disruptions.
	if st.unmanaged > 0 && scaleDecides(&b.Spec) {
		event(corev1.EventTypeWarning, "UnmanagedPods", fmt.Sprintf(
			"Pods selected by this PodDisruptionBudget (selector: %v) were found to be unmanaged. "+
				"As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "+
				"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.",
			b.Spec.Selector))
	}
	d := x.disruptedPods(st)
	// The eviction handler wrote the budget, and then the deletion of the pod failed. The entry disappears with the same
	// plan, so the event is recorded once.
	for _, pod := range d.overdue {
		v.result.Events = append(v.result.Events, podEvent(pod, "NotDeleted",
			o.eventText(fmt.Sprintf("Pod was expected by PDB %s to be deleted but it wasn't", o.notDeletedBy(b)))))
	}
	healthy := st.ready - d.evicted
	// disruptedPods is replaced and not merged: d.kept has exactly the entries that still count, so entries of pods that
	// are gone, being deleted, or no longer selected disappear here.
	write(withStatus(b, policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: b.Generation,
		DisruptedPods:      d.kept,
		DisruptionsAllowed: o.disruptionsAllowed(healthy, desired, expected),
		CurrentHealthy:     healthy,
		DesiredHealthy:     desired,
		ExpectedPods:       expected,
	}, x.now))
	if v.budget == b && !o.repeatsEvents() {
		v.result.Events = nil
	}
	v.result.RecheckAt = d.recheck
	if !d.recheck.IsZero() && !d.recheck.After(x.now) {
		// With MatchUpstream an entry that is exactly two minutes old is kept (D-19), and upstream looks again at once.
		// A RecheckAt that is not later than Now would let a caller plan in a tight loop on a stopped clock. At the
		// next instant the entry no longer counts, so one nanosecond later gives the same result.
		v.result.RecheckAt = x.now.Add(1)
	}
	return v
}

// decidePod decides what a pod asks for by itself, and says what becomes of its condition DisruptionTarget. The
// condition announces a deletion: the eviction handler, the scheduler's preemption and others set it before they delete
// the pod. If the deletion fails, the condition stays True, and whoever reads it, for example a Job with a
// podFailurePolicy, mistakes a later failure for a disruption.
func (x *Index) decidePod(pod *corev1.Pod) (result Result, why Code) {
	if x.options.repeatsEvents() {
		if covering := x.coveredBy(pod); len(covering) > 1 {
			// Upstream names the budget that its cache happens to return first.
			result.Events = append(result.Events, podEvent(pod, "MultiplePodDisruptionBudgets", fmt.Sprintf(
				"Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.", pod.Namespace, pod.Name,
				covering[0].Name)))
		}
	}
	condition := podstate.Condition(pod, corev1.DisruptionTarget)
	switch {
	case condition == nil || condition.Status != corev1.ConditionTrue:
		return result, ReasonNoDisruptionTarget
	case !hasDisruptionTarget(pod):
		return result, ReasonDisruptionTargetInUse
	}
	// At exactly two minutes the condition is stale, so RecheckAt is always later than Now.
	if stale := x.options.targetStaleAt(pod); stale.After(x.now) {
		result.RecheckAt = stale
		return result, ReasonDisruptionTargetRecent
	}
	updated := pod.DeepCopy()
	// No reason and no message, as upstream: the new condition replaces the whole old one.
	setPodCondition(updated, corev1.PodCondition{
		Type:               corev1.DisruptionTarget,
		Status:             corev1.ConditionFalse,
		ObservedGeneration: pod.Generation,
		LastTransitionTime: stamp(x.now),
	})
	result.Actions = append(result.Actions, ClearDisruptionTarget{Pod: updated})
	return result, ReasonDisruptionTargetStale
}

// appendOutcome appends the outcome unless it is empty.
func appendOutcome(outcomes []Outcome, key purekube.Key, r Result, problems snapshot.Problems) []Outcome {
	err := problems.Err()
	if r.Empty() && err == nil {
		return outcomes
	}
	return append(outcomes, Outcome{Key: key, Result: r, Err: err})
}

// appendDuplicates appends an outcome for each key that has no plan because several objects have it.
func appendDuplicates(outcomes []Outcome, duplicates []*purekube.ObjectError) []Outcome {
	for _, e := range duplicates {
		var problems snapshot.Problems
		problems.Add(e)
		outcomes = appendOutcome(outcomes, keyOfProblem(e), Result{}, problems)
	}
	return outcomes
}

// keyOfProblem returns the key of the object that a problem is about.
func keyOfProblem(e *purekube.ObjectError) purekube.Key {
	return purekube.Key{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
}
