package servicecidr_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/servicecidr"
)

var indexSizes = []int{1_000, 10_000, 100_000, 1_000_000}

// shuffledCluster is a large cluster with its addresses in no order, as an informer's cache lists
// them: 1,000 ServiceCIDRs, fewer for few addresses, a quarter of which is being deleted.
func shuffledCluster(addresses int) servicecidr.Snapshot {
	s := largeCluster(min(1_000, addresses/10), addresses, 1)
	newRand(7).Shuffle(len(s.IPAddresses), func(i, j int) {
		s.IPAddresses[i], s.IPAddresses[j] = s.IPAddresses[j], s.IPAddresses[i]
	})
	return s
}

// bySize runs a benchmark for each size and reports how many times as long it takes as for the size
// before: "x-size-before".
func bySize(b *testing.B, run func(b *testing.B, size int)) {
	before := 0.0
	for _, size := range indexSizes {
		if testing.Short() && size > 100_000 {
			continue // is there to be measured
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			run(b, size)
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
	bySize(b, func(b *testing.B, size int) {
		s := shuffledCluster(size)
		best := func(f func()) time.Duration {
			fastest := time.Duration(math.MaxInt64)
			for range max(3, 300_000/size) {
				runtime.GC() // so that neither pays for what the other left
				start := time.Now()
				f()
				fastest = min(fastest, time.Since(start))
			}
			return fastest
		}
		plan := best(func() { planAll(s, careful) })
		build := best(func() { servicecidr.NewIndex(s, careful) })

		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		x := servicecidr.NewIndex(s, careful)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(x)

		for b.Loop() {
			servicecidr.NewIndex(s, careful)
		}
		b.ReportMetric(float64(build)/float64(plan), "x-PlanAll")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(s.ServiceCIDRs)+len(s.IPAddresses)), "bytes/object")
		runtime.KeepAlive(s)
	})
}

// An address comes and goes: what an informer's handler does, the plans that it leads to included.
func BenchmarkIndexAddressEvent(b *testing.B) {
	bySize(b, func(b *testing.B, size int) {
		s := shuffledCluster(size)
		x := servicecidr.NewIndex(s, careful)
		one := make([]*networkingv1.IPAddress, 1)
		for i := 0; b.Loop(); i++ {
			one[0] = s.IPAddresses[i*7919%len(s.IPAddresses)]
			gone, affected := x.Without(servicecidr.Snapshot{IPAddresses: one})
			for _, key := range affected {
				if _, err := gone.Plan(key); err != nil {
					b.Fatal(err)
				}
			}
			back, affected := gone.With(servicecidr.Snapshot{IPAddresses: one})
			for _, key := range affected {
				if _, err := back.Plan(key); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// A ServiceCIDR that overlaps one other changes its finalizers.
func BenchmarkIndexServiceCIDREvent(b *testing.B) {
	bySize(b, func(b *testing.B, size int) {
		x := servicecidr.NewIndex(shuffledCluster(size), careful)
		changed := servicecidr.Snapshot{ServiceCIDRs: cidrs(cidr("cidr-00003", of("10.192.0.0/24", "fd00:0:0:3::/64"), finalizers()))}
		for b.Loop() {
			next, affected := x.With(changed)
			if len(affected) == 0 {
				b.Fatal("none is affected")
			}
			for _, key := range affected {
				if _, err := next.Plan(key); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkIndexPlan(b *testing.B) {
	bySize(b, func(b *testing.B, size int) {
		x := servicecidr.NewIndex(shuffledCluster(size), careful)
		for b.Loop() {
			if _, err := x.Plan(servicecidr.Key("cidr-00000")); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Of a ServiceCIDR whose addresses are all covered by others, or all there are.
func BenchmarkIndexCheckDeletion(b *testing.B) {
	bySize(b, func(b *testing.B, size int) {
		x := servicecidr.NewIndex(shuffledCluster(size), careful)
		for b.Loop() {
			if d, err := x.CheckDeletion(servicecidr.Key("cidr-00002"), 0); err != nil || !d.Safe {
				b.Fatal(d, err)
			}
		}
	})
}

// A deleted ServiceCIDR is emptied one address after the other, and planned after each.
func BenchmarkIndexDrainServiceCIDR(b *testing.B) {
	bySize(b, func(b *testing.B, size int) {
		if size > 100_000 {
			b.Skip("as long as it takes for this many events")
		}
		s := snapshotOf(cidrs(cidr("x", of("10.0.0.0/8"), deletedAt(longAgo))))
		for i := range size {
			s.IPAddresses = append(s.IPAddresses, ip(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)))
		}
		s.IPAddresses = s.IPAddresses[1:] // not the network address
		x := servicecidr.NewIndex(s, careful)
		for b.Loop() {
			for own, left := x, s.IPAddresses; len(left) > 0; left = left[1:] {
				own, _ = own.Without(servicecidr.Snapshot{IPAddresses: left[:1]})
				if _, err := own.Plan(servicecidr.Key("x")); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// Equal ServiceCIDRs, and ServiceCIDRs inside each other, all being deleted: where a look at pairs
// would show.
func BenchmarkPlanAllOverlaps(b *testing.B) {
	shapes := map[string]func(size int) servicecidr.Snapshot{
		"equal": func(size int) servicecidr.Snapshot {
			s := snapshotOf(nil, "10.0.0.7")
			for i := range size {
				s.ServiceCIDRs = append(s.ServiceCIDRs, cidr(fmt.Sprintf("equal-%06d", i), of("10.0.0.0/24"), deletedAt(longAgo)))
			}
			return s
		},
		"inside": func(size int) servicecidr.Snapshot {
			s := snapshotOf(cidrs(cidr("z-around", of("10.0.0.0/8"), deletedAt(longAgo))), "10.0.0.7")
			for i := range size {
				s.ServiceCIDRs = append(s.ServiceCIDRs, cidr(fmt.Sprintf("inside-%06d", i), of(fmt.Sprintf("10.%d.%d.%d/30", i>>14, i>>6&255, i<<2&255)), deletedAt(longAgo)))
			}
			return s
		},
	}
	for _, shape := range []string{"equal", "inside"} {
		before := 0.0
		for _, size := range []int{100, 1_000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", shape, size), func(b *testing.B) {
				s := shapes[shape](size)
				b.ReportAllocs()
				for b.Loop() {
					planAll(s, careful)
				}
				now := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				if before > 0 {
					b.ReportMetric(math.Log10(now/before), "exponent")
				}
				before = now
			})
		}
	}
}
