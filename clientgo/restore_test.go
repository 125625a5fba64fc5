package clientgo

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	purefake "github.com/purekube/purekube/clientgo/fake"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// writer keeps the requests, and answers a create with the object as an API server names it.
type writer struct {
	mu    sync.Mutex
	sent  []string
	at    []time.Duration
	start time.Time
}

func (w *writer) Do(_ context.Context, r purekube.Request) (runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent, w.at = append(w.sent, r.Verb+" "+r.Resource.Resource), append(w.at, time.Since(w.start))
	claim, ok := r.Object.(*resourcev1.ResourceClaim)
	if !ok || r.Verb != "create" {
		return nil, nil
	}
	claim = claim.DeepCopy()
	n := fmt.Sprint(len(w.sent))
	claim.Name, claim.UID, claim.ResourceVersion = "claim-"+n, types.UID(n), "200"
	return claim, nil
}

// A claim that was made before etcd was restored from a backup is not there any more. The controller ends as soon as the
// claims are listed again, though no event tells. The next one makes another claim for the pod, at once and not after the hour
// for which a written claim is believed in.
func TestRestoreEndsTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "p", UID: "p"}, Spec: corev1.PodSpec{
				ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}}},
			&resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu"}})
		var events *watch.FakeWatcher
		client.PrependWatchReactor("resourceclaims", func(clienttesting.Action) (bool, watch.Interface, error) {
			events = watch.NewFake()
			return true, events, nil
		})
		version := "100"
		client.PrependReactor("list", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, &resourcev1.ResourceClaimList{ListMeta: metav1.ListMeta{ResourceVersion: version}}, nil
		})
		w := &writer{}
		start := func() (ended chan error, stop func()) {
			f := informers.NewSharedInformerFactory(client, 0)
			r, err := NewResourceClaim(clusterOf(f, w, nil), resourceclaim.Options{})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
			f.Start(ctx.Done())
			ended = make(chan error, 1)
			go func() { ended <- r.Run(ctx) }()
			time.Sleep(time.Minute)
			synctest.Wait()
			return ended, func() { cancel(); f.Shutdown() }
		}
		creates := func() (n int) {
			for _, s := range w.sent {
				if s == "create resourceclaims" {
					n++
				}
			}
			return n
		}

		ended, stop := start()
		require.Equal(t, 1, creates(), "%v", w.sent)
		version = "50"
		events.Error(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired})
		time.Sleep(2 * cachesPause)
		synctest.Wait()
		err := <-ended
		require.ErrorIs(t, err, ErrRestored)
		require.EqualError(t, err, "resourceclaim: the cache of resourceclaims.resource.k8s.io went back from resourceVersion 100 to 50: etcd was restored from a backup: start again")
		require.Equal(t, 1, creates(), "%v", w.sent)
		stop()

		ended, stop = start()
		require.Equal(t, 2, creates(), "%v", w.sent)
		stop()
		require.NoError(t, <-ended)
	})
}

// at is an informer whose cache is at a resourceVersion that the test sets.
type at struct {
	handlers
	version atomic.Value
}

func (a *at) LastSyncResourceVersion() string { return a.version.Load().(string) }

// stuck sends requests that get no answer before the end of their context.
type stuck struct{ writer }

func (s *stuck) Do(ctx context.Context, r purekube.Request) (runtime.Object, error) {
	_, _ = s.writer.Do(ctx, r)
	<-ctx.Done()
	return nil, ctx.Err()
}

// When the cache went back, no plan begins any more, and requests of plans under way are cut off.
func TestNothingIsSentAfterARestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := func(name string) *corev1.Node {
			return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "5"}}
		}
		informer, client, plans := &at{}, &stuck{}, 0
		informer.version.Store("100")
		c, err := NewTTL(Cluster{
			Informers: func(runtime.Object) (Informer, error) { return informer, nil }, Client: client,
			Hooks: Hooks{OnPlan: func(PlanResult) { plans++ }},
		}, ttl.Options{})
		require.NoError(t, err)
		informer.OnAdd(node("a"), true)
		ended := make(chan error, 1)
		go func() { ended <- c.Run(logr.NewContext(t.Context(), logr.Discard())) }()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []string{"patch nodes"}, client.sent)
		informer.version.Store("99")
		informer.OnAdd(node("b"), false)
		synctest.Wait()
		require.ErrorIs(t, <-ended, ErrRestored)
		require.Equal(t, 1, plans)
		require.Equal(t, []string{"patch nodes"}, client.sent)
	})
}

// A version without an order, as that of a cache that is empty, does not hide that the next one is older.
func TestNoVersionHidesNoRestore(t *testing.T) {
	for _, between := range []string{"", "0", "x", "-1"} {
		t.Run(between, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				informer := &at{}
				informer.version.Store("100")
				c, err := NewTTL(Cluster{Informers: func(runtime.Object) (Informer, error) { return informer, nil }, Client: &writer{}}, ttl.Options{})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
				ended := make(chan error, 1)
				go func() { ended <- c.Run(ctx) }()
				for _, version := range []string{"100", between, "99"} {
					informer.version.Store(version)
					time.Sleep(2 * cachesPause)
				}
				cancel() // where it has not ended by itself
				require.ErrorIs(t, <-ended, ErrRestored)
			})
		})
	}
}

// A cache that goes on is no restore, whatever its versions look like.
func TestCacheThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := &at{}
		informer.version.Store("")
		c, err := NewTTL(Cluster{Informers: func(runtime.Object) (Informer, error) { return informer, nil }, Client: &writer{}}, ttl.Options{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		for _, version := range []string{"9", "10", "10", "1000", "18446744073709551616"} {
			informer.version.Store(version)
			time.Sleep(2 * cachesPause)
			require.Empty(t, ended)
		}
		cancel()
		require.NoError(t, <-ended)
	})
}

// handlers is an informer whose events the test makes, and its own registration. The registration is nil, for the methods that
// newer versions of client-go ask for.
type handlers struct {
	cache.ResourceEventHandler
	cache.ResourceEventHandlerRegistration
}

func (h *handlers) AddEventHandler(to cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	h.ResourceEventHandler = to
	return h, nil
}

func (*handlers) HasSynced() bool { return true }

// The clock of the API server that wrote the deletion timestamp may be behind: the allocators have the whole grace
// period all the same.
func TestGracePeriodCountsFromTheFirstSight(t *testing.T) {
	for _, tc := range []struct {
		name   string
		behind time.Duration
	}{{"the same clock", 0}, {"a clock behind", time.Hour}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := purefake.NewClientset(&networkingv1.ServiceCIDR{
					ObjectMeta: metav1.ObjectMeta{Name: "going", UID: "1", Finalizers: []string{servicecidr.Finalizer},
						DeletionTimestamp: ptr.To(metav1.NewTime(time.Now().Add(-tc.behind)))},
					Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.0.0.0/24"}}})
				w := &writer{start: time.Now()}
				f := informers.NewSharedInformerFactory(client, 0)
				r, err := NewServiceCIDR(cidrClusterOf(client, f, w), servicecidr.Options{})
				require.NoError(t, err)
				run(t, f, r, time.Minute)
				require.NotEmpty(t, w.sent)
				require.GreaterOrEqual(t, w.at[0], 10*time.Second)
				require.LessOrEqual(t, w.at[0], 12*time.Second)
			})
		})
	}
}

// A restore from a backup that no cache tells of may undo the deletion of a ServiceCIDR. Its next deletion has a grace period of its own,
// whatever the clock of the API server that wrote its timestamp.
func TestGracePeriodAfterARestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		cidr := func(deleted *metav1.Time) *networkingv1.ServiceCIDR {
			c := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "range", UID: "1"}}
			c.DeletionTimestamp, c.Finalizers = deleted, []string{servicecidr.Finalizer}
			c.Spec.CIDRs = []string{"10.0.0.0/24"}
			return c
		}
		behind := ptr.To(metav1.NewTime(begin.Add(-time.Hour)))
		client, events := purefake.NewClientset(cidr(behind)), watch.NewFake()
		client.PrependWatchReactor("servicecidrs", clienttesting.DefaultWatchReactor(events, nil))
		w := &writer{start: begin}
		f := informers.NewSharedInformerFactory(client, 0)
		r, err := NewServiceCIDR(cidrClusterOf(client, f, w), servicecidr.Options{})
		require.NoError(t, err)
		go func() {
			time.Sleep(5 * time.Second)
			events.Modify(cidr(nil))
			time.Sleep(time.Minute)
			events.Modify(cidr(behind))
		}()
		run(t, f, r, 5*time.Minute)
		// At 5 s it is protected and gets its condition; at 65 s it is deleted.
		require.NotEmpty(t, w.at)
		require.Less(t, w.at[0], 6*time.Second)
		for _, at := range w.at {
			require.False(t, at > 64*time.Second && at < 75*time.Second, "a write at %v: %v", at, w.sent)
		}
		require.GreaterOrEqual(t, w.at[len(w.at)-1], 75*time.Second, "%v", w.sent)
	})
}

// After a restore from a backup that no cache tells of, a pod that was seen deleted runs again, and its claim may be shown before it. What the
// API server has decides, not what was seen.
func TestPodThatIsBackKeepsItsDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "p", UID: "p"}, Spec: corev1.PodSpec{
			NodeName: "n", ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("gpu")}}}}
		claim := &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu", UID: "c", ResourceVersion: "5", Finalizers: []string{resourcev1.Finalizer}},
			Status: resourcev1.ResourceClaimStatus{
				Allocation:  &resourcev1.AllocationResult{},
				ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p"}}}}
		live := *pod
		live.TypeMeta = kind("v1", "Pod")
		lookup := reading(t, map[string]any{"/api/v1/namespaces/ml/pods/p": live})
		client := purefake.NewClientset(pod, claim)
		events := watch.NewFake()
		client.PrependWatchReactor("pods", clienttesting.DefaultWatchReactor(events, nil))
		w := &writer{start: time.Now()}
		f := informers.NewSharedInformerFactory(client, 0)
		r, err := NewResourceClaim(clusterOf(f, w, lookup), resourceclaim.Options{})
		require.NoError(t, err)
		stop := make(chan struct{})
		f.Start(stop)
		f.WaitForCacheSync(stop)
		require.Eventually(t, r.HasSynced, 10*time.Second, time.Millisecond)
		events.Delete(pod)
		pods := f.Core().V1().Pods().Informer().GetStore()
		require.Eventually(t, func() bool { return len(pods.List()) == 0 }, 10*time.Second, time.Millisecond)
		var running sync.WaitGroup
		running.Go(func() { assert.NoError(t, r.Run(t.Context())) })
		time.Sleep(time.Second)
		r.Stop()
		running.Wait()
		close(stop)
		f.Shutdown()
		require.Empty(t, w.sent)
	})
}
