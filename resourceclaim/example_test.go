package resourceclaim_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/resourceclaim"
)

func examplePod(name, entry, template string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID("uid-of-" + name)},
		Spec: corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{
			Name: entry, ResourceClaimTemplateName: &template,
		}}},
	}
}

func exampleClaim(name string, consumers ...*corev1.Pod) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ml", Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "7", Finalizers: []string{resourcev1.Finalizer},
	}}
	c.Status.Allocation = &resourcev1.AllocationResult{}
	for _, p := range consumers {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID})
	}
	return c
}

// A pod wants a claim from a template: it is created, and its name goes into the pod's status.
func ExamplePlan() {
	s := resourceclaim.Snapshot{
		Pods:      []*corev1.Pod{examplePod("train-0", "gpu", "one-gpu")},
		Templates: []*resourcev1.ResourceClaimTemplate{{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "one-gpu"}}},
	}
	key := resourceclaim.Key{Kind: resourceclaim.PodKey, Namespace: "ml", Name: "train-0"}
	result, err := resourceclaim.Plan(s, key, resourceclaim.Options{})
	if err != nil {
		fmt.Println(err)
	}
	created := map[string]string{}
	for _, action := range result.Actions {
		fmt.Println(action)
		switch a := action.(type) {
		case resourceclaim.CreateClaim:
			// The API server adds five characters to the generateName.
			created[a.PodClaim] = a.Claim.GenerateName + "l92c5"
		case resourceclaim.SetClaimStatuses:
			for entry, name := range created {
				a = a.WithCreated(entry, name)
			}
			_, body := a.Patch()
			fmt.Println(string(body))
		}
	}
	// Output:
	// CreateClaim ml/train-0 gpu: train-0-gpu-*
	// SetClaimStatuses ml/train-0: gpu pending
	// {"kind":"Pod","apiVersion":"v1","metadata":{"name":"train-0","namespace":"ml","uid":"uid-of-train-0"},"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"train-0-gpu-l92c5"}]}}
}

// A claim is reserved for a pod that the cache does not have. Nothing is taken away on a guess:
// the API server is asked first.
func ExamplePlan_needs() {
	gone := examplePod("train-1", "gpu", "one-gpu")
	s := resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{exampleClaim("shared", gone)}}
	key := resourceclaim.Key{Kind: resourceclaim.ClaimKey, Namespace: "ml", Name: "shared"}

	result, _ := resourceclaim.Plan(s, key, resourceclaim.Options{})
	fmt.Println(len(result.Actions), result.Needs)

	// The answer: there is no such pod.
	s.Confirmed = map[types.NamespacedName]*corev1.Pod{{Namespace: "ml", Name: "train-1"}: nil}
	result, _ = resourceclaim.Plan(s, key, resourceclaim.Options{})
	for _, action := range result.Actions {
		fmt.Println(action)
	}
	// Output:
	// 0 [{v1 Pod ml train-1 }]
	// Release ml/shared: train-1, deallocate
	// RemoveFinalizer ml/shared
}

// The whole cluster in one pass; only what has something to say is returned.
func ExamplePlanAll() {
	running, over := examplePod("train-0", "gpu", "one-gpu"), examplePod("train-1", "gpu", "one-gpu")
	for _, p := range []*corev1.Pod{running, over} {
		p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu"}} // not needed
	}
	over.Status.Phase = corev1.PodSucceeded
	s := resourceclaim.Snapshot{
		Pods:   []*corev1.Pod{running, over},
		Claims: []*resourcev1.ResourceClaim{exampleClaim("a", running), exampleClaim("b", over), exampleClaim("c", running, over)},
	}
	for _, outcome := range resourceclaim.PlanAll(s, resourceclaim.Options{}) {
		fmt.Println(outcome.Key, outcome.Result.Actions)
	}
	// Output:
	// claim:ml/b [Release ml/b: train-1, deallocate RemoveFinalizer ml/b]
	// claim:ml/c [Release ml/c: train-1]
}

// Why is this claim still allocated?
func ExampleExplain() {
	over, running := examplePod("train-0", "gpu", "one-gpu"), examplePod("train-1", "gpu", "one-gpu")
	over.Status.Phase = corev1.PodFailed
	s := resourceclaim.Snapshot{
		Pods:   []*corev1.Pod{over, running},
		Claims: []*resourcev1.ResourceClaim{exampleClaim("shared", over, running)},
	}
	reasons, _ := resourceclaim.Explain(s, resourceclaim.Key{Kind: resourceclaim.ClaimKey, Namespace: "ml", Name: "shared"}, resourceclaim.Options{})
	for _, r := range reasons {
		fmt.Println(r)
	}
	// Output:
	// status.reservedFor[0]: held by pod ml/train-0, which is done
	// status.reservedFor[1]: held by pod ml/train-1, which may run
	// status.allocation: kept, it has consumers
}

// Which keys to plan after a pod's event.
func ExampleAffectedByPod() {
	pod := examplePod("train-0", "gpu", "one-gpu")
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new("train-0-gpu-l92c5")}}
	pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "train-0-extended"}
	for _, key := range resourceclaim.AffectedByPod(pod, true, resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{
		exampleClaim("train-0-gpu-l92c5", pod),
	}}) {
		fmt.Println(key)
	}
	// Output:
	// claim:ml/train-0-extended
	// claim:ml/train-0-gpu-l92c5
	// pod:ml/train-0
}

func ExampleGenerateName() {
	fmt.Println(resourceclaim.GenerateName("train-0", "gpu"))
	fmt.Println(resourceclaim.GenerateName("fine-tuning-of-the-large-language-model-worker-0000012", "accelerators"))
	// Output:
	// train-0-gpu-
	// fine-tuning-of-the-large-language-model-worke-accelerato
}

// A claim that was created a moment ago is not in the cache yet.
func ExampleAssumedClaims() {
	var assumed resourceclaim.AssumedClaims
	now := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	created := exampleClaim("train-0-gpu-l92c5")
	assumed.Add(created, now)

	fmt.Println("the cache is behind:", len(assumed.List(now, nil)))
	fmt.Println("the cache has it:", len(assumed.List(now, []*resourcev1.ResourceClaim{created})))
	// Output:
	// the cache is behind: 1
	// the cache has it: 0
}
