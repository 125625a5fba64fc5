package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

// What a scheduler and a kubelet would do, by hand.

// createPod makes a pod that runs on a node that nobody made, labelled app; without an owner where that is empty.
func (w *world) createPod(t *testing.T, ns, name, app string, owner metav1.OwnerReference) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{NodeName: "somewhere", Containers: []corev1.Container{{Name: "c", Image: "image"}}},
	}
	if owner.Name != "" {
		pod.OwnerReferences = []metav1.OwnerReference{owner}
	}
	_, err := w.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
}

// changeStatus changes a pod's status, again if somebody else did.
func (w *world) changeStatus(t *testing.T, ns, name string, change func(*corev1.PodStatus)) {
	t.Helper()
	require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pod, err := w.CoreV1().Pods(ns).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&pod.Status)
		_, err = w.CoreV1().Pods(ns).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
		return err
	}))
}

func (w *world) setReady(t *testing.T, ns, name string, ready bool) {
	t.Helper()
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	w.changeStatus(t, ns, name, func(s *corev1.PodStatus) {
		s.Phase = corev1.PodRunning
		for i := range s.Conditions {
			if s.Conditions[i].Type == corev1.PodReady {
				s.Conditions[i].Status = status
				return
			}
		}
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: status})
	})
}

// removePod ends a pod that is being deleted, or not: its containers have stopped.
func (w *world) removePod(t *testing.T, ns, name string) {
	t.Helper()
	require.NoError(t, w.CoreV1().Pods(ns).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	eventually(t, patience, "pod "+name+" is gone", func(ctx context.Context) error {
		_, err := w.CoreV1().Pods(ns).Get(ctx, name, metav1.GetOptions{})
		return missing(err)
	})
}
