package servicecidr_test

import (
	"fmt"
	"math"
	"net/netip"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/internal/test/largecluster"
	"github.com/purekube/purekube/servicecidr"
)

// largeCluster is largecluster.Addresses.
func largeCluster(cidrs, addresses, dying int) servicecidr.Snapshot {
	c := largecluster.Addresses(cidrs, addresses, dying)
	return servicecidr.Snapshot{Now: largecluster.Now, ServiceCIDRs: c.ServiceCIDRs, IPAddresses: c.IPAddresses}
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

// A manifest may have as many prefixes as it has addresses. Each address is searched for among them.
func BenchmarkCheckDeletionOfManyPrefixes(b *testing.B) {
	for _, n := range []int{1_000, 4_000, 16_000} {
		var prefixes, addresses []string
		for i := range n {
			prefixes, addresses = append(prefixes, fmt.Sprintf("fd00:%x::/64", i)), append(addresses, fmt.Sprintf("fe00::%x", i))
		}
		s := snapshotOf(cidrs(cidr("x", prefixes)), addresses...)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d, err := servicecidr.NewIndex(s, careful).CheckDeletion(servicecidr.Key("x"), 1); err != nil || !d.Safe {
					b.Fatal(d, err)
				}
			}
		})
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
