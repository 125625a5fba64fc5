package resourceclaim

import (
	corev1 "k8s.io/api/core/v1"
)

// NameState says what is known about the claim of an entry of a pod's spec.resourceClaims.
//
//	spec of the entry   status of the entry   state
//	claim               any                   NameKnown
//	template            none                  NameNotCreated
//	template            without a name        NameNotNeeded
//	template            with a name           NameKnown
//	neither             any                   NameUnsupported
type NameState string

const (
	// NoNameState is the zero value. [ClaimName] never returns it.
	NoNameState NameState = ""
	// NameKnown: the entry's claim has a name. NameKnown does not say whether that claim exists, nor, for an entry with
	// a template, whether it belongs to the pod.
	NameKnown NameState = "Known"
	// NameNotCreated: the claim will be created from a template, and the pod's status does not name a claim yet.
	NameNotCreated NameState = "NotCreated"
	// NameNotNeeded: the pod's status says that no claim is needed for the entry.
	NameNotNeeded NameState = "NotNeeded"
	// NameUnsupported: the entry names neither a claim nor a template. It may come from a newer version of the API.
	NameUnsupported NameState = "Unsupported"
)

// ClaimName returns the name of the claim of an entry of pod.Spec.ResourceClaims. For an entry that names a claim, it
// is that name; for an entry with a template, it is the name in pod.Status.ResourceClaimStatuses. The name is empty
// unless the state is NameKnown. A nil pod has no status, and a nil entry names nothing.
//
// Upstream: Name in k8s.io/dynamic-resource-allocation/resourceclaim. An entry that has both fields, which the API does
// not allow, resolves to the claim that it names.
//
// It does not check whether the pod may use the claim. A claim from a template belongs to the pod only if the pod, or
// its PodGroup, is the controller of the claim (BR-30-02).
func ClaimName(pod *corev1.Pod, pc *corev1.PodResourceClaim) (name string, state NameState) {
	switch {
	case pc == nil:
		return "", NameUnsupported
	// The status of such an entry does not count: its name is in the spec.
	case pc.ResourceClaimName != nil:
		return *pc.ResourceClaimName, NameKnown
	case pc.ResourceClaimTemplateName == nil:
		return "", NameUnsupported
	case pod == nil:
		return "", NameNotCreated
	}
	return generatedName(statusNamed(pod.Status.ResourceClaimStatuses, pc.Name))
}

// generatedName resolves an entry with a template from its status, which may be nil. No status and a status without a
// name are different: the first means "not yet", the second "never".
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

// statusNamed is the first status of that name, or nil. It points into the slice, so do not write to it. The API does
// not allow a second status of the name.
func statusNamed(statuses []corev1.PodResourceClaimStatus, entry string) *corev1.PodResourceClaimStatus {
	for i := range statuses {
		if statuses[i].Name == entry {
			return &statuses[i]
		}
	}
	return nil
}

// generated reports whether the entry's claim is made from a template, for this pod or its PodGroup alone. An entry
// with both fields, which the API does not allow, names a claim: what a user has created is never replaced.
func generated(pc *corev1.PodResourceClaim) bool {
	return pc.ResourceClaimName == nil && pc.ResourceClaimTemplateName != nil
}
