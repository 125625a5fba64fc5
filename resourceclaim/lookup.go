package resourceclaim

import (
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// What an Index knows: the answers of the API server, the objects under a name, and the claims that refer to others.

// lookUp reads the answer to a Need. An answer counts only if it is certain: an answer with an error, or with an object
// of another kind, must not be regarded as "no such object", or a timeout would release a reservation.
func (x *Index) lookUp(need purekube.Need) lookup {
	answer, asked := x.answers[need]
	if !asked {
		return lookup{}
	}
	err := answer.Err
	if err == nil {
		fits := false
		switch o := answer.Object.(type) {
		// The zero Answer says that the API server has no such object (404).
		case nil:
			return lookup{asked: true}
		// A nil pointer of the right type comes from a client that returns it together with an error. It is no answer
		// either.
		case *corev1.Pod:
			fits = o != nil && need.Kind == podKind
		case *resourcev1.ResourceClaim:
			fits = o != nil && need.Kind == claimKind
		case PodGroup:
			fits = need.Kind == podGroupKind
		}
		// The name of the object is not compared: the answer is filed under the Need that it was asked with.
		if fits {
			return lookup{asked: true, found: answer.Object}
		}
		err = fmt.Errorf("%w: %T", errAnswerType, answer.Object)
	}
	return lookup{problem: &purekube.ObjectError{Kind: need.Kind, Namespace: need.Namespace, Name: need.Name, Err: err}}
}

// cached is what the snapshot has under the name of a pod or PodGroup.
func (x *Index) cached(key purekube.Key) (c cached) {
	name := key.NamespacedName()
	if key.Kind == podGroupKind {
		var g *podGroup
		if g, c.twice = x.groups.Lookup(name); g != nil {
			c.there, c.uid = true, g.UID
		}
		// A PodGroup is not done before it is gone: while it exists, its pods may still run.
		return c
	}
	var pod *corev1.Pod
	if pod, c.twice = x.pods.Lookup(name); pod != nil {
		c.there, c.uid, c.done = true, pod.UID, podstate.Done(pod)
	}
	return c
}

// existence is what is known about the pod or PodGroup of that key with that UID, which a claim names (BR-30-06).
func (x *Index) existence(key purekube.Key, uid types.UID) (Code, *purekube.ObjectError) {
	return x.options.existence(key, uid, x.cached(key), x.seenDeleted(uid), x.lookUp(needOf(key)))
}

// presence is what is known about a pod or PodGroup that the cache shows, with that UID: ReasonConsumerDeleted if it
// was deleted. A pod that was deleted must not get a claim that the garbage collector would delete at once.
func (x *Index) presence(key purekube.Key, uid types.UID) (Code, *purekube.ObjectError) {
	if !x.options.doubtsCache() || !x.seenDeleted(uid) {
		return ReasonConsumerMayRun, nil
	}
	// What the cache shows counts for nothing then.
	return x.options.existence(key, uid, cached{}, true, x.lookUp(needOf(key)))
}

// exists reports whether presence is certain that the object exists. If it is not, and does not know that the object
// was deleted, the API server has to be asked (D-37).
func exists(presence Code) bool {
	return presence == ReasonConsumerMayRun || presence == ReasonConsumerConfirmed
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

// claim returns the claim of that name that counts, or nil. The error says that it is unknown which one does. Then
// nothing may be decided: it is neither the claim of an entry nor a missing one.
func (x *Index) claim(name types.NamespacedName) (*resourcev1.ResourceClaim, *purekube.ObjectError) {
	if x.options.usesListedOnly() {
		return x.claims.Lookup(name)
	}
	return x.current(name)
}

// current is the newest claim of that name among the listed and the assumed ones (BR-30-04).
func (x *Index) current(name types.NamespacedName) (*resourcev1.ResourceClaim, *purekube.ObjectError) {
	listed, problem := x.claims.Lookup(name)
	// The usual case costs one lookup.
	if problem != nil || x.assumed.Len() == 0 {
		return listed, problem
	}
	switch assumed, problem := x.assumed.Lookup(name); {
	case problem != nil:
		return nil, problem
	case assumed == nil:
		return listed, nil
	// There is nothing to compare, so a malformed resourceVersion does no harm.
	case listed == nil:
		return assumed, nil
	default:
		return newest(listed, assumed)
	}
}

// generatedClaim is the claim that was generated for the entry of the pod or PodGroup with that UID, whether or not its
// status says so. Nil: there is none. The error is about a claim that may be the entry's and cannot be used: it can
// neither be named nor be regarded as missing.
func (x *Index) generatedClaim(key generatedFor) (claim *resourcev1.ResourceClaim, problem *purekube.ObjectError) {
	for c := range x.claimsWith(x.terms.Term(namesUID, string(key.owner))) {
		// The version that was found by its term may be an old one. The version that counts decides whose the claim is,
		// also under MatchUpstream: upstream's findPodResourceClaim asks the mutation cache.
		counts, unusable := x.current(snapshot.KeyOf(c))
		if unusable != nil {
			counts = c
		}
		if of, ok := owningEntry(counts); !ok || of != key {
			continue
		}
		switch {
		// The first by name, so that the error does not depend on the order of the hashes.
		case unusable != nil && (problem == nil || unusable.Name < problem.Name):
			problem = unusable
		case unusable == nil && (claim == nil || preferred(counts, claim)):
			claim = counts
		}
	}
	// Even if another claim was found: the unusable one may be the better one.
	if problem != nil {
		return nil, problem
	}
	return claim, nil
}

// groupOf finds the PodGroup of a pod: in the snapshot, then in the answers. A nil pod is in none, and so is a claimant
// that is a PodGroup.
func (x *Index) groupOf(pod *corev1.Pod) membership {
	m := membership{name: x.options.groupName(pod)}
	if m.name == "" {
		return m
	}
	key := PodGroupKey(pod.Namespace, m.name)
	g, twice := x.groups.Lookup(key.NamespacedName())
	if twice != nil {
		m.problem = twice
		return m
	}
	if g != nil {
		// D-37: a group that was seen to be deleted does not count before the API server has confirmed it.
		if presence, _ := x.presence(key, g.UID); exists(presence) {
			m.group = g
		}
	}
	if m.group == nil && x.options.asksForGroup() {
		answer := x.lookUp(needOf(key))
		if !answer.asked {
			m.unknown, m.noAnswer = true, answer.problem
			return m
		}
		if found, ok := answer.found.(PodGroup); ok {
			// The answer belongs to the name that was asked for, whatever its own name is.
			found.Namespace, found.Name = key.Namespace, key.Name
			m.group = podGroupsOf([]PodGroup{found})[0]
		}
	}
	switch {
	// The API server has no such group. Under MatchUpstream the cache has none, and upstream does not look further.
	case m.group == nil:
		m.problem = errPodGroupNotFound
	// Without a UID nothing can be compared with the group, neither the owner of a claim nor a consumer (D-33).
	case m.group.UID == "":
		m.group, m.problem = nil, noUID(key)
	}
	return m
}

// claimsWith are the claims with a term, listed and assumed ones. A claim that is in both comes twice, in two versions.
// Which version counts is not asked here: each version may hold a reference that the other one lacks.
func (x *Index) claimsWith(term uint64) iter.Seq[*resourcev1.ResourceClaim] {
	return func(yield func(*resourcev1.ResourceClaim) bool) {
		for claim := range x.claimTerms.Versions(term) {
			if !yield(claim) {
				return
			}
		}
		// Mostly nothing is assumed, and then the second index is never arranged.
		if x.assumed.Len() > 0 {
			x.assumedTerms.Versions(term)(yield)
		}
	}
}
