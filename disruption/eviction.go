package disruption

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// What the eviction subresource answers. The handler of the API server decides by the written status of the budget, and
// counts its own decisions in it until the disruption controller writes the next status:
//
//	                          disruptionsAllowed   disruptedPods
//	controller writes         2
//	eviction of web-a: 201    1                    web-a
//	eviction of web-b: 201    0                    web-a, web-b
//	eviction of web-c: 429    0                    web-a, web-b
//	web-a gone, web-d ready:
//	controller writes         1                    web-b
//
// CheckEviction makes the same decision from the snapshot, with the written status (AsWritten) or with the status that
// the controller would write next (Recomputed).

// MaxDisruptedPods is the maximum number of entries in status.disruptedPods with which evictions are still allowed.
// With more entries, the eviction handler refuses evictions.
const MaxDisruptedPods = 2000

// Verdict is the answer to an eviction.
type Verdict string

const (
	// NoVerdict, the zero value, is no answer: the pod is not in the snapshot, or there are Needs.
	NoVerdict Verdict = ""
	// AllowedNoBudget: no budget decides. The pod has ended, has not started or is being deleted, or no budget selects
	// it.
	AllowedNoBudget Verdict = "AllowedNoBudget"
	// AllowedUnhealthy: the pod is not ready, and its budget allows the eviction of such pods without counting them.
	AllowedUnhealthy Verdict = "AllowedUnhealthy"
	// AllowedWithinBudget: the budget allows the eviction, and one disruption fewer afterwards.
	AllowedWithinBudget Verdict = "AllowedWithinBudget"
	// RefusedNow: the budget does not allow it at present; try again later (429).
	RefusedNow Verdict = "RefusedNow"
	// RefusedForbidden: the budget's status is out of bounds (403).
	RefusedForbidden Verdict = "RefusedForbidden"
	// RefusedConflictingBudgets: more than one budget selects the pod, which the eviction subresource does not support
	// (500).
	RefusedConflictingBudgets Verdict = "RefusedConflictingBudgets"
)

// Allowed reports whether the pod may be deleted. It is false for NoVerdict: a question that has no answer yet allows
// nothing.
func (v Verdict) Allowed() bool {
	return v == AllowedNoBudget || v == AllowedUnhealthy || v == AllowedWithinBudget
}

// StatusCode returns the HTTP status code of the API server's answer: 201 for an allowed eviction; 429, 403 or 500 for
// a refused eviction; 0 for NoVerdict.
func (v Verdict) StatusCode() int {
	return map[Verdict]int{
		AllowedNoBudget: 201, AllowedUnhealthy: 201, AllowedWithinBudget: 201,
		RefusedNow: 429, RefusedForbidden: 403, RefusedConflictingBudgets: 500,
	}[v]
}

// Eviction is what the eviction handler would answer.
type Eviction struct {
	Verdict Verdict `json:"verdict,omitempty"`
	// Budget is the budget that selects the pod. It is empty if no budget or several budgets select the pod.
	Budget types.NamespacedName `json:"budget,omitzero"`
	// Blocking are the budgets that refuse the eviction, sorted by name. If several budgets select the pod, Blocking
	// has all of them.
	Blocking []types.NamespacedName `json:"blocking,omitempty"`
	// Reason is the API server's text for a refused eviction: the message, followed by the cause that names the budget.
	// For RefusedForbidden it is the message alone. For an allowed eviction it says why it is allowed.
	Reason string `json:"reason,omitempty"`
	// Update is a copy of the budget that the handler writes before it deletes the pod: an update of its status, with
	// the resourceVersion of the budget that was read. It is nil unless the verdict is AllowedWithinBudget.
	Update *policyv1.PodDisruptionBudget `json:"update,omitempty"`
	// Shortfall is how many more healthy pods the budget needs before it allows the eviction of a healthy pod, with
	// RefusedNow. It is 0 if the counts are not the cause, and if the budget forbids every disruption (maxUnavailable
	// 0, minAvailable 100%). If BudgetExplanation.Never is true, more healthy pods help only with a larger scale: ask
	// Explain.
	Shortfall int32 `json:"shortfall,omitempty"`
	// ResourceVersion is the pod's resourceVersion, if not empty. Delete the pod with it as a precondition: the verdict
	// is valid only while the pod is unchanged.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Needs are the lookups to make before there is a verdict. Only Recomputed has Needs.
	Needs []purekube.Need `json:"needs,omitempty"`
}

// CheckEviction decides whether a pod may be evicted, as the API server's eviction handler does
// (upstream: pkg/registry/core/pod/storage/eviction.go). In this order:
//
//  1. The pod ended, is pending or is being deleted: AllowedNoBudget.
//  2. Several budgets select the pod: RefusedConflictingBudgets. No budget selects it: AllowedNoBudget.
//  3. The pod is not ready, and the budget says AlwaysAllow, or currentHealthy ≥ desiredHealthy > 0:
//     AllowedUnhealthy.
//  4. The status is of an older generation of the budget: RefusedNow.
//  5. disruptionsAllowed is negative, or disruptedPods has more than MaxDisruptedPods entries:
//     RefusedForbidden.
//  6. disruptionsAllowed is 0: RefusedNow.
//  7. AllowedWithinBudget, and Update counts it.
//
// by says which status of the budget counts: AsWritten is the status in the snapshot, which may be out of date;
// Recomputed is the status that Plan computes. MatchUpstream changes only the Recomputed status. CheckEviction does not
// simulate dry runs. For a Status that is not one of the constants, it returns an error around [errUnknownStatus] and
// no verdict.
//
// With AsWritten, CheckEviction reads only the pod and the budgets of the pod's namespace.
//
// To simulate several evictions in sequence, check each with Recomputed. After an allowed eviction, replace the budget
// with Update, replace the pod with a copy that has a deletionTimestamp, and check the next pod. Keep the evicted pod
// in the snapshot until its replacement is there. If you remove the pod earlier, nothing names its controller, the
// budget does not expect the controller's pods, and too many evictions are allowed.
//
// For a pod that is not in the snapshot, CheckEviction returns no verdict and an error around [purekube.ErrNotFound];
// if two pods have the name, an error around [purekube.ErrDuplicate]. The error also joins the problems of the budgets
// in the namespace: a selector that does not compile selects no pod.
func (x *Index) CheckEviction(name types.NamespacedName, by Status) (Eviction, error) {
	if err := cmp.Or(x.options.err(), by.err()); err != nil {
		return Eviction{}, err
	}
	// Problems of the whole snapshot are returned with each verdict, because a missing object may be the reason for a
	// permissive verdict: a nil budget may be the budget that would refuse.
	problems := x.problems()
	pod := x.pods.Find(name)
	if pod == nil {
		problems.Add(missing(PodKey(name.Namespace, name.Name), x.pods.Ambiguous(name)))
		return Eviction{}, problems.Err()
	}
	// A pod that ignores budgets also ignores what is wrong with them.
	if notCounted(pod) == "" {
		problems.Add(x.budgetProblems(name.Namespace)...)
	}
	e, found := x.verdictOn(pod, by == Recomputed)
	problems.Add(found...)
	return e, problems.Err()
}

// verdictOn returns the budgets' answer about a pod, and the problems of the objects that the status is computed from.
// The steps have the order of upstream's Create: the first that applies decides.
func (x *Index) verdictOn(pod *corev1.Pod, recompute bool) (Eviction, []*purekube.ObjectError) {
	if why := notCounted(pod); why != "" {
		e := Eviction{Verdict: AllowedNoBudget, Reason: why}
		if pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil {
			// It may be ready a moment later, and then its budget counts.
			e.ResourceVersion = pod.ResourceVersion
		}
		return e, nil
	}
	covering := x.coveredBy(pod)
	// Nobody knows which pods a budget selects whose name another budget has, so each of them may select this one.
	var blocking []types.NamespacedName
	for name := range x.budgets.AmbiguousIn(pod.Namespace) {
		blocking = append(blocking, name)
	}
	several := len(blocking) > 0 || len(covering) > 1
	for _, st := range covering {
		blocking = append(blocking, snapshot.KeyOf(st))
	}
	switch {
	case several:
		slices.SortFunc(blocking, persistent.CompareNames)
		return Eviction{
			Verdict: RefusedConflictingBudgets, Blocking: blocking,
			Reason: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}, nil
	case len(covering) == 0:
		return Eviction{Verdict: AllowedNoBudget, Reason: "no PodDisruptionBudget selects the pod"}, nil
	}
	budget := covering[0].PodDisruptionBudget
	name := snapshot.KeyOf(budget)
	var problems []*purekube.ObjectError
	// Only the budget that decides is computed, so the needs are the lookups for this pod's budget and no others. A
	// failure gives the fail-safe status, and thereby RefusedNow.
	if recompute {
		v := x.decide(covering[0], nil)
		if v.budget == nil {
			return Eviction{Budget: name, Needs: v.result.Needs}, v.problems
		}
		budget, problems = v.budget, v.problems
	}
	e := decrement(budget, pod, stamp(x.now))
	e.Budget = name
	if !e.Verdict.Allowed() {
		e.Blocking = []types.NamespacedName{name}
	}
	return e, problems
}

// notCounted returns why no budget decides about the pod, or "" if a budget may (upstream: canIgnorePDB). An ended pod
// serves nobody; a pod that is being deleted is already lost; a pending pod was never healthy. Without the last rule, a
// pod that waits for its image could not be evicted under a budget that allows nothing.
func notCounted(pod *corev1.Pod) string {
	switch {
	case podstate.Terminal(pod):
		return "the pod has ended"
	case pod.Status.Phase == corev1.PodPending:
		return "the pod has not started"
	case !pod.DeletionTimestamp.IsZero():
		return "the pod is already being deleted"
	}
	return ""
}

// decrement decides by the only budget that selects the pod (upstream: checkAndDecrement, and the checks before it). It
// reads the status and compares no pods: the status is the contract between controller and handler. b is not changed.
//
// The checks after the generation protect each other: a number from an older generation was computed for other rules,
// say minAvailable 1 where the spec now says 3.
func decrement(b *policyv1.PodDisruptionBudget, pod *corev1.Pod, at metav1.Time) Eviction {
	st := &b.Status
	if !podstate.Ready(pod) {
		// A policy that is not known counts as IfHealthyBudget, the default.
		policy := b.Spec.UnhealthyPodEvictionPolicy
		if policy != nil && *policy == policyv1.AlwaysAllow {
			return Eviction{Verdict: AllowedUnhealthy, ResourceVersion: pod.ResourceVersion,
				Reason: "the pod is not ready, and the budget always allows the eviction of such pods"}
		}
		// The application is not disrupted at present, and an unready pod adds nothing to it. desiredHealthy 0 is
		// excluded: it is also the number of a status that no controller has written yet. The resourceVersion makes the
		// deletion fail if the pod has become ready meanwhile.
		if st.CurrentHealthy >= st.DesiredHealthy && st.DesiredHealthy > 0 {
			return Eviction{Verdict: AllowedUnhealthy, ResourceVersion: pod.ResourceVersion,
				Reason: "the pod is not ready, and currentHealthy is at least desiredHealthy"}
		}
	}
	switch {
	case st.ObservedGeneration < b.Generation:
		return refusedNow("The disruption budget %s is still being processed by the server.", b.Name)
	case st.DisruptionsAllowed < 0:
		return refusedForbidden(b.Name, "pdb disruptions allowed is negative")
	// Nobody removes entries: the controller is not running, or too slow. The limit bounds the size of the object.
	case len(st.DisruptedPods) > MaxDisruptedPods:
		return refusedForbidden(b.Name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
	case st.DisruptionsAllowed == 0:
		return refusedByStatus(b)
	}
	// The eviction is counted first, and the pod is deleted second: if the deletion fails, the entry expires after two
	// minutes. In the other order a crash would lose the count, and the next eviction would be one too many.
	updated := b.DeepCopy()
	updated.Status.DisruptionsAllowed--
	// As long as disruptions remain, the condition SufficientPods stays right.
	if updated.Status.DisruptionsAllowed == 0 {
		setCondition(&updated.Status, at.Time)
	}
	if updated.Status.DisruptedPods == nil {
		updated.Status.DisruptedPods = map[string]metav1.Time{}
	}
	// The entry has the pod's name and no UID; D-14 and D-24 follow from that.
	updated.Status.DisruptedPods[pod.Name] = at
	return Eviction{
		Verdict: AllowedWithinBudget, Update: updated,
		Reason: fmt.Sprintf("within the budget, which allows %d more", updated.Status.DisruptionsAllowed),
	}
}

// refusedByStatus refuses the eviction and says why the status allows no disruption. The texts and their order are the
// API server's, so that a log of a simulation and a log of kubectl can be compared.
func refusedByStatus(b *policyv1.PodDisruptionBudget) Eviction {
	st := &b.Status
	c := apimeta.FindStatusCondition(st.Conditions, policyv1.DisruptionAllowedCondition)
	told := c != nil && c.Status == metav1.ConditionFalse && c.Message != ""
	switch {
	// The numbers are of no use when they could not be computed.
	case told && c.Reason == policyv1.SyncFailedReason:
		return refusedNow("The disruption budget %s does not allow evicting pods currently because it failed sync: %s",
			b.Name, c.Message)
	case st.CurrentHealthy <= st.DesiredHealthy:
		// The text says 3 of 3 if the budget is exactly met; one more is needed, hence the 1 in Shortfall. No number of
		// healthy pods is enough for maxUnavailable 0, so Shortfall stays 0 there.
		e := refusedNow("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, st.DesiredHealthy,
			st.CurrentHealthy)
		if !(Options{}).forbidsAtAnyScale(&b.Spec) {
			e.Shortfall = Options{}.fit(int64(st.DesiredHealthy) + 1 - int64(st.CurrentHealthy))
		}
		return e
	case told:
		return refusedNow("The disruption budget %s does not allow evicting pods currently (%s): %s", b.Name, c.Reason,
			c.Message)
	}
	return refusedNow("The disruption budget %s does not allow evicting pods currently", b.Name)
}

// refusedNow is the API server's 429: the message, then the cause. The API server sends the cause in details.causes.
func refusedNow(cause string, args ...any) Eviction {
	return Eviction{
		Verdict: RefusedNow,
		Reason:  "Cannot evict pod as it would violate the pod's disruption budget. " + fmt.Sprintf(cause, args...),
	}
}

// refusedForbidden is the API server's 403. The resource is spelled as upstream spells it, in the singular.
func refusedForbidden(budget, why string) Eviction {
	return Eviction{
		Verdict: RefusedForbidden,
		Reason:  fmt.Sprintf("poddisruptionbudget.policy %q is forbidden: %s", budget, why),
	}
}
