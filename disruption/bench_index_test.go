package disruption

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// million adds the largest size, which takes 8 GB.
var million = flag.Bool("million", false, "benchmark an index of a million pods, too")

// indexSizes are those of one namespace, in pods; there are a twentieth as many budgets.
func indexSizes() []int {
	sizes := []int{1_000, 10_000, 100_000}
	if *million {
		sizes = append(sizes, 1_000_000)
	}
	return sizes
}

// ratios runs the benchmark for each size and reports how its time compares with that of the size before.
func ratios(b *testing.B, sizes []int, run func(b *testing.B, s Snapshot, x *Index) (per time.Duration)) {
	before := time.Duration(0)
	for _, n := range sizes {
		s := benchCluster(n/20, 1)
		x := NewIndex(s, Options{})
		runtime.GC()
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			per := run(b, s, x)
			if before > 0 {
				b.ReportMetric(float64(per)/float64(before), "x-size-before")
			}
			before = per
		})
	}
}

// fastest is the time of the fastest of batches of calls: whatever else the machine does disturbs the
// slower ones.
func fastest(b *testing.B, call func(i int)) time.Duration {
	const batch = 200
	best := time.Hour
	i := 0
	for b.Loop() {
		start := time.Now()
		for range batch {
			call(i)
			i++
		}
		best = min(best, time.Since(start)/batch)
	}
	b.ReportMetric(float64(best.Nanoseconds()), "ns/call")
	b.ReportMetric(0, "ns/op")
	return best
}

// BenchmarkIndexWithPod changes the readiness of one pod after the other, each on the index that the one
// before made.
func BenchmarkIndexWithPod(b *testing.B) {
	ratios(b, indexSizes(), func(b *testing.B, s Snapshot, x *Index) time.Duration {
		changed := make([]*corev1.Pod, 1000)
		for i := range changed {
			changed[i] = s.Pods[i*len(s.Pods)/len(changed)].DeepCopy()
			notReady(changed[i])
		}
		return fastest(b, func(i int) {
			pod := changed[i%len(changed)]
			if i/len(changed)%2 == 1 {
				pod = s.Pods[i%len(changed)*len(s.Pods)/len(changed)]
			}
			x, _ = x.With(Snapshot{Pods: []*corev1.Pod{pod}})
		})
	})
}

func notReady(p *corev1.Pod) {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodReady {
			p.Status.Conditions[i].Status = corev1.ConditionFalse
		}
	}
}

// BenchmarkIndexReplacePod takes one pod out after the other and puts one of another name in.
func BenchmarkIndexReplacePod(b *testing.B) {
	ratios(b, indexSizes(), func(b *testing.B, s Snapshot, x *Index) time.Duration {
		pods := slices.Clone(s.Pods)
		return fastest(b, func(i int) {
			old := pods[i*37%len(pods)]
			next := *old
			next.Name = fmt.Sprint("pod-", i)
			pods[i*37%len(pods)] = &next
			x, _ = x.Without(Snapshot{Pods: []*corev1.Pod{old}})
			x, _ = x.With(Snapshot{Pods: []*corev1.Pod{&next}})
		})
	})
}

// BenchmarkIndexWithBudget writes one status after the other.
func BenchmarkIndexWithBudget(b *testing.B) {
	ratios(b, indexSizes(), func(b *testing.B, s Snapshot, x *Index) time.Duration {
		return fastest(b, func(i int) {
			budget := *s.Budgets[i%len(s.Budgets)]
			budget.Status.DisruptionsAllowed = int32(i % 2)
			x, _ = x.With(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{&budget}})
		})
	})
}

// BenchmarkIndexWithSelector gives one budget after the other another selector.
func BenchmarkIndexWithSelector(b *testing.B) {
	ratios(b, indexSizes(), func(b *testing.B, s Snapshot, x *Index) time.Duration {
		return fastest(b, func(i int) {
			budget := s.Budgets[i%len(s.Budgets)].DeepCopy()
			budget.Spec.Selector.MatchLabels["version"] = fmt.Sprint("v", i/len(s.Budgets)%2)
			x, _ = x.With(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{budget}})
		})
	})
}

// BenchmarkIndexPlan plans one budget after the other.
func BenchmarkIndexPlan(b *testing.B) {
	ratios(b, indexSizes(), func(b *testing.B, s Snapshot, x *Index) time.Duration {
		return fastest(b, func(i int) {
			if _, err := x.Plan(KeyOf(s.Budgets[i*7%len(s.Budgets)])); err != nil {
				b.Fatal(err)
			}
		})
	})
}

// BenchmarkIndexCheckEviction checks one pod after the other.
func BenchmarkIndexCheckEviction(b *testing.B) {
	for _, by := range []Status{AsWritten, Recomputed} {
		b.Run(fmt.Sprintf("recompute=%t", by == Recomputed), func(b *testing.B) {
			ratios(b, indexSizes(), func(b *testing.B, s Snapshot, x *Index) time.Duration {
				return fastest(b, func(i int) {
					pod := s.Pods[i*37%len(s.Pods)]
					e, err := x.CheckEviction(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, by)
					if err != nil || e.Verdict != AllowedWithinBudget {
						b.Fatal(e, err)
					}
				})
			})
		})
	}
}

// BenchmarkIndexOneBudgetOfAll does it where one budget covers every pod.
func BenchmarkIndexOneBudgetOfAll(b *testing.B) {
	before := time.Duration(0)
	for _, n := range indexSizes() {
		s := benchCluster(n/20, 1)
		all := s.Budgets[0].DeepCopy()
		all.Spec.Selector.MatchLabels = nil
		all.Spec.MaxUnavailable, all.Spec.MinAvailable = nil, ptr.To(intstr.FromInt32(1))
		s.Budgets = []*policyv1.PodDisruptionBudget{all}
		x := NewIndex(s, Options{})
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			per := fastest(b, func(i int) {
				pod := s.Pods[i*37%len(s.Pods)].DeepCopy()
				notReady(pod)
				x, _ = x.With(Snapshot{Pods: []*corev1.Pod{pod}})
			})
			if before > 0 {
				b.ReportMetric(float64(per)/float64(before), "x-size-before")
			}
			before = per
		})
	}
}

// BenchmarkNewIndex reports how many times PlanAll it costs, and how many bytes an object it holds beyond the
// snapshot.
func BenchmarkNewIndex(b *testing.B) {
	for _, n := range indexSizes() {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			s := benchCluster(n/20, max(1, n/100_000))
			objects := len(s.Pods) + len(s.Budgets) + len(s.ReplicaSets) + len(s.Deployments)
			planned, made := time.Hour, time.Hour
			for b.Loop() {
				start := time.Now()
				if _, err := PlanAll(s, Options{}); err != nil {
					b.Fatal(err)
				}
				middle := time.Now()
				runtime.KeepAlive(NewIndex(s, Options{}))
				planned, made = min(planned, middle.Sub(start)), min(made, time.Since(middle))
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			x := NewIndex(s, Options{})
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(made)/float64(planned), "x-PlanAll")
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/float64(objects), "B/object")
			runtime.KeepAlive(x)
			runtime.KeepAlive(s)
		})
	}
}
