package resourceclaim

import (
	"iter"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// changes are what differs between two Indexes.
type changes struct {
	pods            []persistent.Change[*corev1.Pod]
	claims, assumed []persistent.Change[*resourcev1.ResourceClaim]
	templates       []persistent.Change[*resourcev1.ResourceClaimTemplate]
	groups          []persistent.Change[*podGroup]
	answers         map[purekube.Need]purekube.Answer
	deleted         sets.Set[types.UID]
}

// follow makes the terms of an Index that has the changed objects, and returns the keys whose plan may differ.
func (x *Index) follow(before *Index, c changes) []purekube.Key {
	x.podTerms, x.podUIDs = before.podTerms.With(x.pods, c.pods), before.podUIDs.With(x.pods, c.pods)
	x.claimTerms, x.assumedTerms = before.claimTerms.With(x.claims, c.claims), before.assumedTerms.With(x.assumed, c.assumed)
	x.groupTerms = before.groupTerms.With(x.groups, c.groups)
	a := affected{before: before, after: x, keys: map[purekube.Key]struct{}{}}
	for _, change := range c.pods {
		a.changedPod(change)
	}
	for _, change := range c.claims {
		a.changedClaim(change.Name)
	}
	for _, change := range c.assumed {
		a.changedClaim(change.Name)
	}
	for _, change := range c.groups {
		a.changedGroup(change)
	}
	for _, change := range c.templates {
		a.owners([]uint64{x.terms.named(namesTemplate, change.Name)}, func(o *owner) bool { return o.namesTemplate(change.Name) })
	}
	for need := range c.answers {
		a.answered(need.Kind, types.NamespacedName{Namespace: need.Namespace, Name: need.Name})
	}
	for uid := range c.deleted {
		if before.seenDeleted(uid) != x.seenDeleted(uid) {
			a.seenDeleted(uid)
		}
	}
	return slices.SortedFunc(maps.Keys(a.keys), purekube.Key.Compare)
}

// affected collects the keys whose plan may differ between two Indexes.
type affected struct {
	before, after *Index
	keys          map[purekube.Key]struct{}
}

func (a *affected) add(key purekube.Key) {
	if key.Name != "" {
		a.keys[key] = struct{}{}
	}
}

// resolved adds the claims that the entries of a pod or PodGroup resolve to.
func (a *affected) resolved(o *owner) {
	for name := range o.resolved() {
		a.add(ClaimKey(name.Namespace, name.Name))
	}
}

func (a *affected) claims(claims iter.Seq[*resourcev1.ResourceClaim]) {
	for claim := range claims {
		a.add(KeyOf(claim))
	}
}

// owner adds a pod or PodGroup that has not changed itself, if it has or had work to do. For a pod that is done, it
// adds the claims that the pod no longer needs.
func (a *affected) owner(o owner) {
	if _, added := a.keys[o.key()]; !added && (a.after.needsWork(o) || a.before.needsWork(o)) {
		a.add(o.key())
	}
	if o.pod != nil && podstate.Done(o.pod) {
		a.freed(o.pod)
	}
}

// freed adds the claims of a pod that needs them no more.
func (a *affected) freed(pod *corev1.Pod) {
	o := podOwner(pod)
	a.resolved(&o)
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		a.add(ClaimKey(pod.Namespace, extended.ResourceClaimName))
	}
}

// owners adds the matching pods and PodGroups with one of the terms. They have not changed themselves.
func (a *affected) owners(terms []uint64, match func(*owner) bool) {
	var o owner // one for all
	for pod := range a.after.podTerms.Versions(terms...) {
		if o = podOwner(pod); match(&o) {
			a.owner(o)
		}
	}
	for g := range a.after.groupTerms.Versions(terms...) {
		if o = groupOwner(g); match(&o) {
			a.owner(o)
		}
	}
}

// events are the changes of the objects of one name, as the old and the new object. The old object is nil if the object
// was added, and the new one if it was removed. If several objects have the name, nobody can know which is real: each
// of them counts as added or removed.
func events[P any](c persistent.Change[*P]) [][2]*P {
	if !c.Ambiguous() {
		old, now := c.Only()
		return [][2]*P{{old, now}}
	}
	var events [][2]*P
	for _, o := range c.Before {
		events = append(events, [2]*P{o, nil})
	}
	for _, o := range c.After {
		events = append(events, [2]*P{nil, o})
	}
	return events
}

// changedPod is for an event of a pod (enqueuePod in upstream's controller.go).
func (a *affected) changedPod(c persistent.Change[*corev1.Pod]) {
	if c.Ambiguous() {
		a.add(PodKey(c.Name.Namespace, c.Name.Name)) // the plan says so
	}
	for _, e := range events(c) {
		old, now := e[0], e[1]
		if old != nil && a.before.needsWork(podOwner(old)) || now != nil && a.after.needsWork(podOwner(now)) {
			a.add(PodKey(c.Name.Namespace, c.Name.Name))
		}
		replaced := old == nil || now == nil || old.UID != now.UID
		if replaced && old != nil {
			a.freed(old)
		}
		if now != nil && podstate.Done(now) {
			a.freed(now)
		}
		if replaced || podstate.Done(old) != podstate.Done(now) {
			a.claims(a.after.claimsOn(c.Name))
		}
		// D-36: a claim that the pod keeps for its group, or no longer does.
		was, is := a.before.keptForGroup(old), a.after.keptForGroup(now)
		for _, one := range [][2]map[groupsClaim]struct{}{{was, is}, {is, was}} {
			for kept := range one[0] {
				if _, both := one[1][kept]; !both {
					a.add(ClaimKey(kept.claim.Namespace, kept.claim.Name))
				}
			}
		}
	}
}

// groupsClaim is a claim and a PodGroup that it may be reserved for.
type groupsClaim struct {
	claim types.NamespacedName
	group string
}

// keptForGroup are the claims that stay reserved for the pod's PodGroup on account of the pod.
func (x *Index) keptForGroup(pod *corev1.Pod) map[groupsClaim]struct{} {
	if pod == nil || x.options.upstream() || podstate.Done(pod) {
		return nil
	}
	group := x.options.groupName(pod)
	if group == "" {
		return nil
	}
	kept := map[groupsClaim]struct{}{}
	o := podOwner(pod)
	for claim := range o.resolved() {
		kept[groupsClaim{claim, group}] = struct{}{}
	}
	return kept
}

// changedClaim is for an event of a claim (enqueueResourceClaim in upstream's controller.go).
func (a *affected) changedClaim(name types.NamespacedName) {
	x := a.after
	a.add(ClaimKey(name.Namespace, name.Name))
	// Which version counts may have changed with any of them.
	versions := slices.Concat(a.before.claims.Versions(name), a.before.assumed.Versions(name), x.claims.Versions(name), x.assumed.Versions(name))
	terms := []uint64{x.terms.named(usesClaim, name)}
	groups := map[string]struct{}{}
	for _, claim := range versions {
		if of, ok := owningEntry(claim); ok {
			// The pod that the claim was generated for, also by a name that is not its claim's yet.
			if term := x.terms.Term(usesEntry, string(of.owner)); !slices.Contains(terms, term) {
				terms = append(terms, term)
			}
		}
		if group, _, ok := owningPodGroup(claim); ok {
			groups[group] = struct{}{}
		}
	}
	a.owners(terms, func(o *owner) bool { return slices.ContainsFunc(versions, o.uses) })
	for group := range groups {
		a.members(types.NamespacedName{Namespace: name.Namespace, Name: group})
	}
}

// changedGroup is for an event of a PodGroup (enqueuePodGroup in upstream's controller.go).
func (a *affected) changedGroup(c persistent.Change[*podGroup]) {
	if c.Ambiguous() {
		a.add(PodGroupKey(c.Name.Namespace, c.Name.Name)) // the plan says so
	}
	for _, e := range events(c) {
		old, now := e[0], e[1]
		if old != nil && a.before.needsWork(groupOwner(old)) || now != nil && a.after.needsWork(groupOwner(now)) {
			a.add(PodGroupKey(c.Name.Namespace, c.Name.Name))
		}
		if old != nil && now != nil && old.UID == now.UID {
			continue
		}
		if old != nil {
			o := groupOwner(old)
			a.resolved(&o)
		}
		a.claims(a.after.claimsOfGroup(c.Name))
	}
	a.members(c.Name)
}

// members adds the pods of a PodGroup.
func (a *affected) members(group types.NamespacedName) {
	x := a.after
	for pod := range x.podTerms.Versions(x.terms.named(isMember, group)) {
		if pod.Namespace == group.Namespace && x.options.groupName(pod) == group.Name {
			a.owner(podOwner(pod))
		}
	}
}

// answered is for an answer of the API server that came or went.
func (a *affected) answered(kind string, name types.NamespacedName) {
	x := a.after
	switch kind {
	case podKind:
		a.claims(x.claimsOn(name))
		// D-37: so does the pod itself, if it was seen to be deleted.
		for _, pod := range x.pods.Versions(name) {
			a.owner(podOwner(pod))
		}
	case claimKind:
		a.owners([]uint64{x.terms.named(usesClaim, name)}, func(o *owner) bool { return o.resolvesTo(name) })
	case podGroupKind:
		a.members(name)
		for _, g := range x.groups.Versions(name) {
			a.owner(groupOwner(g))
		}
		a.claims(x.claimsOfGroup(name))
	}
}

// seenDeleted is for a UID that was seen to be deleted, or no longer counts as such.
func (a *affected) seenDeleted(uid types.UID) {
	x := a.after
	term := x.terms.Term(hasUID, string(uid))
	for pod := range x.podUIDs.Versions(term) {
		if pod.UID == uid {
			a.owner(podOwner(pod))
			a.claims(x.claimsOn(snapshot.KeyOf(pod)))
		}
	}
	for g := range x.groupTerms.Versions(term) {
		if g.UID == uid {
			a.owner(groupOwner(g))
			a.members(snapshot.KeyOf(g))
		}
	}
	for claim := range x.claimsWith(x.terms.Term(namesUID, string(uid))) {
		if isReservedFor(uid, claim) {
			a.add(KeyOf(claim))
		}
	}
}

// What follows finds claims that refer to others.

// claimsWith are the claims with a term, listed and assumed ones.
func (x *Index) claimsWith(term uint64) iter.Seq[*resourcev1.ResourceClaim] {
	return func(yield func(*resourcev1.ResourceClaim) bool) {
		for claim := range x.claimTerms.Versions(term) {
			if !yield(claim) {
				return
			}
		}
		if x.assumed.Len() > 0 {
			x.assumedTerms.Versions(term)(yield)
		}
	}
}

// claimsOn are the claims whose plan depends on that pod: as a consumer or as their owner.
func (x *Index) claimsOn(pod types.NamespacedName) iter.Seq[*resourcev1.ResourceClaim] {
	return filtered(x.claimsWith(x.terms.named(namesPod, pod)), func(c *resourcev1.ResourceClaim) bool { return x.options.restsOn(c, pod) })
}

// claimsOfGroup are the claims that name the PodGroup as a consumer.
func (x *Index) claimsOfGroup(group types.NamespacedName) iter.Seq[*resourcev1.ResourceClaim] {
	return filtered(x.claimsWith(x.terms.named(consumedBy, group)), func(c *resourcev1.ResourceClaim) bool { return namesGroup(c, group) })
}

func filtered[T any](all iter.Seq[T], keep func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		for o := range all {
			if keep(o) && !yield(o) {
				return
			}
		}
	}
}

// needsWork reports whether the plan for a pod or PodGroup may have anything to do or to say, without making it
// (podNeedsWork and podGroupNeedsWork in upstream's controller.go).
func (x *Index) needsWork(o owner) bool {
	if o.getsNothing(x.options) {
		return false
	}
	o.member = x.groupOf(o.pod)
	switch {
	case o.invalid() != nil, o.isGroup() && len(o.entries) > maxPodGroupClaims:
		return true // the plan says so
	case o.member.name != "" && o.member.group == nil:
		return true // the plan asks for the group, or says what is wrong with it
	}
	for i := range o.entries {
		name, state := o.claimName(i)
		switch {
		case o.repeated(i) || state == NameNotCreated || state == NameUnsupported:
			return true
		case state == NameNotNeeded:
			continue
		}
		isGenerated := generated(&o.entries[i])
		claim, ambiguous := x.claim(types.NamespacedName{Namespace: o.Namespace, Name: name})
		switch {
		case ambiguous, claim == nil && isGenerated:
			return true
		case claim == nil:
			// Its user has to create it, and then there is an event.
		case isGenerated && !x.owns(&o, claim):
			// Upstream waits for that claim to go, although its own pass generates another.
			return true
		case o.node != "" && claim.Status.Allocation != nil && !x.reserved(&o, claim):
			return true
		}
	}
	return false
}
