package resourceclaim

import (
	"errors"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// ErrNoUID: an object or a reference has no UID, which the API server never allows. It could mean any object of its
// name.
var ErrNoUID = errors.New("no UID")

// standing is what a snapshot says about one consumer of a claim. The zero value is none.
//
// The order of the constants counts: dropped compares with the first and the last that release the claim.
type standing uint8

const (
	// Kept.
	otherKind     standing = iota + 1 // not a pod: nothing is known about it
	mayRun                            // the pod is there and not done
	confirmed                         // the API server has the pod
	indeterminate                     // the snapshot contradicts itself: kept, with an error
	usedByMembers                     // pods of the PodGroup still use the claim (D-36)

	// Dropped.
	deleted  // the UID is known to be deleted
	replaced // another pod has the name
	done     // the pod will not run any more
	gone     // the API server has no such pod

	// Neither: the API server has to be asked.
	unknown
)

// dropped reports whether the consumer leaves status.reservedFor (BR-30-05).
func (s standing) dropped() bool { return s >= deleted && s <= gone }

// standings appends to into what is known about each consumer of the claim, in the order of status.reservedFor. ended
// reports that upstream's pass ends here, with an error and without any write. It costs the number of consumers, and
// once the number of pods that use the claim.
func (x *Index) standings(claim *resourcev1.ResourceClaim, into []standing, problems *snapshot.Problems) (all []standing, ended bool) {
	var running map[string]bool // made for the first consumer that asks for it
	for i := range claim.Status.ReservedFor {
		consumer := &claim.Status.ReservedFor[i]
		st, problem := x.judge(claim.Namespace, consumer)
		if (st.dropped() || st == unknown) && isPodGroup(consumer) && !x.options.upstream() {
			// D-36: whether the group is there decides nothing while its pods run on the claim. Somebody may have
			// removed the group's finalizer by force. The pods are asked only if the group is about to be dropped or to
			// be looked up: mostly it is there.
			if running == nil {
				running = x.groupsRunningOn(claim)
			}
			if running[consumer.Name] {
				st, problem = usedByMembers, nil
			} else if st.dropped() && x.pods.Unnamed(claim.Namespace) != nil {
				st = indeterminate // such a pod may be one of the group's; each plan's error says that there are some
			}
		}
		if problem != nil {
			problems.Add(problem)
			if x.options.upstream() && errors.Is(problem, purekube.ErrPathSegment) {
				// Upstream's lookup of a name that cannot be put into a path fails, and the error ends the pass.
				return into, true
			}
		}
		into = append(into, st)
	}
	return into, false
}

// groupsRunningOn are the names of the PodGroups with a pod that uses the claim and is not done. One pass over the pods
// of the claim answers for all of its consumers: 256 groups with as many pods do not cost 256 times 256 looks.
func (x *Index) groupsRunningOn(claim *resourcev1.ResourceClaim) map[string]bool {
	running := map[string]bool{}
	name := snapshot.KeyOf(claim)
	for pod := range x.podTerms.Versions(x.terms.named(usesClaim, name)) {
		// An ambiguous pod counts, with each of its objects: in doubt the reservation stays.
		if o := podOwner(pod); o.resolvesTo(name) && !podstate.Done(pod) {
			if group := x.options.groupName(pod); group != "" {
				running[group] = true
			}
		}
	}
	return running
}

// judge classifies one consumer of a claim in that namespace, in upstream's order: the UIDs known to be deleted, the
// cache, the API server (BR-30-06). Existence has three values: a pod about which there is no answer is unknown, never
// gone.
func (x *Index) judge(namespace string, consumer *resourcev1.ResourceClaimConsumerReference) (standing, *purekube.ObjectError) {
	name := types.NamespacedName{Namespace: namespace, Name: consumer.Name}
	switch {
	case x.options.PodGroupOf != nil && isPodGroup(consumer):
		return x.standingOfGroup(name, consumer.UID)
	case isPod(consumer):
		return x.standingOf(name, consumer.UID)
	}
	// This library cannot look up consumers of other kinds, and neither can upstream. The reservation stays: whoever
	// has made it has to remove it. A PodGroup is such a consumer while PodGroups are off.
	return otherKind, nil
}

// standingOf says what is known about the pod with that name and UID.
// It serves for the consumer of a claim, and for its owner (claimpass.go).
func (x *Index) standingOf(name types.NamespacedName, uid types.UID) (standing, *purekube.ObjectError) {
	var k known
	if pod := x.pods.Find(name); pod != nil {
		k = known{cached: true, cachedUID: pod.UID, done: podstate.Done(pod)}
	} else {
		k.ambiguous = x.pods.Ambiguous(name)
	}
	return x.standing(PodKey(name.Namespace, name.Name), uid, k)
}

// standingOfGroup says what is known about the PodGroup with that name and UID. It is not done before it is gone: while
// it exists, pods of the group may still run.
func (x *Index) standingOfGroup(name types.NamespacedName, uid types.UID) (standing, *purekube.ObjectError) {
	var k known
	if g := x.groups.Find(name); g != nil {
		k = known{cached: true, cachedUID: g.UID}
	} else {
		k.ambiguous = x.groups.Ambiguous(name)
	}
	return x.standing(PodGroupKey(name.Namespace, name.Name), uid, k)
}

// known is what the snapshot has under one name. ambiguous: several objects. cached: exactly one object, with that UID,
// which may be empty; done is about this object.
type known struct {
	ambiguous, cached, done bool
	cachedUID               types.UID
}

// standing says what is known about the object of that key with that UID: the consumer or owner that a claim names.
// The table is the default; TestBR3006_Existence has all combinations, and upstream's.
//
//	under the name in the cache            not asked   answer: none   this UID   another UID
//	this UID, done                         done        done           done       done
//	this UID                               mayRun      mayRun         mayRun     mayRun
//	this UID, seen to be deleted (D-37)    unknown     deleted        confirmed  deleted
//	another UID (D-21)                     unknown     gone           confirmed  replaced
//	nothing                                unknown     gone           confirmed  replaced
//	several objects                        kept, with an error, whatever the answer
//	several objects, seen to be deleted    unknown     deleted        confirmed  deleted
//
// A pod that the cache does not show as done is released on an answer of the API server alone.
func (x *Index) standing(key purekube.Key, uid types.UID, k known) (standing, *purekube.ObjectError) {
	seen := x.seenDeleted(uid)
	noUID := func() (standing, *purekube.ObjectError) {
		return indeterminate, &purekube.ObjectError{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Field: "metadata.uid", Err: ErrNoUID}
	}
	switch {
	// A reference without a UID means any object of the name, and so does a cached object without one: nothing that is
	// known about the name says whether the consumer exists.
	case uid == "":
		return noUID()
	case seen && x.options.upstream():
		return deleted, nil
	// BR-30-05: a final phase is final, whatever else is known about the UID.
	case k.cachedUID == uid && k.done:
		return done, nil
	case seen:
		// D-37: after a restore from a backup, a deleted UID may exist again. Only the API server knows.
	case k.ambiguous:
		return indeterminate, snapshot.DuplicateError(key.Kind, key.NamespacedName())
	case k.cached && k.cachedUID == "":
		return noUID()
	case k.cachedUID == uid:
		return mayRun, nil
	case k.cached && x.options.upstream():
		return replaced, nil
	}
	// D-21: claims are cached apart from pods and PodGroups. While the cache of pods lags, the cached object may be the
	// predecessor, with the same name. So a cached object with another UID proves nothing.
	//
	//	watch of claims   reserved for web-0 (UID 2)
	//	watch of pods     web-0 (UID 1), not yet: deleted, web-0 (UID 2)
	need := needOf(key) // for most objects none is made
	switch answer := x.lookUp(need); {
	case !answer.asked:
		if unsafe := snapshot.CheckNeed(need); unsafe != nil {
			return indeterminate, unsafe // nobody can ask for it
		}
		return unknown, answer.problem
	// An answer without a UID is not one that an API server gives.
	case answer.found != nil && answer.uid() == "":
		return noUID()
	case answer.uid() == uid:
		// It is kept even if the answer shows that the pod is done: upstream does not look at the phase of a live pod.
		// The event that brings the pod into the cache releases the claim.
		return confirmed, nil
	// The API server does not have this UID. Whether it has another pod of the name does not matter for the reason.
	case seen:
		return deleted, nil
	case answer.found == nil:
		return gone, nil
	}
	return replaced, nil
}

// presence says whether an object in the snapshot still exists.
type presence uint8

const (
	present  presence = iota + 1
	doubtful          // its UID was seen to be deleted: the API server has to be asked (D-37)
	absent            // and the API server does not have it: it does not count (D-21)
)

// presence says whether an object that the snapshot has still exists. Upstream goes by its cache alone. It is doubtful
// with a problem where an answer cannot be used.
//
// standing is about an object that a claim names, and presence about an object that the cache shows. A pod that was
// deleted must not get a claim that the garbage collector would delete at once.
func (x *Index) presence(key purekube.Key, uid types.UID) (presence, *purekube.ObjectError) {
	if x.options.upstream() || !x.seenDeleted(uid) {
		return present, nil
	}
	switch answer := x.lookUp(needOf(key)); {
	case !answer.asked:
		return doubtful, answer.problem
	case answer.found != nil && answer.uid() == uid:
		return present, nil
	}
	return absent, nil
}

// seenDeleted reports whether the object with that UID was seen to be deleted.
// It returns false for an empty UID, which no deleted object has.
func (x *Index) seenDeleted(uid types.UID) bool {
	if uid == "" || x.deleted.Len() == 0 {
		return false
	}
	_, seen := x.deleted.Get(uid)
	return seen
}
