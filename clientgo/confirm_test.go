package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/servicecidr"
)

// network is an API server in memory, and one controller of ServiceCIDRs with informers of client-go. The watch of IPAddresses
// hangs.
type network struct {
	*testing.T
	client kubernetes.Interface

	mu sync.Mutex
	// broken is closed when the watch of IPAddresses ends. The informer then lists again.
	broken chan struct{}
	// expired: the next watch of IPAddresses begins too long ago.
	expired bool
	// behind is how long the handler of IPAddresses takes for each of them.
	behind time.Duration
	// lists are how often IPAddresses were listed to their end, and refuse is what becomes of a list.
	lists  int
	refuse error
	// slow is how long a list of IPAddresses takes.
	slow time.Duration
}

// inNetwork calls play in a bubble, with a controller that is idle.
func inNetwork(t *testing.T, play func(*network), objects ...apiserver.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &network{T: t, broken: make(chan struct{})}
		server := apiserver.New(objects...)
		server.Now = time.Now()
		way, stop := apiserver.Serve(&apiserver.Handler{Server: server, Allow: n.allow})
		defer stop()
		config := &rest.Config{Host: "http://api", QPS: -1, ContentConfig: inJSON, Transport: through(func(r *http.Request) (*http.Response, error) {
			answer, err := way.RoundTrip(r)
			if err == nil && answer.StatusCode == http.StatusOK && r.URL.Query().Get("watch") != "" && strings.HasSuffix(r.URL.Path, "/ipaddresses") {
				select {
				case <-n.broken: // the informer has listed again
				default:
					answer.Body = hanging{answer.Body, r.Context(), n.broken}
				}
			}
			return answer, err
		})}
		n.client = kubernetes.NewForConfigOrDie(config)
		executor, err := clientgo.NewExecutor(config)
		require.NoError(t, err)
		factory := informers.NewSharedInformerFactory(n.client, 0)
		c, err := clientgo.NewServiceCIDR(clientgo.Cluster{
			Client: executor, ServiceCIDRs: clientgo.ListServiceCIDRs(n.client),
			Informers: func(o runtime.Object) (clientgo.Informer, error) {
				informer, err := clientgo.FromFactory(factory)(o)
				if _, addresses := o.(*networkingv1.IPAddress); addresses {
					informer = slowly{informer, n}
				}
				return informer, err
			},
		}, servicecidr.Options{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		factory.Start(ctx.Done())
		var running sync.WaitGroup
		running.Go(func() { assert.NoError(t, c.Run(klog.NewContext(ctx, logr.Discard()))) })
		time.Sleep(time.Second)
		play(n)
		cancel()
		running.Wait()
		factory.Shutdown()
	})
}

type through func(*http.Request) (*http.Response, error)

func (t through) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// hanging is the answer to a watch, which shows nothing until it breaks.
type hanging struct {
	io.ReadCloser
	ctx    context.Context
	broken <-chan struct{}
}

func (h hanging) Read([]byte) (int, error) {
	select {
	case <-h.ctx.Done():
	case <-h.broken:
	}
	return 0, io.EOF
}

// slowly is an informer whose handler is behind.
type slowly struct {
	clientgo.Informer
	n *network
}

func (s slowly) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	wait := func() {
		s.n.mu.Lock()
		behind := s.n.behind
		s.n.mu.Unlock()
		time.Sleep(behind)
	}
	return s.Informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(o any, first bool) { wait(); h.OnAdd(o, first) },
		UpdateFunc: func(before, o any) { wait(); h.OnUpdate(before, o) },
		DeleteFunc: func(o any) { wait(); h.OnDelete(o) },
	})
}

func (n *network) allow(r purekube.Request) error {
	slow, err := n.allowed(r)
	time.Sleep(slow)
	return err
}

func (n *network) allowed(r purekube.Request) (time.Duration, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case r.Resource.Resource != "ipaddresses":
	case r.Verb == "list":
		n.lists++
		return n.slow, n.refuse
	case r.Verb == "watch" && n.expired: // it goes on from where the watch before ended, which is too old
		n.expired = false
		return 0, apierrors.NewResourceExpired("too old")
	}
	return 0, nil
}

// becomes changes what becomes of requests.
func (n *network) becomes(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// listed are how many lists of IPAddresses there were.
func (n *network) listed() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lists
}

// allocates adds an address, and releases removes it.
func (n *network) allocates(ip string) {
	n.Helper()
	_, err := n.client.NetworkingV1().IPAddresses().Create(n.Context(), purekubetest.Address(ip, "shop/web"), metav1.CreateOptions{})
	require.NoError(n, err)
}

func (n *network) releases(ip string) {
	n.Helper()
	require.NoError(n, n.client.NetworkingV1().IPAddresses().Delete(n.Context(), ip, metav1.DeleteOptions{}))
}

// deletes marks a ServiceCIDR as deleted.
func (n *network) deletes(name string) {
	n.Helper()
	require.NoError(n, n.client.NetworkingV1().ServiceCIDRs().Delete(n.Context(), name, metav1.DeleteOptions{}))
}

// ranges are the names of the ServiceCIDRs at the API server.
func (n *network) ranges() []string { return rangesOf(n.T, n.client) }

func rangesOf(t *testing.T, client kubernetes.Interface) []string {
	t.Helper()
	list, err := client.NetworkingV1().ServiceCIDRs().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	names := []string{}
	for _, c := range list.Items {
		names = append(names, c.Name)
	}
	return names
}

// An address that neither the cache nor the Index shows keeps its range, and the range goes soon after the address.
func TestRangeOfAnAddressThatNoWatchShows(t *testing.T) {
	inNetwork(t, func(n *network) {
		n.allocates("10.97.0.7")
		n.deletes("range")
		time.Sleep(time.Hour)
		require.Equal(n, []string{"range"}, n.ranges())
		lists := n.listed()
		require.Greater(n, lists, 2, "it is tried again and again")
		require.Less(n, lists, 100, "and not all the time")
		n.releases("10.97.0.7")
		time.Sleep(11 * time.Minute)
		require.Empty(n, n.ranges())
	}, purekubetest.ServiceCIDR("range", "10.97.0.0/24"))
}

// After its list, a cache looks up to date before the handlers have seen what is in it.
func TestRangeOfAnAddressThatARelistShows(t *testing.T) {
	inNetwork(t, func(n *network) {
		n.allocates("10.97.0.7")
		n.deletes("range")
		time.Sleep(5 * time.Second)
		n.becomes(func() { n.expired, n.behind = true, time.Hour })
		close(n.broken)
		time.Sleep(30 * time.Minute)
		require.Equal(n, []string{"range"}, n.ranges())
		require.Greater(n, n.listed(), 2, "the informer listed again, and a plan was not confirmed")
		n.releases("10.97.0.7")
		time.Sleep(3 * time.Hour)
		require.Empty(n, n.ranges())
	}, purekubetest.ServiceCIDR("range", "10.97.0.0/24"))
}

// Without a list, nothing is removed. When lists are back, it is.
func TestListsThatFail(t *testing.T) {
	addresses := networkingv1.Resource("ipaddresses")
	for name, failure := range map[string]error{
		"401": apierrors.NewUnauthorized("why"), "403": apierrors.NewForbidden(addresses, "", errors.New("why")),
		"404": apierrors.NewNotFound(addresses, ""), "410": apierrors.NewResourceExpired("why"), "429": apierrors.NewTooManyRequests("why", 1),
		"500": apierrors.NewInternalError(errors.New("why")), "503": apierrors.NewServiceUnavailable("why"),
		"504": apierrors.NewServerTimeout(addresses, "list", 0),
	} {
		t.Run(name, func(t *testing.T) {
			inNetwork(t, func(n *network) {
				n.becomes(func() { n.refuse = failure })
				n.deletes("range")
				time.Sleep(time.Hour)
				require.Equal(n, []string{"range"}, n.ranges())
				lists := n.listed()
				require.Greater(n, lists, 10)
				require.Less(n, lists, 100)
				n.becomes(func() { n.refuse = nil })
				time.Sleep(11 * time.Minute)
				require.Empty(n, n.ranges())
				require.Equal(n, lists+1, n.listed())
			}, purekubetest.ServiceCIDR("range", "10.97.0.0/24"))
		})
	}
}

// While lists hang, many deletions leave a worker to the ServiceCIDRs that need a finalizer. In the end all go.
func TestListsThatHangDelayNoOtherPlan(t *testing.T) {
	var ranges []apiserver.Object
	for i := range 10 {
		ranges = append(ranges, purekubetest.ServiceCIDR(fmt.Sprint("range-", i), fmt.Sprintf("10.97.%d.0/24", i)))
	}
	inNetwork(t, func(n *network) {
		n.becomes(func() { n.slow = 10 * time.Minute })
		for _, o := range ranges {
			n.deletes(o.GetName())
		}
		time.Sleep(30 * time.Second)
		cidrs := n.client.NetworkingV1().ServiceCIDRs()
		created := purekubetest.ServiceCIDR("new", "10.98.0.0/24")
		created.Finalizers = nil
		_, err := cidrs.Create(n.Context(), created, metav1.CreateOptions{})
		require.NoError(n, err)
		time.Sleep(5 * time.Second)
		made, err := cidrs.Get(n.Context(), "new", metav1.GetOptions{})
		require.NoError(n, err)
		require.Equal(n, []string{servicecidr.Finalizer}, made.Finalizers)
		time.Sleep(20 * time.Minute)
		n.becomes(func() { n.slow = 0 })
		time.Sleep(20 * time.Minute)
		require.Equal(n, []string{"new"}, n.ranges())
	}, ranges...)
}
