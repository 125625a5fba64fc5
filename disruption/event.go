package disruption

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/purekube/purekube"
)

func budgetEvent(b *policyv1.PodDisruptionBudget, eventType, reason, message string) purekube.Event {
	return purekube.Event{
		Regarding: corev1.ObjectReference{
			APIVersion: "policy/v1", Kind: budgetKind,
			Namespace: b.Namespace, Name: b.Name, UID: b.UID, ResourceVersion: b.ResourceVersion,
		},
		Type: eventType, Reason: reason, Message: message,
	}
}

func podEvent(pod *corev1.Pod, reason, message string) purekube.Event {
	return purekube.Event{
		Regarding: corev1.ObjectReference{
			APIVersion: "v1", Kind: podKind,
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		},
		Type: corev1.EventTypeWarning, Reason: reason, Message: message,
	}
}
