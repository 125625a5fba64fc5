package disruption

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// Action is one write that a plan asks for. It is one of:
//   - [UpdateStatus]
//   - [ClearDisruptionTarget]
//
//sumtype:decl
type Action interface {
	purekube.Action
	isAction()
}

var (
	_ Action = UpdateStatus{}
	_ Action = ClearDisruptionTarget{}
)

type (
	// Result is what Plan decided for one key.
	Result = purekube.Result[Action]
	// Outcome is one key's share of PlanAll.
	Outcome = purekube.Outcome[Action]
)

// UpdateStatus writes the status of a budget: a patch of the subresource status of poddisruptionbudgets (policy/v1).
//
// The patch has the UID and the resourceVersion of Budget, so that it conflicts if the budget has changed. The eviction
// handler counts disruptionsAllowed down in the same status: without the resourceVersion, your write would allow the
// same disruption twice. On a conflict, plan again.
type UpdateStatus struct {
	// Budget is the whole object, a copy, with the new status.
	Budget *policyv1.PodDisruptionBudget
}

func (UpdateStatus) isAction() {}

// Type is UpdateStatus.
func (UpdateStatus) Type() string { return "UpdateStatus" }

// Request is the patch of the status, with the resourceVersion of the plan. It does not read done: no action of this
// package depends on what an earlier action created.
func (a UpdateStatus) Request([]runtime.Object) purekube.Request {
	b := cmp.Or(a.Budget, &policyv1.PodDisruptionBudget{})
	st := b.Status
	// The API server merges a map and removes nothing from it, unless the patch says that it replaces the whole map.
	disrupted := map[string]any{"$patch": "replace"}
	for pod, at := range st.DisruptedPods {
		disrupted[pod] = at
	}
	status := map[string]any{
		"observedGeneration": st.ObservedGeneration,
		"disruptedPods":      disrupted,
		"disruptionsAllowed": st.DisruptionsAllowed,
		"currentHealthy":     st.CurrentHealthy,
		"desiredHealthy":     st.DesiredHealthy,
		"expectedPods":       st.ExpectedPods,
	}
	// The list is a map by type for the API server: conditions of other types stay.
	if c := apimeta.FindStatusCondition(st.Conditions, policyv1.DisruptionAllowedCondition); c != nil {
		status["conditions"] = []any{map[string]any{
			"type": c.Type, "status": c.Status, "reason": c.Reason, "message": c.Message,
			"observedGeneration": c.ObservedGeneration, "lastTransitionTime": c.LastTransitionTime,
		}}
	}
	return statusPatch(b, policyv1.SchemeGroupVersion.WithKind(budgetKind), "poddisruptionbudgets", status)
}

// statusPatch is a patch of the subresource status of the object as it was read. Upstream updates the whole object, so
// it erases fields of a newer API that its types lack, and fields that a transform has removed from the cache.
func statusPatch(
	object metav1.Object, kind schema.GroupVersionKind, resource string, status map[string]any,
) purekube.Request {
	return purekube.Request{
		Verb: "patch", Resource: kind.GroupVersion().WithResource(resource), Kind: kind.Kind, Subresource: "status",
		Namespace: object.GetNamespace(), Name: object.GetName(),
		PatchType: types.StrategicMergePatchType, Patch: snapshot.PatchAsRead(object, nil, status),
	}
}

// Apply returns a copy of latest with the planned status and the resourceVersion of the plan. An update with the copy
// conflicts unless latest is the object in the snapshot of the plan. Apply returns nil for a nil latest.
func (a UpdateStatus) Apply(latest *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
	if latest == nil || a.Budget == nil {
		return latest.DeepCopy()
	}
	updated := latest.DeepCopy()
	updated.ResourceVersion = a.Budget.ResourceVersion
	a.Budget.Status.DeepCopyInto(&updated.Status)
	return updated
}

// String is one line for logs and dry runs.
func (a UpdateStatus) String() string {
	if a.Budget == nil {
		return "UpdateStatus"
	}
	st := a.Budget.Status
	says := countsOf(st).String()
	c := apimeta.FindStatusCondition(st.Conditions, policyv1.DisruptionAllowedCondition)
	if c != nil && c.Reason == policyv1.SyncFailedReason {
		says = fmt.Sprintf("%d allowed, sync failed: %s", st.DisruptionsAllowed, c.Message)
	}
	return fmt.Sprintf("UpdateStatus %s/%s: %s", a.Budget.Namespace, a.Budget.Name, says)
}

// ClearDisruptionTarget sets the condition DisruptionTarget of a pod to False: a patch of the subresource status of
// pods (v1), with the UID and the resourceVersion of the pod in the snapshot.
type ClearDisruptionTarget struct {
	// Pod is the whole object, a copy, with the new condition.
	Pod *corev1.Pod
}

func (ClearDisruptionTarget) isAction() {}

// Type is ClearDisruptionTarget.
func (ClearDisruptionTarget) Type() string { return "ClearDisruptionTarget" }

// Request is the patch of the status, with the resourceVersion of the plan. It does not read done.
func (a ClearDisruptionTarget) Request([]runtime.Object) purekube.Request {
	pod := cmp.Or(a.Pod, &corev1.Pod{})
	var status map[string]any
	if c := podstate.Condition(pod, corev1.DisruptionTarget); c != nil {
		// The list is a map by type for the API server: other conditions stay. The new condition replaces the whole old
		// one, so what it lacks is null.
		status = map[string]any{"conditions": []any{map[string]any{
			"type": c.Type, "status": c.Status, "reason": orNull(c.Reason), "message": orNull(c.Message),
			"observedGeneration": orNull(c.ObservedGeneration), "lastTransitionTime": c.LastTransitionTime,
			"lastProbeTime": c.LastProbeTime,
		}}}
	}
	return statusPatch(pod, corev1.SchemeGroupVersion.WithKind(podKind), "pods", status)
}

// orNull is nil for the zero value, which removes a field in a merge patch.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// Apply returns a copy of latest with the planned condition and the resourceVersion of the plan. An update with the
// copy conflicts unless latest is the object in the snapshot of the plan. Apply returns nil for a nil latest.
func (a ClearDisruptionTarget) Apply(latest *corev1.Pod) *corev1.Pod {
	if latest == nil || a.Pod == nil {
		return latest.DeepCopy()
	}
	updated := latest.DeepCopy()
	updated.ResourceVersion = a.Pod.ResourceVersion
	if c := podstate.Condition(a.Pod, corev1.DisruptionTarget); c != nil {
		setPodCondition(updated, *c)
	}
	return updated
}

// String is one line for logs and dry runs.
func (a ClearDisruptionTarget) String() string {
	if a.Pod == nil {
		return "ClearDisruptionTarget"
	}
	return fmt.Sprintf("ClearDisruptionTarget %s/%s", a.Pod.Namespace, a.Pod.Name)
}

// setPodCondition puts the condition in the place of the first one of its type, or at the end. It replaces the whole
// condition; the caller sets the transition time. It writes to the pod, so the pod must be a copy.
func setPodCondition(pod *corev1.Pod, c corev1.PodCondition) {
	if present := podstate.Condition(pod, c.Type); present != nil {
		*present = c
		return
	}
	pod.Status.Conditions = append(pod.Status.Conditions, c)
}
