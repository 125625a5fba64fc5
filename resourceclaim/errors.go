package resourceclaim

import (
	"errors"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
)

// Why nothing, or less, is planned.
var (
	// errNoUID: an object or a reference has no UID, which the API server never allows. It could mean any object of its
	// name.
	errNoUID = errors.New("no UID")
	// errAnswerType: the Object of an answer does not have the type that [Snapshot].Answers names for its Need, or is a
	// nil pointer of that type. An answer of a dynamic client is such an object: decode it first.
	errAnswerType = errors.New("the object is not of the kind that the Need asks for")
)

// Why an entry of spec.resourceClaims gets no claim.
var (
	// errUnsupported: the entry names neither a claim nor a template. A newer version of the API may have a third kind of
	// entry, which this version reads as an empty one.
	errUnsupported = errors.New("none of the supported fields are set")
	// errTemplateNotFound: the entry names a template that is not in the snapshot.
	errTemplateNotFound = errors.New("template not found")
	// ErrNotController: the status of an entry with a template names a claim that may have been created for the entry, but
	// the claim's owner references do not name the owner: an admission policy or a user has changed them. The entry gets
	// no other claim. Delete the claim or restore its owner reference; the next plan then continues. Test for it with
	// errors.Is.
	ErrNotController = errors.New("the named claim has no controller reference to the object that it was created for")
	// errAdminAccess: a request of the template asks for admin access and [Options].DenyAdminAccess is set.
	errAdminAccess = errors.New("admin access is requested, but the feature is disabled")
	// errPrioritizedList: a request of the template lists alternatives and [Options].DenyPrioritizedList is set.
	errPrioritizedList = errors.New("template includes a prioritized list of subrequests, but the feature is disabled")

	// errDuplicateEntry: the API does not allow two entries of one name. Such a pod comes from a simulation or a manifest
	// that no API server has seen. A status belongs to an entry by name, so a claim for the second entry could not be
	// named.
	errDuplicateEntry = errors.New("several entries have this name")
)

// Why an allocated claim is not reserved for a pod that has a node. The API server would reject the write, and the
// pod's later requests would wait (D-8).
var (
	// errReservedForMax: the claim has as many consumers as the API allows.
	errReservedForMax = fmt.Errorf("already reserved for %d consumers, the maximum",
		resourcev1.ResourceClaimReservedForMaxSize)
	// errClaimDeleting: the claim is being deleted and takes no new consumer.
	errClaimDeleting = errors.New("being deleted: no consumer can be added")
)

// Errors about a PodGroup, or about a pod because of its group.
var (
	// errTooManyClaims: the group has more than 4 entries, which is the limit of the API. The entries beyond the limit
	// get nothing.
	errTooManyClaims = fmt.Errorf("more than %d entries", maxPodGroupClaims)
	// errPodGroupNotFound: the pod is in a group that does not exist, so it is unknown which of its entries belong to
	// the group. The entries that have no claim of the pod get nothing.
	errPodGroupNotFound = errors.New("PodGroup not found")
	// ErrPodGroupClaim: the claim is a PodGroup's, and Options.PodGroupOf is nil (D-27). Test for it with errors.Is.
	ErrPodGroupClaim = errors.New("the claim belongs to a PodGroup, and Options.PodGroupOf is nil")
	// errAPIVersion: the group's APIVersion is not one of scheduling.k8s.io.
	errAPIVersion = errors.New("not a version of " + schedulingGroup)
)

func noUID(key purekube.Key) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Field: "metadata.uid",
		Err: errNoUID}
}

func claimError(claim *resourcev1.ResourceClaim, field string, err error) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: claimKind, Namespace: claim.Namespace, Name: claim.Name, Field: field, Err: err}
}
