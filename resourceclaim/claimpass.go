package resourceclaim

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// planClaim decides about one claim: it releases the claim from consumers that do not need it, deallocates it with the
// last of them, and deletes it if it was generated for a pod that is done (syncClaim in upstream's controller.go).
//
//	consumers                finalizer   being deleted   allocated   actions
//	some left, some remain   no          any             any         Release
//	some left, some remain   yes         any             yes         Release
//	some left, some remain   yes         any             no          Release, RemoveFinalizer
//	the last left            yes         any             yes         Release with the allocation, RemoveFinalizer
//	the last left            yes         any             no          Release, RemoveFinalizer
//	the last left            no          any             any         Release; the allocation stays
//	none before              yes         yes             yes         Release of the allocation, RemoveFinalizer
//	none before              yes         yes             no          RemoveFinalizer
//	none before              yes         no              any         nothing
//	none before              no          any             any         nothing
//	none left, some remain   any         any             any         nothing
//
// If no consumer remains and the claim's pod needs the claim no more, a DeleteClaim follows. By default a claim that is
// being deleted already gets none (D-17). "the last left" is an event and "none before" a state: the
// code below says why they differ.
func (x *Index) planClaim(claim *resourcev1.ResourceClaim) (r Result, err error) {
	var problems snapshot.Problems
	// Most claims have one consumer. Up to eight cost no memory.
	var few [8]standing
	standings, ended := x.standings(claim, few[:0], &problems)
	if ended {
		return Result{}, problems.Err()
	}
	// First everything is asked, then everything is decided. A consumer that is unknown could be the last one, so
	// nothing is released before all answers are there, and one round of lookups is enough for all consumers.
	dropped := 0
	for i, st := range standings {
		if st == unknown {
			consumer := &claim.Status.ReservedFor[i]
			need := needOf(PodKey(claim.Namespace, consumer.Name))
			if isPodGroup(consumer) {
				need = needOf(PodGroupKey(claim.Namespace, consumer.Name))
			}
			r.Needs = append(r.Needs, need)
		}
		if st.dropped() {
			dropped++
		}
	}
	if len(r.Needs) > 0 {
		r.Needs = sortNeeds(r.Needs)
		return r, problems.Err()
	}
	// A claim without consumers is unused as well.
	unused := dropped == len(claim.Status.ReservedFor)
	owner := ownerNone
	// While somebody uses the claim it is not deleted, so the owner is not asked for.
	if unused && x.options.ownerMatters(claim) {
		var problem *purekube.ObjectError
		if owner, problem = x.owner(claim); problem != nil {
			problems.Add(problem)
		}
		if owner == ownerUnknown {
			// D-21: the cache has another pod of the owner's name. Until it is known which pod is the newer one, not
			// even a consumer is released: the plan after the answer does all of it.
			name, _, _ := owningPod(claim)
			r.Needs = append(r.Needs, needOf(PodKey(claim.Namespace, name)))
			return r, problems.Err()
		}
	}

	// From here on everything is known. The order of the actions is upstream's: the status, then the finalizer, then
	// the deletion. A claim that is deleted first would stay with its finalizer until another pass.
	//
	// An unused claim stays as it is until its last consumer leaves it or it is deleted: a driver need not reserve what
	// it allocates (BR-30-07), and the scheduler adds the finalizer in one update and the allocation in the next, where
	// a removal in between would be a conflict. So the cause is the transition from used to unused, and not the state:
	// a claim that was allocated a moment ago looks the same as a claim that is no longer used.
	if dropped > 0 || unused && claim.DeletionTimestamp != nil {
		r.Actions = writes(claim, standings, dropped)
	}
	// BR-30-08: the garbage collector deletes the claim only with its pod, and the pod of a finished Job may stay for
	// days.
	if owner == ownerNeedsItNoMore {
		del := DeleteClaim{Namespace: claim.Namespace, Name: claim.Name}
		if !x.options.upstream() {
			// D-10: only this very claim, and as it was read, may be deleted. Between the plan and the request the
			// scheduler may reserve the claim, or the claim may be recreated under its name.
			del.UID = claim.UID
			// An earlier write of this plan changes the resourceVersion, and its own precondition has failed if
			// anything else has changed.
			if len(r.Actions) == 0 {
				del.ResourceVersion = claim.ResourceVersion
			}
		}
		r.Actions = append(r.Actions, del)
	}
	return r, problems.Err()
}

// writes are a Release, if consumers leave the claim or its allocation ends, and a RemoveFinalizer, if the claim is not
// allocated after that. standings has one element for each consumer, of which dropped are to go.
func writes(claim *resourcev1.ResourceClaim, standings []standing, dropped int) []Action {
	protected := slices.Contains(claim.Finalizers, resourcev1.Finalizer)
	if dropped == 0 && !protected {
		return nil
	}
	// Without the finalizer the allocation is somebody else's. The finalizer protects the allocation: while the one
	// stays, so does the other.
	deallocate := claim.Status.Allocation != nil && protected && dropped == len(claim.Status.ReservedFor)
	actions := make([]Action, 0, 3) // and a deletion
	read := copyOf(claim)           // one copy for both
	if dropped > 0 || deallocate {
		actions = append(actions, release(read, standings, dropped, deallocate))
	}
	if protected && (deallocate || claim.Status.Allocation == nil) {
		actions = append(actions, RemoveFinalizer{Claim: read})
	}
	return actions
}

// release is the write of the claim's status. Of read it replaces what it changes and shares the rest.
func release(read *resourcev1.ResourceClaim, standings []standing, dropped int, deallocate bool) Release {
	after := *read
	var removed []resourcev1.ResourceClaimConsumerReference
	if dropped > 0 {
		removed = make([]resourcev1.ResourceClaimConsumerReference, 0, dropped)
		// Kept consumers stay in their order: the write differs from the claim in what is removed alone.
		kept := make([]resourcev1.ResourceClaimConsumerReference, 0, len(standings)-dropped)
		for i, st := range standings {
			if st.dropped() {
				removed = append(removed, read.Status.ReservedFor[i])
			} else {
				kept = append(kept, read.Status.ReservedFor[i])
			}
		}
		after.Status.ReservedFor = kept
	}
	if deallocate {
		after.Status.Allocation = nil
	}
	return Release{Claim: &after, Removed: removed, Deallocate: deallocate}
}

// ownerStanding is what becomes of an unused claim on account of its owner. Only ownerNeedsItNoMore deletes the claim,
// and only ownerUnknown asks: whatever is uncertain leaves the claim to the garbage collector or to a later plan.
type ownerStanding uint8

const (
	ownerNone          ownerStanding = iota // not generated for a pod
	ownerNeedsIt                            // the pod may run, or nothing is certain
	ownerAbsent                             // not in the cache: the garbage collector knows
	ownerUnknown                            // the API server has to be asked
	ownerNeedsItNoMore                      // the pod is done or gone
)

// owner finds out whether the pod that the claim was generated for may still need it (BR-30-08).
//
//	the pod of that name in the cache        result
//	none                                     ownerAbsent: the garbage collector
//	it was seen to be deleted (D-37)         ownerAbsent
//	the owner, done                          ownerNeedsItNoMore
//	the owner, not done                      ownerNeedsIt
//	another UID                              upstream: ownerNeedsItNoMore; default: a lookup (D-21)
//	several, or without a UID                ownerNeedsIt, with an error
func (x *Index) owner(claim *resourcev1.ResourceClaim) (ownerStanding, *purekube.ObjectError) {
	name, uid, ok := owningPod(claim)
	if !ok {
		// The claim is a user's, or a PodGroup's. The garbage collector deletes the claim of a PodGroup.
		return ownerNone, nil
	}
	key := types.NamespacedName{Namespace: claim.Namespace, Name: name}
	pod := x.pods.Find(key)
	if pod == nil && !x.pods.Ambiguous(key) {
		// The pod may be too new for the cache. If it is truly gone, the garbage collector deletes the claim. A lookup
		// would cost a request for each claim of each deleted pod, and change nothing.
		return ownerAbsent, nil
	}
	if pod != nil {
		if presence, problem := x.presence(PodKey(key.Namespace, key.Name), pod.UID); presence != present {
			// The pod was seen to be deleted. If that is true, the garbage collector deletes the claim, as for a pod
			// that is not in the cache.
			return ownerAbsent, problem
		}
	}
	switch {
	case pod == nil || pod.UID == "" || uid == "":
		// Not to be told apart: standingOf says how.
	case pod.UID == uid && podstate.Done(pod):
		return ownerNeedsItNoMore, nil
	case pod.UID == uid:
		return ownerNeedsIt, nil
	// Upstream concludes from the cached pod that the owner was replaced.
	case x.options.upstream():
		return ownerNeedsItNoMore, nil
	}
	// D-21: another pod has the owner's name. It is the owner's successor, or the predecessor in a cache that lags.
	switch st, problem := x.standingOf(key, uid); {
	case st == unknown:
		return ownerUnknown, problem
	case st.dropped():
		return ownerNeedsItNoMore, nil
	default:
		return ownerNeedsIt, problem
	}
}
