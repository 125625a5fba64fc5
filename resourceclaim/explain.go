package resourceclaim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// Code is the machine-readable part of a [Reason]. The constants below are all of them; a new
// version of this package may add more.
type Code string

// What is wrong with the object itself, so that nothing or less is decided.
const (
	ReasonObjectDuplicate  Code = "ObjectDuplicate"  // the snapshot holds several objects of the name
	ReasonVersionMalformed Code = "VersionMalformed" // a resourceVersion does not compare: the listed claim counts
	ReasonPodWithoutUID    Code = "PodWithoutUID"    // a claim would have no owner
)

// What a consumer of a claim is known to be.
const (
	ReasonConsumerOfOtherKind   Code = "ConsumerOfOtherKind"   // neither a pod nor, where they are on, a PodGroup: kept
	ReasonConsumerMayRun        Code = "ConsumerMayRun"        // the pod is there and not done, or the PodGroup is there: kept
	ReasonConsumerConfirmed     Code = "ConsumerConfirmed"     // the API server has it: kept
	ReasonConsumerIndeterminate Code = "ConsumerIndeterminate" // the snapshot contradicts itself: kept
	ReasonConsumerUsedByPods    Code = "ConsumerUsedByPods"    // pods of the PodGroup still use the claim: kept (D-36)
	ReasonConsumerDeleted       Code = "ConsumerDeleted"       // known to be deleted: released
	ReasonConsumerReplaced      Code = "ConsumerReplaced"      // another one has its name: released
	ReasonConsumerDone          Code = "ConsumerDone"          // will not run any more: released
	ReasonConsumerGone          Code = "ConsumerGone"          // the API server has none of that name: released
	ReasonConsumerUnknown       Code = "ConsumerUnknown"       // the API server has to be asked first
)

// What becomes of a claim.
const (
	ReasonAllocated          Code = "Allocated"          // it has an allocation and keeps it
	ReasonDeallocated        Code = "Deallocated"        // its allocation is cleared
	ReasonFinalizerRemoved   Code = "FinalizerRemoved"   // it is protected from deletion no more
	ReasonOwnerMayRun        Code = "OwnerMayRun"        // the pod that it was generated for may need it
	ReasonOwnerIndeterminate Code = "OwnerIndeterminate" // the snapshot contradicts itself: the claim stays
	ReasonOwnerNotInCache    Code = "OwnerNotInCache"    // the garbage collector has to see to it
	ReasonOwnerUnknown       Code = "OwnerUnknown"       // the API server has to be asked for that pod
	ReasonOwnerNeedsNoClaim  Code = "OwnerNeedsNoClaim"  // that pod is done or gone: the claim is deleted
	ReasonClaimDeleting      Code = "ClaimDeleting"      // it is being deleted already, so its owner decides nothing (D-17)
)

// What an entry of a pod's spec.resourceClaims comes to, and what keeps the pod from getting
// anything.
const (
	ReasonPodDeleting       Code = "PodDeleting"       // a pod that is being deleted gets nothing
	ReasonPodDeleted        Code = "PodDeleted"        // a pod that is known to be deleted gets nothing (D-21)
	ReasonPodUnknown        Code = "PodUnknown"        // a pod that was seen to be deleted: the API server has to be asked (D-37)
	ReasonPodDone           Code = "PodDone"           // a pod that is done gets nothing (D-7)
	ReasonPodGroupUnknown   Code = "PodGroupUnknown"   // the API server has to be asked for the group
	ReasonPodGroupMissing   Code = "PodGroupMissing"   // the pod is in a group that nobody has, or several
	ReasonPodGroupDeleting  Code = "PodGroupDeleting"  // a group that is being deleted gets nothing
	ReasonPodGroupDeleted   Code = "PodGroupDeleted"   // a group that is known to be deleted gets nothing
	ReasonPodGroupInvalid   Code = "PodGroupInvalid"   // a group without a UID, or of an unknown API, gets nothing
	ReasonClaimNotNeeded    Code = "ClaimNotNeeded"    // the status says so
	ReasonClaimUnknown      Code = "ClaimUnknown"      // the status names it, the API server has to be asked for it (D-28)
	ReasonClaimNotInCache   Code = "ClaimNotInCache"   // it exists, and upstream waits for its cache to show it
	ReasonClaimWaiting      Code = "ClaimWaiting"      // it is the PodGroup's, and not there yet
	ReasonClaimShared       Code = "ClaimShared"       // it is the PodGroup's, and there
	ReasonClaimMissing      Code = "ClaimMissing"      // its user has to create it
	ReasonClaimAdopted      Code = "ClaimAdopted"      // it is there, the status does not name it
	ReasonClaimCreated      Code = "ClaimCreated"      // it is made from the template
	ReasonClaimFailed       Code = "ClaimFailed"       // nothing can be done, see the message
	ReasonClaimUnallocated  Code = "ClaimUnallocated"  // it waits for the scheduler
	ReasonClaimUnscheduled  Code = "ClaimUnscheduled"  // the scheduler reserves it with the node
	ReasonClaimReserved     Code = "ClaimReserved"     // it is reserved for the pod
	ReasonClaimToBeReserved Code = "ClaimToBeReserved" // the pod's plan reserves it
)

// Reason is one step on the way to a decision. Object is the pod, claim or consumer that the step
// looked at.
type Reason = purekube.Reason[Code]

// Explanation is why the plan for a key is what it is.
type Explanation struct {
	Key purekube.Key `json:"key"`
	// Reasons are in the order in which the object's fields list what they are about: for a
	// claim its consumers, its allocation and its owner, for a pod its entries. What is wrong with
	// the object itself comes first. None: the object has nothing to do with this package, such as
	// a pod without entries.
	Reasons []Reason `json:"reasons,omitempty"`
}

// Explain explains the plan for the key. The error is that of [Plan], or, when the snapshot does
// not hold the object, a [purekube.ObjectError] around [purekube.ErrNotFound].
func Explain(s Snapshot, key purekube.Key, o Options) (Explanation, error) {
	if err := o.err(); err != nil {
		return Explanation{}, err
	}
	e, err := newTables(narrow(s, key, o), o).planner().explained(key)
	return e, errors.Join(err, problemsOf(s, o))
}

// explained is [Explain] without what is wrong with the snapshot as a whole.
func (x *planner) explained(key purekube.Key) (Explanation, error) {
	reasons, there, err := x.explain(key)
	if !there {
		err = notFound(key)
	}
	return Explanation{Key: key, Reasons: reasons}, err
}

// notFound is the answer to a question about an object that the snapshot does not hold.
func notFound(key purekube.Key) error {
	return &purekube.ObjectError{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrNotFound}
}

// ExplainAll explains all pods, claims and PodGroups of the snapshot at the cost of about one pass over it:
// those that have reasons, sorted by key. The error is that of [PlanAll]: what is wrong with one key
// stands among its reasons.
func ExplainAll(s Snapshot, o Options) ([]Explanation, error) {
	if err := o.err(); err != nil {
		return nil, err
	}
	t := newTables(s, o)
	x := t.planner()
	var out []Explanation
	explained := map[purekube.Key]bool{}
	add := func(kind string, object metav1.Object) {
		key := purekube.Key{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
		if explained[key] {
			return
		}
		explained[key] = true
		if reasons, _, _ := x.explain(key); len(reasons) > 0 {
			out = append(out, Explanation{Key: key, Reasons: reasons})
		}
	}
	for _, pod := range t.snapshot.Pods {
		add(podKind, pod)
	}
	for _, claim := range t.snapshot.Claims {
		add(claimKind, claim)
	}
	for _, claim := range t.snapshot.Assumed {
		add(claimKind, claim)
	}
	for _, g := range t.groups {
		add(podGroupKind, g)
	}
	slices.SortFunc(out, func(a, b Explanation) int { return purekube.Key.Compare(a.Key, b.Key) })
	return out, t.wholeProblems()
}

// explain returns the reasons for the key, whether there is such an object, and the error of its
// plan.
func (x *planner) explain(key purekube.Key) (reasons []Reason, there bool, err error) {
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	switch key.Kind {
	case claimKind:
		_, err = x.claimOutcome(name)
		for _, p := range x.versionProblems(name) {
			reasons = append(reasons, Reason{Field: p.Field, Code: ReasonVersionMalformed, Object: name, Message: p.Err.Error()})
		}
		if x.claimAmbiguous(name) {
			return append(reasons, duplicateReason(name)), true, err
		}
		if claim := x.newestClaim(name); claim != nil {
			return append(reasons, x.explainClaim(claim)...), true, err
		}
	case podGroupKind:
		_, err = x.podGroupOutcome(name)
		if x.podGroupAmbiguous(name) {
			return []Reason{duplicateReason(name)}, true, err
		}
		if g := x.podGroup(name); g != nil {
			return x.explainPodGroup(g), true, err
		}
	case podKind:
		_, err = x.podOutcome(name)
		if x.podAmbiguous(name) {
			return []Reason{duplicateReason(name)}, true, err
		}
		if pod := x.pod(name); pod != nil {
			return x.explainPod(pod), true, err
		}
	}
	return reasons, false, err
}

func duplicateReason(name types.NamespacedName) Reason {
	return Reason{Code: ReasonObjectDuplicate, Object: name, Message: purekube.ErrDuplicate.Error() + ": nothing is planned for it"}
}

var consumerReasons = [...]struct {
	code Code
	text string
}{
	otherKind:     {ReasonConsumerOfOtherKind, "is not a pod and is never taken away"},
	mayRun:        {ReasonConsumerMayRun, "may run"},
	confirmed:     {ReasonConsumerConfirmed, "the API server has"},
	usedByMembers: {ReasonConsumerUsedByPods, "still has members that run and use the claim"},
	indeterminate: {ReasonConsumerIndeterminate, "the snapshot cannot tell"},
	deleted:       {ReasonConsumerDeleted, "is deleted"},
	replaced:      {ReasonConsumerReplaced, "is gone: another pod has its name"},
	done:          {ReasonConsumerDone, "is done"},
	gone:          {ReasonConsumerGone, "is gone: there is no pod of that name"},
	unknown:       {ReasonConsumerUnknown, "the API server has to be asked for"},
}

func (x *planner) explainClaim(claim *resourcev1.ResourceClaim) []Reason {
	r, _ := x.planClaim(claim, nil)
	var reasons []Reason
	unused := true
	standings, _ := x.standings(claim, nil, nil, &snapshot.Problems{})
	for i, st := range standings {
		consumer := &claim.Status.ReservedFor[i]
		unused = unused && st.dropped()
		object := types.NamespacedName{Namespace: claim.Namespace, Name: consumer.Name}
		what, text := "pod", consumerReasons[st].text
		switch {
		case st == otherKind:
			what = consumer.Resource
			if consumer.APIGroup != "" {
				what += "." + consumer.APIGroup
			}
		case isPodGroup(consumer):
			what, text = podGroupKind, strings.ReplaceAll(text, "pod", podGroupKind)
		}
		reasons = append(reasons, Reason{
			Field:   fmt.Sprintf("status.reservedFor[%d]", i),
			Code:    consumerReasons[st].code,
			Object:  object,
			Message: fmt.Sprintf("held by %s %s, which %s", what, object, text),
		})
	}
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
		reasons = append(reasons, Reason{Field: "status.allocation", Code: ReasonDeallocated, Message: "cleared, nobody needs it any more"})
	default:
		reasons = append(reasons, Reason{Field: "status.allocation", Code: ReasonAllocated, Message: "kept, " + whyAllocated(claim, unused, len(r.Needs) > 0)})
	}
	if unprotected {
		reasons = append(reasons, Reason{Field: "metadata.finalizers", Code: ReasonFinalizerRemoved, Message: "not protected from deletion any more, since it is not allocated"})
	}
	if name, _, ok := owningPod(claim); ok && unused {
		reasons = append(reasons, x.explainOwner(claim, types.NamespacedName{Namespace: claim.Namespace, Name: name}))
	}
	return reasons
}

// asksFor reports whether the plan asks for that object.
func asksFor(r Result, need purekube.Need) bool { return slices.Contains(r.Needs, need) }

func whyAllocated(claim *resourcev1.ResourceClaim, unused, asks bool) string {
	switch {
	case asks:
		return "nothing is decided before the API server is asked"
	case !unused:
		return "it has consumers"
	case len(claim.Status.ReservedFor) > 0:
		return "it does not have the finalizer " + resourcev1.Finalizer
	default:
		return "nobody has released it and it is not being deleted"
	}
}

func (x *planner) explainOwner(claim *resourcev1.ResourceClaim, pod types.NamespacedName) Reason {
	r := Reason{Field: "metadata.ownerReferences", Object: pod}
	text := ""
	if !x.ownerMatters(claim) {
		r.Code, r.Message = ReasonClaimDeleting, fmt.Sprintf("generated for pod %s, and already being deleted", pod)
		return r
	}
	switch st, problem := x.owner(claim); {
	case problem != nil && st == ownerNeedsIt:
		r.Code, text = ReasonOwnerIndeterminate, "the snapshot cannot tell: the claim stays"
	case st == ownerNeedsItNoMore:
		r.Code, text = ReasonOwnerNeedsNoClaim, "is done or gone: the claim is deleted"
	case st == ownerAbsent:
		r.Code, text = ReasonOwnerNotInCache, "the snapshot does not hold: the garbage collector sees to it"
	case st == ownerUnknown:
		r.Code, text = ReasonOwnerUnknown, "the API server has to be asked for"
	default:
		r.Code, text = ReasonOwnerMayRun, "may need it"
	}
	r.Message = fmt.Sprintf("generated for pod %s, which %s", pod, text)
	return r
}

func (x *planner) explainPod(pod *corev1.Pod) []Reason {
	self := snapshot.KeyOf(pod)
	presence, _ := x.presenceOfPod(pod)
	switch {
	case len(pod.Spec.ResourceClaims) == 0:
		return nil
	case pod.DeletionTimestamp != nil:
		return []Reason{{Field: "metadata.deletionTimestamp", Code: ReasonPodDeleting, Object: self, Message: fmt.Sprintf("pod %s is being deleted and gets nothing", self)}}
	case !x.upstream() && podstate.Done(pod):
		return []Reason{{Field: "status.phase", Code: ReasonPodDone, Object: self, Message: fmt.Sprintf("pod %s is done and gets nothing", self)}}
	case presence == absent:
		return []Reason{{Field: "metadata.uid", Code: ReasonPodDeleted, Object: self, Message: fmt.Sprintf("pod %s is known to be deleted and gets nothing", self)}}
	case pod.UID == "":
		return []Reason{{Field: "metadata.uid", Code: ReasonPodWithoutUID, Object: self, Message: fmt.Sprintf("pod %s has no UID and gets nothing", self)}}
	}
	r, _ := x.planPod(pod)
	if asksFor(r, needPod(pod.Namespace, pod.Name)) {
		return []Reason{{Field: "metadata.uid", Code: ReasonPodUnknown, Object: self, Message: fmt.Sprintf("pod %s was seen to be deleted: the API server has to be asked for it", self)}}
	}
	of := entriesOf(pod)
	of.member = x.groupOf(pod)
	group := types.NamespacedName{Namespace: pod.Namespace, Name: of.member.name}
	switch {
	case asksFor(r, needPodGroup(group.Namespace, group.Name)):
		return []Reason{{Field: "spec.schedulingGroup", Code: ReasonPodGroupUnknown, Object: group, Message: fmt.Sprintf("the API server has to be asked for PodGroup %s", group)}}
	case of.member.problem != nil && x.upstream():
		return []Reason{{Field: "spec.schedulingGroup", Code: ReasonPodGroupMissing, Object: group, Message: fmt.Sprintf("the pod gets nothing without PodGroup %s", group)}}
	}
	var reasons []Reason
	if of.member.problem != nil {
		reasons = append(reasons, Reason{Field: "spec.schedulingGroup", Code: ReasonPodGroupMissing, Object: group,
			Message: fmt.Sprintf("without PodGroup %s it is not known which entries are the group's: the pod gets no new claim", group)})
	}
	return append(reasons, x.explainEntries(of)...)
}

// explainPodGroup says what the entries of a PodGroup come to.
func (x *planner) explainPodGroup(g *podGroup) []Reason {
	self := snapshot.KeyOf(g)
	presence, _ := x.presenceOfGroup(g)
	switch {
	case len(g.Spec.ResourceClaims) == 0:
		return nil
	case g.DeletionTimestamp != nil:
		return []Reason{{Field: "metadata.deletionTimestamp", Code: ReasonPodGroupDeleting, Object: self, Message: fmt.Sprintf("PodGroup %s is being deleted and gets nothing", self)}}
	case presence == absent:
		return []Reason{{Field: "metadata.uid", Code: ReasonPodGroupDeleted, Object: self, Message: fmt.Sprintf("PodGroup %s is known to be deleted and gets nothing", self)}}
	}
	if r, _ := x.planPodGroup(g); asksFor(r, needPodGroup(g.Namespace, g.Name)) {
		return []Reason{{Field: "metadata.uid", Code: ReasonPodGroupUnknown, Object: self, Message: fmt.Sprintf("PodGroup %s was seen to be deleted: the API server has to be asked for it", self)}}
	}
	if problem := g.invalid(); problem != nil {
		return []Reason{{Field: problem.Field, Code: ReasonPodGroupInvalid, Object: self, Message: fmt.Sprintf("PodGroup %s gets nothing: %s", self, problem.Err)}}
	}
	of := entriesOf(&g.Pod)
	of.group = g
	return x.explainEntries(of)
}

func (x *planner) explainEntries(of entries) []Reason {
	var reasons []Reason
	for i := range of.pod.Spec.ResourceClaims {
		r := Reason{Code: ReasonClaimFailed, Message: ErrTooManyClaims.Error() + ": this one gets nothing"}
		if of.group == nil || i < MaxPodGroupClaims || x.upstream() {
			r = x.explainEntry(of, i)
		}
		r.Field = fmt.Sprintf("spec.resourceClaims[%d]", i)
		reasons = append(reasons, r)
	}
	return reasons
}

// nameIn is the claim that the entry resolves to.
func nameIn(of entries, i int) types.NamespacedName {
	name, _ := of.claimName(i)
	return types.NamespacedName{Namespace: of.pod.Namespace, Name: name}
}

func (x *planner) explainEntry(of entries, i int) Reason {
	pod := of.pod
	e := x.resolve(of, i)
	pc := &pod.Spec.ResourceClaims[i]
	switch e.state {
	case entryNotNeeded:
		return Reason{Code: ReasonClaimNotNeeded, Message: fmt.Sprintf("no claim is needed, says the %s's status", of.noun())}
	case entryUnknown:
		claim := nameIn(of, i)
		return Reason{Code: ReasonClaimUnknown, Object: claim, Message: fmt.Sprintf("the API server has to be asked for claim %s, which the %s's status names", claim, of.noun())}
	case entryElsewhere:
		claim := nameIn(of, i)
		return Reason{Code: ReasonClaimNotInCache, Object: claim, Message: fmt.Sprintf("claim %s exists, and is reserved when the cache shows it", claim)}
	case entryWaiting:
		group := types.NamespacedName{Namespace: pod.Namespace, Name: of.member.name}
		return Reason{Code: ReasonClaimWaiting, Object: group, Message: fmt.Sprintf("waits for the claim of PodGroup %s, which all of its pods use", group)}
	case entryMissing:
		claim := types.NamespacedName{Namespace: pod.Namespace, Name: *pc.ResourceClaimName}
		return Reason{Code: ReasonClaimMissing, Object: claim, Message: fmt.Sprintf("waits for claim %s, which its user has to create", claim)}
	case entryAdopt:
		claim := snapshot.KeyOf(e.claim)
		return Reason{Code: ReasonClaimAdopted, Object: claim, Message: fmt.Sprintf("claim %s was created for it and is put into the %s's status", claim, of.noun())}
	case entryCreate:
		template := snapshot.KeyOf(e.template)
		return Reason{Code: ReasonClaimCreated, Object: template, Message: fmt.Sprintf("a claim is created from template %s", template)}
	case entryFailed:
		return Reason{Code: ReasonClaimFailed, Message: e.problem.Error()}
	case entryReady: // who uses it decides
	}
	claim := snapshot.KeyOf(e.claim)
	r := Reason{Object: claim}
	switch {
	case of.group != nil:
		r.Code, r.Message = ReasonClaimShared, fmt.Sprintf("claim %s is there for the pods of the group, whose plans reserve it", claim)
	case x.reserved(of, e.claim):
		r.Code, r.Message = ReasonClaimReserved, fmt.Sprintf("claim %s is reserved for the pod", claim)
		if !isReservedFor(pod, e.claim) {
			r.Message = fmt.Sprintf("claim %s is reserved for PodGroup %s/%s, which the pod is in", claim, pod.Namespace, of.member.name)
		}
	case e.claim.Status.Allocation == nil:
		r.Code, r.Message = ReasonClaimUnallocated, fmt.Sprintf("claim %s waits for the scheduler to allocate it", claim)
	case pod.Spec.NodeName == "":
		r.Code, r.Message = ReasonClaimUnscheduled, fmt.Sprintf("claim %s is reserved by the scheduler once the pod gets a node", claim)
	default:
		if x.mayBeGroups(e.claim) {
			r.Code, r.Message = ReasonClaimFailed, fmt.Sprintf("claim %s is reserved for a PodGroup, and PodGroups are off", claim)
			break
		}
		if err := refusal(e.claim); err != nil && !x.upstream() {
			r.Code, r.Message = ReasonClaimFailed, err.Error()
			break
		}
		r.Code, r.Message = ReasonClaimToBeReserved, fmt.Sprintf("claim %s is allocated, not reserved for the pod, and gets reserved", claim)
		if g := of.member.group; g != nil {
			switch bound, failsAt := g.binds(pc); {
			case failsAt >= 0 && x.upstream():
				_, reason := g.unbindable(failsAt)
				r.Code, r.Message = ReasonClaimFailed, reason
			case bound:
				r.Message = fmt.Sprintf("claim %s is allocated, not reserved for PodGroup %s, and gets reserved for it", claim, snapshot.KeyOf(g))
			}
		}
	}
	return r
}
