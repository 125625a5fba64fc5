package servicecidr

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// The life of a ServiceCIDR in actions:
//
//	created    AddFinalizer, SetCondition Ready=True    from then on a DELETE only sets deletionTimestamp
//	DELETE     SetCondition Ready=False Terminating     while addresses of Services would be orphaned
//	           (nothing, RecheckAt)                     in the grace period
//	           RemoveFinalizer                          the API server deletes the object
//
// Each action has two forms: Request is the whole request, and Apply is the effect on an object, for example in a
// simulation.

// Action is one write that a plan asks for. It is one of [AddFinalizer], [SetCondition] and [RemoveFinalizer].
//
// Each action names its ServiceCIDR by name and UID. Under MatchUpstream the UID is empty.
//
//sumtype:decl
type Action interface {
	purekube.Action
	isAction()
}

var (
	_ Action                   = AddFinalizer{}
	_ Action                   = SetCondition{}
	_ Action                   = RemoveFinalizer{}
	_ purekube.FailureReporter = SetCondition{}
)

// Result is what a plan for one ServiceCIDR decided. It has no events and no lookups.
type Result = purekube.Result[Action]

// Outcome is one ServiceCIDR's share of [PlanAll].
type Outcome = purekube.Outcome[Action]

// resource is the GVR of ServiceCIDRs. It is a function, because a package variable could be changed.
func resource() schema.GroupVersionResource {
	return networkingv1.SchemeGroupVersion.WithResource("servicecidrs")
}

// patchRequest returns the patch of a ServiceCIDR. No action is right after a failed patch, so ContinueOnError is
// false: Ready=True would be wrong without the finalizer, and every other action is the last of its plan.
func patchRequest(name string, patchType types.PatchType, body any) purekube.Request {
	return purekube.Request{Verb: "patch", Resource: resource(), Kind: kindServiceCIDR, Name: name, PatchType: patchType,
		Patch: snapshot.JSON(body)}
}

// isAction seals [Action]: a type switch over its members cannot meet a type of another package.
func (AddFinalizer) isAction()    {}
func (SetCondition) isAction()    {}
func (RemoveFinalizer) isAction() {}

// Type is AddFinalizer.
func (AddFinalizer) Type() string { return "AddFinalizer" }

// Type is SetCondition.
func (SetCondition) Type() string { return "SetCondition" }

// Type is RemoveFinalizer.
func (RemoveFinalizer) Type() string { return "RemoveFinalizer" }

// AddFinalizer adds Finalizer (BR-31-01). A ServiceCIDR without the finalizer is gone as soon as somebody deletes it,
// whatever Services have addresses in it. The API server does not set the finalizer when a ServiceCIDR is created, so
// each new one has this gap until the patch arrives.
type AddFinalizer struct {
	Name string
	UID  types.UID
}

// Apply returns a copy of latest with the finalizer. It returns an unchanged copy if latest has another UID than the
// action, since a new ServiceCIDR of that name has its own plan. It returns nil if latest is nil.
func (a AddFinalizer) Apply(latest *networkingv1.ServiceCIDR) *networkingv1.ServiceCIDR {
	c := latest.DeepCopy()
	// Without a UID in the action (MatchUpstream), every object of that name is patched.
	if c != nil && (a.UID == "" || a.UID == c.UID) && !slices.Contains(c.Finalizers, Finalizer) {
		c.Finalizers = append(c.Finalizers, Finalizer)
	}
	return c
}

// Request is a strategic merge patch of the ServiceCIDR, which adds the entry to the list: finalizers of other
// controllers stay. It has no UID: a new object of that name needs the finalizer too. It does not read done.
//
// The body is upstream's, byte for byte, in both modes.
func (a AddFinalizer) Request([]runtime.Object) purekube.Request {
	return patchRequest(a.Name, types.StrategicMergePatchType, map[string]any{
		"metadata": map[string]any{"finalizers": []string{Finalizer}},
	})
}

// String reads "AddFinalizer NAME".
func (a AddFinalizer) String() string { return "AddFinalizer " + a.Name }

// RemoveFinalizer removes Finalizer. Then the API server deletes the ServiceCIDR, unless it has other finalizers. It is
// the only action that cannot be undone: after it, the address of a Service may be in no ServiceCIDR. Every doubt
// therefore keeps a plan from asking for it.
type RemoveFinalizer struct {
	Name string
	UID  types.UID
}

// Apply returns a copy of latest without the finalizer. It returns an unchanged copy if latest has another UID than
// the action, since the API server would refuse the patch. It returns nil if latest is nil.
func (a RemoveFinalizer) Apply(latest *networkingv1.ServiceCIDR) *networkingv1.ServiceCIDR {
	c := latest.DeepCopy()
	if c != nil && (a.UID == "" || a.UID == c.UID) {
		c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f == Finalizer })
	}
	return c
}

// Request is an irreversible strategic merge patch of the ServiceCIDR. If the action has a UID, the API server refuses
// the patch (422 Invalid) when another object has the name by then (D-3). It does not read done.
func (a RemoveFinalizer) Request([]runtime.Object) purekube.Request {
	// The directive removes one entry of the list. Finalizers of other controllers stay, also an entry that was added
	// since the snapshot.
	metadata := map[string]any{"$deleteFromPrimitiveList/finalizers": []string{Finalizer}}
	if a.UID != "" {
		metadata["uid"] = a.UID
	}
	r := patchRequest(a.Name, types.StrategicMergePatchType, map[string]any{"metadata": metadata})
	// The snapshot may lack an address, and no precondition of a patch can be about other objects.
	r.Irreversible = true
	return r
}

// String reads "RemoveFinalizer NAME".
func (a RemoveFinalizer) String() string { return "RemoveFinalizer " + a.Name }

// SetCondition sets the condition Ready. Users see it in the status of the ServiceCIDR. Ready=False tells them why a
// deleted ServiceCIDR is still there.
type SetCondition struct {
	Name string
	UID  types.UID
	// Condition is complete. Its LastTransitionTime is the snapshot's Now, even if the status stays the same: upstream
	// dates every write so.
	Condition metav1.Condition
}

// body is the object of the apply.
func (a SetCondition) body() any {
	// Empty reasons and messages are sent too, to overwrite earlier ones. The type has the fields that upstream's apply
	// sets. An observedGeneration of the Condition is not sent.
	type condition struct {
		Type               string                 `json:"type"`
		Status             metav1.ConditionStatus `json:"status"`
		LastTransitionTime metav1.Time            `json:"lastTransitionTime"`
		Reason             string                 `json:"reason"`
		Message            string                 `json:"message"`
	}
	type status struct {
		Conditions []condition `json:"conditions"`
	}
	return struct {
		snapshot.Applied
		Status status `json:"status"`
	}{
		snapshot.Applied{
			Kind: kindServiceCIDR, APIVersion: networkingv1.SchemeGroupVersion.String(),
			Metadata: snapshot.AppliedMetadata{Name: a.Name, UID: a.UID},
		},
		status{[]condition{{
			Type:               a.Condition.Type,
			Status:             a.Condition.Status,
			LastTransitionTime: a.Condition.LastTransitionTime,
			Reason:             a.Condition.Reason,
			Message:            a.Condition.Message,
		}}},
	}
}

// Apply returns a copy of latest with the condition. Other conditions stay. It returns an unchanged copy if latest has
// another UID than the action, since the API server would refuse the patch. It returns nil if latest is nil.
func (a SetCondition) Apply(latest *networkingv1.ServiceCIDR) *networkingv1.ServiceCIDR {
	c := latest.DeepCopy()
	if c == nil || a.UID != "" && a.UID != c.UID {
		return c
	}
	// The list of conditions is a map by type for the API server: an apply with one condition changes that one.
	have := apimeta.FindStatusCondition(c.Status.Conditions, a.Condition.Type)
	if have == nil {
		c.Status.Conditions = append(c.Status.Conditions, a.Condition)
		return c
	}
	generation := have.ObservedGeneration // the patch does not set it
	*have = a.Condition
	have.ObservedGeneration = generation
	return c
}

// Request is a server-side apply of the status of the ServiceCIDR. If the action has a UID, the API server refuses the
// apply (422 Invalid) when another object has the name by then (D-26). It does not read done.
func (a SetCondition) Request([]runtime.Object) purekube.Request {
	r := patchRequest(a.Name, types.ApplyPatchType, a.body())
	// Force: another field manager may own the condition, for example after somebody has edited the status. Upstream
	// forces too.
	r.Subresource, r.FieldManager, r.Force = "status", fieldManager, true
	return r
}

// String reads "SetCondition NAME: Ready=False Terminating".
func (a SetCondition) String() string {
	s := fmt.Sprintf("SetCondition %s: %s=%s", a.Name, a.Condition.Type, a.Condition.Status)
	if a.Condition.Reason != "" {
		s += " " + a.Condition.Reason
	}
	return s
}

// FailureEvent returns the event to record when the write fails with err. As in kube-controller-manager, there is an
// event for Ready=True, whatever the error, and none for Ready=False.
func (a SetCondition) FailureEvent(err error) (e purekube.Event, ok bool) {
	// Upstream's sync records the event before it returns the error, so each retry records it again.
	if err == nil || a.Condition.Type != networkingv1.ServiceCIDRConditionReady ||
		a.Condition.Status != metav1.ConditionTrue {
		return purekube.Event{}, false
	}
	return purekube.Event{
		Regarding: corev1.ObjectReference{
			Kind:       kindServiceCIDR,
			APIVersion: networkingv1.SchemeGroupVersion.String(),
			Name:       a.Name,
			UID:        a.UID,
		},
		Type:    corev1.EventTypeWarning,
		Reason:  "KubernetesServiceCIDRError",
		Message: "The ServiceCIDR Status can not be set to Ready=True",
	}, true
}
