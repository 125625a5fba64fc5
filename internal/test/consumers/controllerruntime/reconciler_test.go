package controllerruntime

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/test/consumers/late"
	"github.com/purekube/purekube/purekubetest"
)

// played is the reconciler with a manager, and the cluster that both see.
type played struct {
	Budgets
	reads *fake.Clientset // the cache's side of the cluster

	mu       sync.Mutex
	statuses []policyv1.PodDisruptionBudgetStatus // as they were written
}

// informed is a cache of client-go's informers.
type informed struct {
	informertest.FakeInformers
	factory informers.SharedInformerFactory
}

func (c *informed) Start(ctx context.Context) error {
	c.factory.Start(ctx.Done())
	<-ctx.Done()
	c.factory.Shutdown()
	return nil
}

func (c *informed) WaitForCacheSync(ctx context.Context) bool {
	for _, informer := range c.InformersByGVK {
		if !toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return false
		}
	}
	return true
}

// start runs the reconciler in a manager until the test ends. The pods' handlers are late by before.
func start(t *testing.T, before func(), lookUp func(purekube.Need) (purekube.Answer, error), objects ...purekubetest.Object) *played {
	t.Helper()
	memory := apiserver.New()
	for _, o := range objects {
		memory.Put(o)
	}
	var watched []runtime.Object
	for _, o := range memory.All() { // with the resourceVersions that writes are compared with
		watched = append(watched, o.DeepCopyObject())
	}
	p := &played{reads: fake.NewClientset(watched...)}
	p.Record = func(purekube.Event) {}
	p.LookUp = func(_ context.Context, n purekube.Need) (purekube.Answer, error) { return lookUp(n) }
	p.Do = func(_ context.Context, r purekube.Request) (runtime.Object, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		object, err := memory.Do(r)
		if err != nil {
			return nil, err
		}
		if budget, ok := object.(*policyv1.PodDisruptionBudget); ok {
			p.statuses = append(p.statuses, budget.Status)
		}
		return object, p.reads.Tracker().Update(r.Resource, object, r.Namespace)
	}

	factory := informers.NewSharedInformerFactory(p.reads, 0)
	core, apps := factory.Core().V1(), factory.Apps().V1()
	byKind := map[string]toolscache.SharedIndexInformer{
		"PodDisruptionBudget":   factory.Policy().V1().PodDisruptionBudgets().Informer(),
		"Pod":                   late.Informer{SharedIndexInformer: core.Pods().Informer(), Before: before},
		"ReplicationController": core.ReplicationControllers().Informer(),
		"ReplicaSet":            apps.ReplicaSets().Informer(),
		"Deployment":            apps.Deployments().Informer(),
		"StatefulSet":           apps.StatefulSets().Informer(),
	}
	watching := &informed{factory: factory}
	watching.InformersByGVK = map[schema.GroupVersionKind]toolscache.SharedIndexInformer{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if informer := byKind[gvk.Kind]; informer != nil && gvk.Version == "v1" {
			watching.InformersByGVK[gvk] = informer
		}
	}
	manager, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Metrics:        server.Options{BindAddress: "0"},
		Controller:     config.Controller{SkipNameValidation: ptr.To(true)},
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return watching, nil },
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return meta.NewDefaultRESTMapper(nil), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.SetupWithManager(manager); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := manager.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return p
}

// allowed is the disruptionsAllowed of each status that was written.
func (p *played) allowed() (all []int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.statuses {
		all = append(all, s.DisruptionsAllowed)
	}
	return all
}

func (p *played) waitAllowed(t *testing.T, want int32) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		all := p.allowed()
		if len(all) > 0 && all[len(all)-1] == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("allowed so far: %v, and not %d", all, want)
		}
	}
}

func noLookUp(n purekube.Need) (purekube.Answer, error) {
	return purekube.Answer{}, fmt.Errorf("unexpected lookup of %v", n)
}

// A budget owns no pods. Its status follows them all the same: one that becomes unready, and one that is gone.
func TestStatusFollowsThePodsOfTheBudget(t *testing.T) {
	web := purekubetest.Deployment("shop/web", 3)
	p := start(t, func() {}, noLookUp, append(web.Objects(), purekubetest.MaxUnavailable("shop/web", "2"))...)
	p.waitAllowed(t, 2)

	pods := p.reads.CoreV1().Pods("shop")
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pods.UpdateStatus(t.Context(), purekubetest.NotReady(&list.Items[0]), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.waitAllowed(t, 1)
	if err := pods.Delete(t.Context(), list.Items[1].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.waitAllowed(t, 0)
}

// The cache of the pods is full, and their handler has not seen one of them: nothing may be planned from that.
func TestNoPlanBeforeTheHandlersHaveSeenWhatWasListed(t *testing.T) {
	release := make(chan struct{})
	web := purekubetest.Deployment("shop/web", 3)
	p := start(t, func() { <-release }, noLookUp, append(web.Objects(), purekubetest.MaxUnavailable("shop/web", "2"))...)
	time.Sleep(time.Second) // a manager that does not wait has written a status by now
	if all := p.allowed(); len(all) > 0 {
		t.Errorf("allowed while the Index has no pod: %v", all)
	}
	close(release)
	p.waitAllowed(t, 2)
	if all := p.allowed(); len(all) != 1 {
		t.Errorf("allowed: %v", all)
	}
}

// The scale of a custom workload is looked up. While that fails the budget allows nothing and says why, and once it
// works again the status is right, without another event.
func TestLookUpThatFailsForAMomentIsMadeAgain(t *testing.T) {
	pod := purekubetest.Pod("shop/cache-0")
	pod.Labels = map[string]string{"app": "cache"}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "CacheSet", Name: "cache", UID: "c1", Controller: ptr.To(true)}}
	failures := 3
	lookUp := func(n purekube.Need) (purekube.Answer, error) {
		if failures--; failures >= 0 {
			err := apierrors.NewServiceUnavailable("busy")
			return purekube.Answer{Err: err}, err
		}
		return purekube.Answer{Object: &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: "c1"}, Spec: autoscalingv1.ScaleSpec{Replicas: 1}}}, nil
	}
	p := start(t, func() {}, lookUp, pod, purekubetest.MaxUnavailable("shop/cache", "1"))
	p.waitAllowed(t, 1)

	p.mu.Lock()
	defer p.mu.Unlock()
	first := meta.FindStatusCondition(p.statuses[0].Conditions, policyv1.DisruptionAllowedCondition)
	if first == nil || first.Reason != policyv1.SyncFailedReason || !strings.Contains(first.Message, "busy") {
		t.Errorf("the first status has the condition %v", first)
	}
	if len(p.statuses) != 2 {
		t.Errorf("%d statuses: a failure that says the same again is no reason to write", len(p.statuses))
	}
}
