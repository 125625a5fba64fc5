package disruption

import (
	"errors"
	"math"
	"strconv"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/purekube/purekube"
)

var (
	errNegative   = errors.New("must not be negative")
	errOutOfRange = errors.New("percentage out of range")
)

// The arithmetic of a budget, with the example of 7 pods:
//
//	minAvailable 30%               30 % of 7 = 2.1, rounded up: 3 must stay healthy
//	maxUnavailable 30%             2.1, rounded up: 3 may be lost, 4 must stay healthy
//	maxUnavailable 30%, RoundDown  2.1, rounded down: 2 may be lost, 5 must stay healthy
//	minAvailable 5                 5, whatever the number of pods is
//
// Figures are computed in 64 bits and cut to 32 bits at the end (D-23). All doubts go toward fewer disruptions.

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
	desired, problem := desiredHealthy(&spec, int64(expected), Options{MaxUnavailableRounding: r})
	if problem != nil {
		return 0, problem
	}
	return desired, nil
}

// DisruptionsAllowed is how many healthy pods may be lost (BR-25-03): currentHealthy −
// desiredHealthy, at least 0; and 0 when no pods are expected, since the first pods may be
// there before the status is computed again (upstream: updatePdbStatus).
func DisruptionsAllowed(currentHealthy, desiredHealthy, expected int32) int32 {
	return disruptionsAllowed(currentHealthy, desiredHealthy, expected, Options{})
}

// disruptionsAllowed is DisruptionsAllowed with upstream's overflow, if o asks for it: there, MaxInt32 healthy pods and
// a desiredHealthy of -1 make a negative difference, which becomes 0.
func disruptionsAllowed(currentHealthy, desiredHealthy, expected int32, o Options) int32 {
	if expected <= 0 {
		return 0
	}
	return max(0, o.fit(int64(currentHealthy)-int64(desiredHealthy)))
}

// scaleDecides reports whether expected is the sum of the scales of the pods' controllers, and not the number of pods.
// With both fields set, which the API server rejects, maxUnavailable counts, as in upstream's getExpectedPodCount.
func scaleDecides(spec *policyv1.PodDisruptionBudgetSpec) bool {
	if spec.MaxUnavailable != nil {
		return true
	}
	return spec.MinAvailable != nil && spec.MinAvailable.Type == intstr.String
}

// needsAllNames reports whether the scales do not say what a budget expects while there are pods whose name, and so whose
// controller, is not known. Upstream's cache never has such pods, so MatchUpstream ignores them.
func (o Options) needsAllNames(spec *policyv1.PodDisruptionBudgetSpec) bool {
	return scaleDecides(spec) && !o.matchUpstream()
}

// forbidsAll reports whether no pod may be disrupted that a controller wants: maxUnavailable 0 or 0 % (D-13). The scales
// are asked all the same, since pods beyond what the controllers want may be disrupted.
func forbidsAll(spec *policyv1.PodDisruptionBudgetSpec) bool {
	if spec.MaxUnavailable == nil {
		return false
	}
	if spec.MaxUnavailable.Type == intstr.Int {
		return spec.MaxUnavailable.IntVal == 0
	}
	percentage, ok := strings.CutSuffix(spec.MaxUnavailable.StrVal, "%")
	n, err := strconv.Atoi(percentage)
	return ok && err == nil && n == 0
}

// desiredHealthy is DesiredHealthy for a sum in 64 bits. The error has the field and no object's name; decide adds the
// name, and DesiredHealthy has none to add.
func desiredHealthy(spec *policyv1.PodDisruptionBudgetSpec, expected int64, o Options) (int32, *purekube.ObjectError) {
	switch {
	case spec.MaxUnavailable != nil:
		n, err := o.share(spec.MaxUnavailable, expected, o.MaxUnavailableRounding != RoundDown)
		if err != nil {
			return 0, &purekube.ObjectError{Kind: budgetKind, Field: "spec.maxUnavailable", Err: err}
		}
		return max(0, o.fit(expected-n)), nil
	case spec.MinAvailable != nil && (spec.MinAvailable.Type == intstr.Int || spec.MinAvailable.Type == intstr.String):
		n, err := o.share(spec.MinAvailable, expected, true)
		if err != nil {
			return 0, &purekube.ObjectError{Kind: budgetKind, Field: "spec.minAvailable", Err: err}
		}
		return o.fit(n), nil
	}
	return 0, nil
}

// share is the number, or the percentage of total. The texts of errors are the library's, since they end up in the
// budget's condition. A percentage of a total of 0 is 0.
func (o Options) share(v *intstr.IntOrString, total int64, roundUp bool) (int64, error) {
	if !o.matchUpstream() {
		// The API server admits neither of these. Upstream computes with them: a negative
		// minAvailable would allow more disruptions than there are pods.
		if v.Type == intstr.Int && v.IntVal < 0 {
			return 0, errNegative
		}
		if percentage, ok := strings.CutSuffix(v.StrVal, "%"); ok && v.Type == intstr.String {
			n, err := strconv.ParseInt(percentage, 10, 32)
			if errors.Is(err, strconv.ErrRange) {
				return 0, errOutOfRange
			}
			if n < 0 {
				return 0, errNegative
			}
			if n > 100 && total > math.MaxInt32 {
				// More than there are, and already more than a figure of the status can
				// be: the exact product may be beyond 64 bits.
				return total, nil
			}
		}
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(v, int(total), roundUp)
	return int64(n), err
}

// fit makes a figure of the status, which has 32 bits, of an exact one. Upstream wraps around,
// so that two workloads of 2^31−1 replicas are −2 pods and four are −4; here the figure stays
// at the largest there is, which allows no more than the exact one would.
func (o Options) fit(n int64) int32 {
	if o.matchUpstream() {
		return int32(n)
	}
	return int32(min(max(n, math.MinInt32), math.MaxInt32))
}

// sum adds the scales. No snapshot has so many scales of 32 bits that their sum overflows 64 bits.
func (o Options) sum(scales map[controller]int32) (total int64) {
	for _, scale := range scales {
		total += int64(scale)
	}
	return o.total(total)
}

// total is the sum as the status is computed from it: exact by default, and wrapped to 32 bits with MatchUpstream,
// since upstream adds int32 numbers (D-23).
func (o Options) total(sum int64) int64 {
	if o.matchUpstream() {
		return int64(int32(sum))
	}
	return sum
}
