// Package podstate reads from a pod what more than one package decides by: its phase, its
// conditions, whether it is ready or done.
package podstate

import corev1 "k8s.io/api/core/v1"

// Condition returns the first condition of that type, nil if there is none. It points into
// the pod.
func Condition(pod *corev1.Pod, conditionType corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == conditionType {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// Ready reports whether the pod says that it is ready, whatever else is true of it.
func Ready(pod *corev1.Pod) bool {
	c := Condition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Terminal reports whether the pod's containers have ended for good.
func Terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Done reports whether it is certain that no container of the pod runs or ever will: it ended, or
// it is being deleted before it was given a node (upstream: isPodDone in the resource claim
// controller; BR-30-05 knows the first half only).
func Done(pod *corev1.Pod) bool {
	return Terminal(pod) || (pod.DeletionTimestamp != nil && pod.Spec.NodeName == "")
}
