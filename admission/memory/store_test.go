package memory

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/disruption"
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

func twin() *networkingv1.ServiceCIDR { return purekubetest.ServiceCIDR("twin", "10.96.0.0/24") }

// Of two equal ServiceCIDRs that are in use, each may go while the other one stays. While the watch lags behind
// the first deletion, the second one is refused.
func TestTwoServiceCIDRsDeletedWhileTheWatchLags(t *testing.T) {
	s := newWorld()
	s.Put(twin())
	deletes := func(name string, dryRun bool) bool {
		r := reviews.DeletesCIDR(name, "10.96.0.0/24")
		r.DryRun = dryRun
		return s.allows(t, r)
	}
	require.True(t, deletes("used", true))
	require.True(t, deletes("twin", true), "a dry run deletes nothing")
	require.True(t, deletes("used", false))
	require.False(t, deletes("twin", false), "used is as good as gone")
	require.True(t, deletes("used", false), "it is asked for again")

	used := purekubetest.ServiceCIDR("used", "10.96.0.0/24")
	used.Labels = map[string]string{"a": "label"}
	s.Put(used)
	require.False(t, deletes("twin", false), "an event from before the deletion ends nothing")

	s.wait(AssumeServiceCIDRFor + time.Second)
	require.True(t, deletes("twin", true), "the watch still shows used: something else refused its deletion")
	s.Put(purekubetest.Deleted(used, reviews.Noon))
	require.False(t, deletes("twin", false), "the watch shows the deletion")
	s.Remove(used)
	require.False(t, deletes("twin", false))
	again := purekubetest.ServiceCIDR("used", "10.96.0.0/24")
	again.UID = "again"
	s.Put(again)
	require.True(t, deletes("twin", false), "it was created again")
}

// What the review says counts, not what the watch has shown: it may know nothing of a ServiceCIDR yet, or know
// that it is gone.
func TestServiceCIDRThatTheWatchDoesNotShow(t *testing.T) {
	s := newWorld()
	require.True(t, s.allows(t, reviews.DeletesCIDR("new", "10.98.0.0/24")))
	s.Put(purekubetest.ServiceCIDR("new", "10.96.0.0/24"))
	require.False(t, s.allows(t, reviews.DeletesCIDR("used", "10.96.0.0/24")), "it is shown for the first time, and is as good as gone")
	s.Remove(purekubetest.ServiceCIDR("new", "10.96.0.0/24"))

	s.Put(twin())
	require.True(t, s.allows(t, reviews.DeletesCIDR("twin", "10.96.0.0/24")))
	s.Remove(twin())
	s.wait(2 * AssumeServiceCIDRFor)
	require.False(t, s.allows(t, reviews.DeletesCIDR("used", "10.96.0.0/24")), "what is gone does not come back as time passes")
}

func TestServiceCIDRsDeletedAtTheSameTime(t *testing.T) {
	for range 50 {
		s := newWorld()
		s.Put(twin())
		var allowed atomic.Int32
		var all sync.WaitGroup
		for _, name := range []string{"used", "twin"} {
			r := reviews.DeletesCIDR(name, "10.96.0.0/24").Review(t)
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

// The connection of a watch can die without a word. Until the webhook notices, and decides nothing any more, a
// ServiceCIDR whose deletion was allowed stays deleted for it; an eviction counts for a shorter time.
func TestServiceCIDRsDeletedWhileAWatchIsSilent(t *testing.T) {
	s := newWorld()
	s.Put(twin())
	deletes := func(name string) bool {
		return s.allows(t, reviews.DeletesCIDR(name, "10.96.0.0/24"))
	}
	pods := purekubetest.Deployment("shop/web", 2).Pods
	require.True(t, deletes("used"))
	require.True(t, s.allows(t, reviews.Evicts(pods[0].Name)))
	s.wait(AssumePodFor + time.Second)
	require.True(t, s.allows(t, reviews.Evicts(pods[1].Name)), "the eviction is forgotten")

	// The longest that a silent watch of examples/webhook counts as synced.
	const silent = 6*time.Minute + 30*time.Second
	s.wait(silent - AssumePodFor - time.Second)
	require.False(t, deletes("twin"), "used is gone, and the silent watch does not show it")
	s.wait(AssumeServiceCIDRFor - silent + time.Second)
	require.True(t, deletes("twin"), "the watch lives, and shows used: something else refused its deletion")
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
	require.Nil(t, s.pod(disruption.PodKey("shop", first)))
	s.wait(AssumePodFor + time.Second)
	require.False(t, evict(second, nil), "a pod that is gone does not come back as time passes")
}
