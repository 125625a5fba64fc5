package disruption

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
)

func TestCounts(t *testing.T) {
	type figs = Counts
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		o            Options
		want         figs
	}{{
		name: "BR-25-01 minAvailable number", reason: "expected is the number of pods, not the scale",
		s:    web(budget(minAvailable("2")), 9, pods(4, 3, byWeb)...),
		want: figs{ExpectedPods: 4, DesiredHealthy: 2, CurrentHealthy: 3, DisruptionsAllowed: 1},
	}, {
		name: "BR-25-01 minAvailable number counts unmanaged pods", reason: "no controller is asked",
		s:    web(budget(minAvailable("2")), 9, pod("a"), pod("b"), pod("c")),
		want: figs{ExpectedPods: 3, DesiredHealthy: 2, CurrentHealthy: 3, DisruptionsAllowed: 1},
	}, {
		name: "BR-25-01 minAvailable percentage", reason: "of the scale, rounded up: half of 5 is 3",
		s:    web(budget(minAvailable("50%")), 5, pods(4, 4, byWeb)...),
		want: figs{ExpectedPods: 5, DesiredHealthy: 3, CurrentHealthy: 4, DisruptionsAllowed: 1},
	}, {
		name: "BR-25-02 maxUnavailable number", reason: "the scale less the number",
		s:    web(budget(maxUnavailable("1")), 5, pods(5, 5, byWeb)...),
		want: figs{ExpectedPods: 5, DesiredHealthy: 4, CurrentHealthy: 5, DisruptionsAllowed: 1},
	}, {
		name: "BR-25-02 maxUnavailable percentage", reason: "30 % of 7 are 3 in Kubernetes",
		s:    web(budget(maxUnavailable("30%")), 7, pods(7, 6, byWeb)...),
		want: figs{ExpectedPods: 7, DesiredHealthy: 4, CurrentHealthy: 6, DisruptionsAllowed: 2},
	}, {
		name: "BR-25-02 maxUnavailable percentage rounded down", reason: "30 % of 7 are 2 by the stricter rule",
		s:    web(budget(maxUnavailable("30%")), 7, pods(7, 6, byWeb)...),
		o:    Options{MaxUnavailableRounding: RoundDown},
		want: figs{ExpectedPods: 7, DesiredHealthy: 5, CurrentHealthy: 6, DisruptionsAllowed: 1},
	}, {
		name: "BR-25-03 too few are healthy", reason: "never below 0",
		s:    web(budget(maxUnavailable("1")), 5, pods(5, 1, byWeb)...),
		want: figs{ExpectedPods: 5, DesiredHealthy: 4, CurrentHealthy: 1},
	}, {
		name: "BR-25-03 scaled to nothing", reason: "none are expected, so none may be disrupted, though one is still there",
		s:    web(budget(maxUnavailable("1")), 0, pods(1, 1, byWeb)...),
		want: figs{CurrentHealthy: 1},
	}, {
		name: "neither", reason: "nothing is expected, so nothing is allowed",
		s:    web(budget(), 5, pods(5, 5, byWeb)...),
		want: figs{CurrentHealthy: 5},
	}, {
		name: "both", reason: "maxUnavailable wins",
		s:    web(budget(minAvailable("1"), maxUnavailable("1")), 5, pods(5, 5, byWeb)...),
		want: figs{ExpectedPods: 5, DesiredHealthy: 4, CurrentHealthy: 5, DisruptionsAllowed: 1},
	}, {
		name: "pods that are going do not count as healthy", reason: "they will not be there in a moment",
		s: web(budget(maxUnavailable("1")), 3,
			pod("a", byWeb), pod("b", byWeb, deleting), pod("c", byWeb)),
		want: figs{ExpectedPods: 3, DesiredHealthy: 2, CurrentHealthy: 2},
	}, {
		name: "unmanaged pods", reason: "nobody expects them, but they are healthy",
		s: web(budget(maxUnavailable("1")), 2,
			pod("a", byWeb), pod("b", byWeb), pod("c")),
		want: figs{ExpectedPods: 2, DesiredHealthy: 1, CurrentHealthy: 3, DisruptionsAllowed: 2},
	}, {
		name: "no selector", reason: "no selector covers no pod",
		s:    web(budget(minAvailable("1"), selecting(nil)), 2, pods(2, 2, byWeb)...),
		want: figs{DesiredHealthy: 1},
	}, {
		name: "empty selector", reason: "an empty selector covers the namespace",
		s: web(budget(minAvailable("1"), selecting(&metav1.LabelSelector{})), 2,
			pod("a", labelled(nil)), pod("b"), pod("c", func(p *corev1.Pod) { p.Namespace = "elsewhere" })),
		want: figs{ExpectedPods: 2, DesiredHealthy: 1, CurrentHealthy: 2, DisruptionsAllowed: 1},
	}} {
		for mode, o := range bothModes {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				o.MaxUnavailableRounding = tc.o.MaxUnavailableRounding
				require.Empty(t, cmp.Diff(tc.want, countsOf(statusOf(t, tc.s, o))), tc.reason)
			})
		}
	}
}

func TestZeroNow(t *testing.T) {
	s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"web-a": ago(time.Hour)})), 2, pods(2, 2, byWeb)...)
	s.Now = time.Time{}
	st := statusOf(t, s, Options{})
	require.Contains(t, st.DisruptedPods, "web-a", "nothing is over")
	require.Equal(t, metav1.Unix(0, 0), st.Conditions[0].LastTransitionTime, "no clock was looked at")
	e, err := NewIndex(s, Options{}).Explain(key("web"))
	require.NoError(t, err)
	require.Equal(t, []PodHealth{{Name: "web-a", Health: BeingEvicted, Until: now.Add(-58 * time.Minute)}, {Name: "web-b", Health: Healthy}}, e.Budget.Pods)
}

func TestPlanAllSortsAndLeavesOutWhatIsRight(t *testing.T) {
	s := web(budget(maxUnavailable("1")), 2, pods(2, 2, byWeb)...)
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	elsewhere := budget(maxUnavailable("1"))
	elsewhere.Namespace = "aaa"
	s.Budgets = []*policyv1.PodDisruptionBudget{
		budget(maxUnavailable("1"), named("z")), r.Actions[0].(UpdateStatus).Budget, budget(maxUnavailable("1"), named("b")), elsewhere}
	var keys []purekube.Key
	outcomes, err := PlanAll(s, Options{})
	require.NoError(t, err)
	for _, out := range outcomes {
		if out.Key.Kind == budgetKind {
			keys = append(keys, out.Key)
		}
	}
	require.Equal(t, []purekube.Key{BudgetKey("aaa", "web"), key("b"), key("z")}, keys)
}
