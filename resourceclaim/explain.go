package resourceclaim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Code is the machine-readable part of a [Reason]. It is one of the constants below; a new version may add codes.
//
// A code is stable and made to be compared, for example in an alert; the message of a Reason is for people and may
// change.
type Code string

// What is wrong with the object itself, so that nothing or less is decided.
const (
	// VersionMalformed comes beside other reasons, and the other two come alone. None of them comes from an object that
	// an API server has returned.
	ReasonDuplicate        Code = "Duplicate"        // several objects in the snapshot have this name
	ReasonVersionMalformed Code = "VersionMalformed" // two versions of the claim cannot be compared: the claim in Claims is used
	ReasonPodWithoutUID    Code = "PodWithoutUID"    // the pod has no UID, so a claim for it would have no owner
)

// What a consumer of a claim is known to be.
const (
	// One for each consumer, at status.reservedFor[i] (standing in consumer.go). The first five keep the reservation,
	// the next four release it, and the last one waits for an answer.
	ReasonConsumerOfOtherKind   Code = "ConsumerOfOtherKind"   // neither a pod nor a PodGroup (or Options.PodGroupOf is nil): kept. The Kind of Object is its resource
	ReasonConsumerMayRun        Code = "ConsumerMayRun"        // the pod exists and is not done, or the PodGroup exists: kept
	ReasonConsumerConfirmed     Code = "ConsumerConfirmed"     // the API server has the pod or PodGroup: kept
	ReasonConsumerIndeterminate Code = "ConsumerIndeterminate" // the snapshot has conflicting information about the pod: kept
	ReasonConsumerUsedByPods    Code = "ConsumerUsedByPods"    // pods of the PodGroup still use the claim: kept (D-36)
	ReasonConsumerDeleted       Code = "ConsumerDeleted"       // known to be deleted: released
	ReasonConsumerReplaced      Code = "ConsumerReplaced"      // another pod has its name: released
	ReasonConsumerDone          Code = "ConsumerDone"          // the pod will not run any more: released
	ReasonConsumerGone          Code = "ConsumerGone"          // the API server has no pod of that name: released
	ReasonConsumerUnknown       Code = "ConsumerUnknown"       // you must look it up at the API server first
)

// What becomes of a claim.
const (
	// Allocated or Deallocated is at status.allocation if the claim has an allocation. The owner's codes are at
	// metadata.ownerReferences, only for a claim that a pod controls and that nobody uses: of a used claim the owner
	// decides nothing.
	ReasonAllocated          Code = "Allocated"          // the claim has an allocation and keeps it
	ReasonDeallocated        Code = "Deallocated"        // the allocation is cleared
	ReasonFinalizerRemoved   Code = "FinalizerRemoved"   // the finalizer is removed
	ReasonOwnerMayRun        Code = "OwnerMayRun"        // the pod that the claim was generated for may need it
	ReasonOwnerIndeterminate Code = "OwnerIndeterminate" // the snapshot has conflicting information about that pod: the claim stays
	ReasonOwnerNotInCache    Code = "OwnerNotInCache"    // that pod is not in the snapshot: the garbage collector will delete the claim
	ReasonOwnerUnknown       Code = "OwnerUnknown"       // you must look up that pod at the API server first
	ReasonOwnerNeedsNoClaim  Code = "OwnerNeedsNoClaim"  // that pod is done or gone: the claim is deleted
	ReasonClaimDeleting      Code = "ClaimDeleting"      // the claim is already being deleted, so its owner does not matter (D-17)
)

// The state of an entry of a pod's spec.resourceClaims, and why a pod or PodGroup gets nothing.
const (
	// The codes of a pod or PodGroup come alone, because no entry is looked at; but PodGroupMissing comes before the
	// reasons of the entries. The codes of a claim are at spec.resourceClaims[i], one for each entry.
	ReasonPodDeleting       Code = "PodDeleting"       // a pod that is being deleted gets nothing
	ReasonPodDeleted        Code = "PodDeleted"        // a pod that is known to be deleted gets nothing (D-21)
	ReasonPodUnknown        Code = "PodUnknown"        // a pod that was seen to be deleted: you must look it up at the API server first (D-37)
	ReasonPodDone           Code = "PodDone"           // a pod that is done gets nothing (D-7)
	ReasonPodGroupUnknown   Code = "PodGroupUnknown"   // you must look up the PodGroup at the API server first
	ReasonPodGroupMissing   Code = "PodGroupMissing"   // the pod names a PodGroup that does not exist, or a name that several have
	ReasonPodGroupDeleting  Code = "PodGroupDeleting"  // a PodGroup that is being deleted gets nothing
	ReasonPodGroupDeleted   Code = "PodGroupDeleted"   // a PodGroup that is known to be deleted gets nothing
	ReasonPodGroupInvalid   Code = "PodGroupInvalid"   // a PodGroup without a UID, or of an unknown API, gets nothing
	ReasonClaimNotNeeded    Code = "ClaimNotNeeded"    // the status says that the entry needs no claim
	ReasonClaimUnknown      Code = "ClaimUnknown"      // the status names a claim that you must look up at the API server first (D-28)
	ReasonClaimNotInCache   Code = "ClaimNotInCache"   // the claim exists, and is reserved once the cache has it
	ReasonClaimWaiting      Code = "ClaimWaiting"      // the claim of the PodGroup does not exist yet
	ReasonClaimShared       Code = "ClaimShared"       // the claim of the PodGroup exists
	ReasonClaimMissing      Code = "ClaimMissing"      // a user must create the claim
	ReasonClaimAdopted      Code = "ClaimAdopted"      // the claim exists, and its name is written to the status
	ReasonClaimCreated      Code = "ClaimCreated"      // a claim is created from the template
	ReasonClaimFailed       Code = "ClaimFailed"       // nothing is done; the message says why
	ReasonClaimUnallocated  Code = "ClaimUnallocated"  // the claim waits for the scheduler to allocate it
	ReasonClaimUnscheduled  Code = "ClaimUnscheduled"  // the scheduler reserves the claim when it assigns a node to the pod
	ReasonClaimReserved     Code = "ClaimReserved"     // the claim is reserved for the pod
	ReasonClaimToBeReserved Code = "ClaimToBeReserved" // the pod's plan reserves the claim
)

// Reason is one step toward a decision. Object is the pod, claim or consumer that the step is about.
// Field is the path in the object that the key is for, and Message a sentence about it.
type Reason = purekube.Reason[Code]

// Explanation says why the plan for a key is as it is.
type Explanation struct {
	// Key is the key that was asked for.
	Key purekube.Key `json:"key"`
	// Reasons are in the order of the fields that they are about: for a claim its consumers, its allocation and its
	// owner, for a pod its entries. Problems of the object itself come first. Without reasons, this package decides
	// nothing about the object: a pod without entries, for example.
	Reasons []Reason `json:"reasons,omitempty"`
}

// Explain says why [Plan] decides about the key as it does. It returns the error of [Plan] or, if the object is not in
// the snapshot, a [purekube.ObjectError] around [purekube.ErrNotFound].
//
// The reasons come from the same functions as the plan (standings, owner, resolve), so that the two agree. With Needs
// in the plan, the reasons say what is asked for; give the answers and explain again.
func Explain(s Snapshot, key purekube.Key, o Options) (Explanation, error) {
	return NewIndex(s, o).Explain(key)
}

// ExplainAll explains the pods, claims and PodGroups of the snapshot that have reasons, sorted by key, at the cost of
// about one pass over the snapshot. Other objects, such as a pod without entries, have no plan. The error is the error
// of [PlanAll]; problems of one key are among its reasons.
func ExplainAll(s Snapshot, o Options) ([]Explanation, error) { return NewIndex(s, o).ExplainAll() }

// Explain is [Explain] for the objects of the Index.
//
// It costs about two plans of the key.
func (x *Index) Explain(key purekube.Key) (Explanation, error) {
	if err := x.options.err(); err != nil {
		return Explanation{}, err
	}
	// The plan is made for its error alone: Explain returns the same error as Plan.
	reasons, there := x.explain(key)
	_, err := x.Plan(key)
	// Plan has an empty result and no error for such a key. An empty explanation would say that nothing is decided
	// about an existing object, so Explain has an error.
	if !there {
		problems := x.problems()
		err = errors.Join(&purekube.ObjectError{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrNotFound}, problems.Err())
	}
	return Explanation{Key: key, Reasons: reasons}, err
}

// ExplainAll is [ExplainAll] for the objects of the Index.
func (x *Index) ExplainAll() ([]Explanation, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	var out []Explanation
	add := func(key purekube.Key, reasons []Reason) {
		if len(reasons) > 0 {
			out = append(out, Explanation{Key: key, Reasons: reasons})
		}
	}
	// An object without reasons, such as a pod without entries or a claim that is neither reserved nor allocated, is
	// left out: in a cluster these are most objects.
	x.each(
		func(pod *corev1.Pod) { add(KeyOf(pod), x.explainOwner(podOwner(pod))) },
		func(claim *resourcev1.ResourceClaim) { add(KeyOf(claim), x.explainClaim(claim)) },
		func(g *podGroup) { add(PodGroupKey(g.Namespace, g.Name), x.explainOwner(groupOwner(g))) },
		func(key purekube.Key) {
			reasons, _ := x.explain(key)
			add(key, reasons)
		})
	slices.SortFunc(out, func(a, b Explanation) int { return a.Key.Compare(b.Key) })
	return out, x.wholeProblems()
}

// explain returns the reasons for the key, and whether there is such an object. An ambiguous name is there: several
// objects have it.
func (x *Index) explain(key purekube.Key) (reasons []Reason, there bool) {
	twice := false
	switch name := key.NamespacedName(); key.Kind {
	case claimKind:
		for _, p := range x.versionProblems(name) {
			reasons = append(reasons, Reason{Field: p.Field, Code: ReasonVersionMalformed, Object: key, Message: p.Err.Error()})
		}
		claim, ambiguous := x.claim(name)
		if twice = ambiguous; claim != nil {
			return append(reasons, x.explainClaim(claim)...), true
		}
	case podGroupKind:
		if g := x.groups.Find(name); g != nil {
			return x.explainOwner(groupOwner(g)), true
		}
		twice = x.groups.Ambiguous(name)
	case podKind:
		if pod := x.pods.Find(name); pod != nil {
			return x.explainOwner(podOwner(pod)), true
		}
		twice = x.pods.Ambiguous(name)
	}
	if twice {
		reasons = append(reasons, duplicateReason(key))
	}
	return reasons, twice
}

// duplicateReason is the only reason for a name that several objects have.
func duplicateReason(key purekube.Key) Reason {
	return Reason{Code: ReasonDuplicate, Object: key, Message: purekube.ErrDuplicate.Error() + ": nothing is planned for this name"}
}

// consumerReasons has the code and the text for each standing. The texts say "pod", and explainClaim says "PodGroup"
// instead where the consumer is one.
var consumerReasons = [...]struct {
	code Code
	text string
}{
	otherKind:     {ReasonConsumerOfOtherKind, "it is not a pod, so the reservation is kept"},
	mayRun:        {ReasonConsumerMayRun, "it may run, so the reservation is kept"},
	confirmed:     {ReasonConsumerConfirmed, "the API server has it, so the reservation is kept"},
	usedByMembers: {ReasonConsumerUsedByPods, "its members still use the claim, so the reservation is kept"},
	indeterminate: {ReasonConsumerIndeterminate, "the snapshot has conflicting information about it, so the reservation is kept"},
	deleted:       {ReasonConsumerDeleted, "it was deleted and no longer needs the claim"},
	replaced:      {ReasonConsumerReplaced, "another pod has its name now, so it no longer needs the claim"},
	done:          {ReasonConsumerDone, "it is done and no longer needs the claim"},
	gone:          {ReasonConsumerGone, "there is no pod of that name, so it no longer needs the claim"},
	unknown:       {ReasonConsumerUnknown, "it must be looked up at the API server first"},
}

// explainClaim explains the consumers, then the allocation, the finalizer and the owner: the order in which planClaim
// decides. What is to be done is read from the plan and not decided a second time.
func (x *Index) explainClaim(claim *resourcev1.ResourceClaim) []Reason {
	r, _ := x.planClaim(claim)
	var reasons []Reason
	unused := true
	// The problems are in the error of the plan.
	standings, _ := x.standings(claim, nil, &snapshot.Problems{})
	for i, st := range standings {
		consumer := &claim.Status.ReservedFor[i]
		unused = unused && st.dropped()
		object := PodKey(claim.Namespace, consumer.Name)
		what, text := "pod", consumerReasons[st].text
		switch {
		// A consumer has the name of a resource and not of a kind; "workloads.example.com" is all that is known about
		// it.
		case st == otherKind:
			what = consumer.Resource
			if consumer.APIGroup != "" {
				what += "." + consumer.APIGroup
			}
			object.Kind = what
		case isPodGroup(consumer):
			object.Kind = podGroupKind
			what, text = podGroupKind, strings.ReplaceAll(text, "pod", podGroupKind)
		}
		reasons = append(reasons, Reason{
			Field:   fmt.Sprintf("status.reservedFor[%d]", i),
			Code:    consumerReasons[st].code,
			Object:  object,
			Message: fmt.Sprintf("reserved for %s %s: %s", what, object.NamespacedName(), text),
		})
	}
	// A claim that is not allocated needs no word about its allocation.
	var release *Release
	unprotected := false
	for _, a := range r.Actions {
		switch a := a.(type) {
		case Release:
			release = &a
		case RemoveFinalizer:
			unprotected = true
		case CreateClaim, SetClaimStatuses, Reserve, DeleteClaim: // they are not about status.allocation or the finalizer
		}
	}
	switch {
	case claim.Status.Allocation == nil:
	case release != nil && release.Deallocate:
		reasons = append(reasons, Reason{Field: "status.allocation", Code: ReasonDeallocated, Message: "cleared: no consumer is left"})
	default:
		reasons = append(reasons, Reason{Field: "status.allocation", Code: ReasonAllocated, Message: "kept: " + whyAllocated(claim, unused, len(r.Needs) > 0)})
	}
	if unprotected {
		reasons = append(reasons, Reason{Field: "metadata.finalizers", Code: ReasonFinalizerRemoved, Message: "removed: the claim is no longer allocated"})
	}
	// While the claim is in use, the owner does not matter, and the plan does not ask about it.
	if name, _, ok := owningPod(claim); ok && unused {
		reasons = append(reasons, x.explainOwnerOf(claim, types.NamespacedName{Namespace: claim.Namespace, Name: name}))
	}
	return reasons
}

// whyAllocated is the reason why an allocation stays, in the order in which the conditions of release fail. "Why is
// this claim still allocated?" is the question of whoever waits for the device.
func whyAllocated(claim *resourcev1.ResourceClaim, unused, asks bool) string {
	switch {
	case asks:
		return "lookups at the API server must be answered first"
	case !unused:
		return "the claim has consumers"
	case len(claim.Status.ReservedFor) > 0:
		return "the claim does not have the finalizer " + resourcev1.Finalizer
	default:
		return "no consumer was released, and the claim is not being deleted"
	}
}

// explainOwnerOf explains what the pod that the unused claim was generated for means for it (owner in claimpass.go).
func (x *Index) explainOwnerOf(claim *resourcev1.ResourceClaim, pod types.NamespacedName) Reason {
	r := Reason{Field: "metadata.ownerReferences", Object: PodKey(pod.Namespace, pod.Name)}
	text := ""
	if !x.options.ownerMatters(claim) {
		r.Code, r.Message = ReasonClaimDeleting, fmt.Sprintf("generated for pod %s, and already being deleted", pod)
		return r
	}
	// The owner is asked as in planClaim, with the same answers to Needs, and so with the same result.
	switch st, problem := x.owner(claim); {
	case problem != nil && st == ownerNeedsIt:
		r.Code, text = ReasonOwnerIndeterminate, "has conflicting information in the snapshot: the claim stays"
	case st == ownerNeedsItNoMore:
		r.Code, text = ReasonOwnerNeedsNoClaim, "is done or gone: the claim is deleted"
	case st == ownerAbsent:
		r.Code, text = ReasonOwnerNotInCache, "is not in the snapshot: the garbage collector will delete it"
	case st == ownerUnknown:
		r.Code, text = ReasonOwnerUnknown, "must be looked up at the API server first"
	default:
		r.Code, text = ReasonOwnerMayRun, "may need it"
	}
	r.Message = fmt.Sprintf("generated for pod %s, which %s", pod, text)
	return r
}

// why is a reason about an object: the object that a reader looks at next, which need not be the explained one.
func why(field string, code Code, kind string, name types.NamespacedName, format string, args ...any) Reason {
	object := purekube.Key{Kind: kind, Namespace: name.Namespace, Name: name.Name}
	return Reason{Field: field, Code: code, Object: object, Message: fmt.Sprintf(format, args...)}
}

// explainOwner explains the entries of a pod or PodGroup, or why nothing is done for any of them. The cases are in the
// order of planOwner: what ends a plan early is the only reason.
func (x *Index) explainOwner(o owner) []Reason {
	self, noun := o.name(), o.noun()
	// A pod and a PodGroup have codes of their own, so that a caller can count them apart.
	ofKind := func(pod, group Code) Code {
		if o.isGroup() {
			return group
		}
		return pod
	}
	// The problem of an unusable answer is in the error of the plan.
	presence, _ := x.presence(o.key(), o.UID)
	switch {
	case len(o.entries) == 0:
		return nil
	case o.DeletionTimestamp != nil:
		return []Reason{why("metadata.deletionTimestamp", ofKind(ReasonPodDeleting, ReasonPodGroupDeleting), o.kind, self,
			"%s %s is being deleted: nothing is created or reserved for it", noun, self)}
	// D-7: no entries and a deletion were handled above, so the pod is done.
	case o.getsNothing(x.options):
		return []Reason{why("status.phase", ReasonPodDone, o.kind, self, "pod %s is done: nothing is created or reserved for it", self)}
	case presence == absent:
		return []Reason{why("metadata.uid", ofKind(ReasonPodDeleted, ReasonPodGroupDeleted), o.kind, self,
			"%s %s was deleted: nothing is created or reserved for it", noun, self)}
	}
	// The plan says whether the owner or its group is asked for: a Need that decides nothing is not a reason.
	r, _ := x.planOwner(&o)
	problem := o.invalid()
	switch {
	case slices.Contains(r.Needs, o.need()):
		return []Reason{why("metadata.uid", ofKind(ReasonPodUnknown, ReasonPodGroupUnknown), o.kind, self,
			"%s %s was seen to be deleted: it must be looked up at the API server first", noun, self)}
	case problem != nil && o.isGroup():
		return []Reason{why(problem.Field, ReasonPodGroupInvalid, o.kind, self, "nothing is created for PodGroup %s: %s", self, problem.Err)}
	case problem != nil:
		return []Reason{why(problem.Field, ReasonPodWithoutUID, o.kind, self, "pod %s has no UID: nothing is created or reserved for it", self)}
	}
	// planOwner has set this for its own pass. A fresh one has not noted what was consulted.
	o.member = x.groupOf(o.pod)
	group := types.NamespacedName{Namespace: o.Namespace, Name: o.member.name}
	const field = "spec.schedulingGroup"
	switch {
	case slices.Contains(r.Needs, needOf(PodGroupKey(group.Namespace, group.Name))):
		return []Reason{why(field, ReasonPodGroupUnknown, podGroupKind, group, "PodGroup %s must be looked up at the API server first", group)}
	// D-32: upstream ends here. By default the pod's own entries are explained as well.
	case o.member.problem != nil && x.options.upstream():
		return []Reason{why(field, ReasonPodGroupMissing, podGroupKind, group, "PodGroup %s does not exist: nothing is created or reserved for the pod", group)}
	case o.member.problem != nil:
		return append([]Reason{why(field, ReasonPodGroupMissing, podGroupKind, group,
			"PodGroup %s does not exist, so it is unknown which entries belong to it: no claim is created for the pod", group)}, x.explainEntries(&o)...)
	}
	return x.explainEntries(&o)
}

// explainEntries has one reason for each entry, in their order.
func (x *Index) explainEntries(o *owner) []Reason {
	var reasons []Reason
	for i := range o.entries {
		r := Reason{Code: ReasonClaimFailed, Message: ErrTooManyClaims.Error() + ": no claim is created for this entry"}
		// generateAll stops at the fifth entry of a PodGroup too.
		if !o.isGroup() || i < maxPodGroupClaims || x.options.upstream() {
			r = x.explainEntry(o, i)
		}
		r.Field = fmt.Sprintf("spec.resourceClaims[%d]", i)
		reasons = append(reasons, r)
	}
	return reasons
}

// explainEntry explains entry i: why it has no claim, or what its claim waits for. The second part repeats the
// conditions of reserve in the order in which a user meets them: reserved, allocated, scheduled, refused.
func (x *Index) explainEntry(o *owner, i int) Reason {
	e := x.resolve(o, i)
	name, _ := o.claimName(i)
	claim := types.NamespacedName{Namespace: o.Namespace, Name: name}
	// An adopted claim has a name that the status does not have yet.
	if e.claim != nil {
		claim = snapshot.KeyOf(e.claim)
	}
	switch e.state {
	case entryNotNeeded:
		return Reason{Code: ReasonClaimNotNeeded, Message: fmt.Sprintf("the %s's status says that no claim is needed", o.noun())}
	case entryUnknown:
		return why("", ReasonClaimUnknown, claimKind, claim, "claim %s, which the %s's status names, must be looked up at the API server first", claim, o.noun())
	case entryElsewhere:
		return why("", ReasonClaimNotInCache, claimKind, claim, "claim %s exists, and will be reserved once the cache has it", claim)
	case entryWaiting:
		group := types.NamespacedName{Namespace: o.Namespace, Name: o.member.name}
		return why("", ReasonClaimWaiting, podGroupKind, group, "waits for the claim that the pods of PodGroup %s share", group)
	case entryMissing:
		return why("", ReasonClaimMissing, claimKind, claim, "waits for claim %s, which you must create", claim)
	case entryAdopt:
		return why("", ReasonClaimAdopted, claimKind, claim, "claim %s was created for the entry; its name is written to the %s's status", claim, o.noun())
	case entryCreate:
		template := snapshot.KeyOf(e.template)
		return why("", ReasonClaimCreated, templateKind, template, "a claim is created from template %s", template)
	case entryFailed:
		return Reason{Code: ReasonClaimFailed, Message: e.problem.Error()}
	case entryReady: // who uses it decides
	}
	switch {
	// The claim exists. The question is what the pod still waits for.
	case o.isGroup():
		return why("", ReasonClaimShared, claimKind, claim, "claim %s exists; the plans of the pods in the PodGroup reserve it", claim)
	// Before the other cases: a reserved claim needs no more, whatever else is true of the claim.
	case isReservedFor(o.UID, e.claim):
		return why("", ReasonClaimReserved, claimKind, claim, "claim %s is reserved for the pod", claim)
	// One reservation serves all pods of the group.
	case x.reserved(o, e.claim):
		return why("", ReasonClaimReserved, claimKind, claim, "claim %s is reserved for PodGroup %s/%s, the PodGroup of the pod", claim, o.Namespace, o.member.name)
	case e.claim.Status.Allocation == nil:
		return why("", ReasonClaimUnallocated, claimKind, claim, "claim %s waits for the scheduler to allocate it", claim)
	case o.node == "":
		return why("", ReasonClaimUnscheduled, claimKind, claim, "the scheduler reserves claim %s when the pod gets a node", claim)
	// From here on reserve adds an error or a Reserve.
	case x.mayBeGroups(e.claim):
		return why("", ReasonClaimFailed, claimKind, claim, "claim %s is reserved for a PodGroup, and Options.PodGroupOf is nil", claim)
	}
	if err := refusal(e.claim); err != nil && !x.options.upstream() {
		return Reason{Code: ReasonClaimFailed, Object: ClaimKey(claim.Namespace, claim.Name), Message: err.Error()}
	}
	if g := o.member.group; g != nil {
		switch bound, failsAt := g.binds(&o.entries[i]); {
		case failsAt >= 0 && x.options.upstream():
			_, reason := g.unbindable(failsAt)
			return Reason{Code: ReasonClaimFailed, Object: ClaimKey(claim.Namespace, claim.Name), Message: reason}
		case bound:
			return why("", ReasonClaimToBeReserved, claimKind, claim, "claim %s is allocated and will be reserved for PodGroup %s", claim, snapshot.KeyOf(g))
		}
	}
	return why("", ReasonClaimToBeReserved, claimKind, claim, "claim %s is allocated and will be reserved for the pod", claim)
}
