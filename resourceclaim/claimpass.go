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
func (x *Index) planClaim(claim *resourcev1.ResourceClaim) (r Result, err error) {
	var problems snapshot.Problems
	var few [8]standing
	standings, ended := x.standings(claim, few[:0], &problems)
	if ended {
		return Result{}, problems.Err()
	}
	dropped := 0
	for i, st := range standings {
		if st == unknown {
			consumer := &claim.Status.ReservedFor[i]
			need := needPod(claim.Namespace, consumer.Name)
			if isPodGroup(consumer) {
				need = needPodGroup(claim.Namespace, consumer.Name)
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
	unused := dropped == len(claim.Status.ReservedFor)
	owner := ownerNone
	if unused && x.options.ownerMatters(claim) {
		var problem *purekube.ObjectError
		if owner, problem = x.owner(claim); problem != nil {
			problems.Add(problem)
		}
		if owner == ownerUnknown {
			name, _, _ := owningPod(claim)
			r.Needs = append(r.Needs, needPod(claim.Namespace, name))
			return r, problems.Err()
		}
	}

	release := x.release(claim, standings, dropped)
	if release != nil {
		// At most a release, a finalizer and a deletion.
		r.Actions = append(make([]Action, 0, 3), *release)
	}
	allocated := claim.Status.Allocation != nil && (release == nil || !release.Deallocate)
	protected := slices.Contains(claim.Finalizers, resourcev1.Finalizer)
	deleting := claim.DeletionTimestamp != nil
	if protected && !allocated && (dropped > 0 || unused && deleting) {
		r.Actions = append(r.Actions, RemoveFinalizer{Claim: claim.DeepCopy()})
	}
	if owner == ownerNeedsItNoMore {
		del := DeleteClaim{Namespace: claim.Namespace, Name: claim.Name}
		if !x.options.upstream() {
			// D-10: only this very claim, and as it was read, may go.
			del.UID = claim.UID
			if len(r.Actions) == 0 {
				del.ResourceVersion = claim.ResourceVersion
			}
		}
		r.Actions = append(r.Actions, del)
	}
	return r, problems.Err()
}

// release is the write of the claim's status, or nil if that stays as it is.
func (x *Index) release(claim *resourcev1.ResourceClaim, standings []standing, dropped int) *Release {
	unused := dropped == len(claim.Status.ReservedFor)
	protected := slices.Contains(claim.Finalizers, resourcev1.Finalizer)
	// Without the finalizer the allocation is somebody else's. An unused claim stays allocated
	// until its last consumer goes or it is deleted: a driver need not reserve what it
	// allocates (BR-30-07).
	deallocate := claim.Status.Allocation != nil && protected && unused &&
		(dropped > 0 || claim.DeletionTimestamp != nil)
	if dropped == 0 && !deallocate {
		return nil
	}
	after := *claim // copied once all that goes is gone
	var removed []resourcev1.ResourceClaimConsumerReference
	if dropped > 0 {
		removed = make([]resourcev1.ResourceClaimConsumerReference, 0, dropped)
		kept := make([]resourcev1.ResourceClaimConsumerReference, 0, len(standings)-dropped)
		for i, st := range standings {
			if st.dropped() {
				removed = append(removed, claim.Status.ReservedFor[i])
			} else {
				kept = append(kept, claim.Status.ReservedFor[i])
			}
		}
		after.Status.ReservedFor = kept
	}
	if deallocate {
		after.Status.Allocation = nil
	}
	return &Release{Claim: after.DeepCopy(), Removed: removed, Deallocate: deallocate}
}

// ownerStanding is what becomes of an unused claim on account of its owner.
type ownerStanding uint8

const (
	ownerNone          ownerStanding = iota // not generated for a pod
	ownerNeedsIt                            // the pod may run, or nothing is certain
	ownerAbsent                             // not in the cache: the garbage collector knows
	ownerUnknown                            // the API server has to be asked
	ownerNeedsItNoMore                      // the pod is done or gone
)

// owner finds out whether the pod that the claim was generated for may still need it
// (BR-30-08).
func (x *Index) owner(claim *resourcev1.ResourceClaim) (ownerStanding, *purekube.ObjectError) {
	name, uid, ok := owningPod(claim)
	if !ok {
		return ownerNone, nil
	}
	key := types.NamespacedName{Namespace: claim.Namespace, Name: name}
	pod := x.pods.Find(key)
	if pod == nil && !x.pods.Ambiguous(key) {
		// The pod may be too new for the cache. If it is truly gone, the garbage collector
		// deletes the claim.
		return ownerAbsent, nil
	}
	if pod != nil {
		if presence, problem := x.presence(needPod(key.Namespace, key.Name), pod.UID); presence != present {
			// So it does if the pod is not there.
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
	case x.options.upstream():
		return ownerNeedsItNoMore, nil
	}
	switch st, problem := x.standingOf(key, uid); {
	case st == unknown:
		return ownerUnknown, problem
	case st.dropped():
		return ownerNeedsItNoMore, nil
	default:
		return ownerNeedsIt, problem
	}
}
