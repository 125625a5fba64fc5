package resourceclaim

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// matchUpstream reports whether plans are to match a release. It is asked for in this file only.
func (o Options) matchUpstream() bool { return o.MatchUpstream != "" }

// match136 reports whether plans are to match v1.36. v1.37 decides otherwise in two places: see asksForNamed and
// keepsStatus.
func (o Options) match136() bool { return o.MatchUpstream == purekube.V1_36 }

// What pods and PodGroups get: BR-30-01 to BR-30-04.

// generated is BR-30-01: whether the entry's claim is made from a template, for this pod or its PodGroup alone. An
// entry with both fields, which the API does not allow, names a claim: what a user has created is never replaced.
func generated(pc *corev1.PodResourceClaim) bool {
	return pc.ResourceClaimName == nil && pc.ResourceClaimTemplateName != nil
}

// getsNothing is why nothing is created or reserved for a pod or PodGroup, whatever else is wrong with it, or empty.
//
// D-7: a claim made or reserved for a pod that is done would have to be taken back at once, and the next plan would
// make it again. Upstream goes by the deletion timestamp alone.
func (o Options) getsNothing(c *claimant) Code {
	switch {
	case c.DeletionTimestamp != nil:
		return c.code(ReasonPodDeleting, ReasonPodGroupDeleting)
	case !o.matchUpstream() && c.pod != nil && podstate.Done(c.pod):
		return ReasonPodDone
	}
	return ""
}

// stopsAtFailure is D-8: whether an entry that fails or has to wait holds back the entries after it, and a refused
// request the requests after it. By default no entry affects another.
func (o Options) stopsAtFailure() bool { return o.matchUpstream() }

// tooMany reports whether entry i is beyond the limit of the API. Such a PodGroup does not come from an API server.
func (o Options) tooMany(c *claimant, i int) bool {
	return !o.matchUpstream() && c.isGroup() && i >= maxPodGroupClaims
}

// refusedTemplate is the reason why no claim may be made from the template, or nil. The texts are upstream's, because
// they appear in its event. With several reasons it is the one about admin access, as in upstream's handleClaim.
func (o Options) refusedTemplate(template *resourcev1.ResourceClaimTemplate) error {
	requests := template.Spec.Spec.Devices.Requests
	if o.DenyAdminAccess {
		for i := range requests {
			// The alternatives of a prioritized list cannot ask for it.
			if e := requests[i].Exactly; e != nil && e.AdminAccess != nil && *e.AdminAccess {
				return errAdminAccess
			}
		}
	}
	if o.DenyPrioritizedList {
		for i := range requests {
			if len(requests[i].FirstAvailable) > 0 {
				return errPrioritizedList
			}
		}
	}
	return nil
}

// eventText is the text of an event. events.k8s.io/v1 rejects a longer text than that. Under MatchUpstream the text is
// upstream's, whole.
func (o Options) eventText(text string) string {
	if o.matchUpstream() {
		return text
	}
	return message.Event(text)
}

// asksForNamed is D-28: whether the API server is asked for a claim that the status names and that no cache has. A
// cache that lags does not show a claim that was made a moment ago, for example by a process that has crashed since.
// A second claim would replace it in the status, and the first one would stay unused until the pod is deleted. v1.36
// creates it.
func (o Options) asksForNamed() bool { return !o.match136() }

// skipsNeedless reports whether a claim that a status names is not asked for if no answer would change the plan.
func (o Options) skipsNeedless() bool { return !o.matchUpstream() }

// usesListedOnly is BR-30-04 and D-28: whether a claim is planned and reserved only in the version that the
// informer's cache has. Upstream asks its cache of own writes only when it looks for a claim to adopt, and v1.37
// before it asks the API server. By default the newest version counts, wherever it comes from.
func (o Options) usesListedOnly() bool { return o.matchUpstream() }

// groupsUnknown is D-27: whether the cluster may have PodGroups of which this process does not know.
func (o Options) groupsUnknown() bool { return !o.matchUpstream() && o.PodGroupOf == nil }

// isUnknownGroups is D-27: whether the claim, which the status of a pod names, is a PodGroup's while PodGroups are
// off. A claim for the pod alone would take the pod off the devices of its group.
func (o Options) isUnknownGroups(claim *resourcev1.ResourceClaim) bool {
	_, _, isGroups := owningPodGroup(claim)
	return isGroups && o.groupsUnknown()
}

// mayBeGroups is D-27: whether the claim is reserved for a PodGroup while PodGroups are off, so that the pod may be one
// of the group's. Then it is not reserved for the pod as well.
func (o Options) mayBeGroups(claim *resourcev1.ResourceClaim) bool {
	return o.groupsUnknown() &&
		slices.ContainsFunc(claim.Status.ReservedFor, func(c resourcev1.ResourceClaimConsumerReference) bool {
			return isPodGroup(&c)
		})
}

// asksForGroup is D-32: whether the API server is asked for a PodGroup that the cache does not have: it may be too new,
// since pods and PodGroups have separate watches. Whose an entry is depends on it: if the entry is the group's, a claim
// of the pod alone would split the group's pods over devices that they are to share. Upstream does nothing for the pod.
func (o Options) asksForGroup() bool { return !o.matchUpstream() }

// bound is whether the pod's entry is one of the group's. failsAt is the position of an entry of the group at which
// upstream gives up; -1: there is none. By default that entry is the group's problem, and the pod's entry is compared
// with the others.
func (o Options) bound(g *podGroup, pc *corev1.PodResourceClaim) (bound bool, failsAt int) {
	if bound, failsAt = g.binds(pc); !o.matchUpstream() {
		failsAt = -1
	}
	return bound, failsAt
}

// findsChanged is D-38: whether a claim counts as the entry's although an admission policy has taken its owner
// reference, the controller flag or the annotation off. Another claim would be changed in the same way, and so would
// all after it: one more claim with each plan.
func (o Options) findsChanged() bool { return !o.matchUpstream() }

// mayBeFor is D-38: whether a claim that is not the claimant's by its controller reference may have been created for
// entry i all the same. A claim of another pod or PodGroup is not: a pod that was recreated may have the status of
// its predecessor, and then it gets a claim of its own.
func mayBeFor(c *claimant, i int, claim *resourcev1.ResourceClaim) bool {
	controller := metav1.GetControllerOfNoCopy(claim)
	// The policy may have removed every trace. In doubt no claim is created: the user sees the error, and not one more
	// claim with each plan.
	if controller == nil {
		return true
	}
	// An object of another kind is the controller. The generateName or a further owner reference shows whether the
	// claim was created for this entry.
	return !isPodOwner(controller) && !isPodGroupOwner(controller) &&
		(claim.GenerateName == GenerateName(c.Name, c.entries[i].Name) ||
			slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == c.UID }))
}

// ownerReference is BR-30-02: the owner reference of a claim that is generated for an entry. As upstream's it has no
// blockOwnerDeletion: the deletion of a pod does not wait for its claims.
func ownerReference(c *claimant) metav1.OwnerReference {
	controller := true
	return metav1.OwnerReference{APIVersion: c.apiVersion, Kind: c.kind, Name: c.Name, UID: c.UID, Controller: &controller}
}

// owns is BR-30-02: whether the claim was made for the claimant, or for the PodGroup that the pod is in. A pod or
// PodGroup is the one with the UID of the claim's controller (IsForPod in
// k8s.io/dynamic-resource-allocation/resourceclaim). Names do not count: a StatefulSet's pod has the name of its
// predecessor, and not its claims.
func (o Options) owns(c *claimant, claim *resourcev1.ResourceClaim) bool {
	controller := metav1.GetControllerOfNoCopy(claim)
	if claim.Namespace != c.Namespace || controller == nil {
		return false
	}
	if controller.UID == c.UID {
		return true
	}
	// While the group is not known the claim is another's, and shared, which comes next, asks for the group.
	return c.member.name != "" && isPodGroupOwner(controller) && controller.Name == c.member.name &&
		o.isMembers(c.member, controller.UID)
}

// isMembers is D-33: whether a PodGroup of that UID, with the name of the pod's group, is the pod's group. Upstream
// knows a pod's group by its name, which may be another one's by now.
func (o Options) isMembers(m membership, uid types.UID) bool {
	return o.matchUpstream() || m.group != nil && uid == m.group.UID
}

// isReservedFor reports whether the claim lists the pod's UID as a consumer, whatever kind it is listed as
// (IsReservedForPod in k8s.io/dynamic-resource-allocation/resourceclaim). UIDs are unique over all kinds.
func isReservedFor(pod types.UID, claim *resourcev1.ResourceClaim) bool {
	return slices.ContainsFunc(claim.Status.ReservedFor, func(c resourcev1.ResourceClaimConsumerReference) bool {
		return c.UID == pod
	})
}

// reservedForGroup reports whether the claim is reserved for the PodGroup that the pod is in (D-33). While no such
// group is known, a reservation for its name counts: a Reserve for the pod alone would be a second consumer.
func (o Options) reservedForGroup(m membership, claim *resourcev1.ResourceClaim) bool {
	return m.name != "" &&
		slices.ContainsFunc(claim.Status.ReservedFor, func(c resourcev1.ResourceClaimConsumerReference) bool {
			return isPodGroup(&c) && c.Name == m.name && (m.group == nil || o.isMembers(m, c.UID))
		})
}

// reservesOnce is D-16: whether a claim that two entries of a pod name is reserved once.
func (o Options) reservesOnce() bool { return !o.matchUpstream() }

// refusal is D-8: why the API server would not take another consumer for the claim, or nil. Both rules are in its
// validation of the status. The plan reports them instead of sending the request: a request that is certain to be
// rejected would hold back the requests after it.
func (o Options) refusal(claim *resourcev1.ResourceClaim) *purekube.ObjectError {
	switch {
	case o.matchUpstream():
	case claim.DeletionTimestamp != nil:
		return claimError(claim, "metadata.deletionTimestamp", errClaimDeleting)
	case len(claim.Status.ReservedFor) >= resourcev1.ResourceClaimReservedForMaxSize:
		return claimError(claim, "status.reservedFor", errReservedForMax)
	}
	return nil
}

// keepsStatus is D-5 and D-31: whether the apply of a status includes a status that an earlier plan has written. A
// server-side apply removes the entries that its field manager applied before and now leaves out. For a pod with the
// entries a (in the status), b (to be created) and c (not needed, in the status) the apply names, after the create:
//
//	v1.36    b          a and c are removed, and the next pass adds a again (D-5; for a PodGroup also in v1.37, D-31)
//	v1.37    a, b       c is removed
//	default  a, b, c
//
// By default the status of an entry that names a claim is left out, since it is not this controller's, and so is a
// status whose entry does not exist.
func (o Options) keepsStatus(c *claimant, status *corev1.PodResourceClaimStatus) bool {
	switch {
	case !o.matchUpstream():
		at := c.position(status.Name)
		return at >= 0 && generated(&c.entries[at])
	case !o.match136():
		return !c.isGroup() && status.ResourceClaimName != nil
	}
	return false
}

// uid is D-10 and D-26: the UID that an action has, so that it is not done to another object of that name. Upstream
// sends none.
func (o Options) uid(object metav1.Object) types.UID {
	if o.matchUpstream() {
		return ""
	}
	return object.GetUID()
}

// maxGenerateName is the maximum length of a generateName: with the five characters that the API server adds, the name
// has at most 63 (BR-30-03).
const maxGenerateName = 57

// GenerateName returns the generateName of the claim that is created for an entry of a pod's spec.resourceClaims:
// "<pod>-<entry>-" if that has at most 57 bytes. If it is longer, both names are shortened in proportion to their
// length, and there is no dash at the end (BR-30-03; handleClaim in upstream's controller.go).
//
//	pod          entry        generateName
//	train-0      gpu          train-0-gpu-
//	50 bytes     20 bytes     39 bytes of the pod, a dash, 15 bytes of the entry
//	1 byte       57 bytes     1 byte of the pod, a dash, 54 bytes of the entry (D-9; upstream: a leading dash)
//
// For all valid names, the result with five added characters is a valid object name that has at least one character of
// each name (D-9). Upstream's result breaks this rule in three cases: the cut is after a dot of the pod's name, or
// leaves nothing of the pod's name, or leaves nothing of the entry's name.
func GenerateName(podName, podClaimName string) string {
	return Options{}.generateName(podName, podClaimName)
}

// generateName is BR-30-03 and D-9. It takes any text, and cuts bytes: names of the API are ASCII.
func (o Options) generateName(pod, entry string) string {
	whole := pod + "-" + entry + "-"
	if len(whole) <= maxGenerateName {
		return whole
	}
	// The API server would cut a longer name at its end, where the entry's name is: two entries of a pod would have the
	// same prefix, and nobody could see which claim is for which entry.
	podPart := len(pod) * maxGenerateName / len(whole)
	entryPart := len(entry) * maxGenerateName / len(whole)
	if o.matchUpstream() {
		return pod[:podPart] + "-" + entry[:entryPart]
	}
	// D-9: something is left of each name, and the other one makes room for it.
	if podPart == 0 {
		podPart = min(1, len(pod))
		entryPart = min(entryPart, maxGenerateName-1-podPart)
	}
	if entryPart == 0 {
		entryPart = min(1, len(entry))
		podPart = min(podPart, maxGenerateName-1-entryPart)
	}
	// D-9: a dot ends a label, and a label cannot start with the dash that follows.
	return strings.TrimRight(pod[:podPart], ".") + "-" + entry[:entryPart]
}

// newest is BR-30-04: the version that counts of a claim that is listed and assumed. The error says that the versions
// do not compare.
//
//	listed   assumed   result
//	5        7         the assumed one: the cache lags
//	7        5 or 7    the listed one: the cache has caught up, or is ahead
//	5        "x"       neither
//
// resourceVersions are compared as numbers (CompareResourceVersion of apimachinery), which the API allows for two
// versions of one object. A UID is not compared: a claim that was deleted and created again under its name has a newer
// resourceVersion.
func newest(listed, assumed *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, *purekube.ObjectError) {
	switch order, err := resourceversion.CompareResourceVersion(assumed.ResourceVersion, listed.ResourceVersion); {
	case err != nil:
		return nil, claimError(listed, "metadata.resourceVersion", err)
	case order > 0:
		return assumed, nil
	}
	return listed, nil
}

// preferred reports whether a is the better one of two claims for the same entry: a claim that stays before a claim
// that is being deleted, then a claim that is reserved, then a claim that is allocated, then by name. There should be
// only one; upstream takes any. A pod may be bound with the reserved one. By name, because two plans of one snapshot
// must not differ.
func preferred(a, b *resourcev1.ResourceClaim) bool {
	for _, better := range []func(*resourcev1.ResourceClaim) bool{
		func(c *resourcev1.ResourceClaim) bool { return c.DeletionTimestamp == nil },
		func(c *resourcev1.ResourceClaim) bool { return len(c.Status.ReservedFor) > 0 },
		func(c *resourcev1.ResourceClaim) bool { return c.Status.Allocation != nil },
	} {
		if better(a) != better(b) {
			return better(a)
		}
	}
	return a.Name < b.Name
}

// What becomes of claims: BR-30-05 to BR-30-08. BR-30-09 is in package memory.

// released is BR-30-05: whether a consumer of which this is known leaves status.reservedFor.
func released(consumer Code) bool {
	switch consumer {
	case ReasonConsumerDeleted, ReasonConsumerReplaced, ReasonConsumerDone, ReasonConsumerGone:
		return true
	}
	return false
}

// cached is what the snapshot has under one name: exactly one object, with that UID, which may be empty, or several,
// and then twice says so. done is about the one object.
type cached struct {
	there, done bool
	uid         types.UID
	twice       *purekube.ObjectError
}

// existence is BR-30-06: what is known about the object of that key with that UID, the consumer or owner that a claim
// names. It asks in upstream's order: the UIDs known to be deleted, the cache, the API server. Existence has three
// values: a pod about which there is no answer is unknown, never gone. The table is the default;
// TestBR3006_Existence has all combinations, and upstream's.
//
//	under the name in the cache            not asked   answer: none   this UID   another UID
//	this UID, done                         Done        Done           Done       Done
//	this UID                               MayRun      MayRun         MayRun     MayRun
//	this UID, seen to be deleted (D-37)    Unknown     Deleted        Confirmed  Deleted
//	another UID (D-21)                     Unknown     Gone           Confirmed  Replaced
//	nothing                                Unknown     Gone           Confirmed  Replaced
//	several objects                        Indeterminate, with an error, whatever the answer
//	several objects, seen to be deleted    Unknown     Deleted        Confirmed  Deleted
//
// D-37: after a restore from a backup, a deleted UID may exist again. Only the API server knows.
//
// D-21: claims are cached apart from pods and PodGroups. While the cache of pods lags, the cached object may be the
// predecessor, with the same name. So a cached object with another UID proves nothing. Upstream relies on it.
//
//	watch of claims   reserved for web-0 (UID 2)
//	watch of pods     web-0 (UID 1), not yet: deleted, web-0 (UID 2)
//
// A pod that the cache does not show as done is released on an answer of the API server alone.
func (o Options) existence(
	key purekube.Key, uid types.UID, c cached, seenDeleted bool, answer lookup,
) (Code, *purekube.ObjectError) {
	switch {
	// A reference without a UID means any object of the name, and so does a cached object without one: nothing that is
	// known about the name says whether the consumer exists.
	case uid == "":
		return ReasonConsumerIndeterminate, noUID(key)
	case seenDeleted && !o.doubtsCache():
		return ReasonConsumerDeleted, nil
	// BR-30-05: a final phase is final, whatever else is known about the UID.
	case c.uid == uid && c.done:
		return ReasonConsumerDone, nil
	case seenDeleted: // D-37
	case c.twice != nil:
		return ReasonConsumerIndeterminate, c.twice
	case c.there && c.uid == "":
		return ReasonConsumerIndeterminate, noUID(key)
	case c.uid == uid:
		return ReasonConsumerMayRun, nil
	case c.there && o.matchUpstream(): // D-21
		return ReasonConsumerReplaced, nil
	}
	switch {
	case !answer.asked:
		if unsafe := snapshot.CheckNeed(needOf(key)); unsafe != nil {
			return ReasonConsumerIndeterminate, unsafe // nobody can ask for it
		}
		return ReasonConsumerUnknown, answer.problem
	// An answer without a UID is not one that an API server gives.
	case answer.found != nil && answer.uid() == "":
		return ReasonConsumerIndeterminate, noUID(key)
	case answer.uid() == uid:
		// It is kept even if the answer shows that the pod is done: upstream does not look at the phase of a live pod.
		// The event that brings the pod into the cache releases the claim.
		return ReasonConsumerConfirmed, nil
	// The API server does not have this UID. Whether it has another pod of the name does not matter for the reason.
	case seenDeleted:
		return ReasonConsumerDeleted, nil
	case answer.found == nil:
		return ReasonConsumerGone, nil
	}
	return ReasonConsumerReplaced, nil
}

// doubtsCache is D-37: whether an object that the cache shows, and that was seen to be deleted, counts only if the API
// server confirms it.
func (o Options) doubtsCache() bool { return !o.matchUpstream() }

// asksMembers is D-36: whether a PodGroup stays a consumer while its pods run on the claim. Somebody may have removed
// the group's finalizer by force. Then it does not matter whether the group is there.
func (o Options) asksMembers() bool { return !o.matchUpstream() }

// endsPass reports whether an error about a consumer ends the plan of a claim. Upstream's lookup of a name that
// cannot be put into a path fails.
func (o Options) endsPass(problem *purekube.ObjectError) bool {
	return o.matchUpstream() && errors.Is(problem, purekube.ErrPathSegment)
}

// deallocates is BR-30-07: whether a claim without consumers loses its allocation. Without the finalizer the allocation
// is somebody else's.
func deallocates(claim *resourcev1.ResourceClaim) bool {
	return claim.Status.Allocation != nil && slices.Contains(claim.Finalizers, resourcev1.Finalizer)
}

// losesFinalizer is BR-30-07: whether a claim whose allocation ends, or that has none, loses the finalizer. The
// finalizer protects the allocation, and stays as long as the allocation does.
func losesFinalizer(claim *resourcev1.ResourceClaim, deallocated bool) bool {
	return slices.Contains(claim.Finalizers, resourcev1.Finalizer) && (deallocated || claim.Status.Allocation == nil)
}

// ownerMatters is D-17: whether the plan of an unused claim depends on the pod that the claim was generated for. What
// is being deleted already needs no second request, whatever the pod does: a claim that a foreign finalizer keeps
// would get a DELETE with each pass. It decides what affected.go and terms.go look for as well: otherwise an event of
// the pod would name claims that have nothing to do.
func (o Options) ownerMatters(claim *resourcev1.ResourceClaim) bool {
	return o.matchUpstream() || claim.DeletionTimestamp == nil
}

// outlived is BR-30-08: whether the pod that an unused claim was generated for still needs it, by what is known about
// that pod. Only ReasonOwnerNeedsNoClaim deletes the claim, and only ReasonOwnerUnknown asks: whatever is uncertain
// leaves the claim to the garbage collector or to a later plan. The garbage collector deletes the claim only with its
// pod, and the pod of a finished Job may stay for days.
func outlived(owner Code) Code {
	switch {
	case released(owner):
		return ReasonOwnerNeedsNoClaim
	case owner == ReasonConsumerUnknown:
		return ReasonOwnerUnknown
	case owner == ReasonConsumerIndeterminate:
		return ReasonOwnerIndeterminate
	}
	return ReasonOwnerMayRun
}

// resourceVersion is D-10: the resourceVersion that the deletion of a claim has, so that the claim is deleted only as
// it was read. Between the plan and the request the scheduler may reserve the claim. An earlier write of the plan
// changes the resourceVersion, and its own precondition has failed if anything else has changed.
func (o Options) resourceVersion(claim *resourcev1.ResourceClaim, first bool) string {
	if o.matchUpstream() || !first {
		return ""
	}
	return claim.ResourceVersion
}
