package rbacaggregate

import (
	"fmt"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sameKeys has 2^k ClusterRoles that aggregate by the same k labels, one for each combination of two values, and one
// source for each: no label tells many of them apart.
func sameKeys(k int) Snapshot {
	var s Snapshot
	for i := range 1 << k {
		set := map[string]string{}
		for j := range k {
			set[fmt.Sprint("label-", j)] = fmt.Sprint(i >> j & 1)
		}
		aggregating := plain(fmt.Sprint("aggregating-", i), "")
		aggregating.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: set}}}
		source := plain(fmt.Sprint("source-", i), "", numbered(i))
		source.Labels = set
		s.ClusterRoles = append(s.ClusterRoles, aggregating, source)
	}
	return s
}

// BenchmarkConjunctions reports how the time grows from one size to the next: 2 is linear, 4 is quadratic.
func BenchmarkConjunctions(b *testing.B) {
	oneByOne := func(s Snapshot) *Index {
		x := NewIndex(Snapshot{}, Options{})
		for _, r := range s.ClusterRoles {
			x, _ = x.With(snapshotOf(r))
		}
		return x
	}
	for _, bc := range []struct {
		name  string
		ask   func(Snapshot)
		sizes []int // as powers of two
	}{
		{"PlanAll", func(s Snapshot) { _, _ = PlanAll(s, Options{}) }, []int{9, 10, 11, 12}},
		{"NewIndex", func(s Snapshot) { NewIndex(s, Options{}) }, []int{9, 10, 11, 12}},
		{"With", func(s Snapshot) { oneByOne(s) }, []int{9, 10, 11}},
		{"WithPlanAll", func(s Snapshot) { _, _ = oneByOne(s).PlanAll() }, []int{9, 10, 11}},
	} {
		before := time.Duration(0)
		for _, k := range bc.sizes {
			s := sameKeys(k)
			b.Run(fmt.Sprintf("same-keys/%s/%d", bc.name, 1<<k), func(b *testing.B) {
				best := time.Hour
				for b.Loop() {
					start := time.Now()
					bc.ask(s)
					best = min(best, time.Since(start))
				}
				b.ReportMetric(float64(best.Nanoseconds()), "best-ns/op")
				if before > 0 {
					b.ReportMetric(float64(best)/float64(before), "x-size-before")
				}
				before = best
			})
		}
	}
}
