package fake_test

import (
	"context"
	"errors"
	"testing"
	"time"

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
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// patience is for what has to happen. Nothing waits for all of it, unless the test fails.
const patience = time.Minute

// runs makes a controller of the objects of a clientset, and runs it until the test ends.
func runs(t *testing.T, clientset *kubefake.Clientset, with func(clientgo.Cluster) (clientgo.Runner, error)) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(clientset, 0)
	client := clientgo.DynamicExecutor{Client: fake.NewDynamicClient(clientset)}
	controller, err := with(clientgo.Cluster{
		Informers:    clientgo.FromFactory(factory),
		Client:       client,
		Lookup:       clientgo.LookupFor(client, clientset.Discovery()),
		ServiceCIDRs: clientgo.ListServiceCIDRs(clientset),
	})
	require.NoError(t, err)
	factory.Start(t.Context().Done())
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- controller.Run(ctx) }()
	t.Cleanup(func() {
		end()
		require.NoError(t, <-ended)
	})
	require.Eventually(t, controller.HasSynced, patience, time.Millisecond)
}

// The status of a budget follows the pods. A write that fails is tried again.
func TestBudget(t *testing.T) {
	web := purekubetest.Deployment("shop/web", 3)
	objects := []runtime.Object{purekubetest.MinAvailable("shop/web", "2")}
	for _, o := range web.Objects() {
		objects = append(objects, o)
	}
	clientset := fake.NewClientset(objects...)
	failures := 2
	clientset.PrependReactor("*", "poddisruptionbudgets", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "status" || failures == 0 {
			return false, nil, nil
		}
		failures--
		return true, nil, apierrors.NewInternalError(errors.New("injected"))
	})
	runs(t, clientset, func(c clientgo.Cluster) (clientgo.Runner, error) {
		return clientgo.NewDisruption(c, disruption.Options{})
	})
	budgets, pods := clientset.PolicyV1().PodDisruptionBudgets("shop"), clientset.CoreV1().Pods("shop")
	allowed := func(want int32) func() bool {
		return func() bool {
			budget, err := budgets.Get(t.Context(), "web", metav1.GetOptions{})
			require.NoError(t, err)
			return budget.Status.ExpectedPods == 3 && budget.Status.DisruptionsAllowed == want
		}
	}
	require.Eventually(t, allowed(1), patience, time.Millisecond)
	pod, err := pods.Get(t.Context(), web.Pods[0].Name, metav1.GetOptions{})
	require.NoError(t, err)
	_, err = pods.UpdateStatus(t.Context(), purekubetest.NotReady(pod), metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Eventually(t, allowed(0), patience, time.Millisecond)
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
	runs(t, clientset, func(c clientgo.Cluster) (clientgo.Runner, error) {
		return clientgo.NewResourceClaim(c, resourceclaim.Options{})
	})
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
	runs(t, clientset, func(c clientgo.Cluster) (clientgo.Runner, error) { return clientgo.NewTTL(c, ttl.Options{}) })
	require.Eventually(t, func() bool {
		n := must(clientset.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{}))
		return n.Annotations[corev1.ObjectTTLAnnotationKey] == "0"
	}, patience, time.Millisecond)
}

func TestRules(t *testing.T) {
	part := purekubetest.ClusterRole("part", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}})
	part.Labels = map[string]string{"to-view": "true"}
	clientset := fake.NewClientset(part, purekubetest.AggregatedRole("view", "to-view"))
	runs(t, clientset, func(c clientgo.Cluster) (clientgo.Runner, error) {
		return clientgo.NewRBACAggregate(c, rbacaggregate.Options{})
	})
	require.Eventually(t, func() bool {
		view := must(clientset.RbacV1().ClusterRoles().Get(t.Context(), "view", metav1.GetOptions{}))
		return len(view.Rules) == 1
	}, patience, time.Millisecond)
}

// A new ServiceCIDR gets its finalizer and becomes ready, and goes when it is deleted and the grace period is over.
func TestServiceCIDR(t *testing.T) {
	clientset := fake.NewClientset(&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/16"}}})
	runs(t, clientset, func(c clientgo.Cluster) (clientgo.Runner, error) {
		return clientgo.NewServiceCIDR(c, servicecidr.Options{GracePeriod: ptr.To(time.Duration(0))})
	})
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
