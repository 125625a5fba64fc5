package disruption

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
)

// budgetEvent is an event about a budget, Normal or Warning.
func budgetEvent(b *policyv1.PodDisruptionBudget, eventType, reason, message string) purekube.Event {
	return eventOf(b, "policy/v1", budgetKind, eventType, reason, message)
}

// podEvent is an event about a pod. All events about pods are Warnings.
func podEvent(pod *corev1.Pod, reason, message string) purekube.Event {
	return eventOf(pod, "v1", podKind, corev1.EventTypeWarning, reason, message)
}

// eventOf makes an event with upstream's reason and message. The reference has UID and resourceVersion, as an event
// recorder of client-go makes it: kubectl describe finds events by the UID, so an event does not appear under a later
// object of the same name. apiVersion and kind are arguments, because objects from a cache have none.
func eventOf(o metav1.Object, apiVersion, kind, eventType, reason, message string) purekube.Event {
	return purekube.Event{Type: eventType, Reason: reason, Message: message, Regarding: corev1.ObjectReference{
		APIVersion: apiVersion, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
		ResourceVersion: o.GetResourceVersion(),
	}}
}
