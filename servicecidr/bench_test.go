package servicecidr_test

import (
	"fmt"
	"math"
	"net/netip"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/servicecidr"
)

// largeCluster has n ServiceCIDRs and m addresses in them. Of four ServiceCIDRs one stays, one is
// being deleted while it is in use, one while it is covered by a larger one, and one of two
// families while it is partly covered. dying is how many of them are being deleted, of four.
func largeCluster(n, m, dying int) servicecidr.Snapshot {
	s := servicecidr.Snapshot{Now: now}
	s.ServiceCIDRs = append(s.ServiceCIDRs, cidr("around", of("10.128.0.0/9", "fd00:0:0:8000::/49")))
	// A quarter of the ServiceCIDRs lies in the one that stays around them.
	four := func(i, host int) string {
		return fmt.Sprintf("10.%d.%d.%d", i%4*64+i/4/64%64, i/4%64*4+host>>8, host&255)
	}
	six := func(i int) string { return fmt.Sprintf("fd00:0:0:%x", i) }
	for i := range n - 1 {
		c := cidr(fmt.Sprintf("cidr-%05d", i), of(four(i, 0)+"/22"))
		if i%4 == 3 {
			c.Spec.CIDRs = append(c.Spec.CIDRs, six(i)+"::/64")
		}
		if i%4 < dying {
			deletedAt(longAgo.Add(time.Duration(i%7) * time.Second))(c)
		}
		s.ServiceCIDRs = append(s.ServiceCIDRs, c)
	}
	for i := range m {
		at := i % (n - 1)
		host := i/(n-1) + 1
		if at%4 == 3 && host%2 == 0 {
			s.IPAddresses = append(s.IPAddresses, ip(fmt.Sprintf("%s::%x", six(at), host)))
			continue
		}
		s.IPAddresses = append(s.IPAddresses, ip(four(at, host)))
	}
	return s
}

// BenchmarkPlanAll holds a plan of everything against the cost of parsing the addresses' names,
// which no plan can do without: floor-ns/op is that cost, ratio how many times it the plan takes,
// the fastest of each.
func BenchmarkPlanAll(b *testing.B) {
	for _, size := range []struct{ cidrs, ips, dying int }{
		{10, 1_000, 4}, {200, 20_000, 4}, {1_000, 1_000_000, 0}, {1_000, 1_000_000, 1}, {1_000, 1_000_000, 4}, {10_000, 1_000_000, 4},
	} {
		if testing.Short() && size.ips > 100_000 {
			continue // is there to be measured
		}
		b.Run(fmt.Sprintf("%dx%d/deleting=%d%%", size.cidrs, size.ips, size.dying*25), func(b *testing.B) {
			s := largeCluster(size.cidrs, size.ips, size.dying)
			floor := parsing(b, s.IPAddresses)
			b.ReportAllocs()
			best := time.Duration(math.MaxInt64)
			for b.Loop() {
				start := time.Now()
				planAll(s, careful)
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(floor.Nanoseconds()), "floor-ns/op")
			b.ReportMetric(float64(best)/float64(floor), "ratio")
		})
	}
}

// parsing is the best of a few times of netip.ParseAddr over all names.
func parsing(b *testing.B, ips []*networkingv1.IPAddress) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range 5 {
		start := time.Now()
		for _, ip := range ips {
			if _, err := netip.ParseAddr(ip.Name); err != nil {
				b.Fatal(err)
			}
		}
		best = min(best, time.Since(start))
	}
	return best
}

func BenchmarkPlan(b *testing.B) {
	s := largeCluster(1_000, 100_000, 4)
	for _, name := range []string{"around", "cidr-00000", "cidr-00002"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := servicecidr.Plan(s, servicecidr.Key(name), careful); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheckDeletion(b *testing.B) {
	s := largeCluster(1_000, 100_000, 4)
	b.ReportAllocs()
	for b.Loop() {
		if d, err := servicecidr.CheckDeletion(s, servicecidr.Key("cidr-00000"), 0, careful); err != nil || d.Safe {
			b.Fatal(d, err)
		}
	}
}

// No address costs an allocation of its own: a chunk of them does.
func TestPlanAllAllocatesNothingPerAddress(t *testing.T) {
	few, many := largeCluster(50, 100, 4), largeCluster(50, 10_000, 4)
	allocations := func(s servicecidr.Snapshot) float64 {
		return testing.AllocsPerRun(10, func() { planAll(s, careful) })
	}
	if a, b := allocations(few), allocations(many); b > a+(10_000-100)/50 {
		t.Errorf("%v allocations with 100 addresses, %v with 10,000", a, b)
	}
}
