package disruption

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/test/largecluster"
)

// benchCluster is largecluster.Budgets.
func benchCluster(budgets, namespaces int) Snapshot {
	c := largecluster.Budgets(budgets, namespaces)
	return Snapshot{Now: largecluster.Now, Pods: c.Pods, Budgets: c.Budgets, ReplicaSets: c.ReplicaSets, Deployments: c.Deployments}
}

// floor is the least that anything could do: read each pod's labels and readiness once.
func floor(s Snapshot) (n int) {
	for _, p := range s.Pods {
		if p.Labels["app.kubernetes.io/name"] != "" && podstate.Ready(p) {
			n++
		}
	}
	return n
}

// BenchmarkPlanAll reports how many times one pass over the pods it costs: the fastest of its runs by
// the fastest of such passes, since whatever else the machine does disturbs the longer of the two more.
func BenchmarkPlanAll(b *testing.B) {
	for _, size := range []struct{ budgets, namespaces int }{
		{50, 1}, {500, 5}, {500, 1}, {5000, 50}, {5000, 1},
	} {
		s := benchCluster(size.budgets, size.namespaces)
		b.Run(fmt.Sprintf("budgets=%d/pods=%d/namespaces=%d", size.budgets, len(s.Pods), size.namespaces), func(b *testing.B) {
			if outcomes, err := PlanAll(s, Options{}); len(outcomes) != 0 || err != nil {
				b.Fatalf("the cluster is not at rest: %v, %v", outcomes, err)
			}
			pass, plan := time.Hour, time.Hour
			for range 10 {
				start := time.Now()
				if floor(s) != len(s.Pods) {
					b.Fatal("some pods are not ready")
				}
				pass = min(pass, time.Since(start))
			}
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				_, _ = PlanAll(s, Options{})
				plan = min(plan, time.Since(start))
			}
			b.ReportMetric(float64(pass.Nanoseconds()), "floor-ns")
			b.ReportMetric(float64(plan)/float64(pass), "x-floor")
		})
	}
}

// BenchmarkPlan is what one budget costs among many.
func BenchmarkPlan(b *testing.B) {
	s := benchCluster(500, 5)
	key := purekube.Key{Kind: budgetKind, Namespace: "team-0", Name: "app-0"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Plan(s, key, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNeverAllowed reads all budgets after a change of a workload: no scale that was added up before is used
// again.
func BenchmarkNeverAllowed(b *testing.B) {
	several := Snapshot{Now: now}
	for i := range 1_000 {
		name := fmt.Sprint("db-", i)
		several.StatefulSets = append(several.StatefulSets, statefulSet(name, ptr.To(int32(1))))
		several.Pods = append(several.Pods, pod(name+"-0", by("apps/v1", "StatefulSet", name)))
	}
	for i := range 300 {
		several.Budgets = append(several.Budgets, budget(named(fmt.Sprint("budget-", i)), minAvailable("100%")))
	}
	for name, s := range map[string]Snapshot{
		"5000 budgets": benchCluster(5_000, 20), "300 budgets over 1000 controllers": several,
	} {
		b.Run(name, func(b *testing.B) {
			x := NewIndex(s, Options{})
			for b.Loop() {
				x, _ = x.With(Snapshot{StatefulSets: []*appsv1.StatefulSet{statefulSet("other", nil)}})
				_, err := x.NeverAllowed()
				require.NoError(b, err)
			}
		})
	}
}
