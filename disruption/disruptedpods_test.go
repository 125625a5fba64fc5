package disruption

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

func TestBR2504_DisruptedPods(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		age          time.Duration // of the entry
		change       []func(*corev1.Pod)
		kept         bool
		healthy      int32 // of the two pods
		recheck      time.Duration
		events       []string
	}{
		{name: "BR-25-04 just evicted", reason: "the pod is as good as gone", age: 0, kept: true, healthy: 1, recheck: 2 * time.Minute},
		{name: "BR-25-04 within two minutes", reason: "the pod is as good as gone", age: 119 * time.Second, kept: true, healthy: 1, recheck: time.Second},
		{name: "BR-25-04 over", reason: "it was not deleted: it counts again", age: 121 * time.Second, healthy: 2, events: []string{"NotDeleted"}},
		{name: "BR-25-04 being deleted", reason: "the entry has done its work", age: time.Second, change: []func(*corev1.Pod){deleting}, healthy: 1},
		{name: "BR-25-04 not ready", reason: "it does not count as it is", age: 0, change: []func(*corev1.Pod){unready}, kept: true, healthy: 1, recheck: 2 * time.Minute},
		{name: "BR-25-04 not covered", reason: "another budget's affair", age: time.Second, change: []func(*corev1.Pod){labelled(nil)}, healthy: 1},
		{name: "BR-25-04 from the future", reason: "clocks differ between machines", age: -time.Minute, kept: true, healthy: 1, recheck: 3 * time.Minute},
	} {
		for mode, o := range bothModes {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{
					"a": ago(tc.age), "gone": ago(time.Second)})), 2,
					pod("a", append(tc.change, byWeb)...), pod("b", byWeb))
				r, err := Plan(s, key("web"), o)
				require.NoError(t, err)
				st := written(t, r)
				require.Equal(t, tc.healthy, st.CurrentHealthy, tc.reason)
				if tc.kept {
					require.Equal(t, map[string]metav1.Time{"a": ago(tc.age)}, st.DisruptedPods)
					require.Equal(t, now.Add(tc.recheck), r.RecheckAt)
				} else {
					require.Empty(t, st.DisruptedPods)
					require.Zero(t, r.RecheckAt)
				}
				require.Equal(t, tc.events, reasons(r))
			})
		}
	}
}

func TestTimeoutsAreOptions(t *testing.T) {
	s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"a": ago(30 * time.Second)})), 1, pod("a", byWeb, target("True", "x", 30*time.Second)))
	for _, tc := range []struct {
		name, reason string
		timeout      *time.Duration
		over         bool
	}{
		{name: "default", reason: "two minutes", over: false},
		{name: "shorter", reason: "the time is over", timeout: ptr.To(20 * time.Second), over: true},
		{name: "zero", reason: "none", timeout: ptr.To(time.Duration(0)), over: true},
		{name: "longer", reason: "the time is not over", timeout: ptr.To(time.Hour), over: false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wait := ptr.Deref(tc.timeout, 2*time.Minute) - 30*time.Second
			r, err := Plan(s, key("web"), Options{DeletionTimeout: tc.timeout})
			require.NoError(t, err)
			require.Equal(t, tc.over, len(written(t, r).DisruptedPods) == 0, tc.reason)
			if !tc.over {
				require.Equal(t, now.Add(wait), r.RecheckAt)
			}
			r, err = Plan(s, podNamed("a"), Options{StaleDisruptionTimeout: tc.timeout})
			require.NoError(t, err)
			require.Equal(t, tc.over, len(r.Actions) == 1, tc.reason)
			if !tc.over {
				require.Equal(t, now.Add(wait), r.RecheckAt)
			}
		})
	}
}

func TestBR2504_TheFirstEntryToEndIsWhenToLookAgain(t *testing.T) {
	s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{
		"web-a": ago(30 * time.Second), "web-b": ago(90 * time.Second), "web-c": ago(time.Second)})), 3, pods(3, 3, byWeb)...)
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	require.Equal(t, now.Add(30*time.Second), r.RecheckAt)
	require.Len(t, written(t, r).DisruptedPods, 3)
}

// The events are sorted by pod. Upstream's name the namespace twice (D-15).
func TestD15_EventsOfEntriesThatAreOver(t *testing.T) {
	entries := map[string]metav1.Time{}
	for i := range 6 {
		entries[fmt.Sprint("web-", string(rune('a'+i)))] = ago(3 * time.Minute)
	}
	s := web(budget(minAvailable("1"), disrupted(entries)), 6, pods(6, 6, byWeb)...)
	for _, mode := range []struct {
		o    Options
		says string
	}{{Options{}, ns + "/web"}, {Options{MatchUpstream: purekube.V1_36}, ns + "/" + ns}} {
		r, err := Plan(s, key("web"), mode.o)
		require.NoError(t, err)
		require.Len(t, r.Events, 6)
		for i, e := range r.Events {
			require.Equal(t, fmt.Sprint("web-", string(rune('a'+i))), e.Regarding.Name)
			require.Contains(t, e.Message, mode.says+" ")
		}
	}
}

func TestD14_EntryOfAPredecessor(t *testing.T) {
	for _, tc := range []struct {
		name, reason    string
		created         time.Duration
		kept, upstreams bool
	}{
		{name: "created after the entry", reason: "web-0 was evicted, deleted and made anew", created: 10 * time.Second, upstreams: true},
		{name: "created with the entry", reason: "times have whole seconds: it may be the one that was evicted", created: 30 * time.Second, kept: true, upstreams: true},
		{name: "created before the entry", reason: "it is the one that was evicted", created: time.Hour, kept: true, upstreams: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"a": ago(30 * time.Second)})), 1, pod("a", byWeb, created(tc.created)))
			for _, mode := range []struct {
				o    Options
				kept bool
			}{{Options{}, tc.kept}, {Options{MatchUpstream: purekube.V1_36}, tc.upstreams}} {
				r, err := Plan(s, key("web"), mode.o)
				require.NoError(t, err)
				st := written(t, r)
				if mode.kept {
					require.Contains(t, st.DisruptedPods, "a", tc.reason)
					require.Zero(t, st.CurrentHealthy)
				} else {
					require.Empty(t, st.DisruptedPods, tc.reason)
					require.EqualValues(t, 1, st.CurrentHealthy)
					require.Zero(t, r.RecheckAt)
					require.Empty(t, r.Events, "the one that was evicted is deleted")
				}
			}
		})
	}
}

// With a clock that is behind the pods, the entry that an eviction just wrote would look like a
// predecessor's, and a budget of 1 would let all pods go.
func TestD24_AClockBehindThePods(t *testing.T) {
	for name, at := range map[string]time.Time{"zero": {}, "a fixture's": epoch.Add(-time.Hour)} {
		t.Run(name, func(t *testing.T) {
			s := web(budget(maxUnavailable("1")), 3, pods(3, 3, byWeb)...)
			s.Now = at
			allowed := 0
			for _, p := range s.Pods {
				e, err := NewIndex(s, Options{}).CheckEviction(nn(p.Name), Recomputed)
				require.NoError(t, err)
				if e.Update != nil {
					allowed++
					s.Budgets[0] = e.Update
				}
			}
			require.Equal(t, 1, allowed)
		})
	}
	t.Run("the very moment", func(t *testing.T) {
		s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"a": ago(time.Second)})), 1, pod("a", byWeb, created(0)))
		require.Empty(t, statusOf(t, s, Options{}).DisruptedPods, "a pod that was created now is not from the future")
	})
}

func TestD19_AnEntryOfExactlyTwoMinutes(t *testing.T) {
	s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"a": ago(DefaultDeletionTimeout)})), 2, pod("a", byWeb), pod("b", byWeb))
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	require.Empty(t, written(t, r).DisruptedPods)
	require.EqualValues(t, 2, written(t, r).CurrentHealthy)
	require.Equal(t, []string{"NotDeleted"}, reasons(r))
	require.Zero(t, r.RecheckAt)

	r, err = Plan(s, key("web"), Options{MatchUpstream: purekube.V1_36})
	require.NoError(t, err)
	require.Contains(t, written(t, r).DisruptedPods, "a", "upstream keeps the entry")
	require.EqualValues(t, 2, written(t, r).CurrentHealthy, "and counts the pod")
	require.Empty(t, r.Events)
	require.Equal(t, now.Add(1), r.RecheckAt, "upstream looks again at once")
}
