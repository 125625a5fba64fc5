package resourceclaim

import (
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// claimVerdict is what is decided about one claim, and why: Plan turns it into actions, and Explain into sentences.
// What is known about each consumer is returned next to it, as one code for each.
type claimVerdict struct {
	// released is how many consumers leave the claim. unused: nobody uses it then.
	released int
	unused   bool
	// owner says whether the pod that an unused claim was generated for still needs it. It is empty if no pod controls
	// the claim, or if the claim is in use.
	owner Code
	// needs are what has to be asked first. Then nothing else is decided.
	needs                               []purekube.Need
	deallocate, removeFinalizer, remove bool
	problems                            snapshot.Problems
}

// decideClaim decides about one claim: it releases the claim from consumers that do not need it, deallocates it with
// the last of them, and deletes it if it was generated for a pod that is done (syncClaim in upstream's
// controller.go). It appends what is known about each consumer to into, in the order of status.reservedFor.
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
// If no consumer remains and the claim's pod no longer needs the claim, a DeleteClaim follows. By default a claim that
// is being deleted already gets none (D-17). "the last left" is an event and "none before" a state: the code below
// says why they differ.
func (x *Index) decideClaim(claim *resourcev1.ResourceClaim, into []Code) (v claimVerdict, consumers []Code) {
	// First everything is asked, then everything is decided. A consumer that is unknown could be the last one, so
	// nothing is released before all answers are there, and one round of lookups is enough for all consumers.
	var running map[string]bool // of groupsRunningOn, made for the first consumer that asks for it
	for i := range claim.Status.ReservedFor {
		consumer := &claim.Status.ReservedFor[i]
		code, problem := x.consumer(claim, consumer, &running)
		into = append(into, code)
		if problem != nil {
			v.problems.Add(problem)
			if x.options.endsPass(problem) {
				return claimVerdict{problems: v.problems}, into
			}
		}
		switch {
		case code == ReasonConsumerUnknown:
			v.needs = append(v.needs, needOf(consumerKey(claim.Namespace, consumer)))
		case released(code):
			v.released++
		}
	}
	// A claim without consumers is unused as well.
	if v.unused = v.released == len(into); v.unused {
		// While somebody uses the claim it is not deleted, so the owner is not asked for.
		var problem *purekube.ObjectError
		if v.owner, problem = x.owner(claim); problem != nil {
			v.problems.Add(problem)
		}
		if v.owner == ReasonOwnerUnknown {
			// D-21: the cache has another pod of the owner's name. Until it is known which pod is the newer one, not
			// even a consumer is released: the plan after the answer does all of it.
			name, _, _ := owningPod(claim)
			v.needs = append(v.needs, needOf(PodKey(claim.Namespace, name)))
		}
	}
	if len(v.needs) > 0 {
		v.needs = sortNeeds(v.needs)
		return v, into
	}
	// An unused claim stays as it is until its last consumer leaves it or it is deleted: a driver need not reserve what
	// it allocates (BR-30-07), and the scheduler adds the finalizer in one update and the allocation in the next, where
	// a removal in between would be a conflict. So the cause is the transition from used to unused, and not the state:
	// a claim that was allocated a moment ago looks the same as a claim that is no longer used.
	if v.released > 0 || v.unused && claim.DeletionTimestamp != nil {
		v.deallocate = v.unused && deallocates(claim)
		v.removeFinalizer = losesFinalizer(claim, v.deallocate)
	}
	v.remove = v.owner == ReasonOwnerNeedsNoClaim // BR-30-08
	return v, into
}

// empty reports whether there is nothing to do and nothing to say.
func (v *claimVerdict) empty() bool {
	// A claim that is deallocated loses its finalizer as well.
	return len(v.needs) == 0 && v.released == 0 && !v.removeFinalizer && !v.remove && v.problems.Err() == nil
}

// consumer is what is known about one consumer of the claim (BR-30-06, D-36).
func (x *Index) consumer(
	claim *resourcev1.ResourceClaim, consumer *resourcev1.ResourceClaimConsumerReference, running *map[string]bool,
) (Code, *purekube.ObjectError) {
	ofGroup := isPodGroup(consumer)
	if !isPod(consumer) && !(ofGroup && x.options.PodGroupOf != nil) {
		// This library cannot look up consumers of other kinds, and neither can upstream. The reservation stays: whoever
		// has made it has to remove it. A PodGroup is such a consumer while PodGroups are off.
		return ReasonConsumerOfOtherKind, nil
	}
	code, problem := x.existence(consumerKey(claim.Namespace, consumer), consumer.UID)
	// The pods are asked only if the group is about to be dropped or to be looked up: mostly it is there.
	if ofGroup && x.options.asksMembers() && (released(code) || code == ReasonConsumerUnknown) {
		if *running == nil {
			*running = x.groupsRunningOn(claim)
		}
		switch {
		case (*running)[consumer.Name]:
			return ReasonConsumerUsedByPods, nil
		// A pod that cannot be named may be one of the group's. The error of each plan says that there is one.
		// So no answer about the group would release the claim.
		case x.pods.Unnamed(claim.Namespace) != nil:
			return ReasonConsumerIndeterminate, problem
		}
	}
	return code, problem
}

// groupsRunningOn are the names of the PodGroups with a pod that uses the claim and is not done (D-36). One pass over
// the pods of the claim answers for all of its consumers: 256 groups with as many pods do not cost 256 times 256
// steps.
func (x *Index) groupsRunningOn(claim *resourcev1.ResourceClaim) map[string]bool {
	running := map[string]bool{}
	name := snapshot.KeyOf(claim)
	for pod := range x.podTerms.Versions(x.terms.named(usesClaim, name)) {
		// An ambiguous pod counts, with each of its objects: in doubt the reservation stays.
		if c := podClaimant(pod); c.resolvesTo(name) && !podstate.Done(pod) {
			if group := x.options.groupName(pod); group != "" {
				running[group] = true
			}
		}
	}
	return running
}

// owner says whether the pod that an unused claim was generated for still needs it (BR-30-08). It is empty if no pod
// controls the claim.
//
//	the pod of that name in the cache        result
//	none                                     OwnerNotInCache: the garbage collector
//	it was seen to be deleted (D-37)         OwnerNotInCache
//	the owner, done                          OwnerNeedsNoClaim
//	the owner, not done                      OwnerMayRun
//	another UID                              upstream: OwnerNeedsNoClaim; default: a lookup (D-21)
//	several, or without a UID                OwnerIndeterminate, with an error
func (x *Index) owner(claim *resourcev1.ResourceClaim) (Code, *purekube.ObjectError) {
	name, uid, ok := owningPod(claim)
	switch {
	case !ok:
		// The claim is a user's, or a PodGroup's. The garbage collector deletes the claim of a PodGroup.
		return "", nil
	case !x.options.ownerMatters(claim):
		return ReasonClaimDeleting, nil
	}
	key := PodKey(claim.Namespace, name)
	c := x.cached(key)
	switch {
	case c.twice != nil: // existence says so
	case !c.there:
		// The pod may be too new for the cache. If it is truly gone, the garbage collector deletes the claim. A lookup
		// would cost a request for each claim of each deleted pod, and change nothing.
		return ReasonOwnerNotInCache, nil
	default:
		if presence, problem := x.presence(key, c.uid); !exists(presence) {
			// The pod was seen to be deleted. If that is true, the garbage collector deletes the claim, as for a pod
			// that is not in the cache.
			return ReasonOwnerNotInCache, problem
		}
		// Upstream does not ask whether the owner was seen to be deleted while the cache shows it.
		if c.uid == uid && uid != "" && !c.done {
			return ReasonOwnerMayRun, nil
		}
	}
	code, problem := x.existence(key, uid)
	return outlived(code), problem
}

// claimResult turns what is decided into actions. The order of the actions is upstream's: the status, then the
// finalizer, then the deletion. A claim that is deleted first would stay with its finalizer until another pass.
func (x *Index) claimResult(claim *resourcev1.ResourceClaim, v claimVerdict, consumers []Code) (r Result) {
	if len(v.needs) > 0 {
		return Result{Needs: v.needs}
	}
	if v.released > 0 || v.removeFinalizer {
		r.Actions = make([]Action, 0, 3)
		read := copyOf(claim) // one copy for both
		if v.released > 0 || v.deallocate {
			r.Actions = append(r.Actions, release(read, v, consumers))
		}
		if v.removeFinalizer {
			r.Actions = append(r.Actions, RemoveFinalizer{Claim: read})
		}
	}
	if v.remove {
		r.Actions = append(r.Actions, DeleteClaim{
			Namespace: claim.Namespace, Name: claim.Name,
			UID: x.options.uid(claim), ResourceVersion: x.options.resourceVersion(claim, len(r.Actions) == 0),
		})
	}
	return r
}

// release is the write of the claim's status. It replaces only what it changes in read, and shares the rest.
func release(read *resourcev1.ResourceClaim, v claimVerdict, consumers []Code) Release {
	after := *read
	var removed []resourcev1.ResourceClaimConsumerReference
	if v.released > 0 {
		removed = make([]resourcev1.ResourceClaimConsumerReference, 0, v.released)
		// Kept consumers stay in their order: the write differs from the claim in what is removed alone.
		kept := make([]resourcev1.ResourceClaimConsumerReference, 0, len(consumers)-v.released)
		for i, code := range consumers {
			if released(code) {
				removed = append(removed, read.Status.ReservedFor[i])
			} else {
				kept = append(kept, read.Status.ReservedFor[i])
			}
		}
		after.Status.ReservedFor = kept
	}
	if v.deallocate {
		after.Status.Allocation = nil
	}
	return Release{Claim: &after, Removed: removed, Deallocate: v.deallocate}
}
