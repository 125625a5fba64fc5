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
func (x *planner) standings(claim *resourcev1.ResourceClaim, guess *corev1.Pod, into []standing, problems *snapshot.Problems) (all []standing, ended bool) {
	var running map[string]bool // made for the first consumer that asks for it
	for i := range claim.Status.ReservedFor {
		consumer := &claim.Status.ReservedFor[i]
		st, problem := x.judge(claim.Namespace, consumer, guess)
		if problem != nil {
			problems.Add(problem)
			if x.upstream() && errors.Is(problem, purekube.ErrPathSegment) {
				// Upstream's look-up ends the pass.
				return into, true
			}
		}
		if (st.dropped() || st == unknown) && isPodGroup(consumer) && !x.upstream() {
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
func (x *planner) groupsRunningOn(claim *resourcev1.ResourceClaim) map[string]bool {
	running := map[string]bool{}
	for pod := range x.podsUsing(snapshot.KeyOf(claim)) {
		if group := x.PodGroupOf(pod); group != "" && !podstate.Done(pod) {
			running[group] = true
		}
	}
	return running
}

// judge finds out about one consumer of a claim in that namespace, in upstream's order: the
// UIDs known to be deleted, the cache, the API server (BR-30-06). Existence has three values:
// a pod that no answer covers is unknown, never gone.
func (x *planner) judge(namespace string, consumer *resourcev1.ResourceClaimConsumerReference, guess *corev1.Pod) (standing, *purekube.ObjectError) {
	if x.PodGroupOf != nil && isPodGroup(consumer) {
		return x.standingOfGroup(types.NamespacedName{Namespace: namespace, Name: consumer.Name}, consumer.UID)
	}
	if !isPod(consumer) {
		// Whatever it is, this library does not know how to ask for it.
		return otherKind, nil
	}
	return x.standingOf(types.NamespacedName{Namespace: namespace, Name: consumer.Name}, consumer.UID, guess)
}

// standingOf says what is known about the pod with that name and UID. guess, if not nil, is a pod
// that it may be, and the only one of its name.
func (x *planner) standingOf(name types.NamespacedName, uid types.UID, guess *corev1.Pod) (standing, *purekube.ObjectError) {
	k := known{ambiguous: x.podAmbiguous(name)}
	if pod := x.podNamed(name, guess); pod != nil {
		k.cached, k.cachedUID, k.done = true, pod.UID, podstate.Done(pod)
	}
	return x.standing(needPod(name.Namespace, name.Name), uid, k)
}

// known is what the snapshot holds under one name.
type known struct {
	ambiguous, cached, done bool
	cachedUID               types.UID
}

// standing says what is known about the object of that Need with that UID.
func (x *planner) standing(need purekube.Need, uid types.UID, k known) (standing, *purekube.ObjectError) {
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
	case x.seenDeleted(uid) && x.upstream():
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
	case k.cached && x.upstream():
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
func (x *planner) presenceOfPod(pod *corev1.Pod) (presence, *purekube.ObjectError) {
	return x.presence(needPod(pod.Namespace, pod.Name), pod.UID)
}

// presenceOfGroup is presenceOfPod for PodGroups.
func (x *planner) presenceOfGroup(g *podGroup) (presence, *purekube.ObjectError) {
	return x.presence(needPodGroup(g.Namespace, g.Name), g.UID)
}

// presence is doubtful with a problem where an answer is none.
func (x *planner) presence(need purekube.Need, uid types.UID) (presence, *purekube.ObjectError) {
	if x.upstream() || !x.seenDeleted(uid) {
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
func (x *planner) seenDeleted(uid types.UID) bool {
	return uid != "" && x.deleted.Has(uid)
}

func podError(name types.NamespacedName, field string, err error) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: "Pod", Namespace: name.Namespace, Name: name.Name, Field: field, Err: err}
}
