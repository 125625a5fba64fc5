package clientgo

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/servicecidr"
)

// inRange are that many IPAddresses of 10.96.0.0/12.
func inRange(n int) (addresses []apiserver.Object) {
	ip := netip.MustParseAddr("10.96.0.1")
	for range n {
		addresses = append(addresses, purekubetest.Address(ip.String(), "shop/web"))
		ip = ip.Next()
	}
	return addresses
}

// counting counts requests.
type counting struct {
	http.RoundTripper
	requests *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// BenchmarkConfirm confirms that a finalizer may go. The API server is in this process, and answers in JSON. docs/controller.md has
// the figures.
func BenchmarkConfirm(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n, " IPAddresses"), func(b *testing.B) {
			used, going := purekubetest.ServiceCIDR("used", "10.96.0.0/12"), purekubetest.ServiceCIDR("going", "10.200.0.0/24")
			going.DeletionTimestamp = ptr.To(metav1.NewTime(time.Now().Add(-time.Hour)))
			way, stop := apiserver.Serve(&apiserver.Handler{Server: apiserver.New(append(inRange(n), used, going)...)})
			defer stop()
			var requests atomic.Int64
			client := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://api", Transport: counting{way, &requests}, QPS: -1,
				ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
			informers := informersOf{}
			c, err := NewServiceCIDR(Cluster{
				Informers: informers.get, Client: DryRun{}, ServiceCIDRs: ListServiceCIDRs(client),
			}, servicecidr.Options{GracePeriod: ptr.To(time.Duration(0))})
			require.NoError(b, err)
			informers[reflect.TypeOf(going)].OnAdd(going, true)
			for b.Loop() {
				result, err := c.fresh(context.Background(), servicecidr.KeyOf(going))
				require.NoError(b, err)
				require.Len(b, result.Actions, 1)
			}
			b.ReportMetric(float64(requests.Load())/float64(b.N), "requests/op")
			b.ReportAllocs()
		})
	}
}
