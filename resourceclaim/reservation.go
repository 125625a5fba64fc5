package resourceclaim

import (
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
)

// Reserve adds a pod or its PodGroup to the consumers of an allocated claim. Claim has the resourceVersion of the claim
// in the snapshot: if the claim has changed since, the write fails with a conflict. Then plan the pod again.
//
// Without a reservation the kubelet does not start the pod, and the claim is deallocated when its last other consumer
// leaves. The scheduler usually reserves; this action is for a pod that has a node although its claim is not reserved.
type Reserve struct {
	// Claim is the claim after the write, with the new consumer last in status.reservedFor.
	Claim *resourcev1.ResourceClaim
	// Consumer is the pod whose plan reserves the claim, or its PodGroup if the claim is reserved for all pods of the
	// group.
	Consumer purekube.Key
	// ContinueOnError reports that the later reservations are right even if this one fails. A plan sets it, except
	// under MatchUpstream: upstream stops at the first error.
	ContinueOnError bool
}

var _ Action = Reserve{}

func (Reserve) isAction() {}

// Type is Reserve.
func (Reserve) Type() string { return "Reserve" }

// Request adds the consumer: patch resourceclaims/status. HTTP 409 means that the claim has changed, or that another
// claim has its name, 404 that it is gone, 422 that it takes no more consumers. In each case plan the pod again.
func (a Reserve) Request([]runtime.Object) purekube.Request {
	var status map[string]any
	if added, ok := a.added(); ok {
		// The list is a map by UID for the API server: other consumers stay.
		status = map[string]any{"reservedFor": []resourcev1.ResourceClaimConsumerReference{added}}
	}
	r := patchOf(a.Claim, "status", nil, status)
	r.ContinueOnError = a.ContinueOnError
	return r
}

// added is the new consumer: the last one, by the contract of Claim. An action that a user made may have none.
func (a Reserve) added() (consumer resourcev1.ResourceClaimConsumerReference, ok bool) {
	if a.Claim == nil || len(a.Claim.Status.ReservedFor) == 0 {
		return consumer, false
	}
	return a.Claim.Status.ReservedFor[len(a.Claim.Status.ReservedFor)-1], true
}

// Apply returns a copy of the claim with the new consumer added. A claim that has it
// already, is not allocated, or has another UID is returned as it is; nil gives nil.
func (a Reserve) Apply(latest *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	out := latest.DeepCopy()
	added, ok := a.added()
	if out == nil || !ok || out.UID != a.Claim.UID || out.Status.Allocation == nil {
		return out
	}
	if !slices.Contains(out.Status.ReservedFor, added) {
		out.Status.ReservedFor = append(out.Status.ReservedFor, added)
	}
	return out
}

// String reads "Reserve ml/shared: for pod ml/infer", or "Reserve ml/shared: for podgroup ml/train".
func (a Reserve) String() string {
	return fmt.Sprintf("Reserve %s: for %s %s", nameOf(a.Claim), strings.ToLower(a.Consumer.Kind),
		a.Consumer.NamespacedName())
}

// Release removes the consumers that no longer need the claim, and with the last of them the allocation (BR-30-05,
// BR-30-07). Claim has the resourceVersion of the claim in the snapshot: if the claim has changed since, the write
// fails with a conflict.
//
// A later [RemoveFinalizer] is about the claim that the API server returned for Release.
type Release struct {
	// Claim is the claim after the write.
	Claim *resourcev1.ResourceClaim
	// Removed are the removed consumers, in the order of status.reservedFor. If it is empty, the claim has no consumers
	// and loses only its allocation.
	Removed []resourcev1.ResourceClaimConsumerReference
	// Deallocate reports that the allocation is cleared.
	Deallocate bool
}

var _ Action = Release{}

func (Release) isAction() {}

// Type is Release.
func (Release) Type() string { return "Release" }

// Request removes the consumers, and the allocation if Deallocate is set: patch resourceclaims/status. HTTP 409 means
// that the claim has changed, or that another claim has its name; 404 means that it is gone. In each case send none of
// the later requests, and plan the claim again.
func (a Release) Request([]runtime.Object) purekube.Request {
	status := map[string]any{}
	if len(a.Removed) > 0 {
		gone := make([]map[string]any, len(a.Removed))
		for i, c := range a.Removed {
			gone[i] = map[string]any{"$patch": "delete", "uid": c.UID}
		}
		status["reservedFor"] = gone
	}
	if a.Deallocate {
		status["allocation"] = nil
	}
	return patchOf(a.Claim, "status", nil, status)
}

// Apply returns a copy of the claim without the removed consumers, and without its allocation if Deallocate is set and
// no other consumer was added since. A claim with another UID is copied unchanged. For nil, Apply returns nil.
//
// If a consumer was added since, the claim is in use again, and its allocation must stay.
func (a Release) Apply(latest *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	out := latest.DeepCopy()
	if out == nil || a.Claim == nil || out.UID != a.Claim.UID {
		return out
	}
	out.Status.ReservedFor = slices.DeleteFunc(out.Status.ReservedFor,
		func(c resourcev1.ResourceClaimConsumerReference) bool {
			return slices.Contains(a.Removed, c)
		})
	if a.Deallocate && len(out.Status.ReservedFor) == 0 {
		out.Status.Allocation = nil
	}
	return out
}

// String reads "Release ml/shared: infer, deallocate".
func (a Release) String() string {
	var parts []string
	for _, c := range a.Removed {
		parts = append(parts, c.Name)
	}
	if a.Deallocate {
		parts = append(parts, "deallocate")
	}
	return fmt.Sprintf("Release %s: %s", nameOf(a.Claim), strings.Join(parts, ", "))
}

// nameOf is the claim in the text of an action, which a user may have made without a claim.
func nameOf(claim *resourcev1.ResourceClaim) string {
	if claim == nil {
		return "no claim"
	}
	return claim.Namespace + "/" + claim.Name
}
