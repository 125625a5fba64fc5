package resourceclaim

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// isForPod reports whether the claim was made for that pod: it is controlled by the pod's UID
// (IsForPod in k8s.io/dynamic-resource-allocation/resourceclaim).
func isForPod(pod *corev1.Pod, claim *resourcev1.ResourceClaim) bool {
	return claim.Namespace == pod.Namespace && metav1.IsControlledBy(claim, pod)
}

// isReservedFor reports whether the claim lists the pod's UID as a consumer, whatever kind it
// is listed as (IsReservedForPod in k8s.io/dynamic-resource-allocation/resourceclaim).
func isReservedFor(pod *corev1.Pod, claim *resourcev1.ResourceClaim) bool {
	for i := range claim.Status.ReservedFor {
		if claim.Status.ReservedFor[i].UID == pod.UID {
			return true
		}
	}
	return false
}

// owningPod is the pod that controls the claim: the one it was generated for. An owner that is
// not marked as the controller, or of another kind, does not count.
func owningPod(claim metav1.Object) (name string, uid types.UID, ok bool) {
	owner := metav1.GetControllerOfNoCopy(claim)
	if owner == nil || owner.APIVersion != "v1" || owner.Kind != "Pod" {
		return "", "", false
	}
	return owner.Name, owner.UID, true
}

// owningEntry is the entry of a pod or PodGroup that the claim was generated for. Without the
// annotation it was not generated: the scheduler's claims for extended resources have an owner too.
func owningEntry(claim *resourcev1.ResourceClaim) (of generatedFor, ok bool) {
	_, uid, ok := owningPod(claim)
	if !ok {
		_, uid, ok = owningPodGroup(claim)
	}
	entry, annotated := claim.Annotations[PodClaimAnnotation]
	return generatedFor{claim.Namespace, uid, entry}, ok && annotated
}

// isPod reports whether the consumer is a pod.
func isPod(consumer *resourcev1.ResourceClaimConsumerReference) bool {
	return consumer.APIGroup == "" && consumer.Resource == "pods"
}

// namesPod reports whether the claim names the pod as a consumer or as its owner.
func namesPod(claim *resourcev1.ResourceClaim, pod types.NamespacedName) bool {
	if claim.Namespace != pod.Namespace {
		return false
	}
	if owner, _, ok := owningPod(claim); ok && owner == pod.Name {
		return true
	}
	for i := range claim.Status.ReservedFor {
		if consumer := &claim.Status.ReservedFor[i]; consumer.Name == pod.Name && isPod(consumer) {
			return true
		}
	}
	return false
}

// asConsumer is how the pod appears in status.reservedFor.
func asConsumer(pod *corev1.Pod) resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID}
}
