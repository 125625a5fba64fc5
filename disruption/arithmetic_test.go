package disruption

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// Every percentage from 0 to 110 of every number of pods from 0 to 200, against division with
// remainder.
func TestBR2501_BR2502_EveryPercentageOfEveryNumberOfPods(t *testing.T) {
	for percent := int32(0); percent <= 110; percent++ {
		v := ptr.To(intstr.FromString(fmt.Sprintf("%d%%", percent)))
		for expected := int32(0); expected <= 200; expected++ {
			down := percent * expected / 100
			up := down
			if percent*expected%100 != 0 {
				up++
			}
			for _, c := range []struct {
				name string
				spec policyv1.PodDisruptionBudgetSpec
				r    Rounding
				want int32
			}{
				{"BR-25-01 minAvailable", policyv1.PodDisruptionBudgetSpec{MinAvailable: v}, RoundUp, up},
				{"BR-25-01 minAvailable never rounds down", policyv1.PodDisruptionBudgetSpec{MinAvailable: v}, RoundDown, up},
				{"BR-25-02 maxUnavailable", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: v}, RoundUp, max(0, expected-up)},
				{"BR-25-02 maxUnavailable rounded down", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: v}, RoundDown, max(0, expected-down)},
			} {
				got, err := DesiredHealthy(c.spec, expected, c.r)
				if err != nil || got != c.want {
					t.Fatalf("%s: %d %% of %d pods: got %d, %v, want %d", c.name, percent, expected, got, err, c.want)
				}
			}
		}
	}
}

func TestDesiredHealthy(t *testing.T) {
	text := func(s string) *intstr.IntOrString { return ptr.To(intstr.FromString(s)) }
	for _, tc := range []struct {
		name, reason string
		min, max     *intstr.IntOrString
		expected     int32
		want         int32
		err          string
	}{
		{name: "BR-25-01 number", reason: "a number is taken as it is", min: value("3"), expected: 5, want: 3},
		{name: "BR-25-01 number above expected", reason: "no pod may go then", min: value("9"), expected: 5, want: 9},
		{name: "BR-25-02 number", reason: "expected less the number", max: value("2"), expected: 5, want: 3},
		{name: "BR-25-02 number above expected", reason: "never below 0", max: value("9"), expected: 5, want: 0},
		{name: "BR-25-02 30 % of 7", reason: "Kubernetes rounds 2.1 up to 3", max: value("30%"), expected: 7, want: 4},
		{name: "over 100 % available", reason: "more than there are: no pod may go", min: value("150%"), expected: 4, want: 6},
		{name: "over 100 % unavailable", reason: "never below 0", max: value("150%"), expected: 4, want: 0},
		{name: "both", reason: "maxUnavailable wins, as upstream", min: value("4"), max: value("1"), expected: 3, want: 2},
		{name: "neither", reason: "nothing is asked for", expected: 3, want: 0},
		{name: "neither number nor string", reason: "upstream takes it for nothing", min: &intstr.IntOrString{Type: 7}, expected: 3, want: 0},
		{name: "string beside a number", reason: "it is not read", min: &intstr.IntOrString{IntVal: 3, StrVal: "-2%"}, expected: 5, want: 3},
		{name: "number beside a percentage", reason: "it is not read", min: &intstr.IntOrString{Type: intstr.String, IntVal: -3, StrVal: "50%"}, expected: 5, want: 3},
		{name: "no percent sign", reason: "a string has to be a percentage", min: value("abc"), expected: 3,
			err: "spec.minAvailable: invalid value for IntOrString: invalid type: string is not a percentage"},
		{name: "number in a string", reason: "a string has to be a percentage", max: text("3"), expected: 3,
			err: "spec.maxUnavailable: invalid value for IntOrString: invalid type: string is not a percentage"},
		{name: "negative number in a string", reason: "that it is no percentage comes first", max: text("-3"), expected: 3,
			err: "spec.maxUnavailable: invalid value for IntOrString: invalid type: string is not a percentage"},
		{name: "not a number", reason: "a percentage is a whole number", max: value("1.5%"), expected: 3,
			err: `spec.maxUnavailable: invalid value for IntOrString: invalid value "1.5%": strconv.Atoi: parsing "1.5": invalid syntax`},
		{name: "negative number", reason: "it would allow more than there are", min: value("-3"), expected: 3, err: "spec.minAvailable: must not be negative"},
		{name: "negative percentage", reason: "it would allow more than there are", min: value("-30%"), expected: 3, err: "spec.minAvailable: must not be negative"},
		{name: "negative percentage that rounds to 0", reason: "wrong is wrong", min: value("-1%"), expected: 3, err: "spec.minAvailable: must not be negative"},
		{name: "negative maxUnavailable", reason: "the API server does not admit it", max: value("-1"), expected: 3, err: "spec.maxUnavailable: must not be negative"},
		{name: "percentage beyond 64 bits", reason: "no such percentage is meant", min: value("9223372036854775808%"), expected: 3, err: "spec.minAvailable: percentage out of range"},
		{name: "first percentage beyond int32", reason: "no such percentage is meant", min: value("2147483648%"), expected: 3, err: "spec.minAvailable: percentage out of range"},
		{name: "largest percentage of the most pods", reason: "stays at the largest figure", min: value("2147483647%"), expected: math.MaxInt32, want: math.MaxInt32},
		{name: "negative expected", reason: "never below 0", max: value("0"), expected: -3, want: 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := DesiredHealthy(policyv1.PodDisruptionBudgetSpec{MinAvailable: tc.min, MaxUnavailable: tc.max}, tc.expected, RoundUp)
			if tc.err != "" {
				require.EqualError(t, err, "PodDisruptionBudget: "+tc.err, tc.reason)
				require.ErrorAs(t, err, ptr.To((*purekube.ObjectError)(nil)))
				require.Zero(t, got)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got, tc.reason)
		})
	}
}

// An unknown rounding is no rounding: the number that it would give is not returned beside the error.
func TestDesiredHealthyWithUnknownRounding(t *testing.T) {
	got, err := DesiredHealthy(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: value("30%")}, 7, Rounding("Sideways"))
	require.ErrorIs(t, err, ErrUnknownRounding)
	require.Zero(t, got)
}

// Over a small domain, all of it: what is healthy beyond what has to be, never below 0, and nothing where no pods are
// expected or their sum wrapped around. Beyond int32, it is the largest figure.
func TestBR2503_DisruptionsAllowed(t *testing.T) {
	for current := int32(0); current <= 20; current++ {
		for desired := int32(0); desired <= 20; desired++ {
			for expected := int32(-1); expected <= 3; expected++ {
				want := int32(0)
				if expected > 0 && current > desired {
					want = current - desired
				}
				require.Equal(t, want, Options{}.disruptionsAllowed(current, desired, expected))
			}
		}
	}
	require.EqualValues(t, math.MaxInt32, Options{}.disruptionsAllowed(math.MaxInt32, -5, 1))
}
