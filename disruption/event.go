package disruption

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
)

func budgetEvent(b *policyv1.PodDisruptionBudget, eventType, reason, message string) purekube.Event {
	return eventOf(b, "policy/v1", budgetKind, eventType, reason, message)
}

func podEvent(pod *corev1.Pod, reason, message string) purekube.Event {
	return eventOf(pod, "v1", podKind, corev1.EventTypeWarning, reason, message)
}

func eventOf(o metav1.Object, apiVersion, kind, eventType, reason, message string) purekube.Event {
	return purekube.Event{Type: eventType, Reason: reason, Message: message, Regarding: corev1.ObjectReference{
		APIVersion: apiVersion, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}}
}
