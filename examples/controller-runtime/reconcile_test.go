package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
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
		result, err := r.Reconcile(t.Context(), servicecidr.Key("services"))
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
	r := newDisruptionReconciler(c, nil, events.NewFakeRecorder(10))

	s, err := disruptionsIn(t.Context(), c, "shop")
	require.NoError(t, err)
	keys := affected(s, pod)
	require.Equal(t, []purekube.Key{disruption.KeyOf(pod), disruption.KeyOf(budget)}, keys)
	for _, key := range keys {
		_, err := r.Reconcile(t.Context(), key)
		require.NoError(t, err)
	}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(budget), budget))
	require.Equal(t, []int32{0, 3, 2, 1}, []int32{budget.Status.DisruptionsAllowed, budget.Status.ExpectedPods, budget.Status.DesiredHealthy, budget.Status.CurrentHealthy})
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
	require.Equal(t, corev1.ConditionFalse, pod.Status.Conditions[1].Status)
}

// getter answers lookups of scales.
type getter func() (runtime.Object, error)

func (g getter) Get(context.Context, schema.GroupVersionResource, string, string, string) (runtime.Object, error) {
	return g()
}

// served is what discovery says of every group version.
type served struct {
	discovery.ServerResourcesInterface
	resources []metav1.APIResource
}

func (s served) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	return &metav1.APIResourceList{APIResources: s.resources}, nil
}

// While the API server is too busy to answer a lookup, the budget allows nothing and says why. Reconcile returns
// the error, so that the key is planned again without another event, and then the status is right.
func TestLookUpThatFailsForAMomentIsMadeAgain(t *testing.T) {
	labels := map[string]string{"app": "cache"}
	owner := []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Cache", Name: "cache", UID: "1", Controller: ptr.To(true)}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache-0", Labels: labels, OwnerReferences: owner},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache"},
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}}}
	c := newClient(t, interceptor.Funcs{}, pod, budget)
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Cache"}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(kind, meta.RESTScopeNamespace)
	busy := true
	lookup := clientgo.LookupFor(getter(func() (runtime.Object, error) {
		if busy {
			return nil, apierrors.NewServiceUnavailable("busy")
		}
		return &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: "1"}, Spec: autoscalingv1.ScaleSpec{Replicas: 1}}, nil
	}), served{resources: []metav1.APIResource{{Name: "caches"}, {Name: "caches/scale"}}}, resettable{mapper})
	r := newDisruptionReconciler(c, lookup, events.NewFakeRecorder(10))

	_, err := r.Reconcile(t.Context(), disruption.KeyOf(budget))
	require.True(t, apierrors.IsServiceUnavailable(err), "so that controller-runtime tries again: %v", err)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(budget), budget))
	condition := meta.FindStatusCondition(budget.Status.Conditions, policyv1.DisruptionAllowedCondition)
	require.NotNil(t, condition, "the status that allows nothing is written all the same")
	require.Equal(t, policyv1.SyncFailedReason, condition.Reason)
	require.Contains(t, condition.Message, "busy")

	busy = false
	_, err = r.Reconcile(t.Context(), disruption.KeyOf(budget))
	require.NoError(t, err)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(budget), budget))
	require.EqualValues(t, 1, budget.Status.DisruptionsAllowed)
}

// A plan that never has enough does not keep a worker for ever.
func TestLookUpsAreLimited(t *testing.T) {
	need := disruption.Result{Needs: []purekube.Need{{APIVersion: "example.com/v1", Kind: "Cache", Name: "cache", Subresource: "scale"}}}
	asked := 0
	_, err := answered(t.Context(), func(map[purekube.Need]purekube.Answer) (disruption.Result, error) { return need, nil },
		func(context.Context, purekube.Need) (purekube.Answer, error) {
			asked++
			return purekube.Answer{}, nil
		})
	require.ErrorContains(t, err, "open after")
	require.Equal(t, maxRounds, asked)
}

// Lookups that take too long end, and the status that says so is written: its time is not that of the lookups.
func TestLookUpsThatHangDoNotHoldBackTheWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		write := disruption.Result{Actions: []disruption.Action{disruption.UpdateStatus{}}}
		need := disruption.Result{Needs: []purekube.Need{{Kind: "Cache", Name: "1"}, {Kind: "Cache", Name: "2"}}}
		result, err := answered(t.Context(), func(answers map[purekube.Need]purekube.Answer) (disruption.Result, error) {
			if len(answers) == 0 {
				return need, nil
			}
			return write, nil
		}, func(ctx context.Context, _ purekube.Need) (purekube.Answer, error) {
			<-ctx.Done()
			return purekube.Answer{Err: ctx.Err()}, ctx.Err()
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, write, result)
		require.NoError(t, t.Context().Err())
	})
}

// An error of the plan names an object to mend. Trying again would not mend it, and would lose the RecheckAt.
func TestProblemsOfAPlanAreNoReasonToTryAgain(t *testing.T) {
	deleted := metav1.NewTime(time.Now().Add(-time.Second))
	c := newClient(t, interceptor.Funcs{},
		&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "bad"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"nonsense"}}},
		&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "leaving", DeletionTimestamp: &deleted, Finalizers: []string{servicecidr.Finalizer}},
			Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.97.0.0/24"}}})
	r := newServiceCIDRReconciler(c, events.NewFakeRecorder(10))
	_, err := r.Reconcile(t.Context(), servicecidr.Key("bad"))
	require.NoError(t, err)
	result, err := r.Reconcile(t.Context(), servicecidr.Key("leaving"))
	require.NoError(t, err)
	require.InDelta(t, servicecidr.DeletionGracePeriod, result.RequeueAfter, float64(3*time.Second))
}

// The deletion timestamp is an hour old, by some API server's clock. The grace period begins when the deletion is
// seen, and later plans do not begin it anew.
func TestGracePeriodBeginsWhenTheDeletionIsSeen(t *testing.T) {
	cidr := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "leaving", UID: "1", DeletionTimestamp: &metav1.Time{}}}
	var seen deletions
	start := time.Now()
	for i := range 3 {
		s := servicecidr.Snapshot{Now: start.Add(time.Duration(i) * time.Second), ServiceCIDRs: []*networkingv1.ServiceCIDR{cidr}}
		require.Equal(t, map[types.UID]time.Time{"1": start}, seen.record(s))
	}
	require.Empty(t, seen.record(servicecidr.Snapshot{Now: start}), "it is gone")
	require.Empty(t, seen.seen)

	deleted := metav1.NewTime(start.Add(-time.Hour))
	c := newClient(t, interceptor.Funcs{}, &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: "leaving", UID: "1", DeletionTimestamp: &deleted, Finalizers: []string{servicecidr.Finalizer}},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.97.0.0/24"}}})
	result, err := newServiceCIDRReconciler(c, events.NewFakeRecorder(10)).Reconcile(t.Context(), servicecidr.Key("leaving"))
	require.NoError(t, err)
	require.InDelta(t, servicecidr.DeletionGracePeriod, result.RequeueAfter, float64(2*time.Second))
}

// A refused write is an error, which controller-runtime tries again, and an event where it is worth one.
func TestRefusedWrite(t *testing.T) {
	refuse := interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
		return apierrors.NewInternalError(context.DeadlineExceeded)
	}}
	c := newClient(t, refuse, &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "services"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/24"}}})
	recorded := events.NewFakeRecorder(10)
	_, err := newServiceCIDRReconciler(c, recorded).Reconcile(t.Context(), servicecidr.Key("services"))
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
