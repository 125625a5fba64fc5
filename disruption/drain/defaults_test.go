package drain

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// What the API server fills in where a pod is created counts also in a pod of a manifest: limits are requests where
// there are none, and the ports of a pod in the network of its host are ports of the host.
func TestDefaultsOfTheAPIServer(t *testing.T) {
	of := func(requests, limits corev1.ResourceList) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: requests, Limits: limits}
	}
	sidecar := ptr.To(corev1.ContainerRestartPolicyAlways)
	for _, tc := range []struct {
		name string
		spec corev1.PodSpec
		want requests
	}{
		{"a container", corev1.PodSpec{Containers: []corev1.Container{
			{Resources: of(resources("cpu", "1"), resources("cpu", "3", "memory", "4", "example.com/gpu", "2"))}, {Resources: of(nil, resources("cpu", "2"))},
		}}, requests{"cpu": 3000, "memory": 4, "example.com/gpu": 2}},
		{"init containers", corev1.PodSpec{InitContainers: []corev1.Container{
			{RestartPolicy: sidecar, Resources: of(nil, resources("cpu", "1"))}, {Resources: of(nil, resources("cpu", "2"))},
		}}, requests{"cpu": 3000}},
		{"the pod as a whole", corev1.PodSpec{Resources: ptr.To(of(nil, resources("cpu", "2")))}, requests{"cpu": 2000}},
		{"the pod as a whole, whose containers request less", corev1.PodSpec{Resources: ptr.To(of(nil, resources("cpu", "2"))),
			Containers: []corev1.Container{{Resources: of(resources("cpu", "1"), nil)}}}, requests{"cpu": 1000}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, requestsOf(&corev1.Pod{Spec: tc.spec}))
		})
	}

	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{RestartPolicy: sidecar, Ports: []corev1.ContainerPort{{ContainerPort: 80}}}},
		Containers:     []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 81}, {ContainerPort: 82, HostPort: 8082}}}},
	}}
	numbers := func() (all []int32) {
		for _, p := range hostPorts(pod) {
			all = append(all, p.HostPort)
		}
		return all
	}
	require.Equal(t, []int32{8082}, numbers())
	pod.Spec.HostNetwork = true
	require.Equal(t, []int32{80, 81, 8082}, numbers())
}
