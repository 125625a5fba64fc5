package resourceclaim

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// ErrNoUID: an object or a reference has no UID, which the API server never lets happen. There
// is no telling what it is about.
var ErrNoUID = errors.New("no UID")

// standing is what a snapshot says about one consumer of a claim. The zero value is none.
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

func (s standing) dropped() bool { return s >= deleted && s <= gone }

// standings says of each consumer of the claim what is known about it. It appends to into. ended reports that
// upstream goes no further.
func (x *Index) standings(claim *resourcev1.ResourceClaim, into []standing, problems *snapshot.Problems) (all []standing, ended bool) {
	var running map[string]bool // made for the first consumer that asks for it
	for i := range claim.Status.ReservedFor {
		consumer := &claim.Status.ReservedFor[i]
		st, problem := x.judge(claim.Namespace, consumer)
		if problem != nil {
			problems.Add(problem)
			if x.options.upstream() && errors.Is(problem, purekube.ErrPathSegment) {
				// Upstream's look-up ends the pass.
				return into, true
			}
		}
		if (st.dropped() || st == unknown) && isPodGroup(consumer) && !x.options.upstream() {
			// D-36: whether the group is there decides nothing while its pods run on the claim.
			if running == nil {
				running = x.groupsRunningOn(claim)
			}
			if running[consumer.Name] {
				st = usedByMembers
			}
		}
		into = append(into, st)
	}
	return into, false
}

// groupsRunningOn are the names of the PodGroups with a pod that uses the claim and is not done.
func (x *Index) groupsRunningOn(claim *resourcev1.ResourceClaim) map[string]bool {
	running := map[string]bool{}
	name := snapshot.KeyOf(claim)
	for pod := range x.podTerms.Versions(x.terms.named(usesClaim, name)) {
		if o := podOwner(pod); o.resolvesTo(name) && !podstate.Done(pod) {
			if group := x.options.groupName(pod); group != "" {
				running[group] = true
			}
		}
	}
	return running
}

// judge finds out about one consumer of a claim in that namespace, in upstream's order: the
// UIDs known to be deleted, the cache, the API server (BR-30-06). Existence has three values:
// a pod that no answer covers is unknown, never gone.
func (x *Index) judge(namespace string, consumer *resourcev1.ResourceClaimConsumerReference) (standing, *purekube.ObjectError) {
	name := types.NamespacedName{Namespace: namespace, Name: consumer.Name}
	switch {
	case x.options.PodGroupOf != nil && isPodGroup(consumer):
		return x.standingOfGroup(name, consumer.UID)
	case isPod(consumer):
		return x.standingOf(name, consumer.UID)
	}
	// Whatever it is, this library does not know how to ask for it.
	return otherKind, nil
}

// standingOf says what is known about the pod with that name and UID.
func (x *Index) standingOf(name types.NamespacedName, uid types.UID) (standing, *purekube.ObjectError) {
	var k known
	if pod := x.pods.Find(name); pod != nil {
		k = known{cached: true, cachedUID: pod.UID, done: podstate.Done(pod)}
	} else {
		k.ambiguous = x.pods.Ambiguous(name)
	}
	return x.standing(needPod(name.Namespace, name.Name), uid, k)
}

// standingOfGroup says what is known about the PodGroup with that name and UID. It is not done before
// it is gone.
func (x *Index) standingOfGroup(name types.NamespacedName, uid types.UID) (standing, *purekube.ObjectError) {
	var k known
	if g := x.groups.Find(name); g != nil {
		k = known{cached: true, cachedUID: g.UID}
	} else {
		k.ambiguous = x.groups.Ambiguous(name)
	}
	return x.standing(needPodGroup(name.Namespace, name.Name), uid, k)
}

// known is what the snapshot holds under one name.
type known struct {
	ambiguous, cached, done bool
	cachedUID               types.UID
}

// standing says what is known about the object of that Need with that UID.
func (x *Index) standing(need purekube.Need, uid types.UID, k known) (standing, *purekube.ObjectError) {
	noUID := func() (standing, *purekube.ObjectError) {
		return indeterminate, &purekube.ObjectError{Kind: need.Kind, Namespace: need.Namespace, Name: need.Name, Field: "metadata.uid", Err: ErrNoUID}
	}
	answer := x.lookUp(need)
	ask := func() (standing, *purekube.ObjectError) {
		if problem := snapshot.CheckNeed(need); problem != nil {
			// Nobody can ask for it.
			return indeterminate, problem
		}
		return unknown, answer.problem
	}
	switch {
	case uid == "":
		return noUID()
	case x.seenDeleted(uid) && x.options.upstream():
		return deleted, nil
	case k.cachedUID == uid && k.done:
		return done, nil
	case x.seenDeleted(uid) && !answer.asked:
		// D-37: after a restore from a backup a UID comes back.
		return ask()
	case x.seenDeleted(uid) && (answer.found == nil || answer.uid() != uid && answer.uid() != ""):
		return deleted, nil
	case x.seenDeleted(uid) && answer.uid() == uid:
		return confirmed, nil
	case k.ambiguous:
		return indeterminate, snapshot.DuplicateError(need.Kind, types.NamespacedName{Namespace: need.Namespace, Name: need.Name})
	case k.cached && k.cachedUID == "":
		return noUID()
	case k.cachedUID == uid:
		return mayRun, nil
	case k.cached && x.options.upstream():
		return replaced, nil
	// D-21: claims are cached apart from pods and PodGroups. While the cache of these is behind, the
	// cached object may be the predecessor of the one asked for, under its name. So a cached object
	// with another UID says nothing, whether it is known to be deleted or not.
	case !answer.asked:
		return ask()
	case answer.found == nil:
		return gone, nil
	case answer.uid() == "":
		return noUID()
	case answer.uid() != uid:
		return replaced, nil
	}
	return confirmed, nil
}

// presence is whether an object that the snapshot holds is still there.
type presence uint8

const (
	present  presence = iota + 1
	doubtful          // its UID was seen to be deleted: the API server has to be asked (D-37)
	absent            // and the API server does not have it: it does not count (D-21)
)

// presenceOfPod says whether a pod that Pods holds is there. Upstream goes by its cache alone.
func (x *Index) presenceOfPod(pod *corev1.Pod) (presence, *purekube.ObjectError) {
	return x.presence(needPod(pod.Namespace, pod.Name), pod.UID)
}

// presenceOfGroup is presenceOfPod for PodGroups.
func (x *Index) presenceOfGroup(g *podGroup) (presence, *purekube.ObjectError) {
	return x.presence(needPodGroup(g.Namespace, g.Name), g.UID)
}

// presence is doubtful with a problem where an answer is none.
func (x *Index) presence(need purekube.Need, uid types.UID) (presence, *purekube.ObjectError) {
	if x.options.upstream() || !x.seenDeleted(uid) {
		return present, nil
	}
	switch answer := x.lookUp(need); {
	case !answer.asked:
		return doubtful, answer.problem
	case answer.found != nil && answer.uid() == uid:
		return present, nil
	}
	return absent, nil
}

// whetherPresent is the plan for an object whose presence is doubtful: it is asked for if there is anything to do
// for it (D-37).
func whetherPresent(need purekube.Need, would Result, wouldErr error, problem *purekube.ObjectError) (r Result, err error) {
	if wouldErr == nil && would.Empty() {
		return r, nil
	}
	if unsafe := snapshot.CheckNeed(need); unsafe != nil {
		return r, unsafe
	}
	r.Needs = append(r.Needs, need)
	if problem != nil {
		err = problem
	}
	return r, err
}

// seenDeleted reports whether the object with that UID was seen to be deleted.
func (x *Index) seenDeleted(uid types.UID) bool {
	if uid == "" || x.deleted.Len() == 0 {
		return false
	}
	_, seen := x.deleted.Get(uid)
	return seen
}
