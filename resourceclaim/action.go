package resourceclaim

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Action is one write that a plan asks for. It is one of
//
//   - [CreateClaim]: create resourceclaims
//   - [SetClaimStatuses]: patch pods/status or podgroups/status, a server-side apply
//   - [Reserve]: patch resourceclaims/status
//   - [Release]: patch resourceclaims/status
//   - [RemoveFinalizer]: patch resourceclaims
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

// Result is what a plan for one pod, claim or PodGroup decided.
type Result = purekube.Result[Action]

// Outcome is the share of one pod, claim or PodGroup in [PlanAll].
type Outcome = purekube.Outcome[Action]

// The resources that the actions write to, and the resource of templates.
var (
	// Claims are read and written as resource.k8s.io/v1 alone, the version of [resourcev1]. A PodGroup is not listed
	// here: its version is in SetClaimStatuses.APIVersion, because clusters serve different versions.
	claimResource    = resourcev1.SchemeGroupVersion.WithResource("resourceclaims")
	templateResource = resourcev1.SchemeGroupVersion.WithResource("resourceclaimtemplates")
	podResource      = corev1.SchemeGroupVersion.WithResource("pods")
)

// patchOf is a strategic merge patch of the claim as the plan read it. metadata and status are the fields that change;
// each may be nil. A nil claim gives a request without a name, which the API server refuses.
//
// Upstream updates the whole claim, so it erases fields of a newer API that its types lack. The patch names only what
// changes. As in an update, the resourceVersion makes it fail with a conflict if anything has changed since the
// snapshot: the scheduler may have added a consumer in the meantime, and its devices must not be taken away.
func patchOf(claim *resourcev1.ResourceClaim, subresource string, metadata, status map[string]any) purekube.Request {
	if claim == nil {
		claim = &resourcev1.ResourceClaim{}
	}
	return purekube.Request{
		Verb: "patch", Resource: claimResource, Kind: claimKind, Subresource: subresource, Namespace: claim.Namespace,
		Name:      claim.Name,
		PatchType: types.StrategicMergePatchType, Patch: snapshot.PatchAsRead(claim, metadata, status),
	}
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
