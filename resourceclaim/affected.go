package resourceclaim

import (
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

// With returns the Index with the objects of changed added, or replacing the objects of the same kind, namespace and
// name. It also returns the affected keys, sorted, each once. It adds answers by Need, and Deleted by UID. PodGroups
// count only if Options.PodGroupOf is set.
//
// With and Without name every key whose [Outcome] in PlanAll may differ: its Result, or the text of its Err.
//
//   - A changed, added or removed pod: the pod, if it has or had work to do. If the pod was added, removed or replaced,
//     or is done, also the claims that name it as a consumer or as their owner, and the claims that it no longer needs:
//     its entries' claims, and the claim of status.extendedResourceClaimStatus. Upstream does not look for claims that
//     name a pod which does not name them.
//   - A claim: the claim, and each pod and PodGroup that uses it and has or had work to do. A pod uses a claim that one
//     of its entries resolves to, or that was generated for it or its PodGroup. For a pod that is done, also the other
//     claims of the pod. Upstream does not name a deleted claim.
//   - A template: the pods and PodGroups that have work to do and whose spec names it.
//   - A PodGroup: the group and its pods, if they have or had work to do. If the group was added, removed or replaced,
//     also the claims that name it as a consumer or that its entries resolve to.
//   - An answer or a UID in Deleted: the keys that asked for the answer, and the claims that name the object.
//
// Nil objects and objects without a name belong to no key. Err, the error of PlanAll and the error of every Plan name
// them, and nothing removes them from an Index.
//
// With costs O(log n) for each object in changed, plus the affected objects. About one change in n/2 costs a pass over
// all objects.
//
// changed.Now is ignored: no decision depends on it.
func (x *Index) With(changed Snapshot) (next *Index, affected []purekube.Key) {
	return x.changed(changed, true)
}

// Without returns the Index without the objects of gone, by kind, namespace and name, and without its answers and UIDs.
// It also returns the affected keys, as With does. Names that are not in the Index change nothing.
//
// Only the names in gone count. An informer's last known state of a deleted object serves as well as the object that
// With was given. All objects of an ambiguous name are removed.
func (x *Index) Without(gone Snapshot) (next *Index, affected []purekube.Key) {
	return x.changed(gone, false)
}

// changed returns the Index with what is in by, if keep is true, and without it otherwise.
func (x *Index) changed(by Snapshot, keep bool) (next *Index, affected []purekube.Key) {
	// The copy shares all collections with x. Each line below replaces one of them in the copy alone.
	n, c := *x, changes{answers: by.Answers, deleted: by.Deleted}
	n.pods, c.pods = x.pods.Changed(by.Pods, keep)
	n.claims, c.claims = x.claims.Changed(by.Claims, keep)
	n.assumed, c.assumed = x.assumed.Changed(by.Assumed, keep)
	n.templates, c.templates = x.templates.Changed(by.Templates, keep)
	// NewIndex ignores PodGroups in this case too.
	if x.options.PodGroupOf != nil {
		n.groups, c.groups = x.groups.Changed(podGroupsOf(by.PodGroups), keep)
	}
	if len(by.Answers) > 0 {
		// Another goroutine may be reading x.answers.
		n.answers = map[purekube.Need]purekube.Answer{}
		maps.Copy(n.answers, x.answers)
		for need, answer := range by.Answers {
			if n.answers[need] = answer; !keep {
				delete(n.answers, need)
			}
		}
	}
	// follow asks for each UID whether it was known before.
	n.deleted = changedUIDs(x.deleted, by.Deleted, keep)
	return &n, n.follow(x, c)
}

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
// each event would cost a pass over the cluster. So it finds, for each changed object, the plans that read the object:
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
	x.claimTerms, x.assumedTerms = before.claimTerms.With(x.claims, c.claims),
		before.assumedTerms.With(x.assumed, c.assumed)
	x.groupTerms = before.groupTerms.With(x.groups, c.groups)
	a := &affected{before: before, after: x, keys: map[purekube.Key]struct{}{}}
	for _, change := range c.pods {
		a.changedPod(change)
	}
	// A nil or nameless pod keeps every reservation for a PodGroup. Informers show no such pod.
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
		a.claimants([]uint64{x.terms.named(namesTemplate, change.Name)}, func(c *claimant) bool {
			return c.namesTemplate(change.Name)
		})
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
// It is called for claimants that no longer need these claims.
func (a *affected) resolved(c *claimant) {
	for name := range c.resolved() {
		a.add(ClaimKey(name.Namespace, name.Name))
	}
}

// claimant adds a pod or PodGroup that has not changed itself, if its plan is or was not empty. For a pod that is
// done, it adds the claims that the pod no longer needs.
//
// Both Indexes are asked. A pod whose last work has just vanished, for example because its missing claim now exists,
// has a plan that differs: it has become empty, and an error that the caller still shows is gone.
func (a *affected) claimant(c claimant) {
	// The cheap condition comes first: a pod of a large group is met again for each of its claims.
	if _, added := a.keys[c.key()]; !added && (a.after.hasWork(c) || a.before.hasWork(c)) {
		a.add(c.key())
	}
	// Upstream's enqueuePod does the same for each pod that it looks at, also when a claim or a template has changed.
	if c.pod != nil && podstate.Done(c.pod) {
		a.freed(c.pod)
	}
}

// hasWork reports whether the plan of a pod or PodGroup is not empty. A converged pod is the usual case: each entry has
// its claim, and each allocated claim is reserved.
func (x *Index) hasWork(c claimant) bool {
	var buffer [usual]entry
	v, _ := x.decideClaimant(&c, buffer[:0])
	return !v.empty()
}

// freed adds the claims that a pod needed and needs no longer, because it is done, deleted or replaced (PodClaims in
// k8s.io/dynamic-resource-allocation/resourceclaim). The claims' own plans decide what becomes of them.
func (a *affected) freed(pod *corev1.Pod) {
	c := podClaimant(pod)
	a.resolved(&c)
	// The scheduler creates this claim for a pod that requests a device as an extended resource, such as
	// "example.com/gpu: 1". No entry of the spec names such a claim.
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		a.add(ClaimKey(pod.Namespace, extended.ResourceClaimName))
	}
}

// claimants adds the matching pods and PodGroups with one of the terms. They have not changed themselves. match
// decides: another object may have the same hash, and of several objects with one name all are found by the terms of
// each.
func (a *affected) claimants(terms []uint64, match func(*claimant) bool) {
	// match takes the claimant's address, so that one declared in the loop would be an allocation for each pod.
	var c claimant // one for all
	for pod := range a.after.podTerms.Versions(terms...) {
		if c = podClaimant(pod); match(&c) {
			a.claimant(c)
		}
	}
	for g := range a.after.groupTerms.Versions(terms...) {
		if c = groupClaimant(g); match(&c) {
			a.claimant(c)
		}
	}
}

// changedPod is for an event of a pod (enqueuePod in upstream's controller.go). It answers three questions: whether the
// pod has or had work; which claims the pod no longer needs; and which claims name the pod without the pod naming
// them. Upstream does not ask the third question.
//
// If several objects have the name, nobody can know which is real: each of them counts as added or removed.
func (a *affected) changedPod(c persistent.Change[*corev1.Pod]) {
	old, now := c.Only()
	// A pod of another UID is another pod, though the name is the same: a StatefulSet's pod that was evicted and
	// recreated between two events of a lagging watch. The old pod is gone then, without an event of its deletion.
	same := old != nil && now != nil && old.UID == now.UID
	a.unusable(PodKey(c.Name.Namespace, c.Name.Name), c.Ambiguous())
	// The old pod is asked in the old Index, since its work depended on the claims and templates before the change.
	for _, pod := range c.Before {
		if a.working(a.before, podClaimant(pod)); !same {
			a.freed(pod)
		}
	}
	for _, pod := range c.After {
		// Also if the pod was done before: each event of a done pod names its claims, as upstream's enqueuePod does.
		if a.working(a.after, podClaimant(pod)); podstate.Done(pod) {
			a.freed(pod)
		}
	}
	// The plan of a claim reads three things of a pod that it names: whether it is there, its UID, and whether it
	// is done. While these stay the same, as in the many updates of a running pod's status, no claim has to be
	// looked at.
	if !same || podstate.Done(old) != podstate.Done(now) {
		a.claimsOn(c.Name)
	}
	// D-36: claims that have lost this reason to stay reserved, and claims that have gained it.
	for kept := range a.before.keptForGroup(c.Before).SymmetricDifference(a.after.keptForGroup(c.After)) {
		a.add(ClaimKey(kept.claim.Namespace, kept.claim.Name))
	}
}

// unusable adds the key of a name that several objects have or had: its plan says so.
func (a *affected) unusable(key purekube.Key, ambiguous bool) {
	if ambiguous {
		a.add(key)
	}
}

// working adds a pod or PodGroup that has changed, if its plan in one of the Indexes is not empty.
func (a *affected) working(x *Index, c claimant) {
	if x.hasWork(c) {
		a.add(c.key())
	}
}

// groupsClaim is a claim and a PodGroup that it may be reserved for. Both count: a claim's plan asks for each group
// whether a pod of that group still uses the claim.
type groupsClaim struct {
	claim types.NamespacedName
	group string
}

// keptForGroup returns the claims that stay reserved for a PodGroup because one of these pods of the group may still
// run (D-36): the claims that the entries of the pods resolve to. The pods have one name. It must agree with
// groupsRunningOn, which answers the same question for a claim.
func (x *Index) keptForGroup(pods []*corev1.Pod) sets.Set[groupsClaim] {
	kept := sets.Set[groupsClaim]{}
	for _, pod := range pods {
		group := x.options.groupName(pod)
		if group == "" || !x.options.asksMembers() || podstate.Done(pod) {
			continue
		}
		c := podClaimant(pod)
		for claim := range c.resolved() {
			kept.Insert(groupsClaim{claim, group})
		}
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
	versions := slices.Concat(a.before.claims.Versions(name), a.before.assumed.Versions(name), x.claims.Versions(name),
		x.assumed.Versions(name))
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
	a.claimants(terms, func(c *claimant) bool { return slices.ContainsFunc(versions, c.uses) })
	for group := range groups {
		a.members(types.NamespacedName{Namespace: name.Namespace, Name: group})
	}
}

// changedGroup is for an event of a PodGroup (enqueuePodGroup in upstream's controller.go).
func (a *affected) changedGroup(c persistent.Change[*podGroup]) {
	old, now := c.Only()
	// The plan of a claim reads the group's name and UID alone. A change of the status does not matter to it.
	same := old != nil && now != nil && old.UID == now.UID
	a.unusable(PodGroupKey(c.Name.Namespace, c.Name.Name), c.Ambiguous())
	for _, g := range c.Before {
		claimant := groupClaimant(g)
		if a.working(a.before, claimant); !same {
			// The group is gone or replaced. Its claims are named by its entries, as upstream's enqueuePodGroup does, and
			// below by their consumers.
			a.resolved(&claimant)
		}
	}
	for _, g := range c.After {
		a.working(a.after, groupClaimant(g))
	}
	if !same {
		a.claimsOfGroup(c.Name)
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
			a.claimant(podClaimant(pod))
		}
	}
}

// answered is for an answer of the API server that came or went. It finds the plans that have the Need from the objects
// that refer to the name: an Index does not remember which plan asked.
func (a *affected) answered(kind string, name types.NamespacedName) {
	x := a.after
	switch kind {
	case podKind:
		// The claims that name the pod, and the pod itself if it was seen to be deleted (D-37).
		a.claimsOn(name)
		for _, pod := range x.pods.Versions(name) {
			a.claimant(podClaimant(pod))
		}
	case claimKind:
		// D-28: the plan of a claimant whose status names a claim that no cache has. No plan of a claim asks for a claim.
		a.claimants([]uint64{x.terms.named(usesClaim, name)}, func(c *claimant) bool { return c.resolvesTo(name) })
	case podGroupKind:
		// D-32: the pods of a group that is not in the snapshot; D-37: the group that was seen to be deleted; and the
		// claims that are reserved for the group.
		a.members(name)
		for _, g := range x.groups.Versions(name) {
			a.claimant(groupClaimant(g))
		}
		a.claimsOfGroup(name)
	}
}

// seenDeleted is for a UID that was seen to be deleted, or no longer counts as such. Such a UID makes the cached object
// doubtful: the plans that read the object have a Need, or have had one, as when the answer is added or removed.
func (a *affected) seenDeleted(uid types.UID) {
	x := a.after
	term := x.terms.Term(hasUID, string(uid))
	for pod := range x.podUIDs.Versions(term) {
		if pod.UID == uid {
			a.answered(podKind, snapshot.KeyOf(pod))
		}
	}
	for g := range x.groupTerms.Versions(term) {
		if g.UID == uid {
			a.answered(podGroupKind, snapshot.KeyOf(g))
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

// claimsOn adds the claims whose plan depends on that pod: as a consumer, or as their owner where that matters. Each is
// looked at, since terms are hashes.
func (a *affected) claimsOn(pod types.NamespacedName) {
	x := a.after
	for c := range x.claimsWith(x.terms.named(namesPod, pod)) {
		owner, _, ok := owningPod(c)
		if c.Namespace == pod.Namespace &&
			(ok && owner == pod.Name && x.options.ownerMatters(c) || consumes(c, pod.Name, isPod)) {
			a.add(KeyOf(c))
		}
	}
}

// claimsOfGroup adds the claims that name the PodGroup as a consumer. A claim that the group merely owns is not among
// these: no plan of a claim asks whether the owning group exists, and the garbage collector deletes the claim
// (BR-30-08).
func (a *affected) claimsOfGroup(group types.NamespacedName) {
	x := a.after
	for c := range x.claimsWith(x.terms.named(consumedBy, group)) {
		if c.Namespace == group.Namespace && consumes(c, group.Name, isPodGroup) {
			a.add(KeyOf(c))
		}
	}
}
