package fake_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/clientgo/fake"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/servicecidr"
)

// patience is for what has to happen. Nothing waits for all of it, unless the test fails.
const patience = time.Minute

// runs makes controllers of the objects of a clientset, and runs them until the test ends.
func runs(t *testing.T, clientset *kubefake.Clientset, o clientgo.PackageOptions, names ...string) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(clientset, 0)
	client := clientgo.DynamicExecutor{Client: fake.NewDynamicClient(clientset)}
	cluster := clientgo.Cluster{
		Informers:    clientgo.FromFactory(factory),
		Client:       client,
		Lookup:       clientgo.LookupFor(client, clientset.Discovery()),
		ServiceCIDRs: clientgo.ListServiceCIDRs(clientset),
	}
	var running sync.WaitGroup
	t.Cleanup(running.Wait) // the context of the test has ended by then
	var controllers []clientgo.Runner
	for _, name := range names {
		controller, err := clientgo.NewRunner(name, cluster, o)
		require.NoError(t, err)
		controllers = append(controllers, controller)
		running.Go(func() { assert.NoError(t, controller.Run(t.Context())) })
	}
	factory.Start(t.Context().Done())
	for _, controller := range controllers {
		require.Eventually(t, controller.HasSynced, patience, time.Millisecond, controller.Name())
	}
}

// failing lets writes of the status of a resource fail, until failures is 0. The reactor sees the requests of every
// client.
func failing(clientset *kubefake.Clientset, resource string, failures *int) {
	clientset.PrependReactor("*", resource, func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "status" || *failures == 0 {
			return false, nil, nil
		}
		*failures--
		return true, nil, apierrors.NewInternalError(errors.New("injected"))
	})
}

// allows reports whether a status says so of three pods.
func allows(t *testing.T, clientset *kubefake.Clientset, want int32) func() bool {
	return func() bool {
		budget := must(clientset.PolicyV1().PodDisruptionBudgets("shop").Get(t.Context(), "web", metav1.GetOptions{}))
		return budget.Status.ExpectedPods == 3 && budget.Status.DisruptionsAllowed == want
	}
}

// The status of a budget follows the pods. A write that fails is tried again. TTLs are another controller's.
func TestBudget(t *testing.T) {
	web := purekubetest.Deployment("shop/web", 3)
	clientset := fake.NewClientset(web.Objects(purekubetest.MinAvailable("shop/web", "2"))...)
	failures := 2
	failing(clientset, "poddisruptionbudgets", &failures)
	runs(t, clientset, clientgo.PackageOptions{}, "disruption", "ttl")
	require.Eventually(t, allows(t, clientset, 1), patience, time.Millisecond)

	pods := clientset.CoreV1().Pods("shop")
	pod := must(pods.Get(t.Context(), web.Pods[0].Name, metav1.GetOptions{})) // the clientset has copies
	must(pods.UpdateStatus(t.Context(), purekubetest.NotReady(pod), metav1.UpdateOptions{}))
	require.Eventually(t, allows(t, clientset, 0), patience, time.Millisecond)
	require.Zero(t, failures)
}

// A pod that needs a claim gets one, by the name that its status has then. When the pod is gone, so are
// the reservation, the allocation and the finalizer; the claim itself is the garbage collector's.
func TestClaim(t *testing.T) {
	pod := purekubetest.Pod("ml/train")
	pod.Spec.NodeName = ""
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu"}}
	clientset := fake.NewClientset(pod, template)
	runs(t, clientset, clientgo.PackageOptions{}, "resourceclaim")
	pods, claims := clientset.CoreV1().Pods("ml"), clientset.ResourceV1().ResourceClaims("ml")
	var name string
	require.Eventually(t, func() bool {
		p, err := pods.Get(t.Context(), "train", metav1.GetOptions{})
		require.NoError(t, err)
		if len(p.Status.ResourceClaimStatuses) == 1 {
			name = *p.Status.ResourceClaimStatuses[0].ResourceClaimName
		}
		return name != ""
	}, patience, time.Millisecond)
	claim, err := claims.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	require.True(t, metav1.IsControlledBy(claim, must(pods.Get(t.Context(), "train", metav1.GetOptions{}))))

	claim.Finalizers = []string{resourcev1.Finalizer}
	claim.Status = purekubetest.Claim("ml/x", must(pods.Get(t.Context(), "train", metav1.GetOptions{}))).Status
	_, err = claims.Update(t.Context(), claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, pods.Delete(t.Context(), "train", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		left := must(claims.Get(t.Context(), name, metav1.GetOptions{}))
		return len(left.Finalizers) == 0 && len(left.Status.ReservedFor) == 0 && left.Status.Allocation == nil
	}, patience, time.Millisecond)
}

func must[T any](t T, err error) T {
	if err != nil {
		panic(err)
	}
	return t
}

func TestTTL(t *testing.T) {
	node := purekubetest.Node("n1")
	node.Annotations = nil
	clientset := fake.NewClientset(node)
	runs(t, clientset, clientgo.PackageOptions{}, "ttl")
	require.Eventually(t, func() bool {
		n := must(clientset.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{}))
		return n.Annotations[corev1.ObjectTTLAnnotationKey] == "0"
	}, patience, time.Millisecond)
}

func TestRules(t *testing.T) {
	part := purekubetest.ClusterRole("part", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}})
	part.Labels = map[string]string{"to-view": "true"}
	clientset := fake.NewClientset(part, purekubetest.AggregatedRole("view", "to-view"))
	runs(t, clientset, clientgo.PackageOptions{}, "rbacaggregate")
	require.Eventually(t, func() bool {
		view := must(clientset.RbacV1().ClusterRoles().Get(t.Context(), "view", metav1.GetOptions{}))
		return len(view.Rules) == 1
	}, patience, time.Millisecond)
}

// A new ServiceCIDR gets its finalizer and becomes ready, and goes when it is deleted and the grace period is over.
func TestServiceCIDR(t *testing.T) {
	clientset := fake.NewClientset(&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/16"}}})
	runs(t, clientset, clientgo.PackageOptions{ServiceCIDR: servicecidr.Options{GracePeriod: ptr.To(time.Duration(0))}}, "servicecidr")
	cidrs := clientset.NetworkingV1().ServiceCIDRs()
	require.Eventually(t, func() bool {
		cidr := must(cidrs.Get(t.Context(), "new", metav1.GetOptions{}))
		return len(cidr.Finalizers) == 1 && apimeta.IsStatusConditionTrue(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	}, patience, time.Millisecond)
	require.NoError(t, cidrs.Delete(t.Context(), "new", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		_, err := cidrs.Get(t.Context(), "new", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, patience, time.Millisecond)
}
