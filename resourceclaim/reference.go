package resourceclaim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// What a claim names: its owner, the entry that it was generated for, and its consumers.

// generatedFor is the entry of a pod or PodGroup that a claim was made for. It is comparable: a claim and an entry
// belong together if owningEntry of the claim equals generatedFor or one of changedFor of the entry.
//
//	claim of entry gpu of pod train-0            changed   entry   generateName
//	as it was created                            false     gpu
//	without the controller flag (D-38)           true      gpu
//	without the annotation (D-38)                true              train-0-gpu-
type generatedFor struct {
	namespace string
	owner     types.UID
	entry     string
	// changed: the claim does not say so as it was created (D-38). Then the entry may be known by the
	// claim's generateName alone.
	changed      bool
	generateName string
}

// PodClaimAnnotation is on each generated claim. Its value is the name of the entry that the claim was generated for.
//
// The owner reference says which pod a claim is for, and the annotation which of the pod's entries. Upstream's
// findPodResourceClaim needs both to find a claim that no status names.
const PodClaimAnnotation = "resource.kubernetes.io/pod-claim-name"

// owningPod is the pod that controls the claim: the one it was generated for. An owner that is not marked as the
// controller, or of another kind, does not count. The claim's user can write any owner reference, so that the name may
// be one that no lookup can be made for (snapshot.CheckNeed).
func owningPod(claim metav1.Object) (name string, uid types.UID, ok bool) {
	return controllerThat(isPodOwner, claim)
}

// owningPodGroup is the PodGroup that controls the claim, whatever the version of its API: v1.36 writes v1alpha2 and
// v1.37 writes v1beta1, so after an upgrade a cluster has owners of both.
func owningPodGroup(claim metav1.Object) (name string, uid types.UID, ok bool) {
	return controllerThat(isPodGroupOwner, claim)
}

// controllerThat is the controller among the owners, if it is of the right kind. The API server allows at most one.
func controllerThat(is func(*metav1.OwnerReference) bool, claim metav1.Object) (name string, uid types.UID, ok bool) {
	controller := metav1.GetControllerOfNoCopy(claim)
	if controller == nil || !is(controller) {
		return "", "", false
	}
	return controller.Name, controller.UID, true
}

// isPodOwner reports whether the owner is a pod of the core API. The version counts, as in upstream's owningPod: there
// is only one.
func isPodOwner(owner *metav1.OwnerReference) bool {
	return owner.APIVersion == podAPIVersion && owner.Kind == podKind
}

func isPodGroupOwner(owner *metav1.OwnerReference) bool {
	if owner.Kind != podGroupKind {
		return false
	}
	version, _ := schema.ParseGroupVersion(owner.APIVersion) // what does not parse is of no group
	return version.Group == schedulingGroup
}

// owningEntry is the entry of a pod or PodGroup that the claim was generated for. Without the annotation it was not
// generated, unless its generateName says so: the scheduler's claims for extended resources have an owner too.
//
//	controller   annotation   generateName   result
//	yes          gpu          any            entry gpu, as it was created
//	no           gpu          any            entry gpu, changed (D-38)
//	any          none         train-0-gpu-   changed, known by its generateName alone
//	any          none         none           not generated
func owningEntry(claim *resourcev1.ResourceClaim) (of generatedFor, ok bool) {
	isOwner := func(owner *metav1.OwnerReference) bool { return isPodOwner(owner) || isPodGroupOwner(owner) }
	_, uid, ok := controllerThat(isOwner, claim)
	entry, annotated := claim.Annotations[PodClaimAnnotation]
	if ok && annotated {
		return generatedFor{namespace: claim.Namespace, owner: uid, entry: entry}, true
	}
	// D-38: an admission policy may have dropped the annotation or the controller flag.
	for i := range claim.OwnerReferences {
		// Without such a controller the first pod or PodGroup among the owners counts.
		if owner := &claim.OwnerReferences[i]; !ok && isOwner(owner) {
			uid, ok = owner.UID, true
		}
	}
	of = generatedFor{namespace: claim.Namespace, owner: uid, entry: entry, changed: true}
	if !annotated {
		of.generateName = claim.GenerateName
	}
	// The scheduler's claim for an extended resource is owned by the pod and has a generateName, but belongs to no
	// entry.
	_, isExtended := claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation]
	return of, ok && !isExtended && (annotated || claim.GenerateName != "")
}

// isPod reports whether the consumer is a pod. A consumer has the name of a resource, "pods", and not of a kind.
func isPod(consumer *resourcev1.ResourceClaimConsumerReference) bool {
	return consumer.APIGroup == "" && consumer.Resource == "pods"
}

// isPodGroup reports whether the consumer is a PodGroup. A consumer has no version.
func isPodGroup(consumer *resourcev1.ResourceClaimConsumerReference) bool {
	return consumer.APIGroup == schedulingGroup && consumer.Resource == podGroupResource
}

// consumerKey is the key of a consumer that is a pod or a PodGroup. A claim names pods and PodGroups of its own
// namespace only.
func consumerKey(namespace string, consumer *resourcev1.ResourceClaimConsumerReference) purekube.Key {
	if isPodGroup(consumer) {
		return PodGroupKey(namespace, consumer.Name)
	}
	return PodKey(namespace, consumer.Name)
}

// asConsumer is how the pod appears in status.reservedFor, with the fields that the scheduler writes too.
func asConsumer(pod *corev1.Pod) resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID}
}

// asConsumer is how the group appears in status.reservedFor.
func (g *podGroup) asConsumer() resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{APIGroup: schedulingGroup, Resource: podGroupResource, Name: g.Name,
		UID: g.UID}
}

// consumes reports whether a consumer of the kind has that name. At most 256 consumers are looked at: the API allows no
// more.
func consumes(
	claim *resourcev1.ResourceClaim, name string, is func(*resourcev1.ResourceClaimConsumerReference) bool,
) bool {
	return slices.ContainsFunc(claim.Status.ReservedFor, func(c resourcev1.ResourceClaimConsumerReference) bool {
		return c.Name == name && is(&c)
	})
}
