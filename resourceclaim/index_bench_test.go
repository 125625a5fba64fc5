package resourceclaim

import (
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// indexSizes are numbers of objects in one namespace, half of them pods and half claims. What one
// question or one change costs must not grow with them.
var indexSizes = []int{1_000, 10_000, 100_000, 1_000_000}

// clusterOf is a cluster of that many objects, at rest.
func clusterOf(objects int) Snapshot { return cluster(objects/2, 0) }

// BenchmarkIndex is what one question and one change cost.
func BenchmarkIndex(b *testing.B) {
	indexes := map[int]*Index{}
	of := func(size int) *Index {
		if indexes[size] == nil {
			indexes[size] = changedIndex(size)
		}
		return indexes[size]
	}
	sink := 0
	for _, question := range []struct {
		name string
		ask  func(x *Index, pods []*corev1.Pod, claims []*resourcev1.ResourceClaim, i int)
	}{
		{"Plan/pod", func(x *Index, pods []*corev1.Pod, _ []*resourcev1.ResourceClaim, i int) { x.Plan(KeyOf(pods[i])) }},
		{"Plan/claim", func(x *Index, _ []*corev1.Pod, claims []*resourcev1.ResourceClaim, i int) {
			x.Plan(KeyOf(claims[i]))
		}},
		{"Explain/claim", func(x *Index, _ []*corev1.Pod, claims []*resourcev1.ResourceClaim, i int) {
			x.Explain(KeyOf(claims[i]))
		}},
		{"With/pod", func(x *Index, pods []*corev1.Pod, _ []*resourcev1.ResourceClaim, i int) {
			_, keys := x.With(Snapshot{Pods: pods[i : i+1]})
			sink += len(keys)
		}},
		{"With/claim", func(x *Index, _ []*corev1.Pod, claims []*resourcev1.ResourceClaim, i int) {
			_, keys := x.With(Snapshot{Claims: claims[i : i+1]})
			sink += len(keys)
		}},
		{"With/assumed", func(x *Index, _ []*corev1.Pod, claims []*resourcev1.ResourceClaim, i int) {
			_, keys := x.With(Snapshot{Assumed: claims[i : i+1]})
			sink += len(keys)
		}},
		{"Without/pod", func(x *Index, pods []*corev1.Pod, _ []*resourcev1.ResourceClaim, i int) {
			_, keys := x.Without(Snapshot{Pods: pods[i : i+1]})
			sink += len(keys)
		}},
	} {
		b.Run(question.name, func(b *testing.B) {
			growth(b, indexSizes, func(b *testing.B, size int) {
				x := of(size)
				// Objects from all over the cluster, a thousand of them.
				var pods []*corev1.Pod
				var claims []*resourcev1.ResourceClaim
				s := clusterSample(size, 1000)
				pods, claims = s.Pods, s.Claims
				question.ask(x, pods, claims, 0) // terms are arranged when one is first asked for
				i := 0
				for b.Loop() {
					question.ask(x, pods, claims, i)
					i = (i + 7) % len(pods)
				}
			})
		})
	}
	_ = sink
}

// changedIndex is an Index of that many objects after a number of events.
func changedIndex(size int) *Index {
	x := NewIndex(clusterOf(size), Options{})
	s := clusterSample(size, min(size/8, 10_000))
	for i := range s.Pods {
		x, _ = x.With(Snapshot{Pods: s.Pods[i : i+1]})
		x, _ = x.With(Snapshot{Claims: s.Claims[i : i+1]})
	}
	return x
}

// clusterSample is every so many-th pod and claim of clusterOf.
func clusterSample(objects, n int) Snapshot {
	s := clusterOf(objects)
	n = min(n, len(s.Pods))
	var out Snapshot
	for i := range n {
		at := i * (len(s.Pods) / n)
		out.Pods, out.Claims = append(out.Pods, s.Pods[at]), append(out.Claims, s.Claims[at])
	}
	return out
}

// BenchmarkNewIndex is what arranging costs, beside one PlanAll of the same snapshot, and how many
// bytes it keeps for each object beyond the snapshot.
func BenchmarkNewIndex(b *testing.B) {
	growth(b, indexSizes, func(b *testing.B, size int) {
		s := clusterOf(size)
		before := heap()
		kept := NewIndex(s, Options{})
		bytes := heap() - before
		var planAll time.Duration
		for b.Loop() {
			NewIndex(s, Options{})
			b.StopTimer()
			start := time.Now()
			PlanAll(s, Options{})
			planAll += time.Since(start)
			b.StartTimer()
		}
		b.ReportMetric(float64(b.Elapsed())/float64(planAll), "x-PlanAll")
		b.ReportMetric(float64(bytes)/float64(size), "B/object")
		runtime.KeepAlive(kept)
	})
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkIndexPlanAll is all plans of an Index, beside PlanAll of the snapshot.
func BenchmarkIndexPlanAll(b *testing.B) {
	growth(b, []int{1_000, 10_000, 100_000}, func(b *testing.B, size int) {
		s := clusterOf(size)
		x := NewIndex(s, Options{})
		var planAll time.Duration
		for b.Loop() {
			x.PlanAll()
			b.StopTimer()
			start := time.Now()
			PlanAll(s, Options{})
			planAll += time.Since(start)
			b.StartTimer()
		}
		b.ReportMetric(float64(b.Elapsed())/float64(planAll), "x-PlanAll")
	})
}
