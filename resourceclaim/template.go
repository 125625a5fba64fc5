package resourceclaim

import (
	"errors"
	"maps"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodClaimAnnotation is on each generated claim. Its value is the name of the entry that the claim was generated for.
//
// The owner reference says which pod a claim is for, and the annotation which of the pod's entries. Upstream's
// findPodResourceClaim needs both to find a claim that no status names.
const PodClaimAnnotation = "resource.kubernetes.io/pod-claim-name"

// Why no claim is created from an existing template. Test for these errors with errors.Is.
var (
	// ErrAdminAccess: a request asks for admin access and [Options].DenyAdminAccess is set.
	ErrAdminAccess = errors.New("admin access is requested, but the feature is disabled")
	// ErrPrioritizedList: a request lists alternatives and [Options].DenyPrioritizedList is
	// set.
	ErrPrioritizedList = errors.New("template includes a prioritized list of subrequests, but the feature is disabled")
)

// checkFeatures is the reason why no claim may be made from the template, or nil. The texts are upstream's, because
// they appear in its event. With several reasons it is the one about admin access, as in upstream's handleClaim.
func checkFeatures(template *resourcev1.ResourceClaimTemplate, o Options) error {
	requests := template.Spec.Spec.Devices.Requests
	if o.DenyAdminAccess {
		for i := range requests {
			// The alternatives of a prioritized list cannot ask for it.
			if e := requests[i].Exactly; e != nil && e.AdminAccess != nil && *e.AdminAccess {
				return ErrAdminAccess
			}
		}
	}
	if o.DenyPrioritizedList {
		for i := range requests {
			if len(requests[i].FirstAvailable) > 0 {
				return ErrPrioritizedList
			}
		}
	}
	return nil
}

// fromTemplate is the claim to create for that entry (BR-30-01, BR-30-02). It shares nothing with the template (D-6):
// v1.36 writes the annotation into the map of its cache, where every other reader sees it.
//
//	from the template   labels, annotations, spec
//	from the owner      namespace, generateName, the owner reference with controller: true
//	from the entry      the annotation, and its part of the generateName
func fromTemplate(o *owner, entry string, template *resourcev1.ResourceClaimTemplate, options Options) *resourcev1.ResourceClaim {
	// A template may have the annotation too, with any value. The entry's name replaces it.
	annotations := map[string]string{}
	maps.Copy(annotations, template.Spec.Annotations)
	// This is how a claim is found again whose name did not get into the pod's status.
	annotations[PodClaimAnnotation] = entry
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       o.Namespace,
			GenerateName:    generateName(o.Name, entry, options.upstream()),
			Labels:          maps.Clone(template.Spec.Labels),
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{o.reference()},
		},
		Spec: *template.Spec.Spec.DeepCopy(),
	}
}
