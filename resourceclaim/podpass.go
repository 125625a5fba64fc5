package resourceclaim

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// Why an allocated claim is not reserved for a pod that has a node. The API server would refuse
// the write, and the pods behind it would wait (D-8). Test for them with errors.Is.
var (
	// ErrReservedForMax: the claim has as many consumers as the API allows.
	ErrReservedForMax = fmt.Errorf("reserved for %d consumers, which is the most", resourcev1.ResourceClaimReservedForMaxSize)
	// ErrClaimDeleting: the claim is being deleted and takes no new consumer.
	ErrClaimDeleting = errors.New("being deleted, takes no new consumer")
)

// reasonFailed is the reason of the event for an entry that gets no claim.
const reasonFailed = "FailedResourceClaimCreation"

// planPod decides about one pod: create what is missing, write the names into its status,
// reserve what is allocated (syncPod in upstream's controller.go).
func (x *planner) planPod(pod *corev1.Pod) (r Result, err error) {
	if len(pod.Spec.ResourceClaims) == 0 || pod.DeletionTimestamp != nil {
		return r, nil
	}
	if !x.upstream() && podstate.Done(pod) {
		// D-7: a claim made or reserved now would have to be taken back at once.
		return r, nil
	}
	if x.knownDeleted(pod) {
		// D-21: so would it for a pod that is gone.
		return r, nil
	}
	var problems snapshot.Problems
	if pod.UID == "" {
		problems.Add(podError(snapshot.KeyOf(pod), "metadata.uid", ErrNoUID))
		return r, problems.Err()
	}

	// The claims of the entries, by index; a converged pod costs no memory.
	var few [8]*resourcev1.ResourceClaim
	ready := few[:0]
	var adopted []corev1.PodResourceClaimStatus
	var pending []string
	of := entriesOf(pod)
	for i := range pod.Spec.ResourceClaims {
		entry := pod.Spec.ResourceClaims[i].Name
		e := x.resolve(of, i)
		ready = append(ready, nil)
		switch e.state {
		case entryReady:
			ready[i] = e.claim
		case entryUnknown:
			name, _ := of.claimName(i)
			r.Needs = append(r.Needs, needClaim(pod.Namespace, name))
			if x.upstream() {
				// With this answer the pass may end here, before it asks for another claim (D-8).
				return asksFirst(r), problems.Err()
			}
		case entryAdopt:
			adopted = append(adopted, corev1.PodResourceClaimStatus{Name: entry, ResourceClaimName: ptr.To(e.claim.Name)})
		case entryCreate:
			pending = append(pending, entry)
			r.Actions = append(r.Actions, CreateClaim{
				Pod:      snapshot.KeyOf(pod),
				PodClaim: entry,
				Claim:    fromTemplate(pod, entry, e.template, x.Options),
				GoOn:     !x.upstream(),
			})
		case entryFailed:
			problems.Add(e.problem)
			if e.reason != "" {
				r.Events = append(r.Events, failedEvent(pod, entry, e.reason))
			}
			if x.upstream() {
				// D-8: what is created by now stays without its name in the status.
				return asksFirst(r), problems.Err()
			}
		}
	}
	if len(r.Needs) > 0 {
		return asksFirst(r), problems.Err()
	}

	if len(adopted)+len(pending) > 0 {
		r.Actions = append(r.Actions, x.setStatuses(of, adopted, pending))
	}
	if pod.Spec.NodeName != "" {
		// Without a node, reserving is up to the scheduler.
		r.Actions = x.reserve(r.Actions, of, ready, &problems)
	}
	return r, problems.Err()
}

// asksFirst is the result without what has to wait for the answers to its Needs.
func asksFirst(r Result) Result {
	if len(r.Needs) == 0 {
		return r
	}
	return Result{Needs: sortNeeds(r.Needs)}
}

// setStatuses is the write of the pod's status after claims were adopted or are to be created.
func (x *planner) setStatuses(of entries, adopted []corev1.PodResourceClaimStatus, pending []string) SetClaimStatuses {
	pod := of.pod
	a := SetClaimStatuses{Pod: snapshot.KeyOf(pod), Statuses: adopted, Pending: pending, GoOn: !x.upstream()}
	named := make(map[string]bool, len(adopted)+len(pending))
	for i := range adopted {
		named[adopted[i].Name] = true
	}
	for _, entry := range pending {
		named[entry] = true
	}
	switch {
	case x.upstreamSince137():
		// D-5 is mended, but for the entries that need no claim.
		for _, status := range pod.Status.ResourceClaimStatuses {
			if status.ResourceClaimName == nil || named[status.Name] {
				continue
			}
			a.Statuses = append(a.Statuses, *status.DeepCopy())
		}
	case !x.upstream():
		a.UID = pod.UID
		// D-5: an entry that is left out would be taken away.
		for i := range pod.Spec.ResourceClaims {
			pc := &pod.Spec.ResourceClaims[i]
			status := of.status(pc.Name)
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

// reserve adds a Reserve for each allocated claim of the pod that is not reserved for it. ready
// are the claims of the entries that have theirs.
func (x *planner) reserve(actions []Action, of entries, ready []*resourcev1.ResourceClaim, problems *snapshot.Problems) []Action {
	pod := of.pod
	var seen map[*resourcev1.ResourceClaim]bool
	for i, claim := range ready {
		if claim == nil {
			if _, state := of.claimName(i); x.upstream() && state != NameNotNeeded {
				// D-8: the entries behind one that has to wait have to wait as well.
				return actions
			}
			continue
		}
		if claim.Status.Allocation == nil || isReservedFor(pod, claim) {
			continue
		}
		if !x.upstream() {
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
		claim = claim.DeepCopy()
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, asConsumer(pod))
		actions = append(actions, Reserve{Claim: claim, Pod: snapshot.KeyOf(pod), GoOn: !x.upstream()})
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

func failedEvent(pod *corev1.Pod, entry, reason string) purekube.Event {
	return purekube.Event{
		Regarding: corev1.ObjectReference{
			APIVersion:      "v1",
			Kind:            "Pod",
			Namespace:       pod.Namespace,
			Name:            pod.Name,
			UID:             pod.UID,
			ResourceVersion: pod.ResourceVersion,
		},
		Type:    corev1.EventTypeWarning,
		Reason:  reasonFailed,
		Message: fmt.Sprintf("PodResourceClaim %s: %s", entry, reason),
	}
}
