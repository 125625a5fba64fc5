package descheduler

import (
	"context"
	"testing"
	"time"
	"unsafe" // for go:linkname, too

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/featuregate"
	_ "sigs.k8s.io/descheduler/pkg/descheduler" // has the sandbox
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/features"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/peers/verdicts"
	"github.com/purekube/purekube/purekubetest"
)

// What descheduler evicts from in a dry run, and its client. It does not export them.
//
//go:linkname newSandbox sigs.k8s.io/descheduler/pkg/descheduler.newDefaultKubeClientSandbox
func newSandbox(client kubernetes.Interface, informers informers.SharedInformerFactory) (unsafe.Pointer, error)

//go:linkname sandboxClient sigs.k8s.io/descheduler/pkg/descheduler.(*kubeClientSandbox).fakeClient
func sandboxClient(sandbox unsafe.Pointer) *fake.Clientset

// sandbox is descheduler's client for a dry run, with these pods.
func sandbox(t *testing.T, pods []*corev1.Pod) *fake.Clientset {
	t.Helper()
	var objects []runtime.Object
	for _, p := range pods {
		objects = append(objects, p)
	}
	cluster := fake.NewClientset(objects...)
	mirrored := informers.NewSharedInformerFactory(cluster, 0)
	s, err := newSandbox(cluster, mirrored)
	if err != nil {
		t.Fatal(err)
	}
	client := sandboxClient(s)
	mirrored.Start(t.Context().Done())
	mirrored.WaitForCacheSync(t.Context().Done())
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		there, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d pods are there", len(there.Items), len(pods))
		}
		if len(there.Items) == len(pods) {
			return client
		}
	}
}

// dryRun lets descheduler's own evictor evict the pods in a dry run. It returns the error about each pod.
func dryRun(t *testing.T, pods []*corev1.Pod, before clienttesting.ReactionFunc) (errs []error) {
	t.Helper()
	client := sandbox(t, pods)
	if before != nil {
		client.PrependReactor("create", "pods", before)
	}
	gates := featuregate.NewFeatureGate()
	known := map[featuregate.Feature]featuregate.FeatureSpec{features.EvictionsInBackground: {Default: false}}
	if err := gates.Add(known); err != nil {
		t.Fatal(err)
	}
	informer := informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	evictor, err := evictions.NewPodEvictor(context.Background(), client, &events.FakeRecorder{}, informer, gates,
		evictions.NewOptions().WithDryRun(true))
	if err != nil {
		t.Fatal(err)
	}
	evicted := uint(0)
	for _, p := range pods {
		err := evictor.EvictPod(context.Background(), p, evictions.EvictOptions{})
		if errs = append(errs, err); err == nil {
			evicted++
		}
	}
	there, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(there.Items) != len(pods)-int(evicted) {
		t.Errorf("%d of %d pods are there, and %d are evicted", len(there.Items), len(pods), evicted)
	}
	if evictor.TotalEvicted() != evicted {
		t.Errorf("descheduler counts %d evictions of %d", evictor.TotalEvicted(), evicted)
	}
	return errs
}

func index(t *testing.T, app purekubetest.Workload, budgets ...*policyv1.PodDisruptionBudget) *disruption.Index {
	t.Helper()
	var objects []purekubetest.Object
	for _, b := range budgets {
		objects = append(objects, b)
	}
	return disruption.NewIndex(purekubetest.NewCluster(t, app.Objects(objects...)...).Disruption(), disruption.Options{})
}

// In a dry run, descheduler evicts all pods of a budget that allows one disruption. With the adapter, it evicts one,
// as the API server would.
func TestDryRun(t *testing.T) {
	app, budget := purekubetest.Deployment("shop/web", 3), purekubetest.MaxUnavailable("shop/web", "1")
	for i, err := range dryRun(t, app.Pods, nil) {
		if err != nil {
			t.Errorf("pod %d: %v: descheduler's dry run asks budgets now: fix docs/migrating.md", i, err)
		}
	}
	for i, err := range dryRun(t, app.Pods, Refuse(index(t, app, budget))) {
		if (err == nil) != (i == 0) {
			t.Errorf("pod %d: %v", i, err)
		}
	}
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, DisruptionsAllowed: 1,
		CurrentHealthy: 3, DesiredHealthy: 2}
	budgets := []*policyv1.PodDisruptionBudget{budget}
	if !verdicts.Allowed(t, app.Pods[0], budgets) || verdicts.AllAtOnce(t, app.Pods[:2], budgets) {
		t.Error("the API server evicts one pod, and no second one")
	}
}

// A pod with two budgets, and a pod that the Index does not have, are errors too, and nothing else is answered.
func TestRefuse(t *testing.T) {
	app := purekubetest.Deployment("shop/web", 3)
	one, two := purekubetest.MaxUnavailable("shop/web", "1"), purekubetest.MaxUnavailable("shop/web", "2")
	two.Name = "more"
	for name, refuse := range map[string]clienttesting.ReactionFunc{
		"two budgets":    Refuse(index(t, app, one, two)),
		"an empty Index": Refuse(disruption.NewIndex(disruption.Snapshot{}, disruption.Options{})),
	} {
		for i, err := range dryRun(t, app.Pods, refuse) {
			if err == nil {
				t.Errorf("%s: pod %d is evicted", name, i)
			}
		}
	}
	evict := clienttesting.NewCreateSubresourceAction(corev1.SchemeGroupVersion.WithResource("pods"), app.Pods[0].Name,
		"eviction", "shop",
		&policyv1.Eviction{ObjectMeta: app.Pods[0].ObjectMeta})
	if _, _, err := Refuse(index(t, app, one, two))(evict); !apierrors.IsInternalError(err) {
		t.Errorf("two budgets are no 500: %v", err)
	}
	none := purekubetest.MaxUnavailable("shop/web", "0")
	if _, _, err := Refuse(index(t, app, none))(evict); !apierrors.IsTooManyRequests(err) {
		t.Errorf("a budget that allows none is no 429: %v", err)
	}
	unknown := disruption.NewIndex(disruption.Snapshot{Pods: app.Pods, Budgets: []*policyv1.PodDisruptionBudget{one}},
		disruption.Options{})
	if handled, _, err := Refuse(unknown)(evict); !handled || err == nil {
		t.Error("evicted, although the ReplicaSet is not known")
	}
	refuse := Refuse(index(t, app, one))
	for _, action := range []clienttesting.Action{
		clienttesting.NewCreateAction(corev1.SchemeGroupVersion.WithResource("pods"), "shop", app.Pods[0]),
		clienttesting.NewListAction(corev1.SchemeGroupVersion.WithResource("pods"),
			corev1.SchemeGroupVersion.WithKind("Pod"), "shop", clienttesting.ListActionImpl{}.ListOptions),
	} {
		if handled, _, _ := refuse(action); handled {
			t.Errorf("%v is no eviction", action)
		}
	}
}
