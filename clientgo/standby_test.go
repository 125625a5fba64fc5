package clientgo_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/purekubetest"
)

// replica is one of several Sets with one Lease.
type replica struct {
	*clientgo.Set
	way http.RoundTripper
	// hangs are resources whose watches show nothing to this replica.
	hangs []string
	// cutOffAt is the path of a PATCH that is on its way for so long: then this replica is cut off from the API server.
	cutOffAt string
	delay    time.Duration

	mu     sync.Mutex
	cutOff bool
	// read are the lists and watches of this replica.
	read []string
	// ended is closed when Run returns.
	ended chan struct{}
}

var errCutOff = errors.New("the network is down")

func (r *replica) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	late := !r.cutOff && q.Method == http.MethodPatch && q.URL.Path == r.cutOffAt
	r.cutOff = r.cutOff || late
	cutOff := r.cutOff
	r.mu.Unlock()
	if late {
		time.AfterFunc(r.delay, func() {
			if answer, err := r.way.RoundTrip(q.Clone(context.Background())); err == nil {
				_ = answer.Body.Close()
			}
		})
	}
	if cutOff {
		return nil, errCutOff
	}
	answer, err := r.way.RoundTrip(q)
	resource := q.URL.Path[strings.LastIndex(q.URL.Path, "/")+1:]
	if q.Method != http.MethodGet || strings.Contains(q.URL.Path, "/leases/") {
		return answer, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = append(r.read, resource)
	if err == nil && answer.StatusCode == http.StatusOK && q.URL.Query().Get("watch") != "" && slices.Contains(r.hangs, resource) {
		answer.Body = hung{answer.Body, q.Context()}
	}
	return answer, err
}

// reads are how many lists and watches there were.
func (r *replica) reads() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.read)
}

// hung is an answer whose content does not arrive.
type hung struct {
	io.ReadCloser
	ctx context.Context
}

func (h hung) Read([]byte) (int, error) {
	<-h.ctx.Done()
	return 0, h.ctx.Err()
}

// replicas is a cluster in which Sets with one Lease run, in a bubble.
type replicas struct {
	*testing.T
	way    http.RoundTripper
	client kubernetes.Interface
	all    []*replica
}

// withReplicas calls play with an API server that has these objects.
func withReplicas(t *testing.T, play func(*replicas), objects ...apiserver.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := apiserver.New(objects...)
		server.Now = time.Now()
		way, stop := apiserver.Serve(&apiserver.Handler{Server: server})
		defer stop()
		c := &replicas{T: t, way: way, client: kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://api", Transport: way, ContentConfig: inJSON})}
		defer func() {
			for _, r := range c.all {
				r.end()
			}
		}()
		play(c)
	})
}

// run runs the controller of that name in a replica of its own. The watches of these resources show nothing to it.
func (c *replicas) run(controller string, hangs ...string) *replica {
	return c.runReplica(controller, &replica{hangs: hangs})
}

func (c *replicas) runReplica(controller string, r *replica) *replica {
	r.way, r.ended, c.all = c.way, make(chan struct{}), append(c.all, r)
	r.Set = clientgo.New(&rest.Config{Host: "http://api", Transport: r, ContentConfig: inJSON}, clientgo.SetOptions{
		Controllers: []string{controller}, Lease: &clientgo.Lease{Namespace: "ns", Name: "lease"},
	})
	go func() {
		defer close(r.ended)
		err := r.Run(klog.NewContext(context.Background(), logr.Discard()))
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil && !(r.cutOff && errors.Is(err, clientgo.ErrLeaseLost)) {
			c.Error(err)
		}
	}()
	time.Sleep(time.Second) // the first replica has the Lease
	return r
}

// end lets another replica lead.
func (r *replica) end() {
	r.Stop()
	<-r.ended
	synctest.Wait()
}

// A replica that waits for the Lease reads nothing, and is ready. It reads when it leads.
func TestStandbyReadsNothing(t *testing.T) {
	withReplicas(t, func(c *replicas) {
		leader, standby := c.run("ttl"), c.run("ttl")
		time.Sleep(time.Minute)
		require.Positive(c, leader.reads())
		require.Zero(c, standby.reads(), "%v", standby.read)
		require.Empty(c, standby.Unsynced(), "there is nothing that it waits for but the Lease")
		leader.end()
		time.Sleep(time.Minute)
		require.Positive(c, standby.reads())
	}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
}

// The watches of pods and claims are late at one replica. When it leads, it makes no second claim for a pod.
func TestNewLeaderMakesNoSecondClaim(t *testing.T) {
	pod := purekubetest.Pod("ml/train-0")
	purekubetest.ClaimFor(pod, "gpu")
	pod.Status.ResourceClaimStatuses = nil
	withReplicas(t, func(c *replicas) {
		leader, standby := c.run("resourceclaim"), c.run("resourceclaim", "pods", "resourceclaims")
		_, err := c.client.ResourceV1().ResourceClaimTemplates("ml").Create(c.Context(), &resourcev1.ResourceClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: *pod.Spec.ResourceClaims[0].ResourceClaimTemplateName},
		}, metav1.CreateOptions{})
		require.NoError(c, err)
		claims := func() int {
			list, err := c.client.ResourceV1().ResourceClaims("ml").List(c.Context(), metav1.ListOptions{})
			require.NoError(c, err)
			return len(list.Items)
		}
		time.Sleep(2 * time.Second)
		require.Equal(c, 1, claims())
		leader.end()
		time.Sleep(time.Minute)
		require.Positive(c, standby.reads())
		require.Empty(c, standby.Unsynced(), "it plans")
		require.Equal(c, 1, claims())
	}, pod)
}

// Of two equal ranges that are being deleted, one stays while an address is in use. The second replica would let them go in
// another order than the first one, whose request for its range arrives when the second one leads.
func TestNewLeaderLeavesTheLastOfTwoEqualRanges(t *testing.T) {
	withReplicas(t, func(c *replicas) {
		leader := c.runReplica("servicecidr", &replica{
			cutOffAt: "/apis/networking.k8s.io/v1/servicecidrs/b", delay: 24 * time.Second,
		})
		for _, name := range []string{"b", "a"} { // both in the same second, so that who has seen no order goes by name
			require.NoError(c, c.client.NetworkingV1().ServiceCIDRs().Delete(c.Context(), name, metav1.DeleteOptions{}))
			time.Sleep(100 * time.Millisecond)
		}
		standby := c.run("servicecidr")
		<-leader.ended
		time.Sleep(10 * time.Second)
		require.Positive(c, standby.reads(), "it leads")
		require.Equal(c, []string{"a", "b"}, rangesOf(c.T, c.client), "the request of the first replica is on its way")
		time.Sleep(time.Hour)
		require.Equal(c, []string{"a"}, rangesOf(c.T, c.client))
		require.NoError(c, c.client.NetworkingV1().IPAddresses().Delete(c.Context(), "10.97.0.7", metav1.DeleteOptions{}))
		time.Sleep(time.Minute)
		require.Empty(c, rangesOf(c.T, c.client))
	}, purekubetest.ServiceCIDR("a", "10.97.0.0/24"), purekubetest.ServiceCIDR("b", "10.97.0.0/24"), purekubetest.Address("10.97.0.7", "shop/web"))
}

// lateAt is the way of a proxy that answers 504 to the first request of that method and path, which arrives later.
type lateAt struct {
	http.RoundTripper
	method, path string
	delay        time.Duration
	once         sync.Once
	answered     chan struct{}
}

func (l *lateAt) RoundTrip(q *http.Request) (*http.Response, error) {
	first := false
	if q.Method == l.method && strings.HasSuffix(q.URL.Path, l.path) {
		l.once.Do(func() { first = true })
	}
	if !first {
		return l.RoundTripper.RoundTrip(q)
	}
	late := q.Clone(context.Background())
	time.AfterFunc(l.delay, func() {
		if answer, err := l.RoundTripper.RoundTrip(late); err == nil {
			_ = answer.Body.Close()
		}
	})
	close(l.answered)
	return &http.Response{StatusCode: http.StatusGatewayTimeout, Header: http.Header{"Content-Type": {"text/html"}},
		Body: io.NopCloser(strings.NewReader("<html>504 Gateway Time-out</html>")), Request: q}, nil
}

// A create is answered with 504 by a proxy, and arrives three seconds later. The leader is stopped meanwhile, as in a rollout:
// the next one must not make a second claim.
func TestLeaderIsStoppedAfterA504(t *testing.T) {
	pod := purekubetest.Pod("ml/train-0")
	purekubetest.ClaimFor(pod, "gpu")
	pod.Status.ResourceClaimStatuses = nil
	withReplicas(t, func(c *replicas) {
		way := c.way
		proxy := &lateAt{RoundTripper: way, method: http.MethodPost, path: "/resourceclaims", delay: 3 * time.Second, answered: make(chan struct{})}
		c.way = proxy
		leader := c.run("resourceclaim")
		c.way = way
		c.run("resourceclaim")
		_, err := c.client.ResourceV1().ResourceClaimTemplates("ml").Create(c.Context(), &resourcev1.ResourceClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: *pod.Spec.ResourceClaims[0].ResourceClaimTemplateName},
		}, metav1.CreateOptions{})
		require.NoError(c, err)
		<-proxy.answered
		leader.end()
		time.Sleep(time.Minute)
		list, err := c.client.ResourceV1().ResourceClaims("ml").List(c.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		require.Len(c, list.Items, 1)
	}, pod)
}
