package clientgo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
)

// BR-31-04: the delays are those of kube-controller-manager, which has the default rate limiter of client-go, for as many retries.
func TestBR3104_Retries(t *testing.T) {
	limiter := workqueue.DefaultTypedControllerRateLimiter[purekube.Key]()
	require.Equal(t, 15, serviceCIDRRetries)
	want, last := 5*time.Millisecond, time.Duration(0)
	for retry := 1; retry <= serviceCIDRRetries; retry++ {
		last = limiter.When(purekube.Key{Name: "x"})
		require.Equal(t, want, last, "retry %d", retry)
		require.Equal(t, want, reconcile.Backoff(retry))
		want *= 2
	}
	require.Equal(t, 81920*time.Millisecond, last, "the note says about 82 s")
}
