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

// All ServiceCIDRs are new, so none is compared with each of the others.
func BenchmarkNewIndexOfManyServiceCIDRs(b *testing.B) {
	for _, n := range []int{1_000, 4_000, 16_000} {
		var all []*networkingv1.ServiceCIDR
		for i := range n {
			all = append(all, cidr(fmt.Sprint("c", i), []string{fmt.Sprintf("fd00:%x::/64", i)}))
		}
		s := snapshotOf(cidrs(all...))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				servicecidr.NewIndex(s, careful)
			}
		})
	}
}

// asked is an index that has its addresses in order: the first question that needs them pays for that.
func asked(s servicecidr.Snapshot) *servicecidr.Index {
	x := servicecidr.NewIndex(s, careful)
	_, _ = x.PlanAll()
	return x
}

// BenchmarkIndexFirstPlan is a NewIndex with the question that needs the addresses in order.
func BenchmarkIndexFirstPlan(b *testing.B) {
	bySize(b, func(b *testing.B, size int) {
		s := shuffledCluster(size)
		for b.Loop() {
			if _, err := servicecidr.NewIndex(s, careful).Plan(servicecidr.Key("cidr-00000")); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// An address comes and goes: what an informer's handler does, the plans that it leads to included.
func BenchmarkIndexAddressEvent(b *testing.B) {
	bySize(b, func(b *testing.B, size int) {
		s := shuffledCluster(size)
		x := asked(s)
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
		x := asked(shuffledCluster(size))
		changed := servicecidr.Snapshot{ServiceCIDRs: cidrs(cidr("cidr-00003", of("10.192.0.0/22", "fd00:0:0:3::/64"), finalizers()))}
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
		x := asked(shuffledCluster(size))
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
		x := asked(shuffledCluster(size))
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

// Where a look at pairs would show: the exponent is that of the time, against the size before. With n log n it is about
// 1.1, with pairs 2.
func BenchmarkOverlaps(b *testing.B) {
	many := func(size int, one func(i int) *networkingv1.ServiceCIDR) (all []*networkingv1.ServiceCIDR) {
		for i := range size {
			all = append(all, one(i))
		}
		return all
	}
	slash30 := func(i int) []string { return of(fmt.Sprintf("10.%d.%d.%d/30", i>>14, i>>6&255, i<<2&255)) }
	equal := func(changes ...change) func(size int) servicecidr.Snapshot {
		return func(size int) servicecidr.Snapshot {
			return snapshotOf(many(size, func(i int) *networkingv1.ServiceCIDR {
				return cidr(fmt.Sprintf("equal-%06d", i), of("10.0.0.0/24", "fd00::/112"), changes...)
			}))
		}
	}
	with := func(shape func(size int) servicecidr.Snapshot, addresses ...string) func(size int) servicecidr.Snapshot {
		return func(size int) servicecidr.Snapshot {
			s := shape(size)
			s.IPAddresses = ips(addresses...)
			return s
		}
	}
	for _, shape := range []struct {
		name     string
		snapshot func(size int) servicecidr.Snapshot
	}{
		{"equal", equal()},
		{"equal, unprotected", equal(finalizers())},
		{"equal, deleting", equal(deletedAt(longAgo))},
		{"equal, deleting, with an address", with(equal(deletedAt(longAgo)), "10.0.0.7")},
		{"equal, deleting, held by others, with addresses", func(size int) servicecidr.Snapshot {
			s := equal(deletedAt(longAgo), finalizers("example.com/mine"))(size)
			for i := range size {
				s.IPAddresses = append(s.IPAddresses, ip(fmt.Sprintf("fd00::%x", 1+i)))
			}
			return s
		}},
		{"equal, with unmanaged addresses", func(size int) servicecidr.Snapshot {
			s := equal(deletedAt(longAgo), finalizers("example.com/mine"))(size)
			for i := range size {
				s.IPAddresses = append(s.IPAddresses, labelled(fmt.Sprintf("fd00::%x", 1+i), nil))
			}
			return s
		}},
		{"inside one", func(size int) servicecidr.Snapshot {
			return snapshotOf(append(many(size, func(i int) *networkingv1.ServiceCIDR {
				return cidr(fmt.Sprintf("inside-%06d", i), slash30(i), deletedAt(longAgo))
			}), cidr("z-around", of("10.0.0.0/8"), deletedAt(longAgo))), "10.0.0.7")
		}},
		{"half of them inside the others", func(size int) servicecidr.Snapshot {
			return snapshotOf(many(size, func(i int) *networkingv1.ServiceCIDR {
				if i%2 == 0 {
					return cidr(fmt.Sprintf("around-%06d", i), of("10.0.0.0/8"), deletedAt(longAgo), finalizers("example.com/mine"))
				}
				return cidr(fmt.Sprintf("inside-%06d", i), slash30(i), deletedAt(longAgo))
			}), "10.200.0.7")
		}},
		{"nested", func(size int) servicecidr.Snapshot {
			return snapshotOf(many(size, func(i int) *networkingv1.ServiceCIDR {
				return cidr(fmt.Sprintf("nested-%06d", i), of(fmt.Sprintf("fd00::/%d", 8+i%119)), deletedAt(longAgo.Add(-time.Duration(i)*time.Second)))
			}), "fd00::1")
		}},
		{"one name", func(size int) servicecidr.Snapshot {
			return snapshotOf(many(size, func(i int) *networkingv1.ServiceCIDR { return cidr("same", slash30(i), deletedAt(longAgo)) }), "10.0.0.7")
		}},
	} {
		for _, question := range []struct {
			name string
			ask  func(servicecidr.Snapshot)
		}{
			{"PlanAll", func(s servicecidr.Snapshot) { planAll(s, careful) }},
			{"ExplainAll", func(s servicecidr.Snapshot) { _, _ = servicecidr.NewIndex(s, careful).ExplainAll() }},
			{"With", func(s servicecidr.Snapshot) { servicecidr.NewIndex(servicecidr.Snapshot{}, careful).With(s) }},
		} {
			before := 0.0
			for _, size := range []int{100, 1_000, 10_000} {
				if question.name == "ExplainAll" && size > 1_000 {
					continue // see its comment
				}
				b.Run(fmt.Sprintf("%s/%s/%d", shape.name, question.name, size), func(b *testing.B) {
					s := shape.snapshot(size)
					b.ReportAllocs()
					for b.Loop() {
						question.ask(s)
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
}
