package main

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/purekubetest"
)

// later is a policy with a clock that a test moves.
func later() (p policy, wait func(time.Duration)) {
	now := noon
	return policy{now: func() time.Time { return now }}, func(d time.Duration) { now = now.Add(d) }
}

func twin() *networkingv1.ServiceCIDR { return purekubetest.ServiceCIDR("twin", "10.96.0.0/24") }

// Of two equal ServiceCIDRs that are in use, each may go while the other one stays. While the watch lags behind
// the first deletion, the second one is refused.
func TestTwoServiceCIDRsDeletedWhileTheWatchLags(t *testing.T) {
	s := cluster(t)
	s.put(twin())
	p, wait := later()
	deletes := func(name string, dryRun bool) bool {
		r := deletesCIDR(name, "10.96.0.0/24")
		r.dryRun = dryRun
		return p.decide(t.Context(), s, r.review(t)).allowed
	}
	require.True(t, deletes("used", true))
	require.True(t, deletes("twin", true), "a dry run deletes nothing")
	require.True(t, deletes("used", false))
	require.False(t, deletes("twin", false), "used is as good as gone")
	require.True(t, deletes("used", false), "it is asked for again")

	used := purekubetest.ServiceCIDR("used", "10.96.0.0/24")
	used.Labels = map[string]string{"a": "label"}
	s.put(used)
	require.False(t, deletes("twin", false), "an event from before the deletion ends nothing")

	wait(assumeServiceCIDRFor + time.Second)
	require.True(t, deletes("twin", true), "the watch still shows used: something else refused its deletion")
	s.put(purekubetest.Deleted(used, noon))
	require.False(t, deletes("twin", false), "the watch shows the deletion")
	s.remove(used)
	require.False(t, deletes("twin", false))
	again := purekubetest.ServiceCIDR("used", "10.96.0.0/24")
	again.UID = "again"
	s.put(again)
	require.True(t, deletes("twin", false), "it was created again")
}

// What the review says counts, not what the watch has shown: it may know nothing of a ServiceCIDR yet, or know
// that it is gone.
func TestServiceCIDRThatTheWatchDoesNotShow(t *testing.T) {
	s := cluster(t)
	p, wait := later()
	require.True(t, p.decide(t.Context(), s, deletesCIDR("new", "10.98.0.0/24").review(t)).allowed)
	s.put(purekubetest.ServiceCIDR("new", "10.96.0.0/24"))
	require.False(t, p.decide(t.Context(), s, deletesCIDR("used", "10.96.0.0/24").review(t)).allowed, "it is shown for the first time, and is as good as gone")
	s.remove(purekubetest.ServiceCIDR("new", "10.96.0.0/24"))

	s.put(twin())
	require.True(t, p.decide(t.Context(), s, deletesCIDR("twin", "10.96.0.0/24").review(t)).allowed)
	s.remove(twin())
	wait(2 * assumeServiceCIDRFor)
	require.False(t, p.decide(t.Context(), s, deletesCIDR("used", "10.96.0.0/24").review(t)).allowed, "what is gone does not come back as time passes")
}

func TestServiceCIDRsDeletedAtTheSameTime(t *testing.T) {
	for range 50 {
		s := cluster(t)
		s.put(twin())
		p := policy{now: func() time.Time { return noon }}
		var allowed atomic.Int32
		var all sync.WaitGroup
		for _, name := range []string{"used", "twin"} {
			r := deletesCIDR(name, "10.96.0.0/24").review(t)
			all.Go(func() {
				if p.decide(t.Context(), s, r).allowed {
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
	s := cluster(t)
	s.put(twin())
	p, wait := later()
	deletes := func(name string) bool {
		return p.decide(t.Context(), s, deletesCIDR(name, "10.96.0.0/24").review(t)).allowed
	}
	pods := purekubetest.Deployment("shop/web", 2).Pods
	require.True(t, deletes("used"))
	require.True(t, p.decide(t.Context(), s, evicts(pods[0].Name).review(t)).allowed)
	wait(assumePodFor + time.Second)
	require.True(t, p.decide(t.Context(), s, evicts(pods[1].Name).review(t)).allowed, "the eviction is forgotten")

	// A watch ends by itself, at the latest, after its context; then its kind counts as watched for maxLag.
	const silent = maxWatch + maxLag/2 + maxLag
	wait(silent - assumePodFor - time.Second)
	require.False(t, deletes("twin"), "used is gone, and the silent watch does not show it")
	w := &watcher{lost: map[string]time.Time{}}
	for path := range watched {
		w.lost[path] = time.Now().Add(-maxLag - time.Second)
	}
	require.False(t, w.synced(), "from then on every review is refused")
	wait(assumeServiceCIDRFor - silent + time.Second)
	require.True(t, deletes("twin"), "the watch lives, and shows used: something else refused its deletion")
}

// A budget lets one of two pods go. While the watch lags behind the first eviction, the second one is refused.
func TestTwoEvictionsWhileTheWatchLags(t *testing.T) {
	s := cluster(t)
	p, wait := later()
	pods := purekubetest.Deployment("shop/web", 2).Pods
	first, second := pods[0].Name, pods[1].Name
	evict := func(name string, o *metav1.DeleteOptions) bool {
		r := evicts(name)
		r.object = &policyv1.Eviction{DeleteOptions: o}
		return p.decide(t.Context(), s, r.review(t)).allowed
	}
	require.True(t, evict(first, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
	require.True(t, evict(second, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}), "a dry run evicts nothing")
	require.True(t, evict(first, nil))
	require.False(t, evict(second, nil), "first is as good as gone")
	require.True(t, evict(first, nil), "the API server has refused it, and it is asked for again")
	unready := purekubetest.NotReady(pods[1].DeepCopy())
	s.put(unready)
	require.False(t, evict(first, nil), "it is judged as it is, not as a pod that is being deleted")
	s.put(pods[1])
	require.False(t, evict(second, nil))
	wait(assumePodFor + time.Second)
	require.True(t, evict(second, nil), "nothing came of the eviction of first")

	s = cluster(t)
	require.True(t, evict(first, nil))
	s.remove(pods[0])
	require.Nil(t, s.pod(types.NamespacedName{Namespace: "shop", Name: first}))
	wait(assumePodFor + time.Second)
	require.False(t, evict(second, nil), "a pod that is gone does not come back as time passes")
}
