package apiserver

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PodGroups is the resource of [PodGroup].
var PodGroups = schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"}

// PodGroup is what the plans read and write of a PodGroup of scheduling.k8s.io/v1beta1. k8s.io/api has that type
// since v0.37 only.
type PodGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              PodGroupSpec   `json:"spec"`
	Status            PodGroupStatus `json:"status,omitempty"`
}

// PodGroupSpec is the spec of a [PodGroup].
type PodGroupSpec struct {
	// ResourceClaims are the claims that the group's pods share.
	ResourceClaims []corev1.PodResourceClaim `json:"resourceClaims,omitempty"`
}

// PodGroupStatus is the status of a [PodGroup].
type PodGroupStatus struct {
	// ResourceClaimStatuses name the claims that were made for the spec's entries.
	ResourceClaimStatuses []corev1.PodResourceClaimStatus `json:"resourceClaimStatuses,omitempty"`
}

// DeepCopyObject returns a copy.
func (g *PodGroup) DeepCopyObject() runtime.Object {
	out := *g
	out.ObjectMeta = *g.ObjectMeta.DeepCopy()
	// A pod has the same fields, and copies them.
	pod := corev1.Pod{Spec: corev1.PodSpec{ResourceClaims: g.Spec.ResourceClaims},
		Status: corev1.PodStatus{ResourceClaimStatuses: g.Status.ResourceClaimStatuses}}
	pod = *pod.DeepCopy()
	out.Spec.ResourceClaims, out.Status.ResourceClaimStatuses = pod.Spec.ResourceClaims, pod.Status.ResourceClaimStatuses
	return &out
}
