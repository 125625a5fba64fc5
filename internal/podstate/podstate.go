// Package podstate reads the state of a pod that several packages need: its conditions, and whether it is ready or
// done.
package podstate

import corev1 "k8s.io/api/core/v1"

// Condition returns a pointer to the pod's first condition of that type, or nil if there is none.
func Condition(pod *corev1.Pod, conditionType corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == conditionType {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// Ready reports whether the condition Ready of the pod is True. It reads nothing else.
func Ready(pod *corev1.Pod) bool {
	c := Condition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Terminal reports whether the pod's phase is Succeeded or Failed: its containers have ended and will not restart.
func Terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Done reports whether it is certain that no container of the pod runs or ever will: the pod is terminal, or it is
// being deleted and has no node. It is isPodDone in upstream's resource claim controller. BR-30-05 describes only the
// first case.
func Done(pod *corev1.Pod) bool {
	return Terminal(pod) || (pod.DeletionTimestamp != nil && pod.Spec.NodeName == "")
}
