package parity

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestDisruptionStarts(t *testing.T) {
	yes := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "p", Labels: map[string]string{"app": "a"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "x.io/v1", Kind: "Widget", Name: "w", UID: "uid-w", Controller: &yes}},
	}}
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b", Generation: 3},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}},
	}
	var found *autoscalingv1.Scale
	start := StartDisruption(func(kind schema.GroupKind, namespace, name string) (*autoscalingv1.Scale, error) {
		require.Equal(t, "Widget.x.io ns/w", fmt.Sprintf("%v %s/%s", kind, namespace, name))
		return found, nil
	})
	Run(t, []runtime.Object{pod, budget}, start, func(t *testing.T, w *World) {
		require.Equal(t, `update poddisruptionbudgets/status ns/b: {"metadata":{"generation":3,"name":"b","namespace":"ns"},"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app":"a"}}},"status":{"conditions":[{"lastTransitionTime":"2000-01-01T00:00:00Z","message":"found no controllers for pod \"p\"","reason":"SyncFailed","status":"False","type":"DisruptionAllowed"}],"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0}}
get widgets/scale ns/w
event Warning CalculateExpectedPodCountFailed on PodDisruptionBudget ns/b`, w.Settle().String())
		found = &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: "uid-w"}, Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
		w.Update(pod.DeepCopy())
		require.Contains(t, w.Settle().String(), `"desiredHealthy":1,"disruptionsAllowed":0,"expectedPods":2`)
	})
}
