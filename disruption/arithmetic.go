package disruption

import (
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
)

// DesiredHealthy returns how many pods must stay healthy under a budget that selects expected pods (BR-25-01, BR-25-02;
// upstream: getExpectedPodCount).
//
//  1. maxUnavailable set: expected − maxUnavailable, at least 0. A percentage is of expected
//     and rounded as r says. minAvailable does not count then.
//  2. minAvailable set: the number itself, whatever expected is, or the percentage of expected,
//     rounded up.
//  3. Neither: 0.
//
// Percentages over 100 are taken as they are. The error, a [purekube.ObjectError] that
// names the field, is for a string that is no percentage, and for what the API server does
// not admit: a negative value, or a percentage beyond int32. A Rounding that is not one of the constants is an error
// around [ErrUnknownRounding]. A result beyond int32 is MaxInt32.
func DesiredHealthy(spec policyv1.PodDisruptionBudgetSpec, expected int32, r Rounding) (int32, error) {
	if err := r.err(); err != nil {
		return 0, err
	}
	desired, problem := Options{MaxUnavailableRounding: r}.desiredHealthy(&spec, int64(expected))
	if problem != nil {
		return 0, problem
	}
	return desired, nil
}

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
	return Options{}.disruptionsAllowed(replicas, desired, replicas), nil
}

// Counts are the numbers of a budget's status.
type Counts struct {
	ExpectedPods       int32 `json:"expectedPods"`
	DesiredHealthy     int32 `json:"desiredHealthy"`
	CurrentHealthy     int32 `json:"currentHealthy"`
	DisruptionsAllowed int32 `json:"disruptionsAllowed"`
}

// String is "1 allowed, 6 healthy, 5 desired, 7 expected".
func (c Counts) String() string {
	return fmt.Sprintf("%d allowed, %d healthy, %d desired, %d expected",
		c.DisruptionsAllowed, c.CurrentHealthy, c.DesiredHealthy, c.ExpectedPods)
}

// countsOf picks the four numbers of a status that explanations show.
func countsOf(st policyv1.PodDisruptionBudgetStatus) Counts {
	return Counts{
		ExpectedPods: st.ExpectedPods, DesiredHealthy: st.DesiredHealthy,
		CurrentHealthy: st.CurrentHealthy, DisruptionsAllowed: st.DisruptionsAllowed,
	}
}
