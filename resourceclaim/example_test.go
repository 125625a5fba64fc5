package resourceclaim_test

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
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
	result, err := resourceclaim.Plan(s, resourceclaim.KeyOf(s.Pods[0]), resourceclaim.Options{})
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
	key := resourceclaim.ClaimKey("ml", "shared")

	result, _ := resourceclaim.Plan(s, key, resourceclaim.Options{})
	fmt.Println(len(result.Actions), result.Needs)

	// The answer: there is no such pod.
	s.Answers = map[purekube.Need]purekube.Answer{result.Needs[0]: {}}
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
	// ResourceClaim/ml/b [Release ml/b: train-1, deallocate RemoveFinalizer ml/b]
	// ResourceClaim/ml/c [Release ml/c: train-1]
}

// Why is this claim still allocated?
func ExampleIndex_Explain() {
	over, running := examplePod("train-0", "gpu", "one-gpu"), examplePod("train-1", "gpu", "one-gpu")
	over.Status.Phase = corev1.PodFailed
	s := resourceclaim.Snapshot{
		Pods:   []*corev1.Pod{over, running},
		Claims: []*resourcev1.ResourceClaim{purekubetest.Claim("ml/shared", over, running)},
	}
	explanation, err := resourceclaim.NewIndex(s, resourceclaim.Options{}).Explain(resourceclaim.KeyOf(s.Claims[0]))
	if err != nil {
		fmt.Println(err)
	}
	for _, reason := range explanation.Reasons {
		fmt.Println(reason.Code, reason)
	}
	// Output:
	// ConsumerDone status.reservedFor[0]: reserved for pod ml/train-0: it is done and no longer needs the claim
	// ConsumerMayRun status.reservedFor[1]: reserved for pod ml/train-1: it may run, so the reservation is kept
	// Allocated status.allocation: kept: the claim has consumers
}

// What do the pods of a namespace wait for?
func ExampleIndex_ExplainAll() {
	s := resourceclaim.Snapshot{Pods: []*corev1.Pod{examplePod("train-0", "gpu", "one-gpu")}}
	explanations, err := resourceclaim.NewIndex(s, resourceclaim.Options{}).ExplainAll()
	if err != nil {
		fmt.Println(err)
	}
	for _, explanation := range explanations {
		fmt.Println(explanation.Key, explanation.Reasons)
	}
	// Output:
	// Pod/ml/train-0 [spec.resourceClaims[0]: Pod ml/train-0: spec.resourceClaims[0].resourceClaimTemplateName: template not found: one-gpu]
}

// Which keys to plan after events: a claim was allocated, so that the pod on its node gets it reserved; a template was
// added; and a pod was deleted.
func ExampleIndex_With() {
	pod := examplePod("train-0", "gpu", "one-gpu")
	pod.Spec.NodeName = "node-1"
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("train-0-gpu-l92c5")}}
	claim := purekubetest.Claim("ml/train-0-gpu-l92c5")
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}}
	allocation := claim.Status.Allocation
	claim.Status.Allocation = nil
	waiting := examplePod("train-1", "gpu", "two-gpus")
	index := resourceclaim.NewIndex(resourceclaim.Snapshot{Pods: []*corev1.Pod{pod, waiting}, Claims: []*resourcev1.ResourceClaim{claim}}, resourceclaim.Options{})

	claim = claim.DeepCopy()
	claim.Status.Allocation = allocation
	index, affected := index.With(resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{claim}})
	fmt.Println("the claim was allocated:", affected)
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "two-gpus"}}
	index, affected = index.With(resourceclaim.Snapshot{Templates: []*resourcev1.ResourceClaimTemplate{template}})
	fmt.Println("the template was added:", affected)
	_, affected = index.Without(resourceclaim.Snapshot{Pods: []*corev1.Pod{pod}})
	fmt.Println("the pod was deleted:", affected)
	// Output:
	// the claim was allocated: [Pod/ml/train-0 ResourceClaim/ml/train-0-gpu-l92c5]
	// the template was added: [Pod/ml/train-1]
	// the pod was deleted: [Pod/ml/train-0 ResourceClaim/ml/train-0-gpu-l92c5]
}

// When the API server refuses a claim, upstream records an event on the pod.
func ExampleCreateClaim_FailureEvent() {
	create := resourceclaim.CreateClaim{Owner: resourceclaim.PodKey("ml", "train-0"), PodClaim: "gpu"}
	event, _ := create.FailureEvent(errors.New("exceeded quota"))
	fmt.Println(event.Type, event.Reason, event.Message)
	// Output:
	// Warning FailedResourceClaimCreation PodResourceClaim gpu: create ResourceClaim : exceeded quota
}

// A queue holds keys.
func ExampleKeyOf() {
	pod := examplePod("train-0", "gpu", "one-gpu")
	group := &resourceclaim.PodGroup{Namespace: "ml", Name: "train"}
	fmt.Println(resourceclaim.KeyOf(pod), resourceclaim.KeyOf(purekubetest.Claim("ml/shared")), resourceclaim.KeyOf(group))
	// Output:
	// Pod/ml/train-0 ResourceClaim/ml/shared PodGroup/ml/train
}

// The key of a pod that is known by its name.
func ExamplePodKey() {
	fmt.Println(resourceclaim.PodKey("ml", "train-0"))
	// Output:
	// Pod/ml/train-0
}

func ExampleClaimKey() {
	fmt.Println(resourceclaim.ClaimKey("ml", "shared"))
	// Output:
	// ResourceClaim/ml/shared
}

func ExamplePodGroupKey() {
	fmt.Println(resourceclaim.PodGroupKey("ml", "train"))
	// Output:
	// PodGroup/ml/train
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

func ExampleGenerateName() {
	fmt.Println(resourceclaim.GenerateName("train-0", "gpu"))
	fmt.Println(resourceclaim.GenerateName("fine-tuning-of-the-large-language-model-worker-0000012", "accelerators"))
	// Output:
	// train-0-gpu-
	// fine-tuning-of-the-large-language-model-worke-accelerato
}

// An autoscaler asks whether a pod would fit on a node that does not exist yet: the pod of a
// Deployment's next replica, with the claims that it will have.
func ExampleIndex_Materialize() {
	s := resourceclaim.Snapshot{
		Templates: []*resourcev1.ResourceClaimTemplate{{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "one-gpu"}}},
	}
	pod := examplePod("train-1", "gpu", "one-gpu")
	naming := func(podClaim string) string { return pod.Name + "-" + podClaim + "-simulated" }
	claims, materialized, err := resourceclaim.NewIndex(s, resourceclaim.Options{}).Materialize(pod, naming)
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
	// Pod/ml/infer [Reserve ml/shared: for pod ml/infer] <nil>
	// ResourceClaim/ml/shared [] <nil>
	// [Pod/ml/infer ResourceClaim/ml/shared] <nil>
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
	show := func(key purekube.Key) {
		result, err := resourceclaim.Plan(s, key, options)
		if err != nil {
			fmt.Println(err)
		}
		for _, action := range result.Actions {
			fmt.Println(action)
		}
	}
	show(resourceclaim.KeyOf(&group))
	show(resourceclaim.KeyOf(worker)) // nothing yet

	created := purekubetest.Claim("ml/train-gpu-l92c5")
	created.Annotations = map[string]string{resourceclaim.PodClaimAnnotation: "gpu"}
	created.OwnerReferences = []metav1.OwnerReference{{APIVersion: group.APIVersion, Kind: "PodGroup", Name: group.Name, UID: group.UID, Controller: ptr.To(true)}}
	s.Claims = []*resourcev1.ResourceClaim{created}
	show(resourceclaim.KeyOf(worker))

	worker.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &created.Name}}
	worker.Spec.NodeName = "node-1"
	show(resourceclaim.KeyOf(worker))
	// Output:
	// CreateClaim podgroup ml/train gpu: train-gpu-*
	// SetClaimStatuses podgroup ml/train: gpu pending
	// SetClaimStatuses ml/train-0: gpu=train-gpu-l92c5
	// Reserve ml/train-gpu-l92c5: for podgroup ml/train
}
