package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
)

// Reason is one step toward a decision. Field is a path in the budget or pod, or empty. Object is the pod, budget or
// controller that the step is about.
type Reason = purekube.Reason[Code]

// Code is the machine-readable part of a [Reason]. It is one of the constants below; a new version may add codes.
type Code string

// The first reason of a budget's [Explanation] is one of these.
const (
	// ReasonDisruptionsAllowed: more pods are healthy than must stay healthy.
	ReasonDisruptionsAllowed Code = "DisruptionsAllowed"
	// ReasonInsufficientPods: no more pods are healthy than must stay healthy.
	ReasonInsufficientPods Code = "InsufficientPods"
	// ReasonNeverAllowed: no healthy pod could be evicted even with every pod healthy.
	ReasonNeverAllowed Code = "NeverAllowed"
	// ReasonNoPods: the budget selects no pod.
	ReasonNoPods Code = "NoPods"
	// ReasonNoPodsExpected: the controllers of the pods are scaled to zero.
	ReasonNoPodsExpected Code = "NoPodsExpected"
	// ReasonSyncFailed: the status cannot be computed, so the budget allows no disruption.
	ReasonSyncFailed Code = "SyncFailed"
	// ReasonScalesNotKnown: the scale of some controllers is not in the snapshot; see Needs.
	ReasonScalesNotKnown Code = "ScalesNotKnown"
)

// The other reasons of a budget's [Explanation], in this order, each sorted by name.
const (
	// ReasonStatusOutdated: the status in the snapshot differs from the computed status.
	ReasonStatusOutdated Code = "StatusOutdated"
	// ReasonControllerNotFound: pods name a controller that does not exist.
	ReasonControllerNotFound Code = "ControllerNotFound"
	// ReasonScaleNotKnown: you must look up the scale of this controller.
	ReasonScaleNotKnown Code = "ScaleNotKnown"
	// ReasonScaleNotAvailable: the lookup of this controller's scale failed, or the scale cannot be used.
	ReasonScaleNotAvailable Code = "ScaleNotAvailable"
	// ReasonPodNotReady: the pod is not healthy.
	ReasonPodNotReady Code = "PodNotReady"
	// ReasonPodBeingDeleted: the pod does not count as healthy.
	ReasonPodBeingDeleted Code = "PodBeingDeleted"
	// ReasonPodBeingEvicted: the pod does not count as healthy.
	ReasonPodBeingEvicted Code = "PodBeingEvicted"
	// ReasonDuplicate: the snapshot has several pods of that name.
	ReasonDuplicate Code = "Duplicate"
	// ReasonPodUnmanaged: the pod has no controller. It counts as healthy but not as expected.
	ReasonPodUnmanaged Code = "PodUnmanaged"
)

// The reasons of a pod's [Explanation]: one of the first four, and one of the last three.
const (
	// ReasonNoDisruptionTarget: the pod has no condition DisruptionTarget that is True.
	ReasonNoDisruptionTarget Code = "NoDisruptionTarget"
	// ReasonDisruptionTargetInUse: the condition DisruptionTarget is True and stays: the pod is being deleted or has
	// ended, or the kubelet set it.
	ReasonDisruptionTargetInUse Code = "DisruptionTargetInUse"
	// ReasonDisruptionTargetRecent: the pod may be deleted at any moment, so the condition stays for now.
	ReasonDisruptionTargetRecent Code = "DisruptionTargetRecent"
	// ReasonDisruptionTargetStale: the pod was not deleted in time, so the condition is set to False.
	ReasonDisruptionTargetStale Code = "DisruptionTargetStale"
	// ReasonNoPodDisruptionBudget: no PodDisruptionBudget selects the pod.
	ReasonNoPodDisruptionBudget Code = "NoPodDisruptionBudget"
	// ReasonPodDisruptionBudget: one budget selects the pod.
	ReasonPodDisruptionBudget Code = "PodDisruptionBudget"
	// ReasonMultiplePodDisruptionBudgets: more than one budget selects the pod, so it cannot be evicted.
	ReasonMultiplePodDisruptionBudgets Code = "MultiplePodDisruptionBudgets"
)

// conclusion is the first reason of a budget. neither says that its spec sets neither field. The cases go from "not
// known" to "allowed" to the reasons for refusing, the most lasting first: a reader who learns that nothing is ever
// allowed needs no count of today's pods.
func (e *BudgetExplanation) conclusion(neither bool) Reason {
	say := func(code Code, format string, args ...any) Reason {
		return Reason{Code: code, Message: fmt.Sprintf(format, args...)}
	}
	c := e.Computed
	switch {
	case len(e.Needs) > 0:
		return say(ReasonScalesNotKnown, "not computed: you must look up the scale of %s first",
			message.Count(len(e.Needs), "controller"))
	case e.Failure != "":
		return say(ReasonSyncFailed, "nothing may be disrupted: the budget cannot be computed: %s", e.Failure)
	case c.DisruptionsAllowed > 0:
		return say(ReasonDisruptionsAllowed, "%d may be disrupted: %d healthy, %d desired", c.DisruptionsAllowed,
			c.CurrentHealthy, c.DesiredHealthy)
	// This case comes before Never: the demand "maxUnavailable 0" matters only once a pod is selected.
	case len(e.Pods) == 0:
		return say(ReasonNoPods, "nothing may be disrupted: the budget selects no pod")
	case neither:
		return say(ReasonNeverAllowed,
			"nothing may ever be disrupted: the budget sets neither minAvailable nor maxUnavailable")
	case e.Never && c.ExpectedPods <= 0:
		return say(ReasonNeverAllowed, "nothing may ever be disrupted: the pods have no controller with a scale")
	case e.Never:
		return say(ReasonNeverAllowed, "nothing may ever be disrupted: %s expected, and %d must stay healthy",
			message.Count(int(c.ExpectedPods), "pod"), c.DesiredHealthy)
	case c.ExpectedPods <= 0:
		return say(ReasonNoPodsExpected, "nothing may be disrupted: no pods are expected")
	}
	return say(ReasonInsufficientPods, "nothing may be disrupted: %d healthy, %d desired", c.CurrentHealthy,
		c.DesiredHealthy)
}

// reasons returns all reasons of a budget: the conclusion, then one reason for each thing that keeps the number low or
// that somebody must fix. e must be complete except for its reasons.
func (e *BudgetExplanation) reasons(b *policyv1.PodDisruptionBudget) []Reason {
	all := []Reason{e.conclusion(b.Spec.MaxUnavailable == nil && b.Spec.MinAvailable == nil)}
	if !e.UpToDate && len(e.Needs) == 0 {
		message := "the status says " + e.Reported.String()
		// The first write of a condition, or an expired entry of disruptedPods, changes none of the four counts.
		if e.Reported == e.Computed {
			message = "the status counts are correct, but its conditions or disrupted pods are out of date"
		}
		all = append(all, Reason{Field: "status", Code: ReasonStatusOutdated, Message: message})
	}
	for _, c := range e.Controllers {
		if c.Problem != "" {
			all = append(all, Reason{Code: c.Code, Object: purekube.Key{Kind: c.Kind, Namespace: b.Namespace, Name: c.Name},
				Message: fmt.Sprintf("%s %s: %s", c.Kind, c.Name, c.Problem)})
		}
	}
	for _, p := range e.Pods {
		if code := healths[p.Health].code; code != "" {
			message := fmt.Sprintf("pod %s: %s", p.Name, healths[p.Health].text)
			if !p.Until.IsZero() {
				message += fmt.Sprintf(", and must be deleted by %s", p.Until.UTC().Format(time.RFC3339))
			}
			all = append(all, Reason{Code: code, Object: PodKey(b.Namespace, p.Name), Message: message})
		}
	}
	for _, name := range e.Unmanaged {
		all = append(all, Reason{Code: ReasonPodUnmanaged, Object: PodKey(b.Namespace, name),
			Message: fmt.Sprintf("pod %s has no controller: it counts as healthy but not as expected", name)})
	}
	// Stable: two controllers may have one name and different kinds, and e.Controllers has sorted them by kind.
	slices.SortStableFunc(all[1:], func(a, b Reason) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Code), slices.Index(order, b.Code)),
			cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return all
}

// order is the order of a budget's reasons after the first: what is wrong with the status, then the controllers, which
// decide the expected pods, then the pods, which decide the healthy ones. Every code that reasons uses must be here.
var order = []Code{ReasonStatusOutdated, ReasonControllerNotFound, ReasonScaleNotKnown, ReasonScaleNotAvailable,
	ReasonPodNotReady, ReasonPodBeingDeleted, ReasonPodBeingEvicted, ReasonDuplicate, ReasonPodUnmanaged}
