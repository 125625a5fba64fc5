package resourceclaim_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/purekubetest"
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

// A pod wants a claim from a template: it is created, and its name goes into the pod's status. Each
// action is one request; the second one takes the name from the API server's answer to the first.
func ExamplePlan() {
	s := resourceclaim.Snapshot{
		Pods:      []*corev1.Pod{examplePod("train-0", "gpu", "one-gpu")},
		Templates: []*resourcev1.ResourceClaimTemplate{{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "one-gpu"}}},
	}
	result, err := resourceclaim.Plan(s, resourceclaim.KeyOfPod(s.Pods[0]), resourceclaim.Options{})
	if err != nil {
		fmt.Println(err)
	}
	var done []runtime.Object
	for _, action := range result.Actions {
		request := action.Request(done)
		fmt.Println(action)
		fmt.Println(strings.TrimSpace(request.String() + " " + string(request.Patch)))
		// A client makes the call. Here, the API server's answer is made up.
		var answer runtime.Object
		if claim, ok := request.Object.(*resourcev1.ResourceClaim); ok {
			claim.Name = claim.GenerateName + "l92c5"
			answer = claim
		}
		done = append(done, answer)
	}
	// Output:
	// CreateClaim ml/train-0 gpu: train-0-gpu-*
	// create resourceclaims ml/
	// SetClaimStatuses ml/train-0: gpu pending
	// patch pods/status ml/train-0 {"kind":"Pod","apiVersion":"v1","metadata":{"name":"train-0","namespace":"ml","uid":"uid-of-train-0"},"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"train-0-gpu-l92c5"}]}}
}

// A claim is reserved for a pod that the cache does not have. Nothing is taken away on a guess:
// the API server is asked first.
func ExamplePlan_needs() {
	gone := examplePod("train-1", "gpu", "one-gpu")
	s := resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{purekubetest.Claim("ml/shared", gone)}}
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
	// 0 [Pod ml/train-1]
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
		Claims: []*resourcev1.ResourceClaim{purekubetest.Claim("ml/a", running), purekubetest.Claim("ml/b", over), purekubetest.Claim("ml/c", running, over)},
	}
	outcomes, err := resourceclaim.PlanAll(s, resourceclaim.Options{})
	if err != nil {
		fmt.Println(err)
	}
	for _, outcome := range outcomes {
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
		Claims: []*resourcev1.ResourceClaim{purekubetest.Claim("ml/shared", over, running)},
	}
	explanation, err := resourceclaim.Explain(s, resourceclaim.KeyOfClaim(s.Claims[0]), resourceclaim.Options{})
	if err != nil {
		fmt.Println(err)
	}
	for _, reason := range explanation.Reasons {
		fmt.Println(reason.Code, reason)
	}
	// Output:
	// ConsumerDone status.reservedFor[0]: held by pod ml/train-0, which is done
	// ConsumerMayRun status.reservedFor[1]: held by pod ml/train-1, which may run
	// Allocated status.allocation: kept, it has consumers
}

// What do the pods of a namespace wait for?
func ExampleExplainAll() {
	s := resourceclaim.Snapshot{Pods: []*corev1.Pod{examplePod("train-0", "gpu", "one-gpu")}}
	explanations, err := resourceclaim.ExplainAll(s, resourceclaim.Options{})
	if err != nil {
		fmt.Println(err)
	}
	for _, explanation := range explanations {
		fmt.Println(explanation.Key, explanation.Reasons)
	}
	// Output:
	// pod:ml/train-0 [spec.resourceClaims[0]: Pod ml/train-0: spec.resourceClaims[0].resourceClaimTemplateName: template not found: one-gpu]
}

// Which keys to plan after a pod was deleted.
func ExampleAffectedByPod() {
	pod := examplePod("train-0", "gpu", "one-gpu")
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("train-0-gpu-l92c5")}}
	pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "train-0-extended"}
	after := resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{
		purekubetest.Claim("ml/train-0-gpu-l92c5", pod), purekubetest.Claim("ml/reserved-by-hand", pod),
	}}
	for _, key := range resourceclaim.AffectedByPod(after, pod, nil, resourceclaim.Options{}) {
		fmt.Println(key)
	}
	// Output:
	// claim:ml/reserved-by-hand
	// claim:ml/train-0-extended
	// claim:ml/train-0-gpu-l92c5
	// pod:ml/train-0
}

// Which keys to plan after a claim was allocated: the pod on its node gets it reserved.
func ExampleAffectedByClaim() {
	pod := examplePod("infer", "", "")
	pod.Spec.NodeName = "node-1"
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("shared")}}
	before, after := purekubetest.Claim("ml/shared"), purekubetest.Claim("ml/shared")
	before.Status.Allocation = nil
	s := resourceclaim.Snapshot{Pods: []*corev1.Pod{pod}, Claims: []*resourcev1.ResourceClaim{after}}
	fmt.Println(resourceclaim.AffectedByClaim(s, before, after, resourceclaim.Options{}))
	// Output:
	// [claim:ml/shared pod:ml/infer]
}

// Which keys to plan after a template was added.
func ExampleAffectedByTemplate() {
	s := resourceclaim.Snapshot{Pods: []*corev1.Pod{examplePod("train-0", "gpu", "one-gpu"), examplePod("train-1", "gpu", "two-gpus")}}
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "one-gpu"}}
	fmt.Println(resourceclaim.AffectedByTemplate(s, nil, template, resourceclaim.Options{}))
	// Output:
	// [pod:ml/train-0]
}

// When the API server refuses a claim, upstream records an event on the pod.
func ExampleCreateClaim_FailureEvent() {
	create := resourceclaim.CreateClaim{Pod: types.NamespacedName{Namespace: "ml", Name: "train-0"}, PodClaim: "gpu"}
	event, _ := create.FailureEvent(errors.New("exceeded quota"))
	fmt.Println(event.Type, event.Reason, event.Message)
	// Output:
	// Warning FailedResourceClaimCreation PodResourceClaim gpu: create ResourceClaim : exceeded quota
}

// The key of a work queue and back.
func ExampleParseKey() {
	key, err := resourceclaim.ParseKey("Pod/ml/train-0")
	fmt.Println(key.Kind, key.Namespace, key.Name, err)
	_, err = resourceclaim.ParseKey("train-0")
	fmt.Println(err)
	// Output:
	// pod ml train-0 <nil>
	// key "train-0": want pod:namespace/name, claim:namespace/name or podgroup:namespace/name
}

// The key to plan a pod by.
func ExampleKeyOfPod() {
	fmt.Println(resourceclaim.KeyOfPod(examplePod("train-0", "gpu", "one-gpu")))
	// Output:
	// pod:ml/train-0
}

// The key to plan a claim by.
func ExampleKeyOfClaim() {
	fmt.Println(resourceclaim.KeyOfClaim(purekubetest.Claim("ml/shared")))
	// Output:
	// claim:ml/shared
}

// Which claim is that of a pod's entry?
func ExampleClaimName() {
	pod := examplePod("train-0", "gpu", "one-gpu")
	name, state := resourceclaim.ClaimName(pod, &pod.Spec.ResourceClaims[0])
	fmt.Printf("%q %s\n", name, state)
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("train-0-gpu-l92c5")}}
	name, state = resourceclaim.ClaimName(pod, &pod.Spec.ResourceClaims[0])
	fmt.Printf("%q %s\n", name, state)
	// Output:
	// "" NotCreated
	// "train-0-gpu-l92c5" Known
}

// A pod that was seen to go need not be looked up.
func ExampleDeletedPods() {
	gone := examplePod("train-1", "gpu", "one-gpu")
	var deleted resourceclaim.DeletedPods
	deleted.Add(gone.UID)
	s := resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{purekubetest.Claim("ml/shared", gone)}, Deleted: deleted.Has}
	result, _ := resourceclaim.Plan(s, resourceclaim.KeyOfClaim(s.Claims[0]), resourceclaim.Options{})
	fmt.Println(result.Actions, result.Needs)
	// Output:
	// [Release ml/shared: train-1, deallocate RemoveFinalizer ml/shared] []
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
	created := purekubetest.Claim("ml/train-0-gpu-l92c5")
	assumed.Add(created, now)

	fmt.Println("the cache is behind:", len(assumed.List(now, nil)))
	fmt.Println("the cache has it:", len(assumed.List(now, []*resourcev1.ResourceClaim{created})))
	// Output:
	// the cache is behind: 1
	// the cache has it: 0
}

// An autoscaler asks whether a pod would fit on a node that does not exist yet: the pod of a
// Deployment's next replica, with the claims that it will have.
func ExampleMaterialize() {
	s := resourceclaim.Snapshot{
		Templates: []*resourcev1.ResourceClaimTemplate{{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "one-gpu"}}},
	}
	pod := examplePod("train-1", "gpu", "one-gpu")
	naming := func(podClaim string) string { return pod.Name + "-" + podClaim + "-simulated" }
	claims, materialized, err := resourceclaim.Materialize(s, pod, naming, resourceclaim.Options{})
	if err != nil {
		fmt.Println(err)
	}
	for _, claim := range claims {
		fmt.Println("claim", claim.Name, "of pod", claim.OwnerReferences[0].Name)
	}
	for _, status := range materialized.Status.ResourceClaimStatuses {
		fmt.Println("entry", status.Name, "has claim", *status.ResourceClaimName)
	}
	// Output:
	// claim train-1-gpu-simulated of pod train-1
	// entry gpu has claim train-1-gpu-simulated
}

// One Index for many questions: an event gives the next Index and the keys to plan again.
func ExampleNewIndex() {
	pod := examplePod("infer", "", "")
	pod.Spec.NodeName = "node-1"
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("shared")}}
	index := resourceclaim.NewIndex(resourceclaim.Snapshot{Pods: []*corev1.Pod{pod}}, resourceclaim.Options{})

	// A claim was added.
	index, affected := index.With(resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{purekubetest.Claim("ml/shared")}})
	for _, key := range affected {
		result, err := index.Plan(key)
		fmt.Println(key, result.Actions, err)
	}
	// The pod was deleted.
	index, affected = index.Without(resourceclaim.Snapshot{Pods: []*corev1.Pod{pod}})
	fmt.Println(affected, index.Err())
	// Output:
	// claim:ml/shared [] <nil>
	// pod:ml/infer [Reserve ml/shared: for pod ml/infer] <nil>
	// [claim:ml/shared pod:ml/infer] <nil>
}

// What the API server returned to a write counts for the next plan, before the cache shows it.
func ExampleAssumedClaims_ListFor() {
	pod := examplePod("train-0", "gpu", "one-gpu")
	index := resourceclaim.NewIndex(resourceclaim.Snapshot{
		Pods:      []*corev1.Pod{pod},
		Templates: []*resourcev1.ResourceClaimTemplate{{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "one-gpu"}}},
	}, resourceclaim.Options{})
	created := purekubetest.Claim("ml/train-0-gpu-l92c5")
	created.Annotations = map[string]string{resourceclaim.PodClaimAnnotation: "gpu"}
	created.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}}

	var assumed resourceclaim.AssumedClaims
	now := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	assumed.Add(created, now)
	planning, _ := index.With(resourceclaim.Snapshot{Assumed: assumed.ListFor(now, index)})
	result, err := planning.Plan(resourceclaim.KeyOfPod(pod))
	fmt.Println(result.Actions, err)
	// Output:
	// [SetClaimStatuses ml/train-0: gpu=train-0-gpu-l92c5] <nil>
}

// One that remembers more pods than the default.
func ExampleNewDeletedPods() {
	deleted := resourceclaim.NewDeletedPods(10_000)
	deleted.Add("uid-of-train-1")
	fmt.Println(deleted.Has("uid-of-train-1"), deleted.Has("uid-of-train-2"))
	// Output:
	// true false
}

// The pods of a PodGroup share a claim: its plan creates the claim, the pods' plans use it.
func ExamplePodGroup() {
	entry := func(name, template string) corev1.PodResourceClaim {
		return corev1.PodResourceClaim{Name: name, ResourceClaimTemplateName: &template}
	}
	group := resourceclaim.PodGroup{
		APIVersion: "scheduling.k8s.io/v1beta1", Namespace: "ml", Name: "train", UID: "uid-of-train",
		ResourceClaims: []corev1.PodResourceClaim{entry("gpu", "one-gpu")},
	}
	worker := examplePod("train-0", "gpu", "one-gpu")
	s := resourceclaim.Snapshot{
		Pods: []*corev1.Pod{worker}, PodGroups: []resourceclaim.PodGroup{group},
		Templates: []*resourcev1.ResourceClaimTemplate{{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "one-gpu"}}},
	}
	// Where k8s.io/api is v0.36 or newer, this reads pod.Spec.SchedulingGroup.
	options := resourceclaim.Options{PodGroupOf: func(*corev1.Pod) string { return "train" }}
	show := func(key resourceclaim.Key) {
		result, err := resourceclaim.Plan(s, key, options)
		if err != nil {
			fmt.Println(err)
		}
		for _, action := range result.Actions {
			fmt.Println(action)
		}
	}
	show(resourceclaim.KeyOfPodGroup(&group))
	show(resourceclaim.KeyOfPod(worker)) // nothing yet

	created := purekubetest.Claim("ml/train-gpu-l92c5")
	created.Annotations = map[string]string{resourceclaim.PodClaimAnnotation: "gpu"}
	created.OwnerReferences = []metav1.OwnerReference{{APIVersion: group.APIVersion, Kind: "PodGroup", Name: group.Name, UID: group.UID, Controller: ptr.To(true)}}
	s.Claims = []*resourcev1.ResourceClaim{created}
	show(resourceclaim.KeyOfPod(worker))

	worker.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &created.Name}}
	worker.Spec.NodeName = "node-1"
	show(resourceclaim.KeyOfPod(worker))
	// Output:
	// CreateClaim podgroup ml/train gpu: train-gpu-*
	// SetClaimStatuses podgroup ml/train: gpu pending
	// SetClaimStatuses ml/train-0: gpu=train-gpu-l92c5
	// Reserve ml/train-gpu-l92c5: for podgroup ml/train
}

// The group was deleted and made again: its pods and the claims that name it have to be planned.
func ExampleAffectedByPodGroup() {
	gpu := "one-gpu"
	before := resourceclaim.PodGroup{Namespace: "ml", Name: "train", UID: "1", ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &gpu}}}
	after := before
	after.UID = "2"
	claim := purekubetest.Claim("ml/train-gpu-l92c5")
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "train", UID: "1"}}
	s := resourceclaim.Snapshot{
		Pods: []*corev1.Pod{examplePod("train-0", "gpu", "one-gpu")}, Claims: []*resourcev1.ResourceClaim{claim}, PodGroups: []resourceclaim.PodGroup{after},
	}
	options := resourceclaim.Options{PodGroupOf: func(*corev1.Pod) string { return "train" }}
	for _, key := range resourceclaim.AffectedByPodGroup(s, &before, &after, options) {
		fmt.Println(key)
	}
	// Output:
	// claim:ml/train-gpu-l92c5
	// pod:ml/train-0
	// podgroup:ml/train
}

// The key of a PodGroup is spelled as in upstream's work queue.
func ExampleKeyOfPodGroup() {
	fmt.Println(resourceclaim.KeyOfPodGroup(&resourceclaim.PodGroup{Namespace: "ml", Name: "train"}))
	// Output:
	// podgroup:ml/train
}
