// Package resourceclaim decides what becomes of the claims of dynamic resource allocation: which
// are created for pods, reserved for them, released, deallocated and deleted. It mirrors the
// resourceclaim controller of kube-controller-manager v1.36.3 (pkg/controller/resourceclaim) and
// the rules BR-30-01 to BR-30-09.
//
//	pod pass    create a claim for each template entry ─► write the names into the pod's status
//	            ─► reserve what is allocated, once the pod has a node
//	claim pass  take away consumers that are done or gone ─► deallocate with the last of them
//	            ─► remove the finalizer ─► delete what was generated for a pod that is done
//
// A pod that the snapshot does not hold is not known to be gone. Existence has three values: there,
// gone, and unknown, and what is unknown is a Need: a pod to look up at the API server. No
// reservation is taken away on a guess.
//
// # The caller's duties
//
//  1. Plan the keys that AffectedByPod, AffectedByClaim and AffectedByTemplate name after an
//     event, and every pod and claim at the start.
//  2. Carry actions out in order and one key at a time. Stop at the first that fails, take a new
//     snapshot, plan again.
//  3. Put the claim that a CreateClaim returned into the SetClaimStatuses behind it
//     (WithCreated) and into Snapshot.Assumed until the cache has it: [AssumedClaims].
//  4. After a restart, begin with a list of claims that is no older than the last claim
//     created: an entry whose claim does not show gets another one.
//  5. Write Reserve.Claim and Release.Claim as they are, with their resourceVersion. Apply
//     RemoveFinalizer to what the write before it returned, or, as the first action, to the claim
//     as read.
//  6. Answer Needs from the API server and not from a cache, put the answers into
//     Snapshot.Confirmed, plan again with a snapshot whose claims are no newer, and drop the
//     answers. A look-up that fails is no answer.
//  7. Remember the pods seen to be deleted: [DeletedPods]. That only saves look-ups.
//  8. Leave claims whose owner is gone to the garbage collector.
//  9. Take the pods from a cache that is no older than that of the claims, or set
//     [Options].ConfirmReplaced. A StatefulSet's pod comes back under its old name: while the pods
//     are behind, the old one stands where the consumer of the claim is, and the claim is taken
//     away from the new one. Upstream has that defect.
//
// # Differences from upstream
//
// With Options.MatchUpstream the result is the requests that upstream sends. By default:
//
//   - D-5: the apply of the pod's status carries all of its entries. Upstream sends the new ones
//     only, and the server takes the others away.
//   - D-6: the template is never written to. (In both modes.)
//   - D-7: a pod that is done gets neither a claim nor a reservation.
//   - D-8: an entry that fails or has to wait does not hold back the others. That includes a claim
//     that the API server would not let be reserved: one that is being deleted, or that has 256
//     consumers.
//   - D-9: a generateName that had to be cut is a valid one and keeps something of both names.
//   - D-10: a deletion carries the UID and, as the only action, the resourceVersion.
//   - D-16: a claim that two entries name is reserved once.
//   - D-17: a claim that is being deleted is not deleted again.
//
// Assumed claims count in every step by default. Upstream looks at its own writes only when it
// searches for a claim to adopt.
//
// Reservations for consumers other than pods are kept. That includes those for PodGroups, which
// v1.36 handles behind the feature DRAWorkloadResourceClaims, off by default.
package resourceclaim
