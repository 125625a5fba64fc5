package drain_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
)

// withRoom gives each pod a processor, and returns nodes that have room for so many pods more than the three that run there.
func withRoom(s disruption.Snapshot, nodes int, more int64) []*corev1.Node {
	for _, p := range s.Pods {
		p.Spec.Containers = []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(1, resource.DecimalSI)}}}}
	}
	var all []*corev1.Node
	for i := range nodes {
		all = append(all, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{
				corev1.ResourcePods: *resource.NewQuantity(110, resource.DecimalSI), corev1.ResourceCPU: *resource.NewQuantity(3+more, resource.DecimalSI)},
		}})
	}
	return all
}

// The pods of a workload are far from each other, or on neighbours.
func far(i, n, nodes int) int  { return (i + 37*n) % nodes }
func near(i, n, nodes int) int { return (i + n) % nodes }

// nodeNames are the names of so many nodes.
func nodeNames(nodes int) []string {
	var names []string
	for i := range nodes {
		names = append(names, fmt.Sprint("node-", i))
	}
	return names
}

// BenchmarkEachNodeWithNodes asks about each node of a cluster alone, with three pods on each. In a full cluster, no pod finds a
// node.
func BenchmarkEachNodeWithNodes(b *testing.B) {
	for _, tc := range []struct {
		name string
		more int64
	}{{"room for one pod on each node", 1}, {"no room", 0}} {
		b.Run(tc.name, func(b *testing.B) {
			var before float64
			for _, nodes := range fleets() {
				b.Run(fmt.Sprint("nodes=", nodes), func(b *testing.B) {
					s := threePods(nodes, false, far)
					o := drain.Options{Nodes: withRoom(s, nodes, tc.more)}
					var names []string
					for _, n := range o.Nodes {
						names = append(names, n.Name)
					}
					x := disruption.NewIndex(s, disruption.Options{})
					for b.Loop() {
						drains, err := drain.Each(x, names, o)
						require.NoError(b, err)
						for _, d := range drains {
							if len(d.Pending) > 0 == (tc.more > 0) {
								b.Fatal(d)
							}
						}
					}
					took := b.Elapsed().Seconds() / float64(b.N)
					b.ReportMetric(took, "s/cluster")
					if before > 0 {
						b.ReportMetric(took/before, "ratio")
					}
					before = took
				})
			}
		})
	}
}

// BenchmarkWavesWithNodes is BenchmarkWavesOfSmallNodes with nodes.
func BenchmarkWavesWithNodes(b *testing.B) {
	for _, tc := range []struct {
		name string
		more int64
		o    drain.WaveOptions
	}{
		{name: "room for three pods on each node, waves of 20", more: 3, o: drain.WaveOptions{MaxNodes: 20}},
		{name: "room for one pod on each node, waves of 20, two rounds", more: 1, o: drain.WaveOptions{MaxNodes: 20, Rounds: 2}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			benchmarkPlans(b, &tc.o, func(nodes int) disruption.Snapshot {
				s := threePods(nodes, false, far)
				tc.o.Nodes = withRoom(s, nodes, tc.more)
				return s
			})
		})
	}
}

// BenchmarkBlockers asks what is in the way of a fleet in which each twentieth workload is stuck, and with it three nodes each.
func BenchmarkBlockers(b *testing.B) {
	var before float64
	for _, nodes := range []int{300, 600, 1200, 2400} {
		b.Run(fmt.Sprint("nodes=", nodes), func(b *testing.B) {
			s := threePods(nodes, false, far)
			for i, budget := range s.Budgets {
				if i%20 == 0 {
					budget.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(0))
				}
			}
			o := drain.Options{Nodes: withRoom(s, nodes, 1)}
			var names []string
			for _, n := range o.Nodes {
				names = append(names, n.Name)
			}
			x := disruption.NewIndex(s, disruption.Options{})
			drains, err := drain.Each(x, names, o)
			require.NoError(b, err)
			var blockers []drain.Blocker
			for b.Loop() {
				blockers = drain.Blockers(x, drains, o)
			}
			b.ReportMetric(float64(len(blockers)), "blockers")
			took := b.Elapsed().Seconds() / float64(b.N)
			if before > 0 {
				b.ReportMetric(took/before, "ratio")
			}
			before = took
		})
	}
}
