package drain_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/largecluster"
)

// fleets are the numbers of nodes of a benchmark; with -short, the smallest of them.
func fleets() []int {
	if testing.Short() {
		return []int{625}
	}
	return []int{625, 1250, 2500, 5000}
}

// benchmarkPlans plans the upgrade of all nodes of the cluster of each size. The ratio is to the cluster of half the size.
func benchmarkPlans(b *testing.B, o *drain.WaveOptions, snapshot func(nodes int) disruption.Snapshot) {
	var before float64
	for _, nodes := range fleets() {
		s := snapshot(nodes)
		names := nodeNames(nodes)
		b.Run(fmt.Sprintf("nodes=%d,pods=%d,budgets=%d", nodes, len(s.Pods), len(s.Budgets)), func(b *testing.B) {
			x := disruption.NewIndex(s, disruption.Options{})
			b.ReportAllocs()
			waves := 0
			for b.Loop() {
				plan, _, _ := drain.Waves(x, names, *o)
				// Where two pods of a workload meet, a drain takes two rounds.
				if len(plan.Waves) == 0 || len(plan.Blocked) > nodes/100 {
					b.Fatalf("%d waves, %d nodes blocked", len(plan.Waves), len(plan.Blocked))
				}
				waves = len(plan.Waves)
			}
			took := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(float64(waves), "waves")
			b.ReportMetric(took, "s/plan")
			if before > 0 {
				b.ReportMetric(took/before, "ratio")
			}
			before = took
		})
	}
}

// threePods is a cluster with three pods on each node: of one workload, whose pods are far from each other, of three next to
// each other, or all of them under one budget.
func threePods(nodes int, shared bool, at largecluster.Spread) disruption.Snapshot {
	s := drainCluster(nodes, shared, at)
	kept := s.Pods[:0]
	for i, p := range s.Pods {
		if i%30 < 3 {
			kept = append(kept, p)
		}
	}
	s.Pods = kept
	for _, r := range s.ReplicaSets {
		r.Spec.Replicas = ptr.To(int32(3))
	}
	return s
}

// BenchmarkWavesOfSmallNodes plans the upgrade of all nodes of a cluster, with three pods on each.
func BenchmarkWavesOfSmallNodes(b *testing.B) {
	for _, tc := range []struct {
		name    string
		at      largecluster.Spread
		allowed int // of one budget over all pods, if it is not 0
		o       drain.WaveOptions
	}{
		{name: "a budget for each workload, waves of 20", at: far, o: drain.WaveOptions{MaxNodes: 20}},
		{name: "neighbours share budgets, waves of 20", at: near, o: drain.WaveOptions{MaxNodes: 20}},
		{name: "neighbours share budgets, two rounds", at: near, o: drain.WaveOptions{Rounds: 2}},
		{name: "one budget that lets 60 pods go, waves of 20", at: far, allowed: 60, o: drain.WaveOptions{MaxNodes: 20}},
		{name: "one budget that lets 61 pods go", at: far, allowed: 61},
		{name: "one budget that lets 40 pods go, two rounds", at: far, allowed: 40, o: drain.WaveOptions{Rounds: 2}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			benchmarkPlans(b, &tc.o, func(nodes int) disruption.Snapshot {
				s := threePods(nodes, tc.allowed > 0, tc.at)
				if tc.allowed > 0 {
					s.Budgets[0].Spec.MaxUnavailable = ptr.To(intstr.FromInt(tc.allowed))
				}
				return s
			})
		})
	}
}
