package main

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/purekube/purekube/manifests"
)

// slimmer takes out of objects what no answer reads, and keeps once what many pods have alike, such as the labels and
// the containers of a template: a pod takes a third of its memory then. Nothing writes to objects of the input.
type slimmer struct{ known sync.Map }

// slim is what [manifests.Options] call Transform.
func (s *slimmer) slim(o manifests.Object) {
	delete(o.GetAnnotations(), corev1.LastAppliedConfigAnnotation) // the whole object once more
	// Who manages the rules of a ClusterRole decides about the divergence D-20. The times say when the input was taken.
	if _, role := o.(*rbacv1.ClusterRole); !role {
		fields := o.GetManagedFields()
		for i := range fields {
			fields[i].FieldsV1 = nil
		}
	}
	switch o := o.(type) {
	case *corev1.Node:
		o.Status.Images = nil
	case *corev1.Pod:
		s.slimPod(o)
	}
}

func (s *slimmer) slimPod(p *corev1.Pod) {
	p.OwnerReferences = slices.Clone(p.OwnerReferences) // the decoder leaves room for more
	p.Labels, p.Annotations = once(s, p.Labels), once(s, p.Annotations)
	p.Spec.Containers = once(s, slimContainers(p.Spec.Containers))
	p.Spec.InitContainers = once(s, slimContainers(p.Spec.InitContainers))
	p.Spec.EphemeralContainers = nil
	p.Spec.Tolerations, p.Spec.NodeSelector, p.Spec.Affinity = once(s, p.Spec.Tolerations), once(s, p.Spec.NodeSelector),
		once(s, p.Spec.Affinity)
	p.Spec.TopologySpreadConstraints, p.Spec.SecurityContext = nil, nil
	// kubectl drain asks for the flag --delete-emptydir-data.
	p.Spec.Volumes = once(s, slices.DeleteFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir == nil }))
	p.Status.ContainerStatuses = slimStatuses(p.Status.ContainerStatuses)
	p.Status.InitContainerStatuses = slimStatuses(p.Status.InitContainerStatuses)
	p.Status.EphemeralContainerStatuses = nil
	p.Status.PodIPs, p.Status.HostIPs = nil, nil
	p.Status.Conditions = slices.Clone(p.Status.Conditions)
}

// slimContainers are the containers with what they need of a node.
func slimContainers(containers []corev1.Container) []corev1.Container {
	slimmed := make([]corev1.Container, len(containers))
	for i, c := range containers {
		// A limit of a pod of a manifest is a request where there is none.
		maps.DeleteFunc(c.Resources.Limits, func(name corev1.ResourceName, _ resource.Quantity) bool {
			_, requested := c.Resources.Requests[name]
			return requested
		})
		slimmed[i] = corev1.Container{Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy, Ports: c.Ports}
	}
	return slimmed
}

// slimStatuses are the statuses of containers whose requests were changed while they ran.
func slimStatuses(statuses []corev1.ContainerStatus) (resized []corev1.ContainerStatus) {
	for _, c := range statuses {
		if c.AllocatedResources != nil || c.Resources != nil {
			resized = append(resized,
				corev1.ContainerStatus{Name: c.Name, AllocatedResources: c.AllocatedResources, Resources: c.Resources})
		}
	}
	return resized
}

// once returns the first value that is equal.
func once[T any](s *slimmer, value T) T {
	text, err := json.Marshal(value)
	if err != nil {
		return value
	}
	known, _ := s.known.LoadOrStore(textOf[T](sha256.Sum256(text)), value)
	return known.(T)
}

// textOf is the hash of a value as text. Values of other types may have the same text.
type textOf[T any] [sha256.Size]byte
