package resourceclaim

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CreateClaim creates the claim of one entry of a pod's spec.resourceClaims from its template
// (BR-30-01): create resourceclaims in Claim.Namespace.
//
// What the API server returns has the name. Put it into the [SetClaimStatuses] that follows
// (WithCreated) and among the Assumed claims of later snapshots (BR-30-04), or else the next
// plan may create a second one.
type CreateClaim struct {
	// Pod is the pod that the claim is for.
	Pod types.NamespacedName
	// PodClaim is the name of the entry in the pod's spec.resourceClaims.
	PodClaim string
	// Claim is the object to create. It has a generateName and no name.
	Claim *resourcev1.ResourceClaim
}

// String reads "CreateClaim ml/train-0 gpu: train-0-gpu-*".
func (a CreateClaim) String() string {
	generateName := ""
	if a.Claim != nil {
		generateName = a.Claim.GenerateName
	}
	return fmt.Sprintf("CreateClaim %s %s: %s*", a.Pod, a.PodClaim, generateName)
}
