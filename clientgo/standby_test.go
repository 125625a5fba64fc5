package clientgo_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/apiserver"
)

// A replica that waits for the Lease reads nothing, and is ready. It reads when it leads: what the leader before it
// wrote is in its lists.
func TestStandbyReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiserver.New(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
		server.Now = time.Now()
		way, stop := apiserver.Serve(&apiserver.Handler{Server: server})
		defer stop()
		start := func(reads *atomic.Int32) (set *clientgo.Set, end func()) {
			counts := through(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodGet && !strings.Contains(r.URL.Path, "/leases/") {
					reads.Add(1)
				}
				return way.RoundTrip(r)
			})
			set = clientgo.New(&rest.Config{Host: "http://api", Transport: counts, ContentConfig: inJSON}, clientgo.SetOptions{
				Controllers: []string{"ttl"}, Lease: &clientgo.Lease{Namespace: "ns", Name: "lease"},
			})
			ended := make(chan error, 1)
			go func() { ended <- set.Run(klog.NewContext(context.Background(), logr.Discard())) }()
			time.Sleep(time.Second) // the first replica has the Lease
			return set, func() {
				set.Stop()
				assert.NoError(t, <-ended)
				synctest.Wait()
			}
		}
		var byLeader, byStandby atomic.Int32
		_, end := start(&byLeader)
		standby, endStandby := start(&byStandby)
		defer endStandby()
		time.Sleep(time.Minute)
		require.Positive(t, byLeader.Load())
		require.Zero(t, byStandby.Load())
		require.Empty(t, standby.Unsynced(), "there is nothing that it waits for but the Lease")
		end()
		time.Sleep(time.Minute)
		require.Positive(t, byStandby.Load())
	})
}
