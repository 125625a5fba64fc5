package clientgo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/test/consumers/late"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/servicecidr"
)

var (
	serviceCIDRs = networkingv1.SchemeGroupVersion.WithResource("servicecidrs")
	ipAddresses  = networkingv1.SchemeGroupVersion.WithResource("ipaddresses")
)

// played is a controller and the two sides of its cluster: writes go to the API server in memory, and the informers
// hear of each of them.
type played struct {
	*Controller
	reads *fake.Clientset

	mu       sync.Mutex
	requests []purekube.Request
}

func newPlayed(t *testing.T, objects ...apiserver.Object) *played {
	t.Helper()
	writes := serve(t, apiserver.New(objects...))
	var watched []runtime.Object
	for _, o := range objects {
		watched = append(watched, o.DeepCopyObject())
	}
	p := &played{reads: fake.NewClientset(watched...)}
	p.Controller = &Controller{
		Record: func(e purekube.Event) { t.Error(e) },
		Queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[purekube.Key]()),
		Do: func(ctx context.Context, r purekube.Request) (runtime.Object, error) {
			p.mu.Lock()
			p.requests = append(p.requests, r)
			p.mu.Unlock()
			object, err := Do(ctx, writes, r)
			if err != nil {
				return nil, err
			}
			cidr := &networkingv1.ServiceCIDR{}
			content := object.(*unstructured.Unstructured).Object
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, cidr); err != nil {
				return nil, err
			}
			if cidr.DeletionTimestamp != nil && len(cidr.Finalizers) == 0 {
				return object, p.reads.Tracker().Delete(serviceCIDRs, "", cidr.Name)
			}
			return object, p.reads.Tracker().Update(serviceCIDRs, cidr, "")
		},
	}
	return p
}

// start runs the controller until the test ends.
func (p *played) start(t *testing.T, factory informers.SharedInformerFactory) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx, factory); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// ready is the status of the condition Ready, or why the ServiceCIDR cannot be read.
func (p *played) ready(name string) string {
	o, err := p.reads.Tracker().Get(serviceCIDRs, "", name)
	if err != nil {
		return string(apierrors.ReasonForError(err))
	}
	for _, condition := range o.(*networkingv1.ServiceCIDR).Status.Conditions {
		if condition.Type == networkingv1.ServiceCIDRConditionReady {
			return string(condition.Status)
		}
	}
	return ""
}

func (p *played) waitReady(t *testing.T, name, want string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); p.ready(name) != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: Ready is %q and not %q", name, p.ready(name), want)
		}
	}
}

// sent is how many requests there were so far, and how many of them removed a finalizer from the ServiceCIDR.
func (p *played) sent(name string) (all, removals int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		if r.Name == name && r.Subresource == "" { // it is being deleted, so that no finalizer is added
			removals++
		}
	}
	return len(p.requests), removals
}

func leaving() *networkingv1.ServiceCIDR {
	return purekubetest.Deleted(purekubetest.ServiceCIDR("leaving", "10.97.0.0/24"), time.Now().Add(-time.Hour))
}

func fresh() *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "fresh", UID: "1"},
		Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/24"}}}
}

// The whole controller: informers, queue, plans, writes. A range in use stays until its address is gone.
func TestController(t *testing.T) {
	address := purekubetest.Address("10.97.0.7", "shop/web")
	p := newPlayed(t, fresh(), leaving(), address)
	p.start(t, informers.NewSharedInformerFactory(p.reads, 0))

	p.waitReady(t, "fresh", "True")
	p.waitReady(t, "leaving", "False")
	seen := time.Now()
	if err := p.reads.Tracker().Delete(ipAddresses, "", address.Name); err != nil {
		t.Fatal(err)
	}
	p.waitReady(t, "leaving", "NotFound")
	// Its deletion timestamp is an hour old, by some API server's clock. This controller has just seen the deletion.
	if took := time.Since(seen); took < servicecidr.DeletionGracePeriod-2*time.Second {
		t.Errorf("the finalizer is gone %s after the deletion was seen", took)
	}
}

// The cache of the addresses is full, and their handler has not seen one of them: nothing may be planned from that.
func TestNoPlanBeforeTheHandlersHaveSeenWhatWasListed(t *testing.T) {
	// The grace period of leaving begins when its deletion is seen, so that fresh shows whether anything was planned.
	objects := []apiserver.Object{leaving(), fresh()}
	for i := range 100 {
		objects = append(objects, purekubetest.Address(fmt.Sprintf("10.97.0.%d", i+1), "shop/web"))
	}
	p := newPlayed(t, objects...)
	release := make(chan struct{})
	factory := informers.NewSharedInformerFactory(p.reads, 0)
	p.start(t, late.IPAddresses(factory, func() { <-release }))

	networking := factory.Networking().V1()
	if !cache.WaitForCacheSync(t.Context().Done(), networking.ServiceCIDRs().Informer().HasSynced, networking.IPAddresses().Informer().HasSynced) {
		t.Fatal("the caches do not fill")
	}
	time.Sleep(500 * time.Millisecond) // a controller that does not wait has planned by now
	if all, _ := p.sent("leaving"); all > 0 {
		t.Errorf("%d requests while the Index has no address", all)
	}
	close(release)
	p.waitReady(t, "leaving", "False")
	if _, removals := p.sent("leaving"); removals > 0 {
		t.Errorf("the finalizer was removed from a range with 100 addresses, %d times", removals)
	}
}
