package disruption

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/test/weakly"
)

// An index lets go of what was replaced or taken away: of n pods and budgets, each of which is updated once, no more
// than n/2 old ones stay in memory, and when all are taken away a few of the budgets.
func TestIndexLetsGo(t *testing.T) {
	const n = 600
	podOf := func(i int, o ...func(*corev1.Pod)) *corev1.Pod {
		return pod(fmt.Sprint("pod-", i), append(o, labelled(map[string]string{"app": fmt.Sprint("app-", i)}))...)
	}
	budgetOf := func(i int) *policyv1.PodDisruptionBudget {
		b := budget(named(fmt.Sprint("budget-", i)), minAvailable("1"))
		b.Spec.Selector.MatchLabels = map[string]string{"app": fmt.Sprint("app-", i)}
		return b
	}
	var s, changed Snapshot
	for i := range n {
		s.Pods, changed.Pods = append(s.Pods, podOf(i)), append(changed.Pods, podOf(i, unready))
		b := budgetOf(i)
		b.Status.DisruptionsAllowed = 1
		s.Budgets, changed.Budgets = append(s.Budgets, budgetOf(i)), append(changed.Budgets, b)
	}
	oldPods, oldBudgets := weakly.Watch(s.Pods), weakly.Watch(s.Budgets)
	newPods, newBudgets := weakly.Watch(changed.Pods), weakly.Watch(changed.Budgets)
	x := NewIndex(s, Options{})
	s = Snapshot{}
	for i := range n {
		x, _ = x.With(Snapshot{Pods: changed.Pods[i : i+1 : i+1], Budgets: changed.Budgets[i : i+1 : i+1]})
	}
	changed = Snapshot{}
	require.LessOrEqual(t, oldPods(), n/2)
	require.LessOrEqual(t, oldBudgets(), n/2)
	require.Equal(t, []int{n, n}, []int{newPods(), newBudgets()})
	for i := range n {
		x, _ = x.Without(Snapshot{Pods: []*corev1.Pod{podOf(i)}, Budgets: []*policyv1.PodDisruptionBudget{budgetOf(i)}})
	}
	require.Equal(t, []int{0, 0, 0, 0}, []int{oldPods(), oldBudgets(), newPods(), newBudgets()})
	runtime.KeepAlive(x)
}

// BenchmarkIndexMemory reports the megabytes that an index keeps in memory, objects included: of 50,000 pods of 6 KB,
// when each was updated once, and when all were taken away.
func BenchmarkIndexMemory(b *testing.B) {
	const n = 50_000
	podOf := func(i int) *corev1.Pod {
		p := pod(fmt.Sprint("pod-", i), labelled(map[string]string{"app": fmt.Sprint("app-", i/20)}))
		p.Annotations = map[string]string{"example.com/notes": strings.Repeat("x", 6_000)}
		return p
	}
	megabytes := func() float64 { return heap() / 1e6 }
	for b.Loop() {
		empty := megabytes()
		x := func() *Index {
			var s Snapshot
			for i := range n {
				s.Pods = append(s.Pods, podOf(i))
			}
			return NewIndex(s, Options{})
		}()
		b.ReportMetric(megabytes()-empty, "new-MB")
		for i := range n {
			x, _ = x.With(Snapshot{Pods: []*corev1.Pod{podOf(i)}})
		}
		b.ReportMetric(megabytes()-empty, "updated-MB")
		for i := range n {
			x, _ = x.Without(Snapshot{Pods: []*corev1.Pod{podOf(i)}})
		}
		b.ReportMetric(megabytes()-empty, "removed-MB")
		runtime.KeepAlive(x)
	}
}

// BenchmarkMemoryOfControllers reports how many bytes an index keeps for each pair of a budget and a controller that its
// pods name: when it is new, and when all budgets were planned. A user of one namespace chooses both numbers.
func BenchmarkMemoryOfControllers(b *testing.B) {
	for _, size := range []struct{ budgets, controllers int }{{100, 250}, {100, 1000}, {300, 1000}} {
		b.Run(fmt.Sprintf("%dx%d", size.budgets, size.controllers), func(b *testing.B) {
			var s Snapshot
			for i := range size.controllers {
				name := fmt.Sprint("db-", i)
				s.StatefulSets = append(s.StatefulSets, statefulSet(name, ptr.To(int32(1))))
				s.Pods = append(s.Pods, pod(name+"-0", by("apps/v1", "StatefulSet", name)))
			}
			for i := range size.budgets {
				s.Budgets = append(s.Budgets, budget(named(fmt.Sprint("budget-", i)), maxUnavailable("50%")))
			}
			pairs := float64(size.budgets * size.controllers)
			for b.Loop() {
				empty := heap()
				x := NewIndex(s, Options{})
				b.ReportMetric((heap()-empty)/pairs, "new-B/pair")
				_, err := x.PlanAll()
				require.NoError(b, err)
				b.ReportMetric((heap()-empty)/pairs, "planned-B/pair")
				runtime.KeepAlive(x)
			}
		})
	}
}

// heap is how many bytes are in use.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
