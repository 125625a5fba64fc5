package resourceclaim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
)

// usesClaim reports whether one of the pod's entries resolves to the claim's name, or whether the claim
// was generated for the pod. Nobody uses nil.
func usesClaim(pod *corev1.Pod, claim *resourcev1.ResourceClaim) bool {
	if claim == nil || claim.Namespace != pod.Namespace {
		return false
	}
	of, ok := owningEntry(claim)
	return ok && pod.UID == of.owner && anyGenerated(pod) || resolvesTo(pod, claim.Name)
}

// namesTemplate reports whether one of the pod's entries names the template. Nobody names nil.
func namesTemplate(pod *corev1.Pod, template *resourcev1.ResourceClaimTemplate) bool {
	if template == nil || template.Namespace != pod.Namespace {
		return false
	}
	for i := range pod.Spec.ResourceClaims {
		if name := pod.Spec.ResourceClaims[i].ResourceClaimTemplateName; name != nil && *name == template.Name {
			return true
		}
	}
	return false
}

// podEvent is what happened to a pod: it was added (no oldPod), changed or deleted (no newPod).
type podEvent struct{ oldPod, newPod *corev1.Pod }

// pods are those of the event that are not nil.
func (e podEvent) pods() []*corev1.Pod {
	return slices.DeleteFunc([]*corev1.Pod{e.oldPod, e.newPod}, func(p *corev1.Pod) bool { return p == nil })
}

// matters reports whether the event can change what is known about the consumers and owners of the
// pod's name: it came, went, was replaced, or is done.
func (e podEvent) matters() bool {
	switch {
	case e.oldPod == nil || e.newPod == nil:
		return true
	case e.oldPod.UID != e.newPod.UID || e.oldPod.Name != e.newPod.Name || e.oldPod.Namespace != e.newPod.Namespace:
		return true
	}
	return podstate.Done(e.oldPod) != podstate.Done(e.newPod)
}

// freed are the pods of the event that need their claims no more.
func (e podEvent) freed() []*corev1.Pod {
	var out []*corev1.Pod
	if e.oldPod != nil && (e.newPod == nil || e.oldPod.UID != e.newPod.UID) {
		out = append(out, e.oldPod)
	}
	if e.newPod != nil && podstate.Done(e.newPod) {
		out = append(out, e.newPod)
	}
	return out
}

// keySet collects keys. The zero value is empty.
type keySet map[purekube.Key]bool

func (k *keySet) addKey(key purekube.Key) {
	if key.Name == "" {
		return
	}
	if *k == nil {
		*k = keySet{}
	}
	(*k)[key] = true
}

func (k keySet) sorted() []purekube.Key {
	var out []purekube.Key
	for key := range k {
		out = append(out, key)
	}
	slices.SortFunc(out, purekube.Key.Compare)
	return out
}

// addFreed adds the claims that the event's pods name and need no more.
func (k *keySet) addFreed(e podEvent) {
	for _, pod := range e.freed() {
		for name := range resolved(pod) {
			k.addKey(ClaimKey(name.Namespace, name.Name))
		}
		if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
			k.addKey(ClaimKey(pod.Namespace, extended.ResourceClaimName))
		}
	}
}

// What follows adds the keys that an event affects. before and after plan with the objects as they
// were and as they are.

// addPodEvent is for an event of a pod; concerned are the claims that it concerns.
func (k *keySet) addPodEvent(before, after *planner, e podEvent, concerned []*resourcev1.ResourceClaim) {
	if e.oldPod != nil && before.needsWork(e.oldPod) {
		k.addKey(KeyOfPod(e.oldPod))
	}
	if e.newPod != nil && after.needsWork(e.newPod) {
		k.addKey(KeyOfPod(e.newPod))
	}
	k.addFreed(e)
	for _, claim := range concerned {
		k.addKey(KeyOfClaim(claim))
	}
	// D-36: a claim that the pod keeps for its group, or no longer does.
	was, is := before.keptForGroup(e.oldPod), after.keptForGroup(e.newPod)
	for claim := range was {
		if !is[claim] {
			k.addKey(ClaimKey(claim.namespace, claim.name))
		}
	}
	for claim := range is {
		if !was[claim] {
			k.addKey(ClaimKey(claim.namespace, claim.name))
		}
	}
}

// groupsClaim is a claim and a PodGroup that it may be reserved for.
type groupsClaim struct{ namespace, name, group string }

// keptForGroup are the claims that stay reserved for the pod's PodGroup on account of the pod.
func (x *planner) keptForGroup(pod *corev1.Pod) map[groupsClaim]bool {
	if pod == nil || x.PodGroupOf == nil || x.upstream() || podstate.Done(pod) {
		return nil
	}
	group := x.PodGroupOf(pod)
	if group == "" {
		return nil
	}
	kept := map[groupsClaim]bool{}
	for claim := range resolved(pod) {
		kept[groupsClaim{claim.Namespace, claim.Name, group}] = true
	}
	return kept
}

// addPods is for pods that have not changed themselves.
func (k *keySet) addPods(before, after *planner, pods []*corev1.Pod) {
	for _, pod := range pods {
		if after.needsWork(pod) || before != after && before.needsWork(pod) {
			k.addKey(KeyOfPod(pod))
		}
		k.addFreed(podEvent{pod, pod})
	}
}

// needsWork reports whether the pod's plan may have anything to do or to say (podNeedsWork in
// upstream's controller.go).
func (x *planner) needsWork(pod *corev1.Pod) bool {
	if len(pod.Spec.ResourceClaims) == 0 || pod.DeletionTimestamp != nil || !x.upstream() && podstate.Done(pod) {
		return false
	}
	if pod.UID == "" {
		// The plan says so.
		return true
	}
	of := entriesOf(pod)
	of.member = x.groupOf(pod)
	if of.member.name != "" && of.member.group == nil {
		// The plan asks for the group, or says what is wrong with it.
		return true
	}
	return x.entriesNeedWork(of)
}

// entriesNeedWork is needsWork for the entries of a pod or PodGroup.
func (x *planner) entriesNeedWork(of entries) bool {
	pod := of.pod
	for i := range pod.Spec.ResourceClaims {
		pc := &pod.Spec.ResourceClaims[i]
		if of.repeated(i) {
			// The plan says so.
			return true
		}
		name, state := of.claimName(i)
		switch state {
		case NameNotNeeded:
			continue
		case NameNotCreated, NameUnsupported:
			return true
		case NameKnown: // what it names decides
		}
		key := types.NamespacedName{Namespace: pod.Namespace, Name: name}
		claim := x.newestClaim(key)
		switch {
		case x.claimAmbiguous(key):
			// The plan says so.
			return true
		case claim == nil && !generated(pc):
			// Its user has to create it, and then there is an event.
			continue
		case claim == nil:
			return true
		case generated(pc) && !x.owns(of, claim):
			// Upstream waits for that claim to go, although its own pass generates another.
			return true
		case pod.Spec.NodeName != "" && claim.Status.Allocation != nil && !x.reserved(of, claim):
			return true
		}
	}
	return false
}
