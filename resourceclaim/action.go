package resourceclaim

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
)

// Action is one write that a plan asks for. It is one of
//
//   - [CreateClaim]
//   - [SetClaimStatuses]
//   - [Reserve]
//   - [Release]
//   - [RemoveFinalizer]
//   - [DeleteClaim]
//
// The order within a result is part of the decision: a claim is created before the pod's status names it, released
// before its finalizer is removed, and its finalizer is removed before the claim is deleted. Send the requests in that
// order. If one fails, send the later requests only if the failed Request says ContinueOnError; then take a new
// snapshot and plan again.
//
//sumtype:decl
type Action interface {
	purekube.Action
	isAction()
}

var (
	_ Action = CreateClaim{}
	_ Action = SetClaimStatuses{}
	_ Action = Reserve{}
	_ Action = Release{}
	_ Action = RemoveFinalizer{}
	_ Action = DeleteClaim{}

	_ purekube.FailureReporter = CreateClaim{}
)

func (CreateClaim) isAction()      {}
func (SetClaimStatuses) isAction() {}
func (Reserve) isAction()          {}
func (Release) isAction()          {}
func (RemoveFinalizer) isAction()  {}
func (DeleteClaim) isAction()      {}

// The resources that the actions write to.
var (
	claimResource = resourcev1.SchemeGroupVersion.WithResource("resourceclaims")
	podResource   = corev1.SchemeGroupVersion.WithResource("pods")
)

var claimGVK = resourcev1.SchemeGroupVersion.WithKind(claimKind)

// updateStatusOf is the request that replaces the claim's status. A nil claim gives a request without
// a name, which the API server refuses.
func updateStatusOf(claim *resourcev1.ResourceClaim) purekube.Request {
	body := bodyOf(claim)
	return purekube.Request{
		Verb: "update", Resource: claimResource, Kind: claimKind, Subresource: "status",
		Namespace: body.Namespace, Name: body.Name, Object: body,
	}
}

// bodyOf is a copy of the claim with its apiVersion and kind set, which objects of a cache lack.
func bodyOf(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	body := claim.DeepCopy()
	if body == nil {
		body = &resourcev1.ResourceClaim{}
	}
	body.APIVersion, body.Kind = claimGVK.ToAPIVersionAndKind()
	return body
}
