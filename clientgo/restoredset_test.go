package clientgo_test

import (
	"context"
	"net/http"
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
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/purekubetest"
)

// expiring is a way to an API server that may say that the watches of ResourceClaims have expired.
type expiring struct {
	http.RoundTripper
	mu      sync.Mutex
	expired bool
	watches []*http.Response
}

func (e *expiring) RoundTrip(q *http.Request) (*http.Response, error) {
	watches := strings.HasSuffix(q.URL.Path, "/resourceclaims") && q.URL.Query().Get("watch") != "" && q.URL.Query().Get("sendInitialEvents") == "" // which the API server refuses
	e.mu.Lock()
	expired := e.expired
	e.mu.Unlock()
	if watches && expired {
		return &http.Response{StatusCode: http.StatusGone, Body: http.NoBody}, nil
	}
	answer, err := e.RoundTripper.RoundTrip(q)
	if err == nil && watches {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.watches = append(e.watches, answer)
	}
	return answer, err
}

// expire ends these watches. Their informers list again then.
func (e *expiring) expire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expired = true
	for _, answer := range e.watches {
		_ = answer.Body.Close()
	}
}

// Etcd is restored from a backup, and one cache tells. All controllers of a Set end. When the Lease has expired, the replica that waits for it
// begins with lists of the restored cluster, and makes the claim that was lost.
func TestRestoreEndsASet(t *testing.T) {
	pod := purekubetest.Pod("ml/train-0")
	purekubetest.ClaimFor(pod, "gpu")
	pod.Status.ResourceClaimStatuses = nil
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: *pod.Spec.ResourceClaims[0].ResourceClaimTemplateName}}
	backup := apiserver.New(pod, template, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}).Stored()
	// One of them sleeps until the time at which this process began, which never comes in a bubble.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil
	defer func() { utilruntime.ErrorHandlers = handlers }()
	synctest.Test(t, func(t *testing.T) {
		handler := &apiserver.Handler{Server: apiserver.Restore(1000, 1000, backup...)}
		way, stop := apiserver.Serve(handler)
		defer stop()
		e := &expiring{RoundTripper: way}
		client := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://api", Transport: way, ContentConfig: inJSON})
		claims := func() int {
			list, err := client.ResourceV1().ResourceClaims("ml").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			return len(list.Items)
		}
		start := func(controllers ...string) (set *clientgo.Set, ended chan error) {
			t.Helper()
			set = clientgo.New(&rest.Config{Host: "http://api", Transport: e, ContentConfig: inJSON}, clientgo.SetOptions{
				Controllers: controllers, Lease: &clientgo.Lease{Namespace: "ns", Name: "lease", Duration: 30 * time.Second},
			})
			ended = make(chan error, 1)
			go func() { ended <- set.Run(klog.NewContext(context.Background(), logr.Discard())) }()
			t.Cleanup(set.Stop)
			time.Sleep(5 * time.Second)
			return set, ended
		}
		_, leaderEnded := start("ttl", "rbacaggregate", "resourceclaim")
		require.Equal(t, 1, claims())
		standby, standbyEnded := start("resourceclaim")

		lease, err := client.CoordinationV1().Leases("ns").Get(t.Context(), "lease", metav1.GetOptions{})
		require.NoError(t, err)
		synctest.Wait()
		handler.Server = apiserver.Restore(100, 100, append(backup, apiserver.Stored{Object: lease})...)
		require.Equal(t, 0, claims())
		e.expire()
		time.Sleep(time.Minute)
		require.NotEmpty(t, leaderEnded)
		require.ErrorIs(t, <-leaderEnded, clientgo.ErrRestored)
		require.Equal(t, 1, claims(), "the other replica leads")
		standby.Stop()
		require.NoError(t, <-standbyEnded)
	})
}
