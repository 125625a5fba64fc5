package resourceclaim

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FieldManager owns the entries of status.resourceClaimStatuses that [SetClaimStatuses] applies.
const FieldManager = "ResourceClaimController"

// SetClaimStatuses writes the names of generated claims into the pod's
// status.resourceClaimStatuses: a server-side apply (Patch) of pods/status with the field
// manager [FieldManager] and force.
//
// By default Statuses and Pending together are all of this controller's entries, not only the
// new ones: what an apply leaves out, the server takes away (D-5).
type SetClaimStatuses struct {
	// Pod is the pod whose status is written.
	Pod types.NamespacedName
	// UID of that pod, so that the apply cannot hit a new pod of the same name. Empty under
	// MatchUpstream, which sends none.
	UID types.UID
	// Statuses are the entries to apply, sorted by name. One without a ResourceClaimName says
	// that no claim is needed, as in the API.
	Statuses []corev1.PodResourceClaimStatus
	// Pending are the entries, sorted, whose claim is made by a [CreateClaim] before this
	// action: its name is not known yet. WithCreated moves them to Statuses. Those still
	// pending when Patch is called are left out, and a later plan adds them.
	Pending []string
}

// WithCreated returns a copy in which the pending entry podClaim has the claim that the API
// server made for it. An entry that is not pending changes nothing.
func (a SetClaimStatuses) WithCreated(podClaim, claimName string) SetClaimStatuses {
	out := a
	out.Statuses = copyStatuses(a.Statuses)
	out.Pending = slices.Clone(a.Pending)
	at := slices.Index(out.Pending, podClaim)
	if at < 0 {
		return out
	}
	out.Pending = slices.Delete(out.Pending, at, at+1)
	if len(out.Pending) == 0 {
		out.Pending = nil
	}
	out.Statuses = append(out.Statuses, corev1.PodResourceClaimStatus{Name: podClaim, ResourceClaimName: &claimName})
	sortStatuses(out.Statuses)
	return out
}

// claimStatusesPatch is the body of the apply. Its fields stand in the order in which
// client-go's apply configurations marshal theirs.
type claimStatusesPatch struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Metadata   struct {
		Name      string    `json:"name"`
		Namespace string    `json:"namespace"`
		UID       types.UID `json:"uid,omitempty"`
	} `json:"metadata"`
	Status struct {
		ResourceClaimStatuses []corev1.PodResourceClaimStatus `json:"resourceClaimStatuses,omitempty"`
	} `json:"status"`
}

// Patch is the body of the server-side apply: patch pods/status, field manager [FieldManager],
// force.
func (a SetClaimStatuses) Patch() (types.PatchType, []byte) {
	p := claimStatusesPatch{Kind: "Pod", APIVersion: "v1"}
	p.Metadata.Name, p.Metadata.Namespace, p.Metadata.UID = a.Pod.Name, a.Pod.Namespace, a.UID
	p.Status.ResourceClaimStatuses = a.Statuses
	// Strings cannot fail to marshal.
	body, _ := json.Marshal(p)
	return types.ApplyPatchType, body
}

// Apply returns a copy of the pod as it is after the apply, when nobody but this controller
// writes the statuses of entries that have a template: those become Statuses, others are kept.
// A pod with another UID is returned as it is; nil gives nil.
func (a SetClaimStatuses) Apply(latest *corev1.Pod) *corev1.Pod {
	out := latest.DeepCopy()
	if out == nil || a.UID != "" && out.UID != a.UID {
		return out
	}
	kept := slices.DeleteFunc(out.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool {
		return slices.ContainsFunc(a.Statuses, func(n corev1.PodResourceClaimStatus) bool { return n.Name == s.Name }) ||
			slices.ContainsFunc(out.Spec.ResourceClaims, func(e corev1.PodResourceClaim) bool {
				return e.Name == s.Name && generated(&e)
			})
	})
	out.Status.ResourceClaimStatuses = append(kept, copyStatuses(a.Statuses)...)
	return out
}

// String reads "SetClaimStatuses ml/train-0: gpu=train-0-gpu-l92c5, nic pending".
func (a SetClaimStatuses) String() string {
	parts := make([]string, 0, len(a.Statuses)+len(a.Pending))
	for _, s := range a.Statuses {
		if s.ResourceClaimName == nil {
			parts = append(parts, s.Name+" not needed")
			continue
		}
		parts = append(parts, s.Name+"="+*s.ResourceClaimName)
	}
	for _, p := range a.Pending {
		parts = append(parts, p+" pending")
	}
	return "SetClaimStatuses " + a.Pod.String() + ": " + strings.Join(parts, ", ")
}

func copyStatuses(statuses []corev1.PodResourceClaimStatus) []corev1.PodResourceClaimStatus {
	if statuses == nil {
		return nil
	}
	out := make([]corev1.PodResourceClaimStatus, len(statuses), len(statuses)+1)
	for i := range statuses {
		statuses[i].DeepCopyInto(&out[i])
	}
	return out
}

func sortStatuses(statuses []corev1.PodResourceClaimStatus) {
	slices.SortStableFunc(statuses, func(x, y corev1.PodResourceClaimStatus) int { return cmp.Compare(x.Name, y.Name) })
}
