package docs_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/resourceclaim"
)

func Example_simulateClaims() {
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "one-gpu"}}
	template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.example.com", Count: 1},
	}}
	// The next replica, made from a workload's pod template: no cluster has it yet.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train-7"}}
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("one-gpu")}}

	s := resourceclaim.Snapshot{Templates: []*resourcev1.ResourceClaimTemplate{template}}
	name := func(podClaim string) string { return pod.Name + "-" + podClaim }
	claims, materialized, err := resourceclaim.NewIndex(s, resourceclaim.Options{}).Materialize(pod, name)
	if err != nil {
		fmt.Println(err) // a template that is missing, for example: with the other claims alone the pod would fit too easily
		return
	}
	// Both go into the snapshot of the scheduler's simulation.
	for _, claim := range claims {
		fmt.Println("claim", claim.Name, "asks for", claim.Spec.Devices.Requests[0].Exactly.DeviceClassName)
	}
	for _, status := range materialized.Status.ResourceClaimStatuses {
		fmt.Println("pod", materialized.Name, "entry", status.Name, "has", *status.ResourceClaimName)
	}
	// Output:
	// claim train-7-gpu asks for gpu.example.com
	// pod train-7 entry gpu has train-7-gpu
}
