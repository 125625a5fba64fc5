package resourceclaim

import (
	"fmt"
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// growth runs a benchmark at several sizes and reports beside each how the time grew from the size
// before: the exponent k of size^k, and the ratio.
func growth(b *testing.B, sizes []int, run func(b *testing.B, size int)) {
	var before, sizeBefore float64
	for _, size := range sizes {
		if testing.Short() && size > 100_000 {
			continue // is there to be measured
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			run(b, size)
			now := float64(b.Elapsed()) / float64(b.N)
			if before > 0 {
				b.ReportMetric(math.Log(now/before)/math.Log(float64(size)/sizeBefore), "exponent")
				b.ReportMetric(now/before, "x-before")
			}
			before, sizeBefore = now, float64(size)
		})
	}
}

// podOfEntries is a pod with that many entries, and a snapshot with it alone. made: each has a claim
// that is allocated, and the status names it. The entries share no template and no claim.
func podOfEntries(entries int, made bool) Snapshot {
	p := newPod("p", onNode)
	s := Snapshot{Now: now, Pods: pods(p)}
	for i := range entries {
		entry := fmt.Sprint("entry-", i)
		wants(entry, fmt.Sprint("template-", i))(p)
		s.Templates = append(s.Templates, newTemplate(fmt.Sprint("template-", i)))
		if made {
			name := fmt.Sprint("p-", entry)
			got(entry, name)(p)
			s.Claims = append(s.Claims, newClaim(name, allocated, madeFor("p", entry)))
		}
	}
	return s
}

// BenchmarkPodEntries is what one user can write into one pod: nothing may grow faster than n log n.
func BenchmarkPodEntries(b *testing.B) {
	sizes := []int{1_000, 4_000, 16_000}
	b.Run("create", func(b *testing.B) {
		growth(b, sizes, func(b *testing.B, size int) {
			s := podOfEntries(size, false)
			for b.Loop() {
				r, err := Plan(s, podKey("p"), Options{})
				if err != nil || len(r.Actions) != size+1 {
					b.Fatal(len(r.Actions), err)
				}
			}
		})
	})
	b.Run("reserve", func(b *testing.B) {
		growth(b, sizes, func(b *testing.B, size int) {
			s := podOfEntries(size, true)
			for b.Loop() {
				r, err := Plan(s, podKey("p"), Options{})
				if err != nil || len(r.Actions) != size {
					b.Fatal(len(r.Actions), err)
				}
			}
		})
	})
	b.Run("requests", func(b *testing.B) {
		growth(b, sizes, func(b *testing.B, size int) {
			s := podOfEntries(size, false)
			r, _ := Plan(s, podKey("p"), Options{})
			for b.Loop() {
				done := make([]runtime.Object, 0, len(r.Actions))
				for i, a := range r.Actions {
					request := a.Request(done)
					if claim, ok := request.Object.(*resourcev1.ResourceClaim); ok {
						claim.Name = fmt.Sprint("claim-", i)
					}
					done = append(done, request.Object)
				}
			}
		})
	})
	b.Run("apply", func(b *testing.B) {
		growth(b, sizes, func(b *testing.B, size int) {
			s := podOfEntries(size, true)
			a := SetClaimStatuses{Kind: podKind, Namespace: ns, Name: "p", UID: "uid-p", Statuses: s.Pods[0].Status.ResourceClaimStatuses}
			for b.Loop() {
				a.Apply(s.Pods[0])
			}
		})
	})
	b.Run("explain", func(b *testing.B) {
		growth(b, sizes, func(b *testing.B, size int) {
			s := podOfEntries(size, true)
			for b.Loop() {
				if e, err := NewIndex(s, Options{}).Explain(podKey("p")); err != nil || len(e.Reasons) != size {
					b.Fatal(len(e.Reasons), err)
				}
			}
		})
	})
	b.Run("affected", func(b *testing.B) {
		growth(b, sizes, func(b *testing.B, size int) {
			s := podOfEntries(size, true)
			done := s.Pods[0].DeepCopy()
			done.Status.Phase = corev1.PodSucceeded
			for b.Loop() {
				if _, keys := NewIndex(s, Options{}).With(Snapshot{Pods: pods(done)}); len(keys) != size+1 {
					b.Fatal(len(keys))
				}
			}
		})
	})
}
