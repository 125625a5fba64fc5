package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/servicecidr"
)

func newClient(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind := range scheme.Scheme.AllKnownTypes() {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithRESTMapper(mapper).WithObjects(objects...).WithInterceptorFuncs(funcs).
		WithStatusSubresource(&networkingv1.ServiceCIDR{}, &policyv1.PodDisruptionBudget{}, &corev1.Pod{}).Build()
}

func serviceCIDR(t *testing.T, c client.Client, name string) *networkingv1.ServiceCIDR {
	t.Helper()
	var o networkingv1.ServiceCIDR
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: name}, &o))
	return &o
}

// A ServiceCIDR from its first plan to its last.
func TestServiceCIDR(t *testing.T) {
	c := newClient(t, interceptor.Funcs{}, &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "services", UID: "1"},
		Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/24"}}})
	address := &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: "10.96.0.7", Labels: map[string]string{
		networkingv1.LabelManagedBy: servicecidr.ManagedBy, networkingv1.LabelIPAddressFamily: "IPv4"}}}
	require.NoError(t, c.Create(t.Context(), address))
	r := newServiceCIDRReconciler(c, events.NewFakeRecorder(10))
	again := func() reconcile.Result {
		result, err := r.Reconcile(t.Context(), "services")
		require.NoError(t, err)
		return result
	}

	require.Zero(t, again())
	o := serviceCIDR(t, c, "services")
	require.Equal(t, []string{servicecidr.Finalizer}, o.Finalizers)
	require.True(t, meta.IsStatusConditionTrue(o.Status.Conditions, networkingv1.ServiceCIDRConditionReady))
	version := o.ResourceVersion
	require.Zero(t, again())
	require.Equal(t, version, serviceCIDR(t, c, "services").ResourceVersion, "a plan that was carried out is empty")

	require.NoError(t, c.Delete(t.Context(), o))
	require.Zero(t, again(), "only an event can bring it on")
	o = serviceCIDR(t, c, "services")
	require.Equal(t, networkingv1.ServiceCIDRReasonTerminating, meta.FindStatusCondition(o.Status.Conditions, networkingv1.ServiceCIDRConditionReady).Reason)

	require.NoError(t, c.Delete(t.Context(), address))
	require.InDelta(t, servicecidr.DeletionGracePeriod, again().RequeueAfter, float64(2*time.Second))
	require.NotEmpty(t, serviceCIDR(t, c, "services").Finalizers)
}

// The status of a budget and an evicted pod's condition.
func TestDisruption(t *testing.T) {
	labels := map[string]string{"app": "web"}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3)}}
	owner := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "1", Controller: ptr.To(true)}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", Labels: labels, OwnerReferences: owner},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}}}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}}}
	c := newClient(t, interceptor.Funcs{}, set, pod, budget)
	r := newDisruptionReconciler(c, c, nil, events.NewFakeRecorder(10))

	s, err := disruptionsIn(t.Context(), c, "shop")
	require.NoError(t, err)
	keys := affected(s, pod)
	require.Equal(t, []disruption.Key{disruption.KeyOf(budget), disruption.KeyOf(pod)}, keys)
	for _, key := range keys {
		_, err := r.Reconcile(t.Context(), key)
		require.NoError(t, err)
	}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(budget), budget))
	require.Equal(t, []int32{0, 3, 2, 1}, []int32{budget.Status.DisruptionsAllowed, budget.Status.ExpectedPods, budget.Status.DesiredHealthy, budget.Status.CurrentHealthy})
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
	require.Equal(t, corev1.ConditionFalse, pod.Status.Conditions[1].Status)
}

// A refused write is an error, which controller-runtime tries again, and an event where it is worth one.
func TestRefusedWrite(t *testing.T) {
	refuse := interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
		return apierrors.NewInternalError(context.DeadlineExceeded)
	}}
	c := newClient(t, refuse, &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "services"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/24"}}})
	recorded := events.NewFakeRecorder(10)
	_, err := newServiceCIDRReconciler(c, recorded).Reconcile(t.Context(), "services")
	require.True(t, apierrors.IsInternalError(err), "%v", err)
	require.Equal(t, "Warning KubernetesServiceCIDRError The ServiceCIDR Status can not be set to Ready=True", <-recorded.Events)
	require.NotEmpty(t, serviceCIDR(t, c, "services").Finalizers, "the write before it was made")
}

// What is no request is an error, and no panic.
func TestRequestsThatAreNone(t *testing.T) {
	c := newClient(t, interceptor.Funcs{})
	for _, r := range []purekube.Request{{}, {Verb: "patch"}, {Verb: "delete"}, {Verb: "create"}} {
		_, err := do(t.Context(), c, r)
		require.Error(t, err, "%+v", r)
	}
}
