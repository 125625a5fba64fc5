package rbacaggregate

import (
	"fmt"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
)

var sizes = []int{1_000, 4_000, 16_000}

func numbered(i int) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs:     []string{"get", "list", "watch"},
		APIGroups: []string{fmt.Sprintf("group-%d.example.com", i/10)},
		Resources: []string{fmt.Sprintf("resources%d", i), fmt.Sprintf("resources%d/status", i)},
	}
}

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

// perOp runs once more, outside of the measurement, to relate to.
func perOp(op func()) time.Duration {
	const times = 5
	start := time.Now()
	for range times {
		op()
	}
	return time.Since(start) / times
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
				if e, err := Explain(s, "top", Options{}); err != nil || len(e.Rules) != n {
					b.Fatal(len(e.Rules), err)
				}
			}
			reportRatio(b, n, nil)
		})
	}
}

// What a webhook asks, and what an informer's handler asks, in a cluster of 1,601 roles.
func BenchmarkPreview(b *testing.B) {
	s := Snapshot{ClusterRoles: append(bundle(16_000, "is"), sum("sum", "", "is"))}
	changed := plain("new", "is", numbered(99_999))
	b.ReportAllocs()
	for b.Loop() {
		if c, err := Preview(s, changed, Options{}); err != nil || len(c) != 1 {
			b.Fatal(c, err)
		}
	}
}

func BenchmarkAffected(b *testing.B) {
	s := Snapshot{ClusterRoles: append(bundle(16_000, "is"), sum("sum", "", "is"))}
	oldObj, newObj := plain("new", "is"), plain("new", "is", numbered(99_999))
	b.ReportAllocs()
	for b.Loop() {
		if len(AffectedByClusterRole(s, oldObj, newObj, Options{})) != 1 {
			b.Fatal("another answer")
		}
	}
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
