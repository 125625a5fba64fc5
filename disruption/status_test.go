package disruption

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

func TestD13_NothingUnavailableAndNoScale(t *testing.T) {
	for _, zero := range []string{"0", "0%", "00%"} {
		s := web(budget(maxUnavailable(zero)), 3, pods(3, 2, by("v1", "Node", "n1"))...)
		s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("", "Node", ns, "n1"): {Err: errors.New("nodes does not implement the scale subresource")}}

		r, err := Plan(s, key("web"), Options{})
		require.NoError(t, err)
		require.Empty(t, r.Events)
		require.Empty(t, cmp.Diff(Counts{ExpectedPods: 3, DesiredHealthy: 3, CurrentHealthy: 2}, countsOf(written(t, r))))
		require.Equal(t, policyv1.InsufficientPodsReason, written(t, r).Conditions[0].Reason)

		r, err = Plan(s, key("web"), Options{MatchUpstream: purekube.V1_36})
		require.Error(t, err)
		require.Equal(t, policyv1.SyncFailedReason, written(t, r).Conditions[0].Reason)
	}
	t.Run("a pod without a name", func(t *testing.T) {
		// The workload wants one pod, and two are healthy: the one that no controller wants may be disrupted. The nil pod
		// may be of another workload, which wants more.
		s := web(budget(maxUnavailable("0")), 1, pod("a", byWeb), pod("b", byWeb))
		r, err := Plan(s, key("web"), Options{})
		require.NoError(t, err)
		require.Equal(t, int32(1), written(t, r).DisruptionsAllowed)

		before := NewIndex(s, Options{})
		s.Pods = append(s.Pods, nil)
		r, err = Plan(s, key("web"), Options{})
		require.ErrorIs(t, err, purekube.ErrNil)
		require.Empty(t, cmp.Diff(Counts{ExpectedPods: 2, DesiredHealthy: 2, CurrentHealthy: 2}, countsOf(written(t, r))))
		_, affected := before.With(Snapshot{Pods: []*corev1.Pod{nil}})
		require.Equal(t, []purekube.Key{key("web")}, affected)
	})
	t.Run("not looked up yet", func(t *testing.T) {
		r, err := Plan(web(budget(maxUnavailable("0")), 3, pods(3, 2, by("x/v1", "Y", "n1"))...), key("web"), Options{})
		require.NoError(t, err)
		require.Len(t, r.Needs, 1, "the numbers would be others if the scale can be had")
	})
	t.Run("a string that is no percentage", func(t *testing.T) {
		for _, text := range []string{"0", "x%"} {
			s := web(budget(func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = ptr.To(intstr.FromString(text)) }), 3, pods(3, 3, by("v1", "Node", "n1"))...)
			s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("", "Node", ns, "n1"): {}}
			_, err := Plan(s, key("web"), Options{})
			require.EqualError(t, err, `Pod shop/web-a: metadata.ownerReferences: found no controllers for pod "web-a"`, "it does not say 0; the scale comes first")
		}
	})
	t.Run("some may be unavailable", func(t *testing.T) {
		for _, some := range []string{"1", "1%"} {
			s := web(budget(maxUnavailable(some)), 3, pods(3, 3, by("v1", "Node", "n1"))...)
			s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("", "Node", ns, "n1"): {Err: errors.New("nodes does not implement the scale subresource")}}
			r, err := Plan(s, key("web"), Options{})
			require.Error(t, err, "the answer needs the scale")
			require.Zero(t, written(t, r).DisruptionsAllowed)
		}
	})
}

func TestD18_TheFailSafeStatusIsWrittenOnce(t *testing.T) {
	for mode, o := range bothModes {
		s := web(budget(maxUnavailable("x%")), 2, pods(2, 2, byWeb)...)
		r, err := Plan(s, key("web"), o)
		require.Error(t, err)
		s.Budgets[0] = r.Actions[0].(UpdateStatus).Budget
		again, err := Plan(s, key("web"), o)
		require.Error(t, err, "the problem is still there")
		require.NotEmpty(t, again.Events)
		if mode == "default" {
			require.Empty(t, again.Actions)
		} else {
			require.Equal(t, s.Budgets[0].Status, written(t, again), "upstream writes it on every pass")
		}
		s.Budgets[0].Status.DisruptionsAllowed = 1
		again, _ = Plan(s, key("web"), o)
		require.Zero(t, written(t, again).DisruptionsAllowed, "a figure that is not safe is put right")
	}
}

func TestBR2506_FailSafe(t *testing.T) {
	old := policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: 4, DisruptionsAllowed: 2, CurrentHealthy: 6, DesiredHealthy: 4, ExpectedPods: 7,
		DisruptedPods: map[string]metav1.Time{"gone": ago(time.Hour)},
		Conditions: []metav1.Condition{
			{Type: "example.com/Audited", Status: metav1.ConditionTrue, LastTransitionTime: ago(time.Hour), Reason: "Yes"},
			{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue, ObservedGeneration: 4,
				LastTransitionTime: ago(time.Hour), Reason: policyv1.SufficientPodsReason},
		},
	}
	for _, tc := range []struct {
		name, reason  string
		change        func(*policyv1.PodDisruptionBudget)
		message       string
		event, prefix string
		err           string
	}{{
		name: "selector", reason: "which pods it covers is not known",
		change:  selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}),
		message: `"Like" is not a valid label selector operator`,
		event:   "NoPods", prefix: "Failed to get pods: ",
		err: `PodDisruptionBudget shop/web: spec.selector: "Like" is not a valid label selector operator`,
	}, {
		name: "percentage", reason: "what it demands is not known",
		change:  maxUnavailable("many"),
		message: "invalid value for IntOrString: invalid type: string is not a percentage",
		event:   "CalculateExpectedPodCountFailed", prefix: "Failed to calculate the number of expected pods: ",
		err: "PodDisruptionBudget shop/web: spec.maxUnavailable: invalid value for IntOrString: invalid type: string is not a percentage",
	}} {
		for mode, o := range bothModes {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				b := budget(maxUnavailable("1"), tc.change)
				b.Generation, b.Status = 5, *old.DeepCopy()
				r, err := Plan(web(b, 2, pods(2, 2, byWeb)...), key("web"), o)
				require.EqualError(t, err, tc.err, tc.reason)
				want := old.DeepCopy()
				want.DisruptionsAllowed = 0
				want.Conditions[1] = metav1.Condition{
					Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, ObservedGeneration: 4,
					LastTransitionTime: metav1.NewTime(now), Reason: policyv1.SyncFailedReason, Message: tc.message,
				}
				require.Empty(t, cmp.Diff(*want, written(t, r)), "everything else stays, the observed generation too")
				require.Empty(t, cmp.Diff([]purekube.Event{{
					Regarding: corev1.ObjectReference{APIVersion: "policy/v1", Kind: "PodDisruptionBudget", Namespace: ns, Name: "web", UID: "uid-web", ResourceVersion: "7"},
					Type:      "Warning", Reason: tc.event, Message: tc.prefix + tc.message,
				}}, r.Events))
			})
		}
	}
}

func TestConditions(t *testing.T) {
	audited := metav1.Condition{Type: "example.com/Audited", Status: metav1.ConditionTrue, LastTransitionTime: ago(time.Hour), Reason: "Yes"}
	had := func(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return &metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(time.Hour)}
	}
	for _, tc := range []struct {
		name, reason string
		had          *metav1.Condition
		ready        int
		want         metav1.Condition
	}{{
		name: "first", reason: "the first status", ready: 2,
		want: metav1.Condition{Status: metav1.ConditionTrue, Reason: "SufficientPods", LastTransitionTime: metav1.NewTime(now)},
	}, {
		name: "turns false", reason: "a transition has a new time", ready: 1,
		had:  had(metav1.ConditionTrue, "SufficientPods", ""),
		want: metav1.Condition{Status: metav1.ConditionFalse, Reason: "InsufficientPods", LastTransitionTime: metav1.NewTime(now)},
	}, {
		name: "stays true", reason: "no transition, but the generation is observed", ready: 2,
		had:  had(metav1.ConditionTrue, "SufficientPods", ""),
		want: metav1.Condition{Status: metav1.ConditionTrue, Reason: "SufficientPods", LastTransitionTime: ago(time.Hour)},
	}, {
		name: "sync works again", reason: "the text of the error goes; false stays false", ready: 1,
		had:  had(metav1.ConditionFalse, "SyncFailed", "found no controllers"),
		want: metav1.Condition{Status: metav1.ConditionFalse, Reason: "InsufficientPods", LastTransitionTime: ago(time.Hour)},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			b := budget(maxUnavailable("1"))
			b.Generation = 3
			b.Status.Conditions = []metav1.Condition{audited}
			if tc.had != nil {
				b.Status.Conditions = append(b.Status.Conditions, *tc.had)
			}
			st := statusOf(t, web(b, 2, pods(2, tc.ready, byWeb)...), Options{})
			tc.want.Type, tc.want.ObservedGeneration = policyv1.DisruptionAllowedCondition, 3
			require.Empty(t, cmp.Diff([]metav1.Condition{audited, tc.want}, st.Conditions), tc.reason)
			require.EqualValues(t, 3, st.ObservedGeneration)
		})
	}
}

// Each figure that is out of date is a reason to write, and nothing else is.
func TestNothingIsWrittenTwice(t *testing.T) {
	s := web(budget(maxUnavailable("2"), disrupted(map[string]metav1.Time{"web-a": ago(time.Second)})), 3, pods(3, 3, byWeb)...)
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	right := r.Actions[0].(UpdateStatus).Budget
	for _, tc := range []struct {
		name   string
		change func(*policyv1.PodDisruptionBudget)
		writes bool
	}{
		{"as it was", func(b *policyv1.PodDisruptionBudget) {}, false},
		{"the message of the condition", func(b *policyv1.PodDisruptionBudget) { b.Status.Conditions[0].Message = "x" }, false},
		{"the generation in the condition", func(b *policyv1.PodDisruptionBudget) { b.Status.Conditions[0].ObservedGeneration = 9 }, false},
		{"another zone", func(b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptedPods["web-a"] = metav1.NewTime(ago(time.Second).In(time.FixedZone("there", 3600)))
		}, false},
		{"currentHealthy", func(b *policyv1.PodDisruptionBudget) { b.Status.CurrentHealthy++ }, true},
		{"desiredHealthy", func(b *policyv1.PodDisruptionBudget) { b.Status.DesiredHealthy++ }, true},
		{"expectedPods", func(b *policyv1.PodDisruptionBudget) { b.Status.ExpectedPods++ }, true},
		{"disruptionsAllowed", func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed++ }, true},
		{"disruptedPods", func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptedPods["gone"] = ago(0) }, true},
		{"observedGeneration", func(b *policyv1.PodDisruptionBudget) { b.Generation++ }, true},
		{"reason of the condition", func(b *policyv1.PodDisruptionBudget) { b.Status.Conditions[0].Reason = "SyncFailed" }, true},
		{"status of the condition", func(b *policyv1.PodDisruptionBudget) { b.Status.Conditions[0].Status = "Unknown" }, true},
		{"no condition", func(b *policyv1.PodDisruptionBudget) { b.Status.Conditions = nil }, true},
	} {
		for mode, o := range bothModes {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				b := right.DeepCopy()
				tc.change(b)
				s.Budgets = []*policyv1.PodDisruptionBudget{b}
				r, err := Plan(s, key("web"), o)
				require.NoError(t, err)
				require.Equal(t, tc.writes, len(r.Actions) == 1)
				if tc.writes {
					require.Equal(t, "7", r.Actions[0].(UpdateStatus).Budget.ResourceVersion, "an eviction in between has to conflict")
				}
			})
		}
	}
}

func TestEmptyDisruptedPodsAreNoChange(t *testing.T) {
	s := web(budget(maxUnavailable("1")), 3, pods(3, 3, byWeb)...)
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	s.Budgets[0] = r.Actions[0].(UpdateStatus).Budget
	for _, m := range []map[string]metav1.Time{nil, {}} {
		s.Budgets[0].Status.DisruptedPods = m
		r, err := Plan(s, key("web"), Options{})
		require.NoError(t, err)
		require.Empty(t, r.Actions)
	}
}

func TestD29_Events(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		want         []string
	}{
		{name: "no pods", reason: "a budget that covers nothing is often a typo", s: web(budget(maxUnavailable("1")), 3), want: []string{"Normal NoPods No matching pods found"}},
		{name: "unmanaged", reason: "the sum of scales leaves them out", s: web(budget(maxUnavailable("1")), 1, pod("a", byWeb), pod("b")), want: []string{
			"Warning UnmanagedPods Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}) were found " +
				"to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. " +
				"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value."}},
		{name: "unmanaged and a number", reason: "no scale is asked for", s: web(budget(minAvailable("1")), 1, pod("a", byWeb), pod("b"))},
		{name: "nothing to say", reason: "all is well", s: web(budget(maxUnavailable("1")), 1, pod("a", byWeb))},
	} {
		for mode, o := range bothModes {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				r, err := Plan(tc.s, key("web"), o)
				require.NoError(t, err)
				var got []string
				for _, e := range r.Events {
					require.Equal(t, "PodDisruptionBudget", e.Regarding.Kind)
					got = append(got, e.Type+" "+e.Reason+" "+e.Message)
				}
				require.Empty(t, cmp.Diff(tc.want, got), tc.reason)

				require.Len(t, r.Actions, 1)
				tc.s.Budgets[0] = r.Actions[0].(UpdateStatus).Budget
				again, err := Plan(tc.s, key("web"), o)
				require.NoError(t, err)
				if mode == "default" {
					require.True(t, again.Empty(), "D-29: said once, with the write")
				} else {
					require.Equal(t, r.Events, again.Events, "upstream says it on every pass")
				}
				tc.s.Budgets[0] = tc.s.Budgets[0].DeepCopy()
				tc.s.Budgets[0].Status = policyv1.PodDisruptionBudgetStatus{}
			})
		}
	}
}
