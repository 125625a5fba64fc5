package memory_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/resourceclaim/memory"
)

var now = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

// podWithClaim is a pod with one entry that names a template.
func podWithClaim(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID("uid-of-" + name)},
		Spec:       corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("one-gpu")}}},
	}
}

// A claim that was created a moment ago is not in the cache yet.
func ExampleAssumedClaims() {
	var assumed memory.AssumedClaims
	created := purekubetest.Claim("ml/train-0-gpu-l92c5")
	assumed.Add(created, now)

	fmt.Println("the cache is behind:", len(assumed.List(now, nil)))
	fmt.Println("the cache has it:", len(assumed.List(now, []*resourcev1.ResourceClaim{created})))
	// Output:
	// the cache is behind: 1
	// the cache has it: 0
}

// What the API server returned to a write counts for the next plan, before the cache shows it.
func ExampleAssumedClaims_ListFor() {
	pod := podWithClaim("train-0")
	index := resourceclaim.NewIndex(resourceclaim.Snapshot{
		Pods:      []*corev1.Pod{pod},
		Templates: []*resourcev1.ResourceClaimTemplate{{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "one-gpu"}}},
	}, resourceclaim.Options{})
	created := purekubetest.Claim("ml/train-0-gpu-l92c5")
	created.Annotations = map[string]string{resourceclaim.PodClaimAnnotation: "gpu"}
	created.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}}

	var assumed memory.AssumedClaims
	assumed.Add(created, now)
	planning, _ := index.With(resourceclaim.Snapshot{Assumed: assumed.ListFor(now, index)})
	result, err := planning.Plan(resourceclaim.KeyOf(pod))
	fmt.Println(result.Actions, err)
	// Output:
	// [SetClaimStatuses ml/train-0: gpu=train-0-gpu-l92c5] <nil>
}

// A pod that was seen to go gets nothing more, although the cache still shows it: the API server is asked for it.
func ExampleDeletedPods() {
	gone := podWithClaim("train-1")
	var deleted memory.DeletedPods
	deleted.Add(gone.UID)
	s := resourceclaim.Snapshot{
		Pods:      []*corev1.Pod{gone},
		Templates: []*resourcev1.ResourceClaimTemplate{{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "one-gpu"}}},
		Deleted:   deleted.UIDs(),
	}
	result, _ := resourceclaim.Plan(s, resourceclaim.KeyOf(gone), resourceclaim.Options{})
	fmt.Println(result.Actions, result.Needs)
	// Output:
	// [] [Pod ml/train-1]
}

// One that remembers more pods than the default.
func ExampleNewDeletedPods() {
	deleted := memory.NewDeletedPods(10_000)
	deleted.Add("uid-of-train-1")
	fmt.Println(deleted.Has("uid-of-train-1"), deleted.Has("uid-of-train-2"))
	// Output:
	// true false
}
