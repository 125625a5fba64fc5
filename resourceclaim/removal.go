package resourceclaim

import (
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RemoveFinalizer removes [resourcev1.Finalizer] from a claim that is not allocated any more:
// update resourceclaims with what Apply returns. Apply it to the claim that the write before
// it in the same plan returned or, as the first action, to the claim as read. So it carries a
// resourceVersion, and fails if anything has changed since.
type RemoveFinalizer struct {
	// Namespace and Name of the claim.
	Namespace, Name string
	// UID of the claim.
	UID types.UID
}

// Apply returns a copy of the claim without the finalizer. A claim that is allocated (again),
// or that has another UID, keeps it; nil gives nil.
func (a RemoveFinalizer) Apply(latest *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	out := latest.DeepCopy()
	if out == nil || out.UID != a.UID || out.Status.Allocation != nil {
		return out
	}
	out.Finalizers = slices.DeleteFunc(out.Finalizers, func(f string) bool { return f == resourcev1.Finalizer })
	return out
}

// String reads "RemoveFinalizer ml/shared".
func (a RemoveFinalizer) String() string {
	return fmt.Sprintf("RemoveFinalizer %s/%s", a.Namespace, a.Name)
}

// DeleteClaim deletes a claim that was generated for a pod which does not need it any more
// (BR-30-08): delete resourceclaims with Preconditions.
type DeleteClaim struct {
	// Namespace and Name of the claim.
	Namespace, Name string
	// UID of the claim. Empty under MatchUpstream, which sends no preconditions (D-10).
	UID types.UID
	// ResourceVersion of the claim as read, when this is the only action of its plan: a write
	// before it changes the version. Otherwise, and under MatchUpstream, empty.
	ResourceVersion string
}

// Preconditions are those of the delete options: the UID, and the resourceVersion if there is
// one. Nil: none.
func (a DeleteClaim) Preconditions() *metav1.Preconditions {
	if a.UID == "" && a.ResourceVersion == "" {
		return nil
	}
	p := &metav1.Preconditions{}
	if a.UID != "" {
		p.UID = new(a.UID)
	}
	if a.ResourceVersion != "" {
		p.ResourceVersion = new(a.ResourceVersion)
	}
	return p
}

// String reads "DeleteClaim ml/train-0-gpu-l92c5".
func (a DeleteClaim) String() string {
	return fmt.Sprintf("DeleteClaim %s/%s", a.Namespace, a.Name)
}
