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

// reasonFailed is the reason of the event for an entry that gets no claim.
const reasonFailed = "FailedResourceClaimCreation"

// planOwner decides about one pod or PodGroup: create what is missing, write the names into its status, and reserve
// for a pod what is allocated (syncPod and syncPodGroup in upstream's controller.go). The claims of a PodGroup
// are reserved for it by its pods' plans.
func (x *Index) planOwner(o *owner) (r Result, err error) {
	if o.getsNothing(x.options) {
		return r, nil
	}
	presence, problem := x.presence(o.need(), o.UID)
	if presence == absent {
		return r, nil // D-21: what it gets would have to be taken back
	}
	r, err = x.planPresent(o)
	if presence == present || err == nil && r.Empty() {
		return r, err
	}
	// D-37: it is asked for if there is anything to do for it.
	if unsafe := snapshot.CheckNeed(o.need()); unsafe != nil {
		return Result{}, unsafe
	}
	r = Result{Needs: []purekube.Need{o.need()}}
	if problem != nil {
		return r, problem
	}
	return r, nil
}

// planPresent is planOwner for a pod or PodGroup that is there.
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
	if !work.ended && len(r.Needs) == 0 {
		if work.statuses() {
			r.Actions = append(r.Actions, x.setStatuses(o, work))
		}
		if o.node != "" {
			// Without a node, reserving is up to the scheduler.
			r.Actions = x.reserve(r.Actions, o, claims, &problems)
		}
	}
	if o.member.decides() {
		need := needPodGroup(o.Namespace, o.member.name)
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
func (x *Index) generateAll(o *owner, claims []*resourcev1.ResourceClaim, r *Result, problems *snapshot.Problems) (all []*resourcev1.ResourceClaim, work generation) {
	for i := range o.entries {
		entry := o.entries[i].Name
		if o.isGroup() && i >= maxPodGroupClaims && !x.options.upstream() {
			problems.Add(o.problem("spec.resourceClaims", ErrTooManyClaims))
			break
		}
		e := x.resolve(o, i)
		claims = append(claims, nil)
		switch e.state {
		case entryReady:
			claims[i] = e.claim
		case entryUnknown:
			name, _ := o.claimName(i)
			need := needClaim(o.Namespace, name)
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
			work.adopted = append(work.adopted, corev1.PodResourceClaimStatus{Name: entry, ResourceClaimName: ptr.To(e.claim.Name)})
		case entryCreate:
			work.pending = append(work.pending, entry)
			r.Actions = append(r.Actions, CreateClaim{
				Owner: o.key(), PodClaim: entry, Claim: fromTemplate(o, entry, e.template, x.options), ContinueOnError: !x.options.upstream(),
			})
		case entryFailed:
			problems.Add(e.problem)
			if e.reason != "" {
				event := o.failed(entry, e.reason)
				if !x.options.upstream() {
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

// asksFirst is the result without what has to wait for the answers to its Needs.
func asksFirst(r Result) Result {
	if len(r.Needs) == 0 {
		return r
	}
	return Result{Needs: sortNeeds(r.Needs)}
}

// setStatuses is the write of the status after claims were adopted or are to be created.
func (x *Index) setStatuses(o *owner, work generation) SetClaimStatuses {
	adopted, pending := work.adopted, work.pending
	a := SetClaimStatuses{
		Kind: o.kind, Namespace: o.Namespace, Name: o.Name,
		Statuses: adopted, Pending: pending, Creates: slices.Clone(pending), ContinueOnError: !x.options.upstream(),
	}
	if o.isGroup() {
		a.APIVersion = o.apiVersion
	}
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
		// D-5: an entry that is left out would be taken away.
		for i := range o.entries {
			pc := &o.entries[i]
			status := o.status(pc.Name)
			if status == nil || !generated(pc) || named[pc.Name] {
				continue
			}
			named[pc.Name] = true
			a.Statuses = append(a.Statuses, *status.DeepCopy())
		}
	}
	sortStatuses(a.Statuses)
	slices.Sort(a.Pending)
	return a
}

// reserve adds a Reserve for each allocated claim of the pod that is not reserved for it. ready are the claims of the
// entries that have one.
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
		if claim.Status.Allocation == nil || x.reserved(o, claim) {
			continue
		}
		if !x.options.upstream() {
			if x.mayBeGroups(claim) {
				problems.Add(o.entryProblem(i, "", ErrPodGroupClaim))
				continue
			}
			if seen[claim] {
				// D-16: an entry before this one names the same claim.
				continue
			}
			if seen == nil {
				seen = map[*resourcev1.ResourceClaim]bool{}
			}
			seen[claim] = true
			if err := refusal(claim); err != nil {
				problems.Add(err)
				continue
			}
		}
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
		claim = claim.DeepCopy()
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, consumer)
		actions = append(actions, Reserve{Claim: claim, Consumer: reservedFor, ContinueOnError: !x.options.upstream()})
	}
	return actions
}

// refusal is why the API server would not take another consumer for the claim, or nil.
func refusal(claim *resourcev1.ResourceClaim) *purekube.ObjectError {
	switch {
	case claim.DeletionTimestamp != nil:
		return claimError(claim, "metadata.deletionTimestamp", ErrClaimDeleting)
	case len(claim.Status.ReservedFor) >= resourcev1.ResourceClaimReservedForMaxSize:
		return claimError(claim, "status.reservedFor", ErrReservedForMax)
	}
	return nil
}

func failedEvent(regarding corev1.ObjectReference, entry, reason string) purekube.Event {
	return purekube.Event{
		Regarding: regarding,
		Type:      corev1.EventTypeWarning,
		Reason:    reasonFailed,
		Message:   fmt.Sprintf("%sResourceClaim %s: %s", regarding.Kind, entry, reason),
	}
}
