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
	"github.com/purekube/purekube/internal/snapshot"
)

// With returns the Index that also holds the objects of changed, each in the place of those of its
// kind, namespace and name, and the affected keys, sorted, each once: those that AffectedByPod,
// AffectedByClaim, AffectedByTemplate and AffectedByPodGroup name. Answers in
// changed.Confirmed, changed.ConfirmedClaims and changed.ConfirmedPodGroups are added to those that
// are there, by name. A changed.Deleted that is not nil is called from now on. PodGroups count where
// Options.PodGroupOf is set.
//
// With and Without name every key whose [Outcome] in PlanAll may differ: its Result, or the text of its Err.
// Nil objects and objects without a name belong to no key. They are in Err, in the error of PlanAll and in
// that of every Plan, and name no key unless they change an outcome. Nothing takes them out of an Index again.
//
// It costs O(log n) for each object in changed, and what they affect; one change in
// n/2 costs a pass over all objects.
func (x *Index) With(changed Snapshot) (next *Index, affected []purekube.Key) {
	n := *x
	var c changes
	n.pods, c.pods = x.pods.put(changed.Pods)
	n.claims, c.claims = x.claims.put(changed.Claims)
	n.assumed, c.assumed = x.assumed.put(changed.Assumed)
	n.templates, c.templates = x.templates.put(changed.Templates)
	if x.planner.PodGroupOf != nil {
		n.groups, c.groups = x.groups.put(podGroupsOf(changed.PodGroups))
	}
	n.planner.objects = &n
	n.planner.deleted = withEntries(x.planner.deleted, changed.Deleted)
	n.planner.answers = withEntries(x.planner.answers, changed.Answers)
	c.answers, c.deleted = changed.Answers, changed.Deleted.Difference(x.planner.deleted)
	if n.faults() != x.faults() {
		n.unusable = n.problems().Err()
	}
	return &n, n.affected(x, c)
}

// Without returns the Index that does not hold the objects of gone, by kind, namespace and name, nor
// the answers to the names in gone.Confirmed, gone.ConfirmedClaims and gone.ConfirmedPodGroups, and
// the affected keys, as With does. What is not there changes nothing.
func (x *Index) Without(gone Snapshot) (next *Index, affected []purekube.Key) {
	n := *x
	var c changes
	n.pods, c.pods = x.pods.delete(gone.Pods)
	n.claims, c.claims = x.claims.delete(gone.Claims)
	n.assumed, c.assumed = x.assumed.delete(gone.Assumed)
	n.templates, c.templates = x.templates.delete(gone.Templates)
	n.groups, c.groups = x.groups.delete(podGroupsOf(gone.PodGroups))
	n.planner.objects = &n
	n.planner.deleted = withoutEntries(x.planner.deleted, gone.Deleted)
	n.planner.answers = withoutEntries(x.planner.answers, gone.Answers)
	c.answers, c.deleted = gone.Answers, gone.Deleted.Intersection(x.planner.deleted)
	return &n, n.affected(x, c)
}

// withEntries are the entries of both maps. Neither is changed.
func withEntries[M ~map[K]V, K comparable, V any](entries, more M) M {
	if len(more) == 0 {
		return entries
	}
	all := make(M, len(entries)+len(more))
	maps.Copy(all, entries)
	maps.Copy(all, more)
	return all
}

// withoutEntries are the entries that gone does not have.
func withoutEntries[M ~map[K]V, K comparable, V any](entries, gone M) M {
	if len(entries) == 0 || len(gone) == 0 {
		return entries
	}
	rest := maps.Clone(entries)
	for key := range gone {
		delete(rest, key)
	}
	return rest
}

// changes are what differs between two Indexes.
type changes struct {
	pods            []change[*corev1.Pod]
	claims, assumed []change[*resourcev1.ResourceClaim]
	templates       []change[*resourcev1.ResourceClaimTemplate]
	groups          []change[*podGroup]
	answers         map[purekube.Need]purekube.Answer
	deleted         sets.Set[types.UID]
}

// affected are the keys whose plan may differ on account of the changes since before.
func (x *Index) affected(before *Index, c changes) []purekube.Key {
	var keys keySet
	for _, change := range c.pods {
		for _, e := range eventsOf(change, func(oldPod, newPod *corev1.Pod) podEvent { return podEvent{oldPod, newPod} }) {
			keys.addPodEvent(&before.planner, &x.planner, e, x.concernedBy(e))
		}
		if len(change.oldObjs) > 1 || len(change.newObjs) > 1 {
			// The plan says that there are several.
			keys.addKey(KeyOfPod(slices.Concat(change.oldObjs, change.newObjs)[0]))
		}
	}
	for _, change := range slices.Concat(c.claims, c.assumed) {
		name := snapshot.KeyOf(slices.Concat(change.oldObjs, change.newObjs)[0])
		keys.addKey(ClaimKey(name.Namespace, name.Name))
		// Which version counts may have changed with any of them.
		for _, claim := range slices.Concat(before.versions(name), x.versions(name)) {
			keys.addPods(&before.planner, &x.planner, x.users(claim))
			if group, _, ok := owningPodGroup(claim); ok {
				keys.addPods(&before.planner, &x.planner, x.members(types.NamespacedName{Namespace: name.Namespace, Name: group}))
			}
			keys.addGroups(&before.planner, &x.planner, x.groupUsers(claim))
		}
	}
	for _, change := range c.groups {
		group := slices.Concat(change.oldObjs, change.newObjs)[0]
		for _, e := range eventsOf(change, func(oldGroup, newGroup *podGroup) groupEvent { return groupEvent{oldGroup, newGroup} }) {
			var concerned []*resourcev1.ResourceClaim
			if e.matters() {
				concerned = x.consumedBy(group)
			}
			keys.addGroupEvent(&before.planner, &x.planner, e, concerned, x.members(snapshot.KeyOf(group)))
		}
		if len(change.oldObjs) > 1 || len(change.newObjs) > 1 {
			// The plan says that there are several.
			keys.addKey(group.key())
		}
	}
	for _, change := range c.templates {
		template := slices.Concat(change.oldObjs, change.newObjs)[0]
		var users []*corev1.Pod
		for pod := range x.pods.with(x.terms.named(templateTerm, template.Namespace, template.Name)) {
			if namesTemplate(pod, template) {
				users = append(users, pod)
			}
		}
		keys.addPods(&before.planner, &x.planner, users)
		var groups []*podGroup
		for g := range x.groups.with(x.terms.named(templateTerm, template.Namespace, template.Name)) {
			if namesTemplate(&g.Pod, template) {
				groups = append(groups, g)
			}
		}
		keys.addGroups(&before.planner, &x.planner, groups)
	}
	for need := range c.answers {
		name := types.NamespacedName{Namespace: need.Namespace, Name: need.Name}
		switch need.Kind {
		case podKind:
			for claim := range x.naming(name) {
				keys.addKey(KeyOfClaim(claim))
			}
			// D-37: so does the pod itself, if it was seen to be deleted.
			keys.addPods(&before.planner, &x.planner, x.pods.versions(name))
		case claimKind:
			keys.addPods(&before.planner, &x.planner, slices.Collect(x.podsUsing(name)))
			for g := range x.groups.with(x.terms.named(claimTerm, name.Namespace, name.Name)) {
				if g.Namespace == name.Namespace && resolvesTo(&g.Pod, name.Name) {
					keys.addGroups(&before.planner, &x.planner, []*podGroup{g})
				}
			}
		case podGroupKind:
			keys.addPods(&before.planner, &x.planner, x.members(name))
			keys.addGroups(&before.planner, &x.planner, x.groups.versions(name))
			g := &podGroup{}
			g.Namespace, g.Name = name.Namespace, name.Name
			for _, claim := range x.consumedBy(g) {
				keys.addKey(KeyOfClaim(claim))
			}
		}
	}
	if len(c.deleted) > 0 {
		x.addDeleted(&keys, before, c.deleted)
	}
	return keys.sorted()
}

// addDeleted is for UIDs that were seen to be deleted, or no longer count as such.
func (x *Index) addDeleted(keys *keySet, before *Index, uids sets.Set[types.UID]) {
	for pod := range x.pods.all() {
		if !uids.Has(pod.UID) {
			continue
		}
		keys.addPods(&before.planner, &x.planner, []*corev1.Pod{pod})
		for claim := range x.naming(snapshot.KeyOf(pod)) {
			keys.addKey(KeyOfClaim(claim))
		}
	}
	for g := range x.groups.all() {
		if uids.Has(g.UID) {
			keys.addGroups(&before.planner, &x.planner, []*podGroup{g})
			keys.addPods(&before.planner, &x.planner, x.members(snapshot.KeyOf(g)))
		}
	}
	for _, claims := range []iter.Seq[*resourcev1.ResourceClaim]{x.claims.all(), x.assumed.all()} {
		for claim := range claims {
			if slices.ContainsFunc(claim.Status.ReservedFor, func(c resourcev1.ResourceClaimConsumerReference) bool { return uids.Has(c.UID) }) {
				keys.addKey(KeyOfClaim(claim))
			}
		}
	}
}

// eventsOf are what happened to the objects of one name, each made by event of the old and the new one. Of
// several it is not known which is real, so that each of them came or went.
func eventsOf[P, E any](c change[P], event func(oldObj, newObj P) E) []E {
	var none P
	if len(c.oldObjs) <= 1 && len(c.newObjs) <= 1 {
		oldObj, newObj := none, none
		if len(c.oldObjs) > 0 {
			oldObj = c.oldObjs[0]
		}
		if len(c.newObjs) > 0 {
			newObj = c.newObjs[0]
		}
		return []E{event(oldObj, newObj)}
	}
	var events []E
	for _, o := range c.oldObjs {
		events = append(events, event(o, none))
	}
	for _, o := range c.newObjs {
		events = append(events, event(none, o))
	}
	return events
}

// concernedBy are the claims that the event concerns.
func (x *Index) concernedBy(e podEvent) []*resourcev1.ResourceClaim {
	if !e.matters() {
		return nil
	}
	var concerned []*resourcev1.ResourceClaim
	for i, pod := range e.pods() {
		if i == 0 || snapshot.KeyOf(pod) != snapshot.KeyOf(e.oldPod) {
			concerned = slices.AppendSeq(concerned, x.naming(snapshot.KeyOf(pod)))
		}
	}
	return concerned
}

// naming are the claims whose plan depends on that pod: as a consumer or as their owner.
func (x *Index) naming(pod types.NamespacedName) iter.Seq[*resourcev1.ResourceClaim] {
	term := x.terms.named(podTerm, pod.Namespace, pod.Name)
	return func(yield func(*resourcev1.ResourceClaim) bool) {
		for claim := range x.claims.with(term) {
			if x.planner.restsOn(claim, pod) && !yield(claim) {
				return
			}
		}
		if x.assumed.size == 0 {
			return
		}
		for claim := range x.assumed.with(term) {
			if x.planner.restsOn(claim, pod) && !yield(claim) {
				return
			}
		}
	}
}

// users are the pods that use the claim.
func (x *Index) users(claim *resourcev1.ResourceClaim) []*corev1.Pod {
	var users []*corev1.Pod
	for pod := range x.pods.with(x.terms.named(claimTerm, claim.Namespace, claim.Name)) {
		if usesClaim(pod, claim) {
			users = append(users, pod)
		}
	}
	// What follows finds the pod that the claim was generated for, also by a name that is not its
	// claim's yet.
	if of, ok := owningEntry(claim); ok {
		for pod := range x.pods.with(x.terms.uid(podUIDTerm, of.owner)) {
			if usesClaim(pod, claim) && !slices.Contains(users, pod) {
				users = append(users, pod)
			}
		}
	}
	return users
}

// versions are all claims of that name, the listed and the assumed ones.
func (x *Index) versions(name types.NamespacedName) []*resourcev1.ResourceClaim {
	if x.assumed.size == 0 {
		return x.claims.versions(name)
	}
	return slices.Concat(x.claims.versions(name), x.assumed.versions(name))
}
