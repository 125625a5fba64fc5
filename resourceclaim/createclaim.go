package resourceclaim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
)

// CreateClaim creates the claim of one entry of the spec.resourceClaims of a pod or PodGroup from its
// template (BR-30-01).
//
// The API server's answer has the name of the claim. The [SetClaimStatuses] of the same plan reads it from the answer.
// Add the answer to the Assumed claims of later snapshots too (BR-30-04); otherwise the next plan may create a second
// claim.
type CreateClaim struct {
	// Owner is the pod or PodGroup that the claim is for.
	Owner purekube.Key
	// PodClaim is the name of the entry in the spec.resourceClaims of the pod or PodGroup.
	PodClaim string
	// Claim is the object to create. It has a generateName and no name.
	// The API server makes the name of it, so a repeated create makes a second claim instead of a conflict.
	Claim *resourcev1.ResourceClaim
	// TemplateName and TemplateUID are of the ResourceClaimTemplate in the namespace of Claim that Claim is made from.
	TemplateName string
	TemplateUID  types.UID
	// ContinueOnError reports that the later actions are right even if the create fails, for example because a quota is
	// used up: the pod's other claims, the names of the created claims, and reservations. A plan sets it, except under
	// MatchUpstream: upstream stops at the first error.
	ContinueOnError bool
}

var (
	_ Action = CreateClaim{}
	// Only a refused create is worth an event. For the other writes upstream records none: it returns the error, and
	// the key is retried.
	_ purekube.FailureReporter = CreateClaim{}
)

func (CreateClaim) isAction() {}

// Type is CreateClaim.
func (CreateClaim) Type() string { return "CreateClaim" }

// Request creates the claim: create resourceclaims. HTTP 404 means that the namespace is gone, 409
// (AlreadyExists) that the generated name was taken, 403 that a quota or an admission plugin
// refused, 422 that the template makes no valid claim. In each case plan the pod or PodGroup again.
//
// Its Template is the template, because Claim has only the fields that this build of the API's types knows.
//
// It needs no answer of an earlier action.
func (a CreateClaim) Request([]runtime.Object) purekube.Request {
	// Objects of a cache lack apiVersion and kind, and a dynamic client cannot send an object without them.
	body := copyOf(a.claim())
	body.APIVersion, body.Kind = claimAPIVersion, claimKind
	r := purekube.Request{Verb: "create", Resource: claimResource, Kind: claimKind, Namespace: body.Namespace,
		Object: body, ContinueOnError: a.ContinueOnError}
	if a.TemplateName != "" {
		r.Template = &purekube.Template{Resource: templateResource, Kind: templateKind, Namespace: body.Namespace,
			Name: a.TemplateName, UID: a.TemplateUID}
	}
	return r
}

// FailureEvent is the event FailedResourceClaimCreation on the pod or PodGroup, which upstream records when
// the API server refuses the claim. A nil error is no failure.
//
// Record it when the request fails: the entry has no other trace that a user can see. A quota that is used up appears
// nowhere in the pod's status.
func (a CreateClaim) FailureEvent(err error) (purekube.Event, bool) {
	if err == nil {
		return purekube.Event{}, false
	}
	regarding := corev1.ObjectReference{APIVersion: "v1", Kind: a.Owner.Kind, Namespace: a.Owner.Namespace,
		Name: a.Owner.Name}
	if a.Owner.Kind == podGroupKind {
		regarding.APIVersion = podGroupAPIVersion
	}
	// The event is about the object with that UID, so that it is listed with the pod ("kubectl describe pod") and not
	// with its successor. The key does not have the UID, and the claim's owner reference does.
	if owner := metav1.GetControllerOfNoCopy(a.claim()); owner != nil {
		regarding.APIVersion, regarding.UID = owner.APIVersion, owner.UID
	}
	// Upstream puts the name of the claim before the colon, which is empty before it is made.
	event := failedEvent(regarding, a.PodClaim, fmt.Sprintf("create ResourceClaim : %v", err))
	// A webhook may refuse with a longer text than events.k8s.io/v1 allows in an event.
	event.Message = message.Event(event.Message)
	return event, true
}

// claim is Claim, or an empty claim for an action that a user made without one.
func (a CreateClaim) claim() *resourcev1.ResourceClaim {
	if a.Claim == nil {
		return &resourcev1.ResourceClaim{}
	}
	return a.Claim
}

// String reads "CreateClaim ml/train-0 gpu: train-0-gpu-*", or "CreateClaim podgroup ml/train gpu: train-gpu-*".
func (a CreateClaim) String() string {
	return fmt.Sprintf("CreateClaim %s %s: %s*", ownerText(a.Owner), a.PodClaim, a.claim().GenerateName)
}

// ownerText names a pod or a PodGroup. A pod is the usual owner, and its kind is left out.
func ownerText(owner purekube.Key) string {
	if owner.Kind == podGroupKind {
		return "podgroup " + owner.NamespacedName().String()
	}
	return owner.NamespacedName().String()
}

// reasonFailed is the reason of the event for an entry that gets no claim. It is upstream's, and users filter by it.
const reasonFailed = "FailedResourceClaimCreation"

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
