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

// changes are the differences between two Indexes: per kind one Change for each name, and the answers and UIDs that
// were added or removed. With and Without fill it; follow reads it.
//
// A Change has the objects of the name before and after. That is more than an informer's event says: a name that two
// objects have is a Change with two objects on that side.
type changes struct {
	pods            []persistent.Change[*corev1.Pod]
	claims, assumed []persistent.Change[*resourcev1.ResourceClaim]
	templates       []persistent.Change[*resourcev1.ResourceClaimTemplate]
	groups          []persistent.Change[*podGroup]
	answers         map[purekube.Need]purekube.Answer
	deleted         sets.Set[types.UID]
}

// follow makes the terms of an Index that has the changed objects, and returns the keys whose plan may differ, sorted,
// each once.
//
// A queue of keys depends on this function alone: a key that it leaves out is not planned again before the next full
// pass. So it names every key whose outcome can differ, and in doubt one too many. It also must not name all keys, or
// each event would cost a pass over the cluster. What lies between is to find, for a changed object, the plans that
// read it:
//
//	changed       plans that read it                          found by
//	pod           its own                                     its name
//	              claims that it used                         its entries, its extended resource claim
//	              claims that name it as consumer or owner    namesPod
//	claim         its own                                     its name
//	              pods and PodGroups that use it              usesClaim, usesEntry
//	              pods of the PodGroup that it belongs to     isMember
//	template      pods and PodGroups whose entries name it    namesTemplate
//	PodGroup      its own                                     its name
//	              its pods                                    isMember
//	              claims that are reserved for it             consumedBy
//	answer        the plans that had the Need                 as for the object of the answer
//	deleted UID   the object, its pods, its claims            hasUID, namesUID
//
// A pod or PodGroup is named only if it has or had work (needsWork): the event of a claim that 256 running pods use
// must not put 256 keys into the queue.
func (x *Index) follow(before *Index, c changes) []purekube.Key {
	// The terms come first: everything below asks the Index after the change. What the change removed is in c, and
	// claims that referred to it are still found by its name.
	x.podTerms, x.podUIDs = before.podTerms.With(x.pods, c.pods), before.podUIDs.With(x.pods, c.pods)
	x.claimTerms, x.assumedTerms = before.claimTerms.With(x.claims, c.claims), before.assumedTerms.With(x.assumed, c.assumed)
	x.groupTerms = before.groupTerms.With(x.groups, c.groups)
	a := affected{before: before, after: x, keys: map[purekube.Key]struct{}{}}
	for _, change := range c.pods {
		a.changedPod(change)
	}
	// A pod that cannot be named keeps every reservation for a PodGroup. Informers show none.
	if x.options.PodGroupOf != nil && x.pods.MoreUnnamed(before.pods) {
		for _, claim := range slices.AppendSeq(slices.Collect(x.claims.AllVersions()), x.assumed.AllVersions()) {
			a.add(KeyOf(claim))
		}
	}
	// Only the name counts for a claim. A listed and an assumed version of one name are one claim, and which version
	// counts is decided among all of them.
	for _, change := range slices.Concat(c.claims, c.assumed) {
		a.changedClaim(change.Name)
	}
	for _, change := range c.groups {
		a.changedGroup(change)
	}
	// Only the text of the spec names a template, and no plan of a claim reads one. A name that several templates have
	// fails the entry, and such an entry is work.
	for _, change := range c.templates {
		a.owners([]uint64{x.terms.named(namesTemplate, change.Name)}, func(o *owner) bool { return o.namesTemplate(change.Name) })
	}
	for need := range c.answers {
		a.answered(need.Kind, types.NamespacedName{Namespace: need.Namespace, Name: need.Name})
	}
	// With adds a UID that may be there already, and Without removes one that may be absent. Such a UID changes no
	// plan.
	for uid := range c.deleted {
		if before.seenDeleted(uid) != x.seenDeleted(uid) {
			a.seenDeleted(uid)
		}
	}
	return slices.SortedFunc(maps.Keys(a.keys), purekube.Key.Compare)
}

// affected collects the keys whose plan may differ between two Indexes. The methods below add keys; none removes any.
type affected struct {
	before, after *Index
	keys          map[purekube.Key]struct{}
}

// add adds a key. It ignores a key without a name, which is no object's: a status.extendedResourceClaimStatus with an
// empty name gives such a key.
func (a *affected) add(key purekube.Key) {
	if key.Name != "" {
		// The key may belong to an object that does not exist, such as a claim that a pod's status names after the
		// claim was deleted. Its plan is empty.
		a.keys[key] = struct{}{}
	}
}

// resolved adds the claims that the entries of a pod or PodGroup resolve to.
// It is called for owners that no longer need these claims.
func (a *affected) resolved(o *owner) {
	for name := range o.resolved() {
		a.add(ClaimKey(name.Namespace, name.Name))
	}
}

// claims adds the keys of these claims. A claim that is listed and assumed comes twice and is one key.
func (a *affected) claims(claims iter.Seq[*resourcev1.ResourceClaim]) {
	for claim := range claims {
		a.add(KeyOf(claim))
	}
}

// owner adds a pod or PodGroup that has not changed itself, if it has or had work to do. For a pod that is done, it
// adds the claims that the pod no longer needs.
//
// Both Indexes are asked. A pod whose last work has just vanished, for example because its missing claim now exists,
// has a plan that differs: it has become empty, and an error that the caller still shows is gone.
func (a *affected) owner(o owner) {
	// The cheap condition comes first: a pod of a large group is met again for each of its claims.
	if _, added := a.keys[o.key()]; !added && (a.after.needsWork(o) || a.before.needsWork(o)) {
		a.add(o.key())
	}
	// Upstream's enqueuePod does the same for each pod that it looks at, also when a claim or a template has changed.
	if o.pod != nil && podstate.Done(o.pod) {
		a.freed(o.pod)
	}
}

// freed adds the claims that a pod needed and needs no longer, because it is done, deleted or replaced (PodClaims in
// k8s.io/dynamic-resource-allocation/resourceclaim). The claims' own plans decide what becomes of them.
func (a *affected) freed(pod *corev1.Pod) {
	o := podOwner(pod)
	a.resolved(&o)
	// The scheduler creates this claim for a pod that requests a device as an extended resource, such as
	// "example.com/gpu: 1". No entry of the spec names such a claim.
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		a.add(ClaimKey(pod.Namespace, extended.ResourceClaimName))
	}
}

// owners adds the matching pods and PodGroups with one of the terms. They have not changed themselves. match decides:
// another object may have the same hash, and of several objects with one name all are found by the terms of each.
func (a *affected) owners(terms []uint64, match func(*owner) bool) {
	// match takes the owner's address, so that an owner declared in the loop would be one allocation for each pod.
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
//
//	before   after    events
//	a        a'       (a, a')
//	a        -        (a, nil)
//	-        b        (nil, b)
//	a        b, c     (a, nil) (nil, b) (nil, c)
//
// The last row may name too many keys and never too few: whichever object is the real one, it is among the events.
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

// changedPod is for an event of a pod (enqueuePod in upstream's controller.go). It answers three questions: whether the
// pod has or had work; which claims the pod has stopped to need; and which claims name the pod without the pod naming
// them. Upstream does not ask the third question.
func (a *affected) changedPod(c persistent.Change[*corev1.Pod]) {
	if c.Ambiguous() {
		a.add(PodKey(c.Name.Namespace, c.Name.Name)) // the plan says so
	}
	for _, e := range events(c) {
		old, now := e[0], e[1]
		// The old pod is asked in the old Index, since its work depended on the claims and templates before the change.
		if old != nil && a.before.needsWork(podOwner(old)) || now != nil && a.after.needsWork(podOwner(now)) {
			a.add(PodKey(c.Name.Namespace, c.Name.Name))
		}
		// A pod of another UID is another pod, though the name is the same: a StatefulSet's pod that was evicted and
		// recreated between two events of a lagging watch. The old pod is gone then, without an event of its deletion.
		replaced := old == nil || now == nil || old.UID != now.UID
		if replaced && old != nil {
			a.freed(old)
		}
		// Also if the pod was done before: each event of a done pod names its claims, as upstream's enqueuePod does.
		if now != nil && podstate.Done(now) {
			a.freed(now)
		}
		// The plan of a claim reads three things of a pod that it names: whether it is there, its UID, and whether it
		// is done. While these stay the same, as in the many updates of a running pod's status, no claim has to be
		// looked at.
		if replaced || podstate.Done(old) != podstate.Done(now) {
			a.claims(a.after.claimsOn(c.Name))
		}
		// D-36: claims that have lost this reason to stay reserved, and claims that have gained it.
		for kept := range a.before.keptForGroup(old).SymmetricDifference(a.after.keptForGroup(now)) {
			a.add(ClaimKey(kept.claim.Namespace, kept.claim.Name))
		}
	}
}

// groupsClaim is a claim and a PodGroup that it may be reserved for. Both count: a claim's plan asks for each group
// whether a pod of that group still uses the claim.
type groupsClaim struct {
	claim types.NamespacedName
	group string
}

// keptForGroup are the claims that stay reserved for the pod's PodGroup on account of the pod (D-36): the claims that
// its entries resolve to, while it is not done. It is nil for a nil pod, for a pod in no group, and under
// MatchUpstream, which does not ask the pods. It must agree with groupsRunningOn, which answers the same question from
// the claim.
func (x *Index) keptForGroup(pod *corev1.Pod) sets.Set[groupsClaim] {
	group := x.options.groupName(pod)
	if group == "" || x.options.upstream() || podstate.Done(pod) {
		return nil
	}
	kept := sets.New[groupsClaim]()
	o := podOwner(pod)
	for claim := range o.resolved() {
		kept.Insert(groupsClaim{claim, group})
	}
	return kept
}

// changedClaim is for an event of a claim (enqueueResourceClaim in upstream's controller.go). Upstream does not enqueue
// a deleted claim; here its key is named, because its outcome has changed: it is empty.
func (a *affected) changedClaim(name types.NamespacedName) {
	x := a.after
	a.add(ClaimKey(name.Namespace, name.Name))
	// All versions of the name are asked, before and after. The event of one version can change which one counts: when
	// an assumed version is dropped, the listed one counts again, and it may belong to another pod.
	versions := slices.Concat(a.before.claims.Versions(name), a.before.assumed.Versions(name), x.claims.Versions(name), x.assumed.Versions(name))
	// Pods and PodGroups with an entry that resolves to this name.
	terms := []uint64{x.terms.named(usesClaim, name)}
	groups := map[string]struct{}{}
	for _, claim := range versions {
		if of, ok := owningEntry(claim); ok {
			// The pod or PodGroup that the claim was generated for, also if its status does not name the claim:
			// "created, but the status could not be written". That is the claim that its next plan adopts.
			if term := x.terms.Term(usesEntry, string(of.owner)); !slices.Contains(terms, term) {
				terms = append(terms, term)
			}
		}
		// The group's pods copy the name of the group's claim into their own status, and no term of theirs names the
		// claim before they have done so (D-34).
		if group, _, ok := owningPodGroup(claim); ok {
			groups[group] = struct{}{}
		}
	}
	// An owner uses the claim if it uses any version.
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
		// The plan of a claim reads the group's name and UID alone. A status that has changed is of no interest to it.
		if old != nil && now != nil && old.UID == now.UID {
			continue
		}
		// The group is gone or replaced. Its claims are named by its entries, as upstream's enqueuePodGroup does, and
		// below by their consumers.
		if old != nil {
			o := groupOwner(old)
			a.resolved(&o)
		}
		a.claims(a.after.claimsOfGroup(c.Name))
	}
	// In every case: a pod's entry belongs to the group if it equals an entry of the group, so each change of the
	// group's entries can change whose an entry is.
	a.members(c.Name)
}

// members adds the pods of a PodGroup that have or had work. Their plans read the group's entries, and its claims.
func (a *affected) members(group types.NamespacedName) {
	x := a.after
	for pod := range x.podTerms.Versions(x.terms.named(isMember, group)) {
		// A term is a hash of namespace and name, so the pod is asked whether it is a member.
		if pod.Namespace == group.Namespace && x.options.groupName(pod) == group.Name {
			a.owner(podOwner(pod))
		}
	}
}

// answered is for an answer of the API server that came or went. It finds the plans that have the Need from the objects
// that refer to the name: an Index does not remember which plan asked.
func (a *affected) answered(kind string, name types.NamespacedName) {
	x := a.after
	switch kind {
	case podKind:
		a.claims(x.claimsOn(name))
		// D-37: so does the pod itself, if it was seen to be deleted. Its plan has had a Need for the pod.
		for _, pod := range x.pods.Versions(name) {
			a.owner(podOwner(pod))
		}
	case claimKind:
		// D-28: the plan of an owner whose status names a claim that no cache has. No plan of a claim asks for a claim.
		a.owners([]uint64{x.terms.named(usesClaim, name)}, func(o *owner) bool { return o.resolvesTo(name) })
	case podGroupKind:
		// D-32: the pods of a group that is not in the snapshot; D-37: the group that was seen to be deleted; and the
		// claims that are reserved for the group.
		a.members(name)
		for _, g := range x.groups.Versions(name) {
			a.owner(groupOwner(g))
		}
		a.claims(x.claimsOfGroup(name))
	}
}

// seenDeleted is for a UID that was seen to be deleted, or no longer counts as such. Such a UID makes the cached object
// doubtful: the plans that read the object have a Need, or have had one.
func (a *affected) seenDeleted(uid types.UID) {
	x := a.after
	term := x.terms.Term(hasUID, string(uid))
	for pod := range x.podUIDs.Versions(term) {
		if pod.UID == uid {
			a.owner(podOwner(pod))
			// By name, since the claim that the pod owns reads whether the cached pod is doubtful.
			a.claims(x.claimsOn(snapshot.KeyOf(pod)))
		}
	}
	for g := range x.groupTerms.Versions(term) {
		if g.UID == uid {
			a.owner(groupOwner(g))
			a.members(snapshot.KeyOf(g))
		}
	}
	// By UID, since the pod of that UID may be gone from the cache already, and one or several other pods may have its
	// name: the claim is then reserved for, or owned by, a UID that no pod of the snapshot has.
	for claim := range x.claimsWith(x.terms.Term(namesUID, string(uid))) {
		_, owner, owned := owningPod(claim)
		if isReservedFor(uid, claim) || owned && owner == uid && x.options.ownerMatters(claim) {
			a.add(KeyOf(claim))
		}
	}
}

// What follows finds claims that refer to others.

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

// claimsOn are the claims whose plan depends on that pod: as a consumer or as their owner. restsOn looks at each, since
// terms are hashes.
func (x *Index) claimsOn(pod types.NamespacedName) iter.Seq[*resourcev1.ResourceClaim] {
	return filtered(x.claimsWith(x.terms.named(namesPod, pod)), func(c *resourcev1.ResourceClaim) bool { return x.options.restsOn(c, pod) })
}

// claimsOfGroup are the claims that name the PodGroup as a consumer. A claim that the group merely owns is not among
// these: no plan of a claim asks whether the owning group exists, and the garbage collector deletes the claim
// (BR-30-08).
func (x *Index) claimsOfGroup(group types.NamespacedName) iter.Seq[*resourcev1.ResourceClaim] {
	return filtered(x.claimsWith(x.terms.named(consumedBy, group)), func(c *resourcev1.ResourceClaim) bool { return namesGroup(c, group) })
}

// filtered is the sequence without the elements that keep rejects, in the same order.
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
//
// If it is false, the outcome of the plan is empty: no action, no Need, no event and no error. If it is true, the plan
// may still be empty, which costs one plan. It costs the entries of the owner and makes no copy of an object. A
// converged pod is the usual case: each entry has its claim, and each allocated claim is reserved.
func (x *Index) needsWork(o owner) bool {
	if o.getsNothing(x.options) {
		return false
	}
	// The owner is a copy, so what is learned about the group here does not get into the caller's.
	o.member = x.groupOf(o.pod)
	switch {
	case o.invalid() != nil, o.isGroup() && len(o.entries) > maxPodGroupClaims:
		return true // the plan says so
	case o.member.name != "" && o.member.group == nil:
		return true // the plan asks for the group, or says what is wrong with it
	}
	// One entry with work is enough; the plan looks at all of them.
	for i := range o.entries {
		name, state := o.claimName(i)
		switch {
		// A claim to create or to adopt, or an error and an event.
		case o.repeated(i) || state == NameNotCreated || state == NameUnsupported:
			return true
		case state == NameNotNeeded:
			continue
		}
		isGenerated := generated(&o.entries[i])
		claim, ambiguous := x.claim(types.NamespacedName{Namespace: o.Namespace, Name: name})
		switch {
		// The status names a claim that is not there: it is asked for (D-28), recreated, or the group's new claim is
		// named.
		case ambiguous, claim == nil && isGenerated:
			return true
		case claim == nil:
		// The named claim belongs to another. Upstream waits for that claim to go, although its own pass generates
		// another.
		case isGenerated && !x.owns(&o, claim):
			// Upstream waits for that claim to go, although its own pass generates another.
			return true
		// Before the pod has a node, the scheduler reserves. Before the claim is allocated, nothing can be reserved.
		case o.node != "" && claim.Status.Allocation != nil && !x.reserved(&o, claim):
			return true
		}
	}
	return false
}
