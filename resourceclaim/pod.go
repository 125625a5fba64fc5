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
	if owner == nil || !isPodOwner(owner) {
		return "", "", false
	}
	return owner.Name, owner.UID, true
}

// owningEntry is the entry of a pod or PodGroup that the claim was generated for. Without the
// annotation it was not generated, unless its generateName says so: the scheduler's claims for extended
// resources have an owner too.
func owningEntry(claim *resourcev1.ResourceClaim) (of generatedFor, ok bool) {
	_, uid, ok := owningPod(claim)
	if !ok {
		_, uid, ok = owningPodGroup(claim)
	}
	entry, annotated := claim.Annotations[PodClaimAnnotation]
	if ok && annotated {
		return generatedFor{namespace: claim.Namespace, owner: uid, entry: entry}, true
	}
	// D-38: an admission policy may have dropped the annotation or the controller flag.
	_, isExtended := claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation]
	if !ok {
		uid, ok = plainOwner(claim)
	}
	of = generatedFor{namespace: claim.Namespace, owner: uid, entry: entry, changed: true}
	if !annotated {
		of.generateName = claim.GenerateName
	}
	return of, ok && !isExtended && (annotated || claim.GenerateName != "")
}

// plainOwner is the UID of the first pod or PodGroup among the claim's owners.
func plainOwner(claim *resourcev1.ResourceClaim) (uid types.UID, ok bool) {
	for i := range claim.OwnerReferences {
		owner := &claim.OwnerReferences[i]
		if isPodOwner(owner) || isPodGroupOwner(owner) {
			return owner.UID, true
		}
	}
	return "", false
}

func isPodOwner(owner *metav1.OwnerReference) bool {
	return owner.APIVersion == "v1" && owner.Kind == "Pod"
}

// isPod reports whether the consumer is a pod.
func isPod(consumer *resourcev1.ResourceClaimConsumerReference) bool {
	return consumer.APIGroup == "" && consumer.Resource == "pods"
}

// restsOn reports whether the claim's plan depends on the pod of that name: a consumer, or the owner
// where that matters.
func (o Options) restsOn(claim *resourcev1.ResourceClaim, pod types.NamespacedName) bool {
	if claim.Namespace != pod.Namespace {
		return false
	}
	if owner, _, ok := owningPod(claim); ok && owner == pod.Name && o.ownerMatters(claim) {
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
