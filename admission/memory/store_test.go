package memory

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
)

// world is a store with a clock that a test moves.
type world struct {
	*Store
	now time.Time
}

func newWorld() *world {
	w := &world{NewStore(Options{}), reviews.Noon}
	w.Put(reviews.Cluster()...)
	return w
}

func (w *world) wait(d time.Duration) { w.now = w.now.Add(d) }

func (w *world) allows(t testing.TB, r reviews.Request) bool {
	t.Helper()
	return w.Review(r.Review(t), true, w.now, admission.Options{}).Allowed
}

// Of two pods of a budget, one has to stay: of two evictions at the same time, one is allowed.
func TestEvictionsAtTheSameTime(t *testing.T) {
	for range 50 {
		s := newWorld()
		var allowed atomic.Int32
		var all sync.WaitGroup
		for _, pod := range purekubetest.Deployment("shop/web", 2).Pods {
			r := reviews.Evicts(pod.Name).Review(t)
			all.Go(func() {
				if s.Review(r, true, s.now, admission.Options{}).Allowed {
					allowed.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, allowed.Load())
	}
}

// What depends on lists is refused, and so is everything before the caches have synced.
func TestReviewsWithoutObjects(t *testing.T) {
	s := newWorld()
	require.False(t, s.allows(t, reviews.DeletesCIDR("free", "10.97.0.0/24")))
	eviction := reviews.Evicts(purekubetest.Deployment("shop/web", 2).Pods[0].Name)
	require.False(t, s.Review(eviction.Review(t), false, s.now, admission.Options{}).Allowed)
	require.True(t, s.allows(t, eviction))
}

// A budget lets one of two pods go. While the watch lags behind the first eviction, the second one is refused.
func TestTwoEvictionsWhileTheWatchLags(t *testing.T) {
	s := newWorld()
	pods := purekubetest.Deployment("shop/web", 2).Pods
	first, second := pods[0].Name, pods[1].Name
	evict := func(name string, o *metav1.DeleteOptions) bool {
		r := reviews.Evicts(name)
		r.Object = &policyv1.Eviction{DeleteOptions: o}
		return s.allows(t, r)
	}
	require.True(t, evict(first, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
	require.True(t, evict(second, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}), "a dry run evicts nothing")
	require.True(t, evict(first, nil))
	require.False(t, evict(second, nil), "first is as good as gone")
	require.True(t, evict(first, nil), "the API server has refused it, and it is asked for again")
	unready := purekubetest.NotReady(pods[1].DeepCopy())
	s.Put(unready)
	require.False(t, evict(first, nil), "it is judged as it is, not as a pod that is being deleted")
	s.Put(pods[1])
	require.False(t, evict(second, nil))
	s.wait(AssumePodFor + time.Second)
	require.True(t, evict(second, nil), "nothing came of the eviction of first")

	s = newWorld()
	require.True(t, evict(first, nil))
	s.Remove(pods[0])
	require.Nil(t, s.pod(types.NamespacedName{Namespace: "shop", Name: first}))
	s.wait(AssumePodFor + time.Second)
	require.False(t, evict(second, nil), "a pod that is gone does not come back as time passes")
}
