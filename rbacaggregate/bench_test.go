package rbacaggregate

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/internal/test/largecluster"
)

var sizes = []int{1_000, 4_000, 16_000}

func numbered(i int) rbacv1.PolicyRule { return largecluster.Rule(i) }

// bundle is so many different rules in roles of ten.
func bundle(rules int, kind string) []*rbacv1.ClusterRole {
	var roles []*rbacv1.ClusterRole
	for i := 0; i < rules; i += 10 {
		r := plain(fmt.Sprintf("%s-%06d", kind, i), kind)
		for k := i; k < min(i+10, rules); k++ {
			r.Rules = append(r.Rules, numbered(k))
		}
		roles = append(roles, r)
	}
	return roles
}

// copyAll is the floor of a plan that writes: the rules that it returns have to be copied.
func copyAll(roles []*rbacv1.ClusterRole) []rbacv1.PolicyRule {
	rules := 0
	for _, r := range roles {
		rules += len(r.Rules)
	}
	all := make([]rbacv1.PolicyRule, 0, rules)
	for _, r := range roles {
		for i := range r.Rules {
			all = append(all, *r.Rules[i].DeepCopy())
		}
	}
	return all
}

// perOp runs some times more, outside of the measurement, to relate to, and takes the fastest.
func perOp(op func()) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range 5 {
		start := time.Now()
		op()
		best = min(best, time.Since(start))
	}
	return best
}

// One role over all the rules: written from nothing, and in agreement with what is there.
func BenchmarkPlanAll(b *testing.B) {
	for _, n := range sizes {
		sources := bundle(n, "is")
		empty := Snapshot{ClusterRoles: append(sources[:len(sources):len(sources)], sum("sum", "", "is"))}
		full := Snapshot{ClusterRoles: append(sources[:len(sources):len(sources)], sum("sum", "", "is", copyAll(sources)...))}
		for _, bc := range []struct {
			name string
			s    Snapshot
			want int
		}{{"write", empty, 1}, {"agree", full, 0}} {
			b.Run(fmt.Sprintf("%s/%d", bc.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if len(planAll(bc.s, Options{})) != bc.want {
						b.Fatal("another plan")
					}
				}
				reportRatio(b, n, func() { copyAll(sources) })
			})
		}
	}
}

// The same through five levels, each of which has all the rules.
func BenchmarkPlanAllNested(b *testing.B) {
	const levels = 5
	for _, n := range sizes {
		sources := bundle(n, "k0")
		s := Snapshot{ClusterRoles: sources}
		for i := range levels {
			s.ClusterRoles = append(s.ClusterRoles, sum(fmt.Sprintf("sum%d", i), fmt.Sprintf("k%d", i+1), fmt.Sprintf("k%d", i)))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(planAll(s, Options{})) != levels {
					b.Fatal("another plan")
				}
			}
			reportRatio(b, n*levels, func() {
				for range levels {
					copyAll(sources)
				}
			})
		})
	}
}

// Many roles: each kind has ten sources and one sum, and nobody looks at the others.
func BenchmarkPlanAllManyRoles(b *testing.B) {
	for _, kinds := range []int{100, 400, 1_600} {
		var s Snapshot
		for k := range kinds {
			kind := fmt.Sprintf("kind-%05d", k)
			s.ClusterRoles = append(append(s.ClusterRoles, bundle(100, kind)...), sum("sum-"+kind, "", kind))
		}
		b.Run(fmt.Sprintf("%d-roles", len(s.ClusterRoles)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(planAll(s, Options{})) != kinds {
					b.Fatal("another plan")
				}
			}
			reportRatio(b, kinds*100, func() { copyAll(s.ClusterRoles) })
		})
	}
}

// A ring in which every role aggregates the next one and ten of its own.
func BenchmarkPlanAllCycle(b *testing.B) {
	for _, members := range []int{10, 40, 160} {
		s := Snapshot{ClusterRoles: bundle(1_000, "own")}
		for i, r := range s.ClusterRoles {
			r.Labels = map[string]string{fmt.Sprintf("own%d", i%members): "true"}
		}
		for i := range members {
			s.ClusterRoles = append(s.ClusterRoles, sum(fmt.Sprintf("ring%03d", i), fmt.Sprintf("ring%d", i),
				fmt.Sprintf("ring%d own%d", (i+1)%members, i)))
		}
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(planAll(s, Options{})) != members {
					b.Fatal("another plan")
				}
			}
			reportRatio(b, members*1_000, nil)
		})
	}
}

func BenchmarkExplain(b *testing.B) {
	for _, n := range sizes {
		s := Snapshot{ClusterRoles: append(bundle(n, "is"), sum("mid", "mid", "is"), sum("top", "", "mid"))}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if e, err := NewIndex(s, Options{}).Explain(Key("top")); err != nil || len(e.Rules) != n {
					b.Fatal(len(e.Rules), err)
				}
			}
			reportRatio(b, n, nil)
		})
	}
}

// growth reports how the time of a benchmark grows with its size: the ratio to the size before and the
// exponent, which is 1 for what is linear. It goes by the fastest run, which is the least disturbed one. The
// sizes of one benchmark run one after the other.
type growth struct {
	n    int
	best time.Duration
}

func (g *growth) loop(b *testing.B, n int, op func()) {
	b.Helper()
	b.ReportAllocs()
	best := time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		op()
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(best.Nanoseconds()), "best-ns/op")
	if g.n > 0 && g.n < n {
		ratio := float64(best) / float64(g.best)
		b.ReportMetric(ratio, "x-before")
		b.ReportMetric(math.Log(ratio)/math.Log(float64(n)/float64(g.n)), "exponent")
	}
	*g = growth{n, best}
}

// ring is n roles, each of which aggregates the next one, and as many rules as said that enter somewhere.
func ring(n, rules int) Snapshot {
	var s Snapshot
	for i := range n {
		s.ClusterRoles = append(s.ClusterRoles, sum(fmt.Sprintf("ring%06d", i), fmt.Sprintf("ring%d", i), fmt.Sprintf("own%d ring%d", i, (i+1)%n)))
	}
	for i := range rules {
		s.ClusterRoles = append(s.ClusterRoles, plain(fmt.Sprintf("own%06d", i), fmt.Sprintf("own%d", i*n/rules), numbered(i)))
	}
	return s
}

// chain is n roles, each of which aggregates the next one; the last one aggregates one that does not.
func chain(n int) Snapshot {
	s := snapshotOf(plain("leaf", fmt.Sprintf("link%d", n), numbered(0)))
	for i := range n {
		s.ClusterRoles = append(s.ClusterRoles, sum(fmt.Sprintf("chain%06d", i), fmt.Sprintf("link%d", i), fmt.Sprintf("link%d", i+1)))
	}
	return s
}

// everything is n roles that aggregate every ClusterRole, each other too, and ten that do not aggregate.
func everything(n int) Snapshot {
	s := Snapshot{ClusterRoles: bundle(100, "own")}
	for i := range n {
		r := sum(fmt.Sprintf("all%06d", i), "", "", numbered(i%20))
		r.AggregationRule.ClusterRoleSelectors = []metav1.LabelSelector{{}}
		s.ClusterRoles = append(s.ClusterRoles, r)
	}
	return s
}

// broken is n roles, each of which rests on one that cannot be computed.
func brokenChain(n int) Snapshot {
	s := chain(n)
	s.ClusterRoles = append(s.ClusterRoles, plain("leaf", ""))
	return s
}

// What many aggregated roles cost that were made to cost much. Where it says PlanAll, the output or the
// rules that are stored grow as well, unless it says otherwise.
func BenchmarkHostile(b *testing.B) {
	plan := func(name string) func(*testing.B, Snapshot, Options) {
		return func(b *testing.B, s Snapshot, o Options) {
			if _, err := Plan(s, Key(name), o); err != nil {
				b.Fatal(err)
			}
		}
	}
	planAll := func(b *testing.B, s Snapshot, o Options) {
		if _, err := PlanAll(s, o); err != nil {
			b.Fatal(err)
		}
	}
	for _, bc := range []struct {
		name string
		make func(n int) Snapshot
		o    Options
		ask  func(*testing.B, Snapshot, Options)
	}{
		{"Plan/ring", func(n int) Snapshot { return ring(n, n) }, Options{}, plan("ring000000")},
		{"PlanAll/ring-of-ten-rules", func(n int) Snapshot { return ring(n, 10) }, Options{}, planAll},
		{"PlanAll/ring-of-ten-rules/MatchUpstream", func(n int) Snapshot { return ring(n, 10) }, upstream, planAll},
		{"Plan/everything", everything, Options{}, plan("all000000")},
		{"PlanAll/everything", everything, Options{}, planAll},
		{"PlanAll/everything/MatchUpstream", everything, upstream, planAll},
		{"Plan/chain", chain, Options{}, plan("chain000000")},
		{"PlanAll/chain", chain, Options{}, planAll},
		{"PlanAll/broken-chain", brokenChain, Options{}, planAll},
		{"Explain/chain", chain, Options{}, func(b *testing.B, s Snapshot, o Options) {
			if e, err := NewIndex(s, o).Explain(Key("chain000000")); err != nil || len(e.Sources) == 0 {
				b.Fatal(err)
			}
		}},
		{"PreviewRole/chain", chain, Options{}, func(b *testing.B, s Snapshot, o Options) {
			if c, err := NewIndex(s, o).PreviewRole(plain("leaf", fmt.Sprintf("link%d", len(s.ClusterRoles)-1)), Key("chain000000")); err != nil || c.Empty() {
				b.Fatal(c, err)
			}
		}},
		{"Affected/everything", everything, Options{}, func(b *testing.B, s Snapshot, o Options) {
			if _, affected := NewIndex(s, o).With(snapshotOf(plain("new", "", numbered(0)))); len(affected) != len(s.ClusterRoles)-10 {
				b.Fatal(len(affected))
			}
		}},
		{"PreviewRole/ring/MatchUpstream", func(n int) Snapshot { return ring(n, 10) }, upstream, func(b *testing.B, s Snapshot, o Options) {
			if c, err := NewIndex(s, o).PreviewRole(plain("own000000", ""), Key("ring000000")); err != nil || c.Empty() {
				b.Fatal(c, err)
			}
		}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			var before growth
			for _, n := range []int{1_000, 2_000, 4_000, 8_000} {
				b.Run(fmt.Sprint(n), func(b *testing.B) {
					s := bc.make(n)
					before.loop(b, n, func() { bc.ask(b, s, bc.o) })
				})
			}
		})
	}
}

// cluster is largecluster.ClusterRoles.
func cluster(n int) Snapshot {
	return Snapshot{ClusterRoles: largecluster.ClusterRoles(n).ClusterRoles}
}

var clusterSizes = []int{1_000, 10_000, 100_000, 1_000_000}

func BenchmarkIndex(b *testing.B) {
	write := plain("new", "to-view", numbered(999_999_999))
	for _, bc := range []struct {
		name string
		ask  func(*testing.B, *Index)
	}{
		{"With/nobody-selects", func(b *testing.B, x *Index) {
			if _, affected := x.With(snapshotOf(plain("operator-0000555", "team-x", numbered(7)))); len(affected) != 0 {
				b.Fatal(affected)
			}
		}},
		{"With/source", func(b *testing.B, x *Index) {
			if _, affected := x.With(snapshotOf(write)); len(affected) != 3 {
				b.Fatal(affected)
			}
		}},
		{"Without/source", func(b *testing.B, x *Index) {
			if _, affected := x.Without(snapshotOf(plain("system:02", ""))); len(affected) != 3 {
				b.Fatal(affected)
			}
		}},
		{"Plan/does-not-aggregate", func(b *testing.B, x *Index) {
			if r, err := x.Plan(Key("operator-0000555")); err != nil || !r.Empty() {
				b.Fatal(r, err)
			}
		}},
		{"Plan/admin", func(b *testing.B, x *Index) {
			if r, err := x.Plan(Key("admin")); err != nil || r.Empty() {
				b.Fatal(r, err)
			}
		}},
		{"Explain/admin", func(b *testing.B, x *Index) {
			if e, err := x.Explain(Key("admin")); err != nil || len(e.Rules) != 30 {
				b.Fatal(err)
			}
		}},
		{"PreviewRole/admin", func(b *testing.B, x *Index) {
			if c, err := x.PreviewRole(write, Key("admin")); err != nil || len(c.Added) != 1 {
				b.Fatal(c, err)
			}
		}},
		{"Preview", func(b *testing.B, x *Index) {
			if c, err := x.Preview(write); err != nil || len(c) != 3 {
				b.Fatal(c, err)
			}
		}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			var before growth
			for _, n := range clusterSizes {
				if testing.Short() && n > 100_000 {
					continue // is there to be measured
				}
				b.Run(fmt.Sprint(n), func(b *testing.B) {
					x := indexOf(n)
					before.loop(b, n, func() { bc.ask(b, x) })
				})
			}
		})
	}
}

var (
	clusters = map[int]Snapshot{}
	indexes  = map[int]*Index{}
)

// clusterOf and indexOf keep what the benchmarks of one size share.
func clusterOf(n int) Snapshot {
	if clusters[n].ClusterRoles == nil {
		clusters[n] = cluster(n)
	}
	return clusters[n]
}

func indexOf(n int) *Index {
	if indexes[n] == nil {
		indexes[n] = NewIndex(clusterOf(n), Options{})
	}
	return indexes[n]
}

func BenchmarkNewIndex(b *testing.B) {
	var before growth
	for _, n := range clusterSizes {
		if testing.Short() && n > 100_000 {
			continue // is there to be measured
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := clusterOf(n)
			before.loop(b, n, func() { NewIndex(s, Options{}) })
			all := perOp(func() { _, _ = PlanAll(s, Options{}) })
			b.ReportMetric(float64(before.best)/float64(all), "x-PlanAll")
			b.ReportMetric(bytesOf(s)/float64(len(s.ClusterRoles)), "bytes/object")
		})
	}
}

// bytesOf is the memory that an Index keeps beyond the snapshot, after a selector has asked for a label that
// none asked for before.
func bytesOf(s Snapshot) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := NewIndex(s, Options{})
	y, _ := x.With(snapshotOf(sum("late", "", "late")))
	_, _ = y.Plan(Key("late"))
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(x)
	runtime.KeepAlive(y)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

func reportRatio(b *testing.B, rules int, floor func()) {
	b.Helper()
	per := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(per/float64(rules), "ns/rule")
	if floor != nil {
		least := float64(perOp(floor).Nanoseconds())
		b.ReportMetric(least/float64(rules), "floor-ns/rule")
		b.ReportMetric(per/least, "x-floor")
	}
}
