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

func target(status corev1.ConditionStatus, reason string, age time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: status, Reason: reason, Message: "Eviction API: evicting", LastTransitionTime: ago(age)})
	}
}

func TestBR2505_StaleDisruptionTarget(t *testing.T) {
	const evicted = "EvictionByEvictionAPI"
	for _, tc := range []struct {
		name, reason string
		pod          *corev1.Pod
		clears       bool
		recheck      time.Duration
	}{
		{name: "no condition", reason: "nothing to clear", pod: pod("a")},
		{name: "stale", reason: "it was to be deleted and was not", pod: pod("a", target("True", evicted, 3*time.Minute)), clears: true},
		{name: "exactly two minutes", reason: "the time is over then", pod: pod("a", target("True", evicted, 2*time.Minute)), clears: true},
		{name: "a second before", reason: "look again in a second", pod: pod("a", target("True", evicted, 119*time.Second)), recheck: time.Second},
		{name: "from the future", reason: "clocks differ", pod: pod("a", target("True", evicted, -time.Minute)), recheck: 3 * time.Minute},
		{name: "False", reason: "cleared already", pod: pod("a", target("False", "", time.Hour))},
		{name: "Unknown", reason: "not claimed", pod: pod("a", target("Unknown", "", time.Hour))},
		{name: "kubelet", reason: "may take as long as it takes", pod: pod("a", target("True", corev1.PodReasonTerminationByKubelet, time.Hour))},
		{name: "being deleted", reason: "it is right", pod: pod("a", target("True", evicted, time.Hour), deleting)},
		{name: "failed", reason: "says why it ended", pod: pod("a", target("True", evicted, time.Hour), phase(corev1.PodFailed))},
		{name: "succeeded", reason: "says why it ended", pod: pod("a", target("True", evicted, time.Hour), phase(corev1.PodSucceeded))},
		{name: "pending", reason: "a pod that never started may have been preempted", pod: pod("a", target("True", evicted, time.Hour), phase(corev1.PodPending)), clears: true},
	} {
		for mode, o := range bothModes {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				tc.pod.Generation = 5
				s := Snapshot{Now: now, Pods: []*corev1.Pod{pod("z"), tc.pod}}
				r, err := Plan(s, podNamed("a"), o)
				require.NoError(t, err)
				if tc.recheck != 0 {
					require.Equal(t, now.Add(tc.recheck), r.RecheckAt, tc.reason)
					require.Empty(t, r.Actions)
					return
				}
				require.Zero(t, r.RecheckAt)
				if !tc.clears {
					require.Empty(t, r.Actions, tc.reason)
					return
				}
				require.Len(t, r.Actions, 1, tc.reason)
				clear := r.Actions[0].(ClearDisruptionTarget)
				want := tc.pod.DeepCopy()
				want.Status.Conditions[1] = corev1.PodCondition{
					Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, ObservedGeneration: 5, LastTransitionTime: metav1.NewTime(now)}
				require.Empty(t, cmp.Diff(want, clear.Pod), "no reason, no message, all else as it was")
				require.Equal(t, "ClearDisruptionTarget shop/a", clear.String())

				latest := tc.pod.DeepCopy()
				latest.ResourceVersion = "9"
				require.Empty(t, cmp.Diff(want, clear.Apply(latest)), "with the resourceVersion of the plan")
				bare := pod("a")
				require.Len(t, clear.Apply(bare).Status.Conditions, 2)
				require.Len(t, bare.Status.Conditions, 1)

				s.Pods[1] = clear.Pod
				again, err := Plan(s, podNamed("a"), o)
				require.NoError(t, err)
				require.True(t, again.Empty(), "cleared once")
			})
		}
	}
}

func TestD29_ConflictingBudgets(t *testing.T) {
	upstream := Options{MatchUpstream: purekube.V1_36}
	all := budget(named("all"), selecting(&metav1.LabelSelector{}))
	s := Snapshot{Now: now, Pods: []*corev1.Pod{pod("a"), pod("b", labelled(nil)), pod("c", target("True", "x", time.Hour))},
		Budgets: []*policyv1.PodDisruptionBudget{budget(), all}}
	r, err := Plan(s, podNamed("a"), upstream)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(Result{Events: []purekube.Event{{
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: "a", UID: "uid-a", ResourceVersion: "7"},
		Type:      "Warning", Reason: "MultiplePodDisruptionBudgets",
		Message: `Pod "shop"/"a" matches multiple PodDisruptionBudgets.  Chose "all" arbitrarily.`,
	}}}, r))
	r, err = Plan(s, podNamed("b"), upstream)
	require.NoError(t, err)
	require.True(t, r.Empty(), "one budget is no conflict")
	r, err = Plan(s, podNamed("a"), Options{})
	require.NoError(t, err)
	require.True(t, r.Empty(), "no write goes with the event, so that a cluster at rest would have it for ever")
	e, err := NewIndex(s, Options{}).Explain(podNamed("a"))
	require.NoError(t, err)
	require.Equal(t, ReasonMultiplePodDisruptionBudgets, e.Reasons[1].Code, "it is said where it is asked for")

	var keys []purekube.Key
	outcomes, err := PlanAll(s, upstream)
	require.NoError(t, err)
	for _, out := range outcomes {
		if out.Key.Kind != podKind {
			continue
		}
		keys = append(keys, out.Key)
		one, err := Plan(s, out.Key, upstream)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(one, out.Result))
	}
	require.Equal(t, []purekube.Key{podNamed("a"), podNamed("c")}, keys)
}

func TestPlanPodBadInput(t *testing.T) {
	broken := budget(named("broken"), selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"-": "x"}}))
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{broken, nil, budget(), budget()},
		Pods: []*corev1.Pod{nil, pod("a"), pod("a"), pod("b", target("True", "x", time.Hour))}}
	r, err := Plan(s, podNamed("a"), Options{})
	require.True(t, r.Empty())
	require.ErrorContains(t, err, "Pod shop/a: several objects")
	r, err = Plan(s, podNamed("b"), Options{})
	require.Len(t, r.Actions, 1, "other pods' trouble is none of b's")
	require.EqualError(t, err, "Pod: nil object in the snapshot\nPodDisruptionBudget: nil object in the snapshot", "nor is that of budgets")
	r, err = Plan(s, podNamed("gone"), Options{})
	require.True(t, r.Empty())
	require.ErrorIs(t, err, purekube.ErrNil)

	all, err := PlanAll(s, Options{})
	require.EqualError(t, err, "Pod: nil object in the snapshot\nPodDisruptionBudget: nil object in the snapshot")
	require.Len(t, all, 4)
	require.EqualError(t, all[0].Err, "Pod shop/a: several objects in the snapshot have this name")
	require.Equal(t, podNamed("b"), all[1].Key)
	require.Equal(t, key("broken"), all[2].Key)
	require.ErrorContains(t, all[2].Err, "PodDisruptionBudget shop/broken: spec.selector")
	require.Equal(t, key("web"), all[3].Key)
	require.NoError(t, all[1].Err)
}
