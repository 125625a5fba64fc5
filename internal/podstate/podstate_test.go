package podstate

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReady(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		conditions   []corev1.PodCondition
		want         bool
	}{
		{name: "no condition", reason: "a pod that was never looked at is not ready"},
		{name: "true", reason: "the plain case", want: true,
			conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		{name: "unknown", reason: "a node that is not heard of makes its pods Unknown",
			conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionUnknown}}},
		{name: "another type", reason: "containers may be ready while a readiness gate is not",
			conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}},
		{name: "twice", reason: "the first condition of a type counts, as in Kubernetes",
			conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, Ready(&corev1.Pod{Status: corev1.PodStatus{Conditions: tc.conditions}}), tc.reason)
		})
	}
}

func TestDoneAndTerminal(t *testing.T) {
	now := metav1.Unix(1_000_000_000, 0)
	for _, tc := range []struct {
		name, reason   string
		phase          corev1.PodPhase
		deleting       bool
		node           string
		terminal, done bool
	}{
		{name: "running", reason: "it holds its node", phase: corev1.PodRunning, node: "n"},
		{name: "pending without node", reason: "it may still be scheduled", phase: corev1.PodPending},
		{name: "no phase", reason: "created a moment ago"},
		{name: "succeeded", reason: "ended", phase: corev1.PodSucceeded, node: "n", terminal: true, done: true},
		{name: "failed", reason: "ended", phase: corev1.PodFailed, node: "n", terminal: true, done: true},
		{name: "deleting on a node", reason: "its containers may still run", phase: corev1.PodRunning, deleting: true, node: "n"},
		{name: "deleting without a node", reason: "nothing will ever run it", phase: corev1.PodPending, deleting: true, done: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: tc.node}, Status: corev1.PodStatus{Phase: tc.phase}}
			if tc.deleting {
				pod.DeletionTimestamp = &now
			}
			require.Equal(t, tc.terminal, Terminal(pod), tc.reason)
			require.Equal(t, tc.done, Done(pod), tc.reason)
		})
	}
}
