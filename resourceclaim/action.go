package resourceclaim

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
)

// Action is one write that a plan asks for. It is one of
//
//   - [CreateClaim]: create resourceclaims
//   - [SetClaimStatuses]: patch pods/status or podgroups/status, a server-side apply
//   - [Reserve]: update resourceclaims/status
//   - [Release]: update resourceclaims/status
//   - [RemoveFinalizer]: update resourceclaims
//   - [DeleteClaim]: delete resourceclaims
//
// The first three belong to the plan of a pod or PodGroup, the other three to the plan of a claim.
//
// The order within a result is part of the decision: a claim is created before the pod's status names it, released
// before its finalizer is removed, and its finalizer is removed before the claim is deleted. Send the requests in that
// order. If one fails, send the later requests only if the failed Request says ContinueOnError; then take a new
// snapshot and plan again.
//
// An action is plain data. It shares no memory with the snapshot, and two plans of one snapshot have equal actions.
// Two actions of one result may share memory: the claims of a Release and of the RemoveFinalizer after it do.
//
//sumtype:decl
type Action interface {
	purekube.Action
	// isAction closes the interface. No other package can add an action, so a switch over the six types is complete.
	isAction()
}

var (
	_ Action = CreateClaim{}
	_ Action = SetClaimStatuses{}
	_ Action = Reserve{}
	_ Action = Release{}
	_ Action = RemoveFinalizer{}
	_ Action = DeleteClaim{}

	// Only a refused create is worth an event. For the other writes upstream records none: it returns the error, and
	// the key is retried.
	_ purekube.FailureReporter = CreateClaim{}
)

func (CreateClaim) isAction()      {}
func (SetClaimStatuses) isAction() {}
func (Reserve) isAction()          {}
func (Release) isAction()          {}
func (RemoveFinalizer) isAction()  {}
func (DeleteClaim) isAction()      {}

// Type is CreateClaim.
func (CreateClaim) Type() string { return "CreateClaim" }

// Type is SetClaimStatuses.
func (SetClaimStatuses) Type() string { return "SetClaimStatuses" }

// Type is Reserve.
func (Reserve) Type() string { return "Reserve" }

// Type is Release.
func (Release) Type() string { return "Release" }

// Type is RemoveFinalizer.
func (RemoveFinalizer) Type() string { return "RemoveFinalizer" }

// Type is DeleteClaim.
func (DeleteClaim) Type() string { return "DeleteClaim" }

// The resources that the actions write to.
var (
	// Claims are read and written as resource.k8s.io/v1 alone, the version of [resourcev1]. A PodGroup is not listed
	// here: its version is in SetClaimStatuses.APIVersion, because clusters serve different versions.
	claimResource = resourcev1.SchemeGroupVersion.WithResource("resourceclaims")
	podResource   = corev1.SchemeGroupVersion.WithResource("pods")
)

// updateStatusOf is the request that replaces the claim's status. A nil claim gives a request without a name, which the
// API server refuses.
//
// It is an update and not a patch, as in upstream's syncClaim. The body has the resourceVersion of the snapshot, so the
// write fails with a conflict if anything has changed since. A patch of status.reservedFor would overwrite the consumer
// that the scheduler has added in the meantime.
func updateStatusOf(claim *resourcev1.ResourceClaim) purekube.Request {
	body := bodyOf(claim)
	return purekube.Request{
		Verb: "update", Resource: claimResource, Kind: claimKind, Subresource: "status",
		Namespace: body.Namespace, Name: body.Name, Object: body,
	}
}

// bodyOf is a copy of the claim with its apiVersion and kind set, which objects of a cache lack. A dynamic client
// cannot send an object without them. For nil it is an empty claim with apiVersion and kind.
func bodyOf(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	// An action is an exported struct, so a user can make one with a nil claim. Its Request must not panic.
	if claim == nil {
		claim = &resourcev1.ResourceClaim{}
	}
	body := copyOf(claim)
	body.APIVersion, body.Kind = claimAPIVersion, claimKind
	return body
}

// copyOf is DeepCopy, but clones the maps of the metadata, which is faster than to put each entry. Where much is
// released, copies are a large share of the cost.
func copyOf(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	rest := *claim
	rest.Labels, rest.Annotations = nil, nil
	body := rest.DeepCopy()
	body.Labels, body.Annotations = maps.Clone(claim.Labels), maps.Clone(claim.Annotations)
	return body
}
