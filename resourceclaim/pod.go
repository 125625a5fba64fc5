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

// asConsumer is how the pod appears in status.reservedFor.
func asConsumer(pod *corev1.Pod) resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID}
}
