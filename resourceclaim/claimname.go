package resourceclaim

import (
	corev1 "k8s.io/api/core/v1"
)

// NameState says what is known about the claim of an entry of a pod's spec.resourceClaims.
type NameState string

const (
	// NoNameState is the zero value. [ClaimName] never returns it.
	NoNameState NameState = ""
	// NameKnown: the entry's claim has a name. Whether that claim exists, and for a template
	// entry whether it is the pod's own, is another question.
	NameKnown NameState = "Known"
	// NameNotCreated: the claim is to be made from a template, and the pod's status does not
	// name one yet.
	NameNotCreated NameState = "NotCreated"
	// NameNotNeeded: the pod's status says that no claim is needed for the entry.
	NameNotNeeded NameState = "NotNeeded"
	// NameUnsupported: the entry names neither a claim nor a template. It may be from a
	// newer API.
	NameUnsupported NameState = "Unsupported"
)

// ClaimName resolves an entry of pod.Spec.ResourceClaims to the name of its claim: the name in
// the entry itself, or for a template entry the one in pod.Status.ResourceClaimStatuses. The
// name is empty unless the state is NameKnown. A nil pod has no status, a nil entry names
// nothing.
//
// Upstream: Name in k8s.io/dynamic-resource-allocation/resourceclaim. An entry that has both
// fields, which the API does not allow, resolves to the name in it.
func ClaimName(pod *corev1.Pod, pc *corev1.PodResourceClaim) (name string, state NameState) {
	switch {
	case pc == nil:
		return "", NameUnsupported
	case pc.ResourceClaimName != nil:
		return *pc.ResourceClaimName, NameKnown
	case pc.ResourceClaimTemplateName == nil:
		return "", NameUnsupported
	case pod == nil:
		return "", NameNotCreated
	}
	return generatedName(statusNamed(pod.Status.ResourceClaimStatuses, pc.Name))
}

// generatedName resolves an entry with a template from its status, which may be nil.
func generatedName(status *corev1.PodResourceClaimStatus) (name string, state NameState) {
	switch {
	case status == nil:
		return "", NameNotCreated
	case status.ResourceClaimName == nil:
		return "", NameNotNeeded
	// An empty name is no name; the API does not allow it.
	case *status.ResourceClaimName == "":
		return "", NameNotCreated
	}
	return *status.ResourceClaimName, NameKnown
}

// statusNamed is the first status of that name, or nil. It points into the slice.
func statusNamed(statuses []corev1.PodResourceClaimStatus, entry string) *corev1.PodResourceClaimStatus {
	for i := range statuses {
		if statuses[i].Name == entry {
			return &statuses[i]
		}
	}
	return nil
}

// generated reports whether the entry's claim is made from a template, for this pod alone.
func generated(pc *corev1.PodResourceClaim) bool {
	return pc.ResourceClaimName == nil && pc.ResourceClaimTemplateName != nil
}
