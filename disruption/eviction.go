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
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// MaxDisruptedPods is how many evicted pods a budget may list that its controller has not seen
// go. Beyond that evictions are refused.
const MaxDisruptedPods = 2000

// Verdict is the answer to an eviction.
type Verdict string

const (
	// NoVerdict, the zero value, is no answer: the pod is not in the snapshot, or there are Needs.
	NoVerdict Verdict = ""
	// AllowedNoBudget: no budget is asked. The pod has ended, has not started or is being
	// deleted, or no budget covers it.
	AllowedNoBudget Verdict = "AllowedNoBudget"
	// AllowedUnhealthy: the pod is not ready, and its budget lets such pods go without
	// counting them.
	AllowedUnhealthy Verdict = "AllowedUnhealthy"
	// AllowedWithinBudget: the budget allows one disruption less from now on.
	AllowedWithinBudget Verdict = "AllowedWithinBudget"
	// RefusedNow: the budget does not allow it at present; try again later (429).
	RefusedNow Verdict = "RefusedNow"
	// RefusedForbidden: the budget's status is out of bounds (403).
	RefusedForbidden Verdict = "RefusedForbidden"
	// RefusedConflictingBudgets: more than one budget covers the pod, which evictions do not
	// support (500).
	RefusedConflictingBudgets Verdict = "RefusedConflictingBudgets"
)

// Allowed reports whether the pod may be deleted.
func (v Verdict) Allowed() bool {
	return v == AllowedNoBudget || v == AllowedUnhealthy || v == AllowedWithinBudget
}

// StatusCode is the HTTP status of the API server's answer: 201 for an eviction that is allowed, 429,
// 403 or 500 for one that is refused. It is 0 for no verdict.
func (v Verdict) StatusCode() int {
	return map[Verdict]int{
		AllowedNoBudget: 201, AllowedUnhealthy: 201, AllowedWithinBudget: 201,
		RefusedNow: 429, RefusedForbidden: 403, RefusedConflictingBudgets: 500,
	}[v]
}

// Eviction is what the eviction handler would answer.
type Eviction struct {
	Verdict Verdict `json:"verdict,omitempty"`
	// Budget is the one that covers the pod; empty if none or several do.
	Budget types.NamespacedName `json:"budget,omitzero"`
	// Blocking are the budgets in the way of an eviction that is refused, sorted by name: all of
	// them where several cover the pod.
	Blocking []types.NamespacedName `json:"blocking,omitempty"`
	// Reason is the API server's text for a refusal: the message, and after it the cause that
	// names the budget. For an eviction that is allowed it says why.
	Reason string `json:"reason,omitempty"`
	// Update is a copy of the budget as the handler writes it (an update of its status, with
	// the resourceVersion as read) before it deletes the pod. Nil unless AllowedWithinBudget.
	Update *policyv1.PodDisruptionBudget `json:"update,omitempty"`
	// Shortfall is how many more healthy pods the budget needs until it lets a healthy pod go, with RefusedNow. It is 0
	// if the numbers are not in the way, and if the budget forbids every disruption (maxUnavailable 0, minAvailable
	// 100%).
	Shortfall int32 `json:"shortfall,omitempty"`
	// ResourceVersion, if not empty, is the pod's and a precondition of deleting it: the
	// verdict holds only while the pod is as it was.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Needs, only with Recomputed, are the lookups to make before there is a verdict.
	Needs []purekube.Need `json:"needs,omitempty"`
}

// CheckEviction decides whether a pod may be evicted, as the API server's eviction handler does
// (upstream: pkg/registry/core/pod/storage/eviction.go). In this order:
//
//  1. The pod ended, is pending or is being deleted: AllowedNoBudget.
//  2. Several budgets cover it: RefusedConflictingBudgets. None: AllowedNoBudget.
//  3. The pod is not ready, and the budget says AlwaysAllow, or currentHealthy ≥ desiredHealthy > 0:
//     AllowedUnhealthy.
//  4. The status is of an older generation of the budget: RefusedNow.
//  5. disruptionsAllowed is negative, or disruptedPods has more than MaxDisruptedPods entries:
//     RefusedForbidden.
//  6. disruptionsAllowed is 0: RefusedNow.
//  7. AllowedWithinBudget, and Update counts it.
//
// by says which status of the budget counts: the one in the snapshot, which may be out of date, or the one that Plan
// computes. The modes differ only in the latter. Dry runs are not covered. A Status that is not one of the constants is
// an error around [ErrUnknownStatus], without a verdict.
//
// With AsWritten, the pod and the budgets of its namespace are all of the snapshot that is read.
//
// To simulate evictions one after the other, check with Recomputed. After one that is allowed, put
// Update in the place of the budget, and a copy of the pod with a deletionTimestamp in the place of
// the pod; then check the next. Leave the pod there until the pod that replaces it is there: a pod
// that is taken out names its controller no more, so that the budget does not expect the pods of
// that controller any more and allows too much.
//
// A pod that is not in the snapshot has no verdict but an error around [purekube.ErrNotFound], two pods of
// that name [purekube.ErrDuplicate]. The error also joins what is wrong with the budgets of the
// namespace: a selector that does not compile covers no pod here either.
func CheckEviction(s Snapshot, pod types.NamespacedName, by Status, o Options) (Eviction, error) {
	var named []*corev1.Pod
	for _, p := range s.Pods {
		if p != nil && snapshot.KeyOf(p) == pod {
			named = append(named, p)
		}
	}
	return arrange(s, o, func(m matcher) bool { return slices.ContainsFunc(named, m.covers) }).CheckEviction(pod, by)
}

// CheckEviction is [CheckEviction] for the objects of the Index.
func (x *Index) CheckEviction(name types.NamespacedName, by Status) (Eviction, error) {
	if err := cmp.Or(x.o.err(), by.err()); err != nil {
		return Eviction{}, err
	}
	problems := x.problems()
	pod := x.pods.Find(name)
	if pod == nil {
		problems.Add(missing(PodKey(name.Namespace, name.Name), x.pods.Ambiguous(name)))
		return Eviction{}, problems.Err()
	}
	if notCounted(pod) == "" {
		for _, problem := range x.budgetProblems(name.Namespace) {
			problems.Add(problem)
		}
	}
	e, found := x.verdictOn(pod, by == Recomputed)
	for _, problem := range found {
		problems.Add(problem)
	}
	return e, problems.Err()
}

// verdictOn is the answer of the budgets about a pod that counts or not, and what is wrong with the objects that the
// status rests on.
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
	// A name that two budgets have, either of which may cover the pod, is two budgets.
	blocking := x.ambiguousBudgetsOf(pod)
	for _, st := range covering {
		blocking = append(blocking, snapshot.KeyOf(st.budget))
	}
	if len(covering) > 1 || len(blocking) > len(covering) {
		slices.SortFunc(blocking, func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
		return Eviction{
			Verdict: RefusedConflictingBudgets, Blocking: blocking,
			Reason: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}, nil
	}
	if len(covering) == 0 {
		return Eviction{Verdict: AllowedNoBudget, Reason: "no PodDisruptionBudget selects the pod"}, nil
	}

	budget := covering[0].budget
	var problems []*purekube.ObjectError
	if recompute {
		d := x.decide(covering[0])
		problems = d.problems
		if len(d.needs) > 0 {
			return Eviction{Budget: snapshot.KeyOf(budget), Needs: d.needs}, problems
		}
		if d.budget != nil {
			budget = d.budget
		}
	}
	e := decrement(budget, pod, stamp(x.time))
	e.Budget = snapshot.KeyOf(budget)
	if !e.Verdict.Allowed() {
		e.Blocking = []types.NamespacedName{e.Budget}
	}
	return e, problems
}

// notCounted says why budgets are not asked about the pod, if they are not.
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

// ambiguousBudgetsOf are the names that more than one budget has, one of which covers the pod.
func (x *Index) ambiguousBudgetsOf(pod *corev1.Pod) []types.NamespacedName {
	var names []types.NamespacedName
	for key, same := range x.budgets.AmbiguousIn(pod.Namespace) {
		if slices.ContainsFunc(same, func(b *policyv1.PodDisruptionBudget) bool {
			m, _ := newCompiler().matcher(b)
			return m.covers(pod)
		}) {
			names = append(names, key)
		}
	}
	return names
}

// decrement asks the one budget that covers the pod (upstream: checkAndDecrement, and what comes
// before it).
func decrement(b *policyv1.PodDisruptionBudget, pod *corev1.Pod, at metav1.Time) Eviction {
	st := &b.Status
	if !podstate.Ready(pod) {
		// A policy that is not known counts as IfHealthyBudget, the default.
		policy := b.Spec.UnhealthyPodEvictionPolicy
		if policy != nil && *policy == policyv1.AlwaysAllow {
			return Eviction{Verdict: AllowedUnhealthy, ResourceVersion: pod.ResourceVersion,
				Reason: "the pod is not ready, and the budget always allows the eviction of such pods"}
		}
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
	case len(st.DisruptedPods) > MaxDisruptedPods:
		return refusedForbidden(b.Name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
	case st.DisruptionsAllowed == 0:
		return refusedByStatus(b)
	}
	updated := b.DeepCopy()
	updated.Status.DisruptionsAllowed--
	if updated.Status.DisruptionsAllowed == 0 {
		setCondition(&updated.Status, at.Time)
	}
	if updated.Status.DisruptedPods == nil {
		updated.Status.DisruptedPods = map[string]metav1.Time{}
	}
	updated.Status.DisruptedPods[pod.Name] = at
	return Eviction{
		Verdict: AllowedWithinBudget, Update: updated,
		Reason: fmt.Sprintf("within the budget, which allows %d more", updated.Status.DisruptionsAllowed),
	}
}

// refusedByStatus says which of the numbers is in the way.
func refusedByStatus(b *policyv1.PodDisruptionBudget) Eviction {
	st := &b.Status
	c := apimeta.FindStatusCondition(st.Conditions, policyv1.DisruptionAllowedCondition)
	told := c != nil && c.Status == metav1.ConditionFalse && c.Message != ""
	switch {
	// The numbers are of no use when they could not be computed.
	case told && c.Reason == policyv1.SyncFailedReason:
		return refusedNow("The disruption budget %s does not allow evicting pods currently because it failed sync: %s", b.Name, c.Message)
	case st.CurrentHealthy <= st.DesiredHealthy:
		e := refusedNow("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, st.DesiredHealthy, st.CurrentHealthy)
		if !forbidsAtAnyScale(&b.Spec, Options{}) {
			e.Shortfall = Options{}.fit(int64(st.DesiredHealthy) + 1 - int64(st.CurrentHealthy))
		}
		return e
	case told:
		return refusedNow("The disruption budget %s does not allow evicting pods currently (%s): %s", b.Name, c.Reason, c.Message)
	}
	return refusedNow("The disruption budget %s does not allow evicting pods currently", b.Name)
}

func refusedNow(cause string, args ...any) Eviction {
	return Eviction{
		Verdict: RefusedNow,
		Reason:  "Cannot evict pod as it would violate the pod's disruption budget. " + fmt.Sprintf(cause, args...),
	}
}

func refusedForbidden(budget, why string) Eviction {
	return Eviction{
		Verdict: RefusedForbidden,
		Reason:  fmt.Sprintf("poddisruptionbudget.policy %q is forbidden: %s", budget, why),
	}
}
