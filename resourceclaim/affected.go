package resourceclaim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/podstate"
)

// AffectedByPod returns the keys whose plan may differ after an event of a pod, sorted. oldPod is
// nil for a pod that was added, newPod for one that was deleted; s is the snapshot after the event.
//
// It names the pod if it has or had work to do, and the claims for which it matters that the pod
// came, went, was replaced or is done: those that name it as a consumer or as their owner. When
// it is deleted, replaced or done, it names as well the claims that its entries resolve to and the
// one of status.extendedResourceClaimStatus.
//
// It names at least what upstream's enqueuePod does. Upstream does not look for claims that name
// a pod which does not name them.
func AffectedByPod(s Snapshot, oldPod, newPod *corev1.Pod, o Options) []Key {
	if oldPod == nil && newPod == nil {
		return nil
	}
	e := podEvent{oldPod, newPod}
	claims := listedOf(s, e.pods()...)
	var keys keySet
	for _, pod := range e.pods() {
		if needsWork(pod, claims, o) {
			keys.addKey(KeyOfPod(pod))
		}
	}
	keys.addFreed(e)
	if e.matters() {
		for _, claim := range s.Claims {
			if claim != nil && e.concerns(claim) {
				keys.addKey(KeyOfClaim(claim))
			}
		}
		for _, claim := range s.Assumed {
			if claim != nil && e.concerns(claim) {
				keys.addKey(KeyOfClaim(claim))
			}
		}
	}
	return keys.sorted()
}

// AffectedByClaim returns the keys whose plan may differ after an event of a claim, sorted. oldClaim
// is nil for a claim that was added, newClaim for one that was deleted; s is the snapshot after the
// event.
//
// It names the claim, and each pod that uses it and has or had work to do. A pod uses a claim that
// one of its entries resolves to, or that was generated for it and is not in its status yet. For
// a pod that is done it names the other claims that the pod uses too.
//
// It names at least what upstream's enqueueResourceClaim does. Upstream does not name a claim that
// was deleted, nor the pod of a generated claim before the status names that.
func AffectedByClaim(s Snapshot, oldClaim, newClaim *resourcev1.ResourceClaim, o Options) []Key {
	var keys keySet
	var pods []*corev1.Pod
	for _, claim := range []*resourcev1.ResourceClaim{oldClaim, newClaim} {
		if claim == nil {
			continue
		}
		keys.addKey(KeyOfClaim(claim))
		_, owner, owned := owningPod(claim)
		pods = append(pods, podsWhere(s, claim.Namespace, func(pod *corev1.Pod) bool {
			return owned && pod.UID == owner || resolvesTo(pod, claim.Name)
		})...)
	}
	if len(pods) == 0 {
		return keys.sorted()
	}
	after := listedOf(s, pods...)
	before := after.replaced(oldClaim, newClaim)
	for _, pod := range pods {
		if needsWork(pod, before, o) || needsWork(pod, after, o) {
			keys.addKey(KeyOfPod(pod))
		}
		keys.addFreed(podEvent{pod, pod})
	}
	return keys.sorted()
}

// AffectedByTemplate returns the keys whose plan may differ after an event of a template, sorted: the
// pods that have work to do and whose spec names it (upstream's enqueueResourceClaimTemplate).
// oldTemplate is nil for a template that was added, newTemplate for one that was deleted; s is the
// snapshot after the event.
func AffectedByTemplate(s Snapshot, oldTemplate, newTemplate *resourcev1.ResourceClaimTemplate, o Options) []Key {
	var keys keySet
	var pods []*corev1.Pod
	for _, template := range []*resourcev1.ResourceClaimTemplate{oldTemplate, newTemplate} {
		if template == nil {
			continue
		}
		pods = append(pods, podsWhere(s, template.Namespace, func(pod *corev1.Pod) bool {
			return namesTemplate(pod, template.Name)
		})...)
	}
	claims := listedOf(s, pods...)
	for _, pod := range pods {
		if needsWork(pod, claims, o) {
			keys.addKey(KeyOfPod(pod))
		}
		keys.addFreed(podEvent{pod, pod})
	}
	return keys.sorted()
}

func podsWhere(s Snapshot, namespace string, match func(*corev1.Pod) bool) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range s.Pods {
		if pod != nil && pod.Namespace == namespace && match(pod) {
			out = append(out, pod)
		}
	}
	return out
}

// resolvesTo reports whether one of the pod's entries resolves to a claim of that name.
func resolvesTo(pod *corev1.Pod, claim string) bool {
	for i := range pod.Spec.ResourceClaims {
		if name, state := ClaimName(pod, &pod.Spec.ResourceClaims[i]); state == NameKnown && name == claim {
			return true
		}
	}
	return false
}

func namesTemplate(pod *corev1.Pod, template string) bool {
	for i := range pod.Spec.ResourceClaims {
		if name := pod.Spec.ResourceClaims[i].ResourceClaimTemplateName; name != nil && *name == template {
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
	return podstate.Done(e.oldPod) || podstate.Done(e.newPod)
}

// concerns reports whether the claim names the pod as a consumer or as its owner. The UID counts as
// well as the name, since the caller may know it to be deleted.
func (e podEvent) concerns(claim *resourcev1.ResourceClaim) bool {
	for _, pod := range e.pods() {
		if pod.Namespace != claim.Namespace {
			continue
		}
		for i := range claim.Status.ReservedFor {
			consumer := &claim.Status.ReservedFor[i]
			if consumer.Name == pod.Name || consumer.UID == pod.UID {
				return true
			}
		}
		if name, uid, ok := owningPod(claim); ok && (name == pod.Name || uid == pod.UID) {
			return true
		}
	}
	return false
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
type keySet map[Key]bool

func (k *keySet) addKey(key Key) {
	if key.Name == "" {
		return
	}
	if *k == nil {
		*k = keySet{}
	}
	(*k)[key] = true
}

func (k keySet) sorted() []Key {
	var out []Key
	for key := range k {
		out = append(out, key)
	}
	slices.SortFunc(out, compareKeys)
	return out
}

// addFreed adds the claims that the event's pods name and need no more.
func (k *keySet) addFreed(e podEvent) {
	for _, pod := range e.freed() {
		for i := range pod.Spec.ResourceClaims {
			if name, state := ClaimName(pod, &pod.Spec.ResourceClaims[i]); state == NameKnown {
				k.addKey(Key{ClaimKey, pod.Namespace, name})
			}
		}
		if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
			k.addKey(Key{ClaimKey, pod.Namespace, extended.ResourceClaimName})
		}
	}
}

// listedClaim is what the caller's cache has of a name that an entry resolves to.
type listedClaim struct {
	claim *resourcev1.ResourceClaim
	// count is how many claims of that name there are; more than one is a defect of the
	// snapshot.
	count int
}

// listedClaims are claims by name, as the caller's cache has them. Assumed ones do not count: their
// event is yet to come.
type listedClaims map[types.NamespacedName]listedClaim

// listedOf are the claims that the pods' entries resolve to. It reads the claims once.
func listedOf(s Snapshot, pods ...*corev1.Pod) listedClaims {
	wanted := listedClaims{}
	for _, pod := range pods {
		for i := range pod.Spec.ResourceClaims {
			if name, state := ClaimName(pod, &pod.Spec.ResourceClaims[i]); state == NameKnown {
				wanted[types.NamespacedName{Namespace: pod.Namespace, Name: name}] = listedClaim{}
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for _, claim := range s.Claims {
		if claim == nil {
			continue
		}
		name := types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}
		if found, ok := wanted[name]; ok {
			wanted[name] = listedClaim{claim, found.count + 1}
		}
	}
	return wanted
}

// replaced are the claims as they were before the event.
func (l listedClaims) replaced(oldClaim, newClaim *resourcev1.ResourceClaim) listedClaims {
	before := make(listedClaims, len(l))
	for name, listed := range l {
		before[name] = listed
	}
	if newClaim != nil {
		delete(before, types.NamespacedName{Namespace: newClaim.Namespace, Name: newClaim.Name})
	}
	if oldClaim != nil {
		before[types.NamespacedName{Namespace: oldClaim.Namespace, Name: oldClaim.Name}] = listedClaim{oldClaim, 1}
	}
	return before
}

// needsWork reports whether the pod's plan may have anything to do (podNeedsWork in upstream's
// controller.go). claims are those its entries resolve to.
func needsWork(pod *corev1.Pod, claims listedClaims, o Options) bool {
	if pod.DeletionTimestamp != nil || !o.upstream() && podstate.Done(pod) {
		return false
	}
	if len(pod.Spec.ResourceClaims) > 0 && pod.UID == "" {
		// The plan says so.
		return true
	}
	for i := range pod.Spec.ResourceClaims {
		pc := &pod.Spec.ResourceClaims[i]
		if entryNamed(pod, pc.Name) < i {
			// The plan says so.
			return true
		}
		name, state := ClaimName(pod, pc)
		switch state {
		case NameNotNeeded:
			continue
		case NameNotCreated, NameUnsupported:
			return true
		}
		found := claims[types.NamespacedName{Namespace: pod.Namespace, Name: name}]
		claim := found.claim
		switch {
		case found.count > 1:
			// The plan says so.
			return true
		case claim == nil && !generated(pc):
			// Its user has to create it, and then there is an event.
			continue
		case claim == nil:
			return true
		case generated(pc) && !isForPod(pod, claim):
			// Upstream waits for that claim to go, although its own pass generates another.
			return true
		case pod.Spec.NodeName != "" && claim.Status.Allocation != nil && !isReservedFor(pod, claim):
			return true
		}
	}
	return false
}
