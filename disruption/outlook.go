package disruption

import (
	"strconv"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// AllowedAtFullHealth returns how many disruptions a budget with this spec allows when the workloads that it selects
// have all their replicas, and all are healthy. 0 means that the budget never allows the eviction of a healthy pod: a
// node with such a pod cannot be drained. It needs no pods: use it to lint manifests, or in an admission webhook.
//
// replicas is the sum of spec.replicas of these workloads. The error is the error of [DesiredHealthy]; the result is
// then 0.
func AllowedAtFullHealth(spec policyv1.PodDisruptionBudgetSpec, replicas int32, r Rounding) (int32, error) {
	desired, err := DesiredHealthy(spec, replicas, r)
	if err != nil || spec.MaxUnavailable == nil && spec.MinAvailable == nil {
		return 0, err
	}
	return DisruptionsAllowed(replicas, desired, replicas), nil
}

// outlook returns whether no healthy pod can ever be evicted, and how many more healthy pods are needed until one can
// be evicted (see [BudgetExplanation]). d is the decision about the same pods, and c its counts.
//
// never is a claim about the configuration, so it must be certain: "minAvailable 3" over a StatefulSet of 3 is never
// drained, while the same budget over 4 pods of which one crashes only has a shortfall of 1.
func (p *podCount) outlook(d decision, c Counts, w *workloads, o Options) (never bool, shortfall int32) {
	spec := &p.budget.Spec
	if c.DisruptionsAllowed > 0 {
		return false, 0
	}
	hopeless := p.broken == nil && forbidsAtAnyScale(spec, o)
	neither := spec.MaxUnavailable == nil && spec.MinAvailable == nil
	// The counts say nothing here: they are unknown, or no number of healthy pods would be enough.
	if len(d.needs) > 0 || d.failure != nil || neither || p.pods == 0 && hopeless {
		return hopeless, 0
	}
	if scaleDecides(spec) && c.ExpectedPods <= 0 {
		// A controller may be scaled up. Pods without a controller are never expected.
		return hopeless || p.pods > 0 && len(p.references()) == 0, 0
	}
	// Either all wanted pods exist and are healthy, or more exist than are wanted, for example during a rollout with
	// maxSurge. The larger number must exceed desiredHealthy. Pods that have ended are not among them: kubelet's own
	// evictions leave Failed pods in every cluster, and no such pod is ever healthy again.
	if p.pods > 0 {
		wanted, known := p.wanted(w)
		// Pods of a kind without a scale, such as Jobs, are counted as they are (D-13): their scale stays unknown.
		never = known && max(wanted, int64(p.lasting)) <= int64(c.DesiredHealthy) || !known && hopeless
	}
	if hopeless && never {
		return true, 0
	}
	return never, o.fit(int64(c.DesiredHealthy) + 1 - int64(c.CurrentHealthy))
}

// wanted returns how many pods there are once every controller has as many as it wants. known is false if a scale is
// unknown.
func (p *podCount) wanted(w *workloads) (pods int64, known bool) {
	x := p.expect(w)
	return x.sum + int64(p.added), x.problem == nil && len(x.needs) == 0
}

// forbidsAtAnyScale reports whether the budget allows no disruption at any scale, unless there are more pods than the
// controllers want. A value that is an error is one of these budgets: its status is the fail-safe status at any scale.
func forbidsAtAnyScale(spec *policyv1.PodDisruptionBudgetSpec, o Options) bool {
	if _, problem := desiredHealthy(spec, 1, o); problem != nil {
		return true
	}
	switch {
	case spec.MaxUnavailable != nil:
		return forbidsAll(spec)
	case spec.MinAvailable == nil:
		return true
	case spec.MinAvailable.Type != intstr.String:
		return false
	}
	percentage, err := strconv.Atoi(strings.TrimSuffix(spec.MinAvailable.StrVal, "%"))
	return err == nil && percentage >= 100
}
