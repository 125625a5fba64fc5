package ttl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// bySize runs a benchmark for each size and reports how many times as long it takes as for the size
// before: "x-size-before".
func bySize(b *testing.B, run func(b *testing.B, s Snapshot)) {
	before := 0.0
	for _, size := range []int{1_000, 10_000, 100_000, 1_000_000} {
		if testing.Short() && size > 100_000 {
			continue // is there to be measured
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := Snapshot{Nodes: fleet(size, "300")}
			s.Step = table(Steps()).settle(0, size)
			rand.New(rand.NewPCG(1, 2)).Shuffle(size, func(i, j int) { s.Nodes[i], s.Nodes[j] = s.Nodes[j], s.Nodes[i] })
			b.ReportAllocs()
			run(b, s)
			now := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			if before > 0 {
				b.ReportMetric(now/before, "x-size-before")
			}
			before = now
		})
	}
}

// BenchmarkNewIndex reports x-PlanAll, the time as a multiple of PlanAll's for the same snapshot, the
// fastest of each, and bytes/object, the memory of an index beyond its snapshot.
func BenchmarkNewIndex(b *testing.B) {
	bySize(b, func(b *testing.B, s Snapshot) {
		best := func(f func()) time.Duration {
			fastest := time.Duration(math.MaxInt64)
			for range max(3, 300_000/len(s.Nodes)) {
				runtime.GC() // so that neither pays for what the other left
				start := time.Now()
				f()
				fastest = min(fastest, time.Since(start))
			}
			return fastest
		}
		plan := best(func() { _, _ = PlanAll(s, Options{}) })
		build := best(func() { NewIndex(s, Options{}) })

		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		x := NewIndex(s, Options{})
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(x)

		for b.Loop() {
			NewIndex(s, Options{})
		}
		b.ReportMetric(float64(build)/float64(plan), "x-PlanAll")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(s.Nodes)), "bytes/object")
		runtime.KeepAlive(s)
	})
}

// A node sends a heartbeat: what an informer's handler does, the plan included.
func BenchmarkIndexNodeUpdate(b *testing.B) {
	bySize(b, func(b *testing.B, s Snapshot) {
		x := NewIndex(s, Options{})
		one := make([]*corev1.Node, 1)
		for i := 0; b.Loop(); i++ {
			one[0] = s.Nodes[i*7919%len(s.Nodes)]
			next, affected := x.With(Snapshot{Nodes: one})
			for _, key := range affected {
				if _, err := next.Plan(key); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// A node comes and goes, without a new step.
func BenchmarkIndexNodeComesAndGoes(b *testing.B) {
	bySize(b, func(b *testing.B, s Snapshot) {
		s.Nodes = s.Nodes[1:] // 1,001 nodes would be another step
		x := NewIndex(s, Options{})
		one := Snapshot{Nodes: []*corev1.Node{node("new", absent)}}
		for b.Loop() {
			next, affected := x.With(one)
			if len(affected) != 1 {
				b.Fatal(affected)
			}
			if _, affected = next.Without(one); len(affected) != 1 {
				b.Fatal(affected)
			}
		}
	})
}
