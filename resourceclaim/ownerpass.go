package resourceclaim

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/internal/snapshot"
)

// Why an allocated claim is not reserved for a pod that has a node. The API server would reject the write, and the
// pod's later requests would wait (D-8). Test for these errors with errors.Is.
var (
	// ErrReservedForMax: the claim has as many consumers as the API allows.
	ErrReservedForMax = fmt.Errorf("already reserved for %d consumers, the maximum", resourcev1.ResourceClaimReservedForMaxSize)
	// ErrClaimDeleting: the claim is being deleted and takes no new consumer.
	ErrClaimDeleting = errors.New("being deleted: no consumer can be added")
)

// reasonFailed is the reason of the event for an entry that gets no claim. It is upstream's, and users filter by it.
const reasonFailed = "FailedResourceClaimCreation"

// planOwner decides about one pod or PodGroup: create what is missing, write the names into its status, and reserve for
// a pod what is allocated (syncPod and syncPodGroup in upstream's controller.go). The claims of a PodGroup are reserved
// for it by its pods' plans.
//
// One pod with a template takes several plans, each after the events of the last:
//
//	plan   the snapshot has                            actions
//	1      the pod                                     CreateClaim, SetClaimStatuses
//	2      the claim, named in the status              none: the scheduler allocates and reserves it
//	3      the pod on a node, the claim not reserved   Reserve
//
// The third plan is needed only if the scheduler has not reserved the claim, for example for a pod that was created
// with a spec.nodeName.
func (x *Index) planOwner(o *owner) (r Result, err error) {
	if o.getsNothing(x.options) {
		return r, nil
	}
	// The cache may still show an object whose deletion was seen.
	presence, problem := x.presence(o.key(), o.UID)
	if presence == absent {
		return r, nil // D-21: what it gets would have to be taken back
	}
	r, err = x.planPresent(o)
	if presence == present || err == nil && r.Empty() {
		return r, err
	}
	// D-37: it is asked for if there is anything to do for it. The plan is made first and then thrown away: a lookup
	// that decides nothing would be a request for each deleted pod.
	if unsafe := snapshot.CheckNeed(o.need()); unsafe != nil {
		return Result{}, unsafe
	}
	r = Result{Needs: []purekube.Need{o.need()}}
	if problem != nil {
		return r, problem
	}
	return r, nil
}

// planPresent is planOwner for a pod or PodGroup that is there. It works on the whole object in four steps: the group,
// the entries, the status, the reservations. If a step has a Need, the plan has the Needs alone.
func (x *Index) planPresent(o *owner) (r Result, err error) {
	if problem := o.invalid(); problem != nil {
		return r, problem
	}
	var problems snapshot.Problems
	o.member = x.groupOf(o.pod)
	if o.member.group == nil && o.member.name != "" && x.options.upstream() {
		// D-32: upstream does nothing for the pod.
		return r, o.problem("spec.schedulingGroup", o.member.problem)
	}
	var few [8]*resourcev1.ResourceClaim // a converged pod costs no memory
	claims, work := x.generateAll(o, few[:0], &r, &problems)
	// With a Need the actions would be dropped anyway.
	if !work.ended && len(r.Needs) == 0 {
		if work.statuses() {
			r.Actions = append(r.Actions, x.setStatuses(o, work))
		}
		if o.node != "" {
			// Without a node, reserving is up to the scheduler.
			r.Actions = x.reserve(r.Actions, o, claims, &problems)
		}
	}
	// The entries were resolved as if the pod had no group, and something depended on that (D-32). So none of the
	// actions is certain: one lookup of the group comes first, and the Needs for claims come with the next plan.
	if o.member.decides() {
		// Options.PodGroupOf may return any text, and the name of a lookup is part of a path.
		need := needOf(PodGroupKey(o.Namespace, o.member.name))
		if problem := snapshot.CheckNeed(need); problem != nil {
			return Result{}, o.problem("spec.schedulingGroup", problem.Err)
		}
		r = Result{Needs: []purekube.Need{need}}
		if problem := o.member.noAnswer; problem != nil {
			return r, problem
		}
		return r, nil
	}
	return asksFirst(r), problems.Err()
}

// generation is what becomes of the entries of one object.
// Both together become one SetClaimStatuses: an apply for each entry would remove the names of the others (D-5).
type generation struct {
	// adopted are the statuses of the entries whose claim was found, pending the entries whose claim
	// is to be created.
	adopted []corev1.PodResourceClaimStatus
	pending []string
	// ended reports that upstream goes no further.
	ended bool
}

// statuses reports whether a status has to be written.
func (g generation) statuses() bool { return len(g.adopted)+len(g.pending) > 0 }

// generateAll resolves the entries, and adds the claims to create, the lookups to make and the events to the result. It
// appends to claims, by index, the claims of entries that have one.
//
// By default no entry affects another: an entry that fails adds its problem, and the next entry is handled (D-8). Under
// MatchUpstream the first failure ends the pass.
func (x *Index) generateAll(o *owner, claims []*resourcev1.ResourceClaim, r *Result, problems *snapshot.Problems) (all []*resourcev1.ResourceClaim, work generation) {
	for i := range o.entries {
		entry := o.entries[i].Name
		if o.isGroup() && i >= maxPodGroupClaims && !x.options.upstream() {
			// The API server allows four entries, so such a group does not come from an API server. The first four are
			// handled.
			problems.Add(o.problem("spec.resourceClaims", ErrTooManyClaims))
			break
		}
		e := x.resolve(o, i)
		// One element for each entry, so that claims[i] belongs to entry i.
		claims = append(claims, nil)
		switch e.state {
		case entryReady:
			claims[i] = e.claim
		case entryUnknown:
			name, _ := o.claimName(i)
			need := needOf(ClaimKey(o.Namespace, name))
			if problem := snapshot.CheckNeed(need); problem != nil {
				problems.Add(o.entryProblem(i, "resourceClaimName", problem.Err))
			} else {
				r.Needs = append(r.Needs, need)
			}
			if e.problem != nil {
				problems.Add(e.problem)
			}
			// With this answer upstream's pass may end here, before it asks for another claim (D-8).
			if work.ended = x.options.upstream(); work.ended {
				return claims, work
			}
		case entryAdopt:
			// An adopted claim is not reserved by this plan: the status names it first, as upstream does.
			work.adopted = append(work.adopted, corev1.PodResourceClaimStatus{Name: entry, ResourceClaimName: ptr.To(e.claim.Name)})
		case entryCreate:
			// Its name is known only after the create, from the API server's answer.
			work.pending = append(work.pending, entry)
			r.Actions = append(r.Actions, CreateClaim{
				Owner: o.key(), PodClaim: entry, Claim: fromTemplate(o, entry, e.template, x.options), ContinueOnError: !x.options.upstream(),
			})
		case entryFailed:
			problems.Add(e.problem)
			if e.reason != "" {
				event := o.failed(entry, e.reason)
				if !x.options.upstream() {
					// events.k8s.io/v1 rejects a longer text than that. Under MatchUpstream the text is upstream's,
					// whole.
					event.Message = message.Event(event.Message)
				}
				r.Events = append(r.Events, event)
			}
			// D-8: what is created by now stays without its name in the status.
			if work.ended = x.options.upstream(); work.ended {
				return claims, work
			}
		case entryNotNeeded, entryElsewhere, entryWaiting, entryMissing: // nothing to write
		}
	}
	return claims, work
}

// asksFirst is the result without what has to wait for the answers to its Needs: the actions, and the events too. An
// entry that fails still fails in the next plan, and has its event then.
func asksFirst(r Result) Result {
	if len(r.Needs) == 0 {
		return r
	}
	return Result{Needs: sortNeeds(r.Needs)}
}

// setStatuses is the write of the status after claims were adopted or are to be created.
//
// A server-side apply removes the entries that its field manager applied before and now leaves out. For a pod with the
// entries a (in the status), b (to be created) and c (not needed, in the status) the apply names, after the create:
//
//	v1.36    b          a and c are removed, and the next pass adds a again (D-5)
//	v1.37    a, b       c is removed
//	default  a, b, c
func (x *Index) setStatuses(o *owner, work generation) SetClaimStatuses {
	adopted, pending := work.adopted, work.pending
	a := SetClaimStatuses{
		Kind: o.kind, Namespace: o.Namespace, Name: o.Name,
		Statuses: adopted, Pending: pending, Creates: slices.Clone(pending), ContinueOnError: !x.options.upstream(),
	}
	if o.isGroup() {
		a.APIVersion = o.apiVersion
	}
	// The new names replace the old ones: the claim that the status names may be gone.
	named := map[string]bool{}
	for i := range adopted {
		named[adopted[i].Name] = true
	}
	for _, entry := range pending {
		named[entry] = true
	}
	switch {
	case x.options.upstreamSince137() && !o.isGroup():
		// D-5 is mended, but for the entries that need no claim.
		for _, status := range o.statuses {
			if status.ResourceClaimName == nil || named[status.Name] {
				continue
			}
			a.Statuses = append(a.Statuses, *status.DeepCopy())
		}
	case !x.options.upstream():
		a.UID = o.UID
		// D-5: an entry that is left out would be taken away. The status of an entry that names a claim is not this
		// controller's, nor is a status whose entry does not exist.
		for i := range o.entries {
			pc := &o.entries[i]
			status := o.status(pc.Name)
			if status == nil || !generated(pc) || named[pc.Name] {
				continue
			}
			// An entry that is repeated has one status.
			named[pc.Name] = true
			a.Statuses = append(a.Statuses, *status.DeepCopy())
		}
	}
	// Sorted, so that the patch does not depend on the order of the entries, nor on which of them is new.
	sortStatuses(a.Statuses)
	slices.Sort(a.Pending)
	return a
}

// reserve adds a Reserve for each allocated claim of the pod that is not reserved for it. ready are the claims of the
// entries that have one.
//
// Usually the scheduler reserves a claim when it binds the pod to a node. This is for a pod that got its node in
// another way: the kubelet starts no pod whose claim is not reserved for it.
func (x *Index) reserve(actions []Action, o *owner, ready []*resourcev1.ResourceClaim, problems *snapshot.Problems) []Action {
	var seen map[*resourcev1.ResourceClaim]bool
	for i, claim := range ready {
		if claim == nil {
			if _, state := o.claimName(i); x.options.upstream() && state != NameNotNeeded {
				// D-8: the entries behind one that has to wait have to wait as well.
				return actions
			}
			continue
		}
		// Only an allocated claim can have consumers. The scheduler allocates.
		if claim.Status.Allocation == nil || x.reserved(o, claim) {
			continue
		}
		if !x.options.upstream() {
			// D-27: a claim that is reserved for a PodGroup is not reserved for one of its pods as well.
			if x.mayBeGroups(claim) {
				problems.Add(o.entryProblem(i, "", ErrPodGroupClaim))
				continue
			}
			if seen[claim] {
				// D-16: an entry before this one names the same claim.
				continue
			}
			// Made for the first claim that is reserved: mostly there is none.
			if seen == nil {
				seen = map[*resourcev1.ResourceClaim]bool{}
			}
			seen[claim] = true
			// D-8: a request that is certain to be rejected would hold back the requests after it.
			if err := refusal(claim); err != nil {
				problems.Add(err)
				continue
			}
		}
		// Whom to reserve for depends on the group.
		o.member.consult()
		consumer, reservedFor := asConsumer(o.pod), o.key()
		if g := o.member.group; g != nil {
			bound, failsAt := g.binds(&o.entries[i])
			if failsAt >= 0 && x.options.upstream() {
				problem, _ := g.unbindable(failsAt)
				problems.Add(problem)
				return actions
			}
			if bound {
				consumer, reservedFor = g.asConsumer(), PodGroupKey(g.Namespace, g.Name)
			}
		}
		// The claim belongs to the snapshot. The copy is the whole claim, since an update replaces the whole status.
		claim = claim.DeepCopy()
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, consumer)
		actions = append(actions, Reserve{Claim: claim, Consumer: reservedFor, ContinueOnError: !x.options.upstream()})
	}
	return actions
}

// refusal is why the API server would not take another consumer for the claim, or nil. Both rules are in its validation
// of the status; the plan reports them instead of sending the request.
func refusal(claim *resourcev1.ResourceClaim) *purekube.ObjectError {
	switch {
	case claim.DeletionTimestamp != nil:
		return claimError(claim, "metadata.deletionTimestamp", ErrClaimDeleting)
	case len(claim.Status.ReservedFor) >= resourcev1.ResourceClaimReservedForMaxSize:
		return claimError(claim, "status.reservedFor", ErrReservedForMax)
	}
	return nil
}

// failedEvent is the event for an entry that gets no claim: "PodResourceClaim gpu: …" or "PodGroupResourceClaim gpu:
// …", as upstream's syncPod and syncPodGroup record it.
func failedEvent(regarding corev1.ObjectReference, entry, reason string) purekube.Event {
	return purekube.Event{
		Regarding: regarding,
		Type:      corev1.EventTypeWarning,
		Reason:    reasonFailed,
		Message:   fmt.Sprintf("%sResourceClaim %s: %s", regarding.Kind, entry, reason),
	}
}
