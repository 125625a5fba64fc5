package resourceclaim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// groups are some PodGroups.
type groups []*podGroup

// sharesClaim reports whether the claim was generated for the PodGroup that the pod is in, and the pod
// has entries, one of which may be the group's.
func sharesClaim(pod *corev1.Pod, claim *resourcev1.ResourceClaim, o Options) bool {
	if claim == nil || o.PodGroupOf == nil || claim.Namespace != pod.Namespace || len(pod.Spec.ResourceClaims) == 0 {
		return false
	}
	group, _, ok := owningPodGroup(claim)
	return ok && group == o.PodGroupOf(pod)
}

// namesPodGroup reports whether the claim names the group as a consumer.
func namesPodGroup(claim *resourcev1.ResourceClaim, g *podGroup) bool {
	return claim.Namespace == g.Namespace && slices.ContainsFunc(claim.Status.ReservedFor, func(consumer resourcev1.ResourceClaimConsumerReference) bool {
		return isPodGroup(&consumer) && consumer.Name == g.Name
	})
}

// groupEvent is what happened to a PodGroup: it was added (no oldGroup), changed or deleted (no
// newGroup).
type groupEvent struct{ oldGroup, newGroup *podGroup }

// groups are those of the event that are not nil.
func (e groupEvent) groups() groups {
	return slices.DeleteFunc(groups{e.oldGroup, e.newGroup}, func(g *podGroup) bool { return g == nil })
}

// matters reports whether the event can change what is known about the consumers of the group's name.
func (e groupEvent) matters() bool {
	return e.oldGroup == nil || e.newGroup == nil || e.oldGroup.UID != e.newGroup.UID || e.oldGroup.key() != e.newGroup.key()
}

// addGroupEvent is for an event of a PodGroup; concerned are the claims that name it and members the
// pods that are in it.
func (k *keySet) addGroupEvent(before, after *planner, e groupEvent, concerned []*resourcev1.ResourceClaim, members []*corev1.Pod) {
	if e.oldGroup != nil && before.groupNeedsWork(e.oldGroup) {
		k.addKey(e.oldGroup.key())
	}
	if e.newGroup != nil && after.groupNeedsWork(e.newGroup) {
		k.addKey(e.newGroup.key())
	}
	if e.matters() && e.oldGroup != nil {
		for name := range resolved(&e.oldGroup.Pod) {
			k.addKey(ClaimKey(name.Namespace, name.Name))
		}
	}
	for _, claim := range concerned {
		k.addKey(KeyOfClaim(claim))
	}
	k.addPods(before, after, members)
}

// addGroups is for PodGroups that have not changed themselves, and their pods.
func (k *keySet) addGroups(before, after *planner, groups []*podGroup) {
	for _, g := range groups {
		if after.groupNeedsWork(g) || before != after && before.groupNeedsWork(g) {
			k.addKey(g.key())
		}
	}
}

// groupNeedsWork reports whether the group's plan may have anything to do or to say
// (podGroupNeedsWork in upstream's controller.go).
func (x *planner) groupNeedsWork(g *podGroup) bool {
	if len(g.Spec.ResourceClaims) == 0 || g.DeletionTimestamp != nil {
		return false
	}
	if g.invalid() != nil || len(g.Spec.ResourceClaims) > MaxPodGroupClaims {
		// The plan says so.
		return true
	}
	of := entriesOf(&g.Pod)
	of.group = g
	return x.entriesNeedWork(of)
}

// What follows is for the Index.

// members are the pods that are in the PodGroup of that name.
func (x *Index) members(group types.NamespacedName) []*corev1.Pod {
	if x.planner.PodGroupOf == nil {
		return nil
	}
	var members []*corev1.Pod
	for pod := range x.pods.with(x.terms.named(memberTerm, group.Namespace, group.Name)) {
		if pod.Namespace == group.Namespace && x.planner.PodGroupOf(pod) == group.Name {
			members = append(members, pod)
		}
	}
	return members
}

// consumedBy are the claims that name the PodGroup of that name as a consumer.
func (x *Index) consumedBy(g *podGroup) []*resourcev1.ResourceClaim {
	var claims []*resourcev1.ResourceClaim
	term := x.terms.named(groupTerm, g.Namespace, g.Name)
	for claim := range x.claims.with(term) {
		if namesPodGroup(claim, g) {
			claims = append(claims, claim)
		}
	}
	for claim := range x.assumed.with(term) {
		if namesPodGroup(claim, g) {
			claims = append(claims, claim)
		}
	}
	return claims
}

// groupUsers are the PodGroups that use the claim.
func (x *Index) groupUsers(claim *resourcev1.ResourceClaim) []*podGroup {
	var users []*podGroup
	if x.groups.size == 0 {
		return nil
	}
	for g := range x.groups.with(x.terms.named(claimTerm, claim.Namespace, claim.Name)) {
		if usesClaim(&g.Pod, claim) {
			users = append(users, g)
		}
	}
	if of, ok := owningEntry(claim); ok {
		for g := range x.groups.with(x.terms.uid(podUIDTerm, of.owner)) {
			if usesClaim(&g.Pod, claim) && !slices.Contains(users, g) {
				users = append(users, g)
			}
		}
	}
	return users
}
