package reports

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
)

func startResourceClaims(t *testing.T, client *fake.Clientset) {
	t.Helper()
	start(t, client, func(ctx context.Context, f informers.SharedInformerFactory) func(context.Context) {
		c, err := newResourceClaimController(ctx, client, f)
		require.NoError(t, err)
		return func(ctx context.Context) { c.Run(ctx, 50) }
	})
}

// podOnNode is a pod on a node, with one entry of spec.resourceClaims.
func podOnNode(name string, uid types.UID, phase corev1.PodPhase, entry corev1.PodResourceClaim) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: uid},
		Spec:       corev1.PodSpec{NodeName: "node-1", ResourceClaims: []corev1.PodResourceClaim{entry}},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// The two kinds of entries: the claim "shared", and a claim of the pod's own.
var (
	shared   = corev1.PodResourceClaim{Name: "gpu", ResourceClaimName: ptr.To("shared")}
	template = corev1.PodResourceClaim{Name: "gpu", ResourceClaimTemplateName: ptr.To("one-gpu")}
)

// allocatedClaim is a ResourceClaim with a device, reserved for pods.
func allocatedClaim(pods ...*corev1.Pod) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "shared", Finalizers: []string{resourcev1.Finalizer}},
		Status:     resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{}},
	}
	for _, p := range pods {
		consumer := resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID}
		c.Status.ReservedFor = append(c.Status.ReservedFor, consumer)
	}
	return c
}

// With the defect fixed, nothing is written: a pod that has finished is nobody to reserve or to create a claim for.
func TestFinishedPod(t *testing.T) {
	t.Run("reservation", func(t *testing.T) {
		expectDefect(t, "D-7.md", func(t *testing.T) error {
			done := podOnNode("done", "uid-1", corev1.PodSucceeded, shared)
			running := podOnNode("running", "uid-2", corev1.PodRunning, shared)
			client := newCluster(t, nil, done, running, allocatedClaim(running))
			startResourceClaims(t, client)

			client.ClearActions()
			time.Sleep(time.Minute)
			if n := count(client, "update", "resourceclaims", "status"); n > 100 {
				return fmt.Errorf("the status of the ResourceClaim was written %d times in a minute in which nothing changed", n)
			}
			return nil
		})
	})
	t.Run("claim", func(t *testing.T) {
		expectDefect(t, "D-7.md", func(t *testing.T) error {
			failed := podOnNode("failed", "uid-3", corev1.PodFailed, template)
			oneGPU := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "one-gpu"}}
			client := newCluster(t, nil, failed, oneGPU)
			startResourceClaims(t, client)

			time.Sleep(time.Minute)
			created, deletes := count(client, "create", "resourceclaims", ""), count(client, "delete", "resourceclaims", "")
			if created > 0 {
				return fmt.Errorf("ResourceClaims created for a pod that has failed: %d; DELETEs: %d", created, deletes)
			}
			return nil
		})
	})
}

// With the defect fixed, a ResourceClaim that has a deletionTimestamp gets no DELETE.
func TestClaimThatIsBeingDeleted(t *testing.T) {
	expectDefect(t, "D-17.md", func(t *testing.T) error {
		failed := podOnNode("failed", "uid-1", corev1.PodFailed, template)
		now := metav1.Now()
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ml", Name: "failed-gpu", DeletionTimestamp: &now, Finalizers: []string{"example.com/accounting"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(failed, podKind)},
		}}
		failed.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claim.Name}}
		client := newCluster(t, nil, failed, claim)
		startResourceClaims(t, client)

		for i := range 10 {
			claim.Labels = map[string]string{"example.com/step": fmt.Sprint(i)}
			_, err := client.ResourceV1().ResourceClaims("ml").Update(t.Context(), claim, metav1.UpdateOptions{})
			require.NoError(t, err)
			time.Sleep(time.Minute)
		}
		if n := count(client, "delete", "resourceclaims", ""); n > 0 {
			return fmt.Errorf("a ResourceClaim that is being deleted got %d DELETEs", n)
		}
		return nil
	})
}

// With the defect fixed, the API server is asked for the pod, as it is when the cache has no pod of the name.
func TestPodCacheHasThePredecessor(t *testing.T) {
	expectDefect(t, "D-21.md", func(t *testing.T) error {
		before := podOnNode("train-0", "uid-before", corev1.PodSucceeded, shared)
		client := newCluster(t, lag{"pods": time.Minute}, before, allocatedClaim(before))
		startResourceClaims(t, client)
		pods, claims := client.CoreV1().Pods("ml"), client.ResourceV1().ResourceClaims("ml")

		// The StatefulSet recreates its pod, and the scheduler allocates the claim for it. The controller's cache of claims
		// has heard of that, and its cache of pods has not.
		require.NoError(t, pods.Delete(t.Context(), "train-0", metav1.DeleteOptions{}))
		after := podOnNode("train-0", "uid-after", corev1.PodRunning, shared)
		_, err := pods.Create(t.Context(), after, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = claims.Update(t.Context(), allocatedClaim(after), metav1.UpdateOptions{})
		require.NoError(t, err)

		time.Sleep(time.Hour)
		return keepsItsDevice(t, client)
	})
}

// keepsItsDevice is an error if the claim "shared", which pod train-0 uses, has no device.
func keepsItsDevice(t *testing.T, client *fake.Clientset) error {
	t.Helper()
	claim, err := client.ResourceV1().ResourceClaims("ml").Get(t.Context(), "shared", metav1.GetOptions{})
	require.NoError(t, err)
	if claim.Status.Allocation == nil {
		return errors.New("pod train-0 runs, and the device of its ResourceClaim is free for another pod")
	}
	return nil
}

// With the defect fixed, the API server is asked for the pod although its deletion was seen.
func TestPodComesBackWithItsUID(t *testing.T) {
	expectDefect(t, "D-37.md", func(t *testing.T) error {
		pod := podOnNode("train-0", "uid-1", corev1.PodRunning, shared)
		client := newCluster(t, nil, pod, allocatedClaim(pod))
		startResourceClaims(t, client)
		pods, claims := client.CoreV1().Pods("ml"), client.ResourceV1().ResourceClaims("ml")
		require.NoError(t, keepsItsDevice(t, client))

		// The deletion of the pod frees the device, as it should.
		require.NoError(t, pods.Delete(t.Context(), "train-0", metav1.DeleteOptions{}))
		time.Sleep(time.Minute)
		require.Error(t, keepsItsDevice(t, client))

		// etcd is restored from a backup: both objects are as they were, and the pod has not stopped.
		_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = claims.Update(t.Context(), allocatedClaim(pod), metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Hour)
		return keepsItsDevice(t, client)
	})
}
