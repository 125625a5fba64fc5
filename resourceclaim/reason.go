package resourceclaim

import "github.com/purekube/purekube"

// Code is the machine-readable part of a [Reason]. It is one of the constants below; a new version may add codes.
//
// A code is stable and made to be compared, for example in an alert; the message of a Reason is for people and may
// change.
type Code string

// What is wrong with the object itself, so that nothing or less is decided.
const (
	// Each comes alone. None of them comes from an object that an API server has returned.
	ReasonDuplicate        Code = "Duplicate"        // several objects in the snapshot have this name
	ReasonVersionMalformed Code = "VersionMalformed" // two versions of the claim cannot be compared
	ReasonPodWithoutUID    Code = "PodWithoutUID"    // the pod has no UID, so a claim for it would have no owner
)

// What a consumer of a claim is known to be.
const (
	// One for each consumer, at status.reservedFor[i] (existence in rules.go). The first five keep the reservation,
	// the next four release it, and the last one waits for an answer.
	// neither a pod nor a PodGroup (or Options.PodGroupOf is nil): kept. The Kind of Object is its resource
	ReasonConsumerOfOtherKind Code = "ConsumerOfOtherKind"
	// the pod exists and is not done, or the PodGroup exists: kept
	ReasonConsumerMayRun    Code = "ConsumerMayRun"
	ReasonConsumerConfirmed Code = "ConsumerConfirmed" // the API server has the pod or PodGroup: kept
	// the snapshot has conflicting information about the pod: kept
	ReasonConsumerIndeterminate Code = "ConsumerIndeterminate"
	ReasonConsumerUsedByPods    Code = "ConsumerUsedByPods" // pods of the PodGroup still use the claim: kept (D-36)
	ReasonConsumerDeleted       Code = "ConsumerDeleted"    // known to be deleted: released
	ReasonConsumerReplaced      Code = "ConsumerReplaced"   // another pod has its name: released
	ReasonConsumerDone          Code = "ConsumerDone"       // the pod will not run any more: released
	ReasonConsumerGone          Code = "ConsumerGone"       // the API server has no pod of that name: released
	ReasonConsumerUnknown       Code = "ConsumerUnknown"    // you must look it up at the API server first
)

// What becomes of a claim.
const (
	// Allocated or Deallocated is at status.allocation if the claim has an allocation. The owner's codes are at
	// metadata.ownerReferences, only for a claim that a pod controls and that nobody uses: of a used claim the owner
	// decides nothing.
	ReasonAllocated        Code = "Allocated"        // the claim has an allocation and keeps it
	ReasonDeallocated      Code = "Deallocated"      // the allocation is cleared
	ReasonFinalizerRemoved Code = "FinalizerRemoved" // the finalizer is removed
	ReasonOwnerMayRun      Code = "OwnerMayRun"      // the pod that the claim was generated for may need it
	// the snapshot has conflicting information about that pod: the claim stays
	ReasonOwnerIndeterminate Code = "OwnerIndeterminate"
	// that pod is not in the snapshot: the garbage collector will delete the claim
	ReasonOwnerNotInCache   Code = "OwnerNotInCache"
	ReasonOwnerUnknown      Code = "OwnerUnknown"      // you must look up that pod at the API server first
	ReasonOwnerNeedsNoClaim Code = "OwnerNeedsNoClaim" // that pod is done or gone: the claim is deleted
	// the claim is already being deleted, so its owner does not matter (D-17)
	ReasonClaimDeleting Code = "ClaimDeleting"
)

// The state of an entry of a pod's spec.resourceClaims, and why a pod or PodGroup gets nothing.
const (
	// The codes of a pod or PodGroup come alone, because no entry is looked at; but PodGroupMissing comes before the
	// reasons of the entries. The codes of a claim are at spec.resourceClaims[i], one for each entry.
	ReasonPodDeleting Code = "PodDeleting" // a pod that is being deleted gets nothing
	ReasonPodDeleted  Code = "PodDeleted"  // a pod that is known to be deleted gets nothing (D-21)
	// a pod that was seen to be deleted: you must look it up at the API server first (D-37)
	ReasonPodUnknown      Code = "PodUnknown"
	ReasonPodDone         Code = "PodDone"         // a pod that is done gets nothing (D-7)
	ReasonPodGroupUnknown Code = "PodGroupUnknown" // you must look up the PodGroup at the API server first
	// the pod names a PodGroup that does not exist, or a name that several have
	ReasonPodGroupMissing  Code = "PodGroupMissing"
	ReasonPodGroupDeleting Code = "PodGroupDeleting" // a PodGroup that is being deleted gets nothing
	ReasonPodGroupDeleted  Code = "PodGroupDeleted"  // a PodGroup that is known to be deleted gets nothing
	ReasonPodGroupInvalid  Code = "PodGroupInvalid"  // a PodGroup without a UID, or of an unknown API, gets nothing
	ReasonClaimNotNeeded   Code = "ClaimNotNeeded"   // the status says that the entry needs no claim
	// the status names a claim that you must look up at the API server first (D-28)
	ReasonClaimUnknown    Code = "ClaimUnknown"
	ReasonClaimNotInCache Code = "ClaimNotInCache" // the claim exists, and is reserved once the cache has it
	ReasonClaimWaiting    Code = "ClaimWaiting"    // the claim of the PodGroup does not exist yet
	ReasonClaimShared     Code = "ClaimShared"     // the claim of the PodGroup exists
	ReasonClaimMissing    Code = "ClaimMissing"    // a user must create the claim
	ReasonClaimAdopted    Code = "ClaimAdopted"    // the claim exists, and its name is written to the status
	ReasonClaimCreated    Code = "ClaimCreated"    // a claim is created from the template
	ReasonClaimFailed     Code = "ClaimFailed"     // nothing is done; the message says why
	// an earlier entry failed or has to wait, and upstream stops there (D-8, MatchUpstream only)
	ReasonClaimHeldBack    Code = "ClaimHeldBack"
	ReasonClaimUnallocated Code = "ClaimUnallocated" // the claim waits for the scheduler to allocate it
	// the scheduler reserves the claim when it assigns a node to the pod
	ReasonClaimUnscheduled  Code = "ClaimUnscheduled"
	ReasonClaimReserved     Code = "ClaimReserved"     // the claim is reserved for the pod
	ReasonClaimToBeReserved Code = "ClaimToBeReserved" // the pod's plan reserves the claim
)

// Reason is one step toward a decision. Object is the pod, claim or consumer that the step is about.
// Field is the path in the object that the key is for, and Message a sentence about it.
type Reason = purekube.Reason[Code]
