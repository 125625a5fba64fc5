package resourceclaim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
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
	e := podEvent{oldPod, newPod}
	if len(e.pods()) == 0 {
		return nil
	}
	x := newTables(claimsFor(s, e.pods(), o), o).planner()
	var concerned []*resourcev1.ResourceClaim
	if e.matters() {
		for _, claim := range slices.Concat(s.Claims, s.Assumed) {
			if claim != nil && e.concerns(x, claim) {
				concerned = append(concerned, claim)
			}
		}
	}
	var keys keySet
	keys.addPodEvent(x, x, e, concerned)
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
// With PodGroups it names those that use the claim as well, and the pods of the one that the claim
// was generated for, where they have or had work to do.
//
// It names at least what upstream's enqueueResourceClaim does, but for pods whose plan does not
// differ: of a PodGroup that uses the claim upstream names all pods. Upstream does not name a claim
// that was deleted, nor the pod of a generated claim before the status names that.
func AffectedByClaim(s Snapshot, oldClaim, newClaim *resourcev1.ResourceClaim, o Options) []Key {
	versions := []*resourcev1.ResourceClaim{oldClaim, newClaim}
	for _, claim := range s.Assumed {
		// Which version counts may have changed.
		if claim != nil && (KeyOfClaim(claim) == KeyOfClaim(oldClaim) || KeyOfClaim(claim) == KeyOfClaim(newClaim)) {
			versions = append(versions, claim)
		}
	}
	users := podsWhere(s, func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(versions, func(claim *resourcev1.ResourceClaim) bool { return usesClaim(pod, claim) || sharesClaim(pod, claim, o) })
	})
	groups := groupsWhere(s, o, func(g *podGroup) bool {
		return slices.ContainsFunc(versions, func(claim *resourcev1.ResourceClaim) bool { return usesClaim(&g.Pod, claim) })
	})
	after := claimsFor(s, slices.Concat(users, groups.asPods()), o)
	before := after
	before.Claims = slices.DeleteFunc(slices.Clone(after.Claims), func(c *resourcev1.ResourceClaim) bool {
		return newClaim != nil && KeyOfClaim(c) == KeyOfClaim(newClaim)
	})
	if oldClaim != nil {
		before.Claims = append(before.Claims, oldClaim)
	}
	var keys keySet
	keys.addKey(KeyOfClaim(oldClaim))
	keys.addKey(KeyOfClaim(newClaim))
	x, y := newTables(before, o).planner(), newTables(after, o).planner()
	keys.addPods(x, y, users)
	keys.addGroups(x, y, groups)
	return keys.sorted()
}

// AffectedByTemplate returns the keys whose plan may differ after an event of a template, sorted: the
// pods and PodGroups that have work to do and whose spec names it (upstream's
// enqueueResourceClaimTemplate, which names the other pods of such a PodGroup as well). oldTemplate
// is nil for a template that was added, newTemplate for one that was deleted; s is the snapshot after
// the event.
func AffectedByTemplate(s Snapshot, oldTemplate, newTemplate *resourcev1.ResourceClaimTemplate, o Options) []Key {
	users := podsWhere(s, func(pod *corev1.Pod) bool { return namesTemplate(pod, oldTemplate) || namesTemplate(pod, newTemplate) })
	groups := groupsWhere(s, o, func(g *podGroup) bool {
		return namesTemplate(&g.Pod, oldTemplate) || namesTemplate(&g.Pod, newTemplate)
	})
	x := newTables(claimsFor(s, slices.Concat(users, groups.asPods()), o), o).planner()
	var keys keySet
	keys.addPods(x, x, users)
	keys.addGroups(x, x, groups)
	return keys.sorted()
}

// claimsFor leaves of the snapshot the claims that the pods' entries resolve to, and the PodGroups that
// the pods are in.
func claimsFor(s Snapshot, pods []*corev1.Pod, o Options) Snapshot {
	n := Snapshot{Deleted: s.Deleted, ConfirmedPodGroups: s.ConfirmedPodGroups}
	if o.PodGroupOf != nil && len(s.PodGroups) > 0 {
		in := map[types.NamespacedName]bool{}
		for _, pod := range pods {
			in[types.NamespacedName{Namespace: pod.Namespace, Name: o.PodGroupOf(pod)}] = true
		}
		for i := range s.PodGroups {
			if g := &s.PodGroups[i]; g.Name != "" && in[types.NamespacedName{Namespace: g.Namespace, Name: g.Name}] {
				n.PodGroups = append(n.PodGroups, *g)
			}
		}
	}
	wanted := map[types.NamespacedName]bool{}
	for _, pod := range pods {
		for name := range resolved(pod) {
			wanted[name] = true
		}
	}
	if len(wanted) == 0 {
		return n
	}
	is := func(claim *resourcev1.ResourceClaim) bool {
		return claim != nil && claim.Name != "" && wanted[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}]
	}
	for _, claim := range s.Claims {
		if is(claim) {
			n.Claims = append(n.Claims, claim)
		}
	}
	for _, claim := range s.Assumed {
		if is(claim) {
			n.Assumed = append(n.Assumed, claim)
		}
	}
	return n
}

func podsWhere(s Snapshot, match func(*corev1.Pod) bool) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range s.Pods {
		if pod != nil && match(pod) {
			out = append(out, pod)
		}
	}
	return out
}

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

// concerns reports whether the plan of the claim rests on the pod's name.
func (e podEvent) concerns(x *planner, claim *resourcev1.ResourceClaim) bool {
	return slices.ContainsFunc(e.pods(), func(pod *corev1.Pod) bool { return x.restsOn(claim, snapshot.KeyOf(pod)) })
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
		for name := range resolved(pod) {
			k.addKey(Key{ClaimKey, name.Namespace, name.Name})
		}
		if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
			k.addKey(Key{ClaimKey, pod.Namespace, extended.ResourceClaimName})
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
			k.addKey(Key{ClaimKey, claim.namespace, claim.name})
		}
	}
	for claim := range is {
		if !was[claim] {
			k.addKey(Key{ClaimKey, claim.namespace, claim.name})
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
