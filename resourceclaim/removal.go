package resourceclaim

import (
	"cmp"
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// RemoveFinalizer removes [resourcev1.Finalizer] from a claim that is no longer allocated. It is a patch with the
// resourceVersion that the previous write of the same plan returned or, as the first action, of the claim in the
// snapshot: it fails with a conflict if anything has changed since.
//
// The finalizer delays the deletion of an allocated claim, whose devices a pod may be using (BR-30-07). Foreign
// finalizers stay.
type RemoveFinalizer struct {
	// Claim is the whole claim as read, its finalizer included.
	Claim *resourcev1.ResourceClaim
}

var _ Action = RemoveFinalizer{}

func (RemoveFinalizer) isAction() {}

// Type is RemoveFinalizer.
func (RemoveFinalizer) Type() string { return "RemoveFinalizer" }

// Request removes the finalizer: patch resourceclaims. Its resourceVersion is from the last claim of that name and UID
// in done; if there is none, from Claim. A claim that is still allocated keeps the finalizer, so that the patch changes
// nothing: the scheduler may have allocated the claim for another pod between the plan and the write. Without the
// finalizer the claim could be deleted while its devices are in use (BR-30-07).
//
// HTTP 409 means that the claim has changed, or that another claim has its name; 404 means that it is gone. In each
// case send none of the later requests, and plan the claim again.
func (a RemoveFinalizer) Request(done []runtime.Object) purekube.Request {
	claim := cmp.Or(a.Claim, &resourcev1.ResourceClaim{})
	read := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion,
	}}
	inUse := claim.Status.Allocation != nil
	// From the end: the Release before this action has changed the resourceVersion. Answers about other claims and answers
	// to failed requests (nil) are not about this claim.
	for _, answer := range slices.Backward(done) {
		metadata, ok := claimMetadata(answer)
		if ok && claim.Name != "" && metadata.GetNamespace() == claim.Namespace && metadata.GetName() == claim.Name &&
			metadata.GetUID() == claim.UID {
			read.ResourceVersion, inUse = metadata.GetResourceVersion(), hasAllocation(answer)
			break
		}
	}
	if inUse {
		return patchOf(read, "", nil, nil)
	}
	// The directive removes one entry of the list. Foreign finalizers stay, also one that was added since the snapshot.
	return patchOf(read, "", map[string]any{"$deleteFromPrimitiveList/finalizers": []string{resourcev1.Finalizer}}, nil)
}

// Apply returns a copy of the claim without the finalizer. A claim that is allocated again, or that has another UID,
// keeps the finalizer. For nil, Apply returns nil.
func (a RemoveFinalizer) Apply(latest *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	out := latest.DeepCopy()
	if out == nil || a.Claim == nil || out.UID != a.Claim.UID || out.Status.Allocation != nil {
		return out
	}
	out.Finalizers = slices.DeleteFunc(out.Finalizers, isOurFinalizer)
	return out
}

// String reads "RemoveFinalizer ml/shared".
func (a RemoveFinalizer) String() string { return "RemoveFinalizer " + nameOf(a.Claim) }

// DeleteClaim deletes a claim that was generated for a pod which no longer needs it (BR-30-08).
type DeleteClaim struct {
	// Namespace and Name of the claim.
	Namespace, Name string
	// UID of the claim. Empty under MatchUpstream, which sends no preconditions (D-10).
	UID types.UID
	// ResourceVersion of the claim in the snapshot, if this is the only action of its plan: an earlier write changes
	// the version. It is empty in every other case, and under MatchUpstream.
	ResourceVersion string
}

var _ Action = DeleteClaim{}

func (DeleteClaim) isAction() {}

// Type is DeleteClaim.
func (DeleteClaim) Type() string { return "DeleteClaim" }

// Request deletes the claim: delete resourceclaims with preconditions. HTTP 409 means that the claim
// has changed, or that another claim has its name: plan it again. 404 means that it is gone.
func (a DeleteClaim) Request([]runtime.Object) purekube.Request {
	return purekube.Request{Verb: "delete", Resource: claimResource, Kind: claimKind, Namespace: a.Namespace, Name: a.Name,
		Preconditions: a.preconditions()}
}

// preconditions returns the preconditions for the delete options: the UID, and the resourceVersion if there is one. It
// returns nil if there are none.
//
// They make sure that the plan's claim is deleted, and not another claim that has got its name since (D-10).
func (a DeleteClaim) preconditions() *metav1.Preconditions {
	if a.UID == "" && a.ResourceVersion == "" {
		return nil
	}
	p := &metav1.Preconditions{}
	if a.UID != "" {
		p.UID = ptr.To(a.UID)
	}
	if a.ResourceVersion != "" {
		p.ResourceVersion = ptr.To(a.ResourceVersion)
	}
	return p
}

// String reads "DeleteClaim ml/train-0-gpu-l92c5".
func (a DeleteClaim) String() string { return fmt.Sprintf("DeleteClaim %s/%s", a.Namespace, a.Name) }
