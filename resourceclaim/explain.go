package resourceclaim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Explanation says why the plan for a key is as it is.
type Explanation struct {
	// Key is the key that was asked for.
	Key purekube.Key `json:"key"`
	// Reasons are in the order of the fields that they are about: for a claim its consumers, its allocation and its
	// owner, for a pod its entries. Problems of the object itself come first. Without reasons, this package decides
	// nothing about the object: a pod without entries, for example.
	Reasons []Reason `json:"reasons,omitempty"`
}

// Explain says why Plan decides about the key as it does. It returns the error of Plan or, if the object is not in
// the Index, a [purekube.ObjectError] around [purekube.ErrNotFound]. It costs one plan.
//
// With Needs in the plan, the reasons say what is asked for; give the answers and explain again.
func (x *Index) Explain(key purekube.Key) (e Explanation, err error) {
	if err := x.options.err(); err != nil {
		return Explanation{}, err
	}
	e.Key = key
	switch c, claim, problem := x.find(key); {
	case problem != nil:
		e.Reasons, err = explainUnusable(key, problem), problem
	case claim != nil:
		e.Reasons, err = x.explainClaim(claim)
	case c.kind != "":
		e.Reasons, err = x.explainClaimant(&c)
	default:
		// An empty explanation would say that nothing is decided about an existing object.
		err = &purekube.ObjectError{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrNotFound}
	}
	return e, x.withProblems(err)
}

// ExplainAll explains the pods, claims and PodGroups of the Index that have reasons, sorted by key, at the cost of
// about one pass over them. Other objects, such as a pod without entries, have no plan. The error is the error
// of PlanAll; problems of one key are among its reasons.
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
	x.each(func(c *claimant) {
		reasons, _ := x.explainClaimant(c)
		add(c.key(), reasons)
	}, func(claim *resourcev1.ResourceClaim) {
		reasons, _ := x.explainClaim(claim)
		add(KeyOf(claim), reasons)
	}, func(key purekube.Key, problem *purekube.ObjectError) {
		add(key, explainUnusable(key, problem))
	})
	slices.SortFunc(out, func(a, b Explanation) int { return a.Key.Compare(b.Key) })
	return out, x.wholeProblems()
}

// explainUnusable is the only reason for a name that cannot be planned.
func explainUnusable(key purekube.Key, problem *purekube.ObjectError) []Reason {
	code := ReasonDuplicate
	if problem.Field != "" {
		code = ReasonVersionMalformed
	}
	return []Reason{
		{Field: problem.Field, Code: code, Object: key, Message: problem.Err.Error() + ": nothing is planned for this name"}}
}

// why is a reason about an object: the object that a reader looks at next, which need not be the explained one.
func why(field string, code Code, object purekube.Key, format string, args ...any) Reason {
	return Reason{Field: field, Code: code, Object: object, Message: fmt.Sprintf(format, args...)}
}

// explainClaim explains the consumers, then the allocation, the finalizer and the owner.
func (x *Index) explainClaim(claim *resourcev1.ResourceClaim) (reasons []Reason, err error) {
	v, consumers := x.decideClaim(claim, nil)
	for i, code := range consumers {
		reasons = append(reasons, explainConsumer(claim, i, code))
	}
	// A claim that is not allocated needs no word about its allocation.
	switch {
	case claim.Status.Allocation == nil:
	case v.deallocate:
		reasons = append(reasons,
			Reason{Field: "status.allocation", Code: ReasonDeallocated, Message: "cleared: no consumer is left"})
	default:
		reasons = append(reasons,
			Reason{Field: "status.allocation", Code: ReasonAllocated, Message: "kept: " + whyAllocated(claim, v)})
	}
	if v.removeFinalizer {
		reasons = append(reasons, Reason{Field: "metadata.finalizers", Code: ReasonFinalizerRemoved,
			Message: "removed: the claim is no longer allocated"})
	}
	if v.owner != "" {
		name, _, _ := owningPod(claim)
		key := PodKey(claim.Namespace, name)
		reasons = append(reasons, why("metadata.ownerReferences", v.owner, key, "generated for pod %s, %s",
			key.NamespacedName(), ownerTexts[v.owner]))
	}
	return reasons, v.problems.Err()
}

// consumerTexts has the text for each code of a consumer. The texts say "pod", and explainConsumer says "PodGroup"
// instead where the consumer is one.
var consumerTexts = map[Code]string{
	ReasonConsumerOfOtherKind:   "it is not a pod, so the reservation is kept",
	ReasonConsumerMayRun:        "it may run, so the reservation is kept",
	ReasonConsumerConfirmed:     "the API server has it, so the reservation is kept",
	ReasonConsumerUsedByPods:    "its members still use the claim, so the reservation is kept",
	ReasonConsumerIndeterminate: "the snapshot has conflicting information about it, so the reservation is kept",
	ReasonConsumerDeleted:       "it was deleted and no longer needs the claim",
	ReasonConsumerReplaced:      "another pod has its name now, so it no longer needs the claim",
	ReasonConsumerDone:          "it is done and no longer needs the claim",
	ReasonConsumerGone:          "there is no pod of that name, so it no longer needs the claim",
	ReasonConsumerUnknown:       "it must be looked up at the API server first",
}

// explainConsumer explains what is known about consumer i.
func explainConsumer(claim *resourcev1.ResourceClaim, i int, code Code) Reason {
	consumer := &claim.Status.ReservedFor[i]
	object := consumerKey(claim.Namespace, consumer)
	what, text := "pod", consumerTexts[code]
	switch {
	// A consumer has the name of a resource and not of a kind; "workloads.example.com" is all that is known about it.
	case code == ReasonConsumerOfOtherKind:
		what = consumer.Resource
		if consumer.APIGroup != "" {
			what += "." + consumer.APIGroup
		}
		object.Kind = what
	case isPodGroup(consumer):
		what, text = podGroupKind, strings.ReplaceAll(text, "pod", podGroupKind)
	}
	return why(fmt.Sprintf("status.reservedFor[%d]", i), code, object, "reserved for %s %s: %s", what,
		object.NamespacedName(), text)
}

// whyAllocated is the reason why an allocation stays. "Why is this claim still allocated?" is the question of whoever
// waits for the device.
func whyAllocated(claim *resourcev1.ResourceClaim, v claimVerdict) string {
	switch {
	case len(v.needs) > 0:
		return "lookups at the API server must be answered first"
	case !v.unused:
		return "the claim has consumers"
	case v.released > 0:
		return "the claim does not have the finalizer " + resourcev1.Finalizer
	default:
		return "no consumer was released, and the claim is not being deleted"
	}
}

// ownerTexts has the text for each code of the pod that the claim was generated for.
var ownerTexts = map[Code]string{
	ReasonClaimDeleting:      "and already being deleted",
	ReasonOwnerIndeterminate: "which has conflicting information in the snapshot: the claim stays",
	ReasonOwnerNeedsNoClaim:  "which is done or gone: the claim is deleted",
	ReasonOwnerNotInCache:    "which is not in the snapshot: the garbage collector will delete it",
	ReasonOwnerUnknown:       "which must be looked up at the API server first",
	ReasonOwnerMayRun:        "which may need it",
}

// explainClaimant explains the entries of a pod or PodGroup, or why nothing is done for any of them.
func (x *Index) explainClaimant(c *claimant) (reasons []Reason, err error) {
	v, entries := x.decideClaimant(c, nil)
	if v.code != "" {
		reasons = append(reasons, c.explain(v, len(entries) == 0))
	}
	for i := range entries {
		reasons = append(reasons, c.explainEntry(i, &entries[i]))
	}
	return reasons, v.problems.Err()
}

// explain explains what is known about the pod or PodGroup as a whole. alone: nothing is decided about its entries.
func (c *claimant) explain(v claimantVerdict, alone bool) Reason {
	noun, name := c.noun(), types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	group := PodGroupKey(c.Namespace, c.member.name)
	switch v.code {
	case ReasonPodDeleting, ReasonPodGroupDeleting:
		return why("metadata.deletionTimestamp", v.code, c.key(),
			"%s %s is being deleted: nothing is created or reserved for it", noun, name)
	case ReasonPodDone:
		return why("status.phase", v.code, c.key(), "pod %s is done: nothing is created or reserved for it", name)
	case ReasonPodDeleted, ReasonPodGroupDeleted:
		return why("metadata.uid", v.code, c.key(), "%s %s was deleted: nothing is created or reserved for it", noun, name)
	case ReasonPodWithoutUID:
		return why("metadata.uid", v.code, c.key(), "pod %s has no UID: nothing is created or reserved for it", name)
	case ReasonPodGroupInvalid:
		problem := c.invalid()
		return why(problem.Field, v.code, c.key(), "nothing is created for PodGroup %s: %s", name, problem.Err)
	case ReasonPodGroupUnknown:
		if c.member.decides {
			return why("spec.schedulingGroup", v.code, group, "PodGroup %s must be looked up at the API server first",
				group.NamespacedName())
		}
		fallthrough
	case ReasonPodUnknown:
		return why("metadata.uid", v.code, c.key(),
			"%s %s was seen to be deleted: it must be looked up at the API server first", noun, name)
	}
	// Several PodGroups have the name, or the PodGroup has no UID; then the problem names it.
	text := c.member.problem.Error()
	if errors.Is(c.member.problem, errPodGroupNotFound) {
		text = fmt.Sprintf("PodGroup %s does not exist", group.NamespacedName())
	}
	if alone {
		return why("spec.schedulingGroup", v.code, group, "%s: nothing is created or reserved for the pod", text)
	}
	return why("spec.schedulingGroup", v.code, group,
		"%s, so it is unknown which entries belong to it: no claim is created for the pod", text)
}

// explainEntry explains entry i: why it has no claim, or what its claim waits for.
func (c *claimant) explainEntry(i int, e *entry) Reason {
	field, noun := fmt.Sprintf("spec.resourceClaims[%d]", i), c.noun()
	name, _ := c.claimName(i)
	claim := ClaimKey(c.Namespace, name)
	// An adopted claim has a name that the status does not have yet.
	if e.claim != nil {
		claim = KeyOf(e.claim)
	}
	group := PodGroupKey(c.Namespace, c.member.name)
	about := func(object purekube.Key, format string, args ...any) Reason {
		return why(field, e.code, object, format, args...)
	}
	switch e.code {
	case ReasonClaimNotNeeded:
		return about(purekube.Key{}, "the %s's status says that no claim is needed", noun)
	case ReasonClaimUnknown:
		return about(claim, "claim %s, which the %s's status names, must be looked up at the API server first",
			claim.NamespacedName(), noun)
	case ReasonClaimNotInCache:
		return about(claim, "claim %s exists, and will be reserved once the cache has it", claim.NamespacedName())
	case ReasonClaimWaiting:
		return about(group, "waits for the claim that the pods of PodGroup %s share", group.NamespacedName())
	case ReasonClaimMissing:
		return about(claim, "waits for claim %s, which you must create", claim.NamespacedName())
	case ReasonClaimAdopted:
		return about(claim, "claim %s was created for the entry; its name is written to the %s's status",
			claim.NamespacedName(), noun)
	case ReasonClaimCreated:
		template := snapshot.KeyOf(e.template)
		return about(purekube.Key{Kind: templateKind, Namespace: template.Namespace, Name: template.Name},
			"a claim is created from template %s", template)
	case ReasonClaimHeldBack:
		return about(purekube.Key{}, "an earlier entry failed or has to wait, and kube-controller-manager stops there")
	case ReasonClaimShared:
		return about(claim, "claim %s exists; the plans of the pods in the PodGroup reserve it", claim.NamespacedName())
	case ReasonClaimUnallocated:
		return about(claim, "claim %s waits for the scheduler to allocate it", claim.NamespacedName())
	case ReasonClaimUnscheduled:
		return about(claim, "the scheduler reserves claim %s when the pod gets a node", claim.NamespacedName())
	case ReasonClaimReserved:
		if e.forGroup {
			return about(claim, "claim %s is reserved for PodGroup %s, the PodGroup of the pod", claim.NamespacedName(),
				group.NamespacedName())
		}
		return about(claim, "claim %s is reserved for the pod", claim.NamespacedName())
	case ReasonClaimToBeReserved:
		if e.forGroup {
			return about(claim, "claim %s is allocated and will be reserved for PodGroup %s", claim.NamespacedName(),
				group.NamespacedName())
		}
		return about(claim, "claim %s is allocated and will be reserved for the pod", claim.NamespacedName())
	}
	// ClaimFailed. A claim that is there is what a reader looks at next.
	if e.claim == nil {
		claim = purekube.Key{}
	}
	return about(claim, "%v", e.problem)
}

// noun is the kind as messages have it: "pod" is a common word, and "PodGroup" a name.
func (c *claimant) noun() string {
	if c.isGroup() {
		return podGroupKind
	}
	return "pod"
}
