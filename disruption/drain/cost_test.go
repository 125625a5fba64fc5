package drain_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
)

// A plan simulates the pods of a cluster a few times. The bounds are what it took when the test was written (2026-11-29): a
// planner that forgets something of its simulations, or asks again in vain, takes more.
func TestWavesSimulateFewPods(t *testing.T) {
	const nodes = 60
	allows := func(pods int) func(s *disruption.Snapshot) {
		return func(s *disruption.Snapshot) { s.Budgets[0].Spec.MaxUnavailable = ptr.To(intstr.FromInt(pods)) }
	}
	for _, tc := range []struct {
		name   string
		shared bool // one budget selects all pods
		at     func(i, n, nodes int) int
		change func(s *disruption.Snapshot)
		o      drain.WaveOptions
		room   int64 // of each node for more pods; without it, there are no nodes
		// waves is how many there are, and looks how often the 180 pods are looked at.
		waves, looks int
	}{
		{name: "a budget for each workload", at: far, waves: 4, looks: 879},
		{name: "a budget for each workload, waves of 20", at: far, o: drain.WaveOptions{MaxNodes: 20}, waves: 4, looks: 879},
		{name: "neighbours share budgets", at: near, waves: 5, looks: 849},
		{name: "neighbours share budgets, two rounds", at: near, o: drain.WaveOptions{Rounds: 2}, waves: 2, looks: 1923},
		{name: "neighbours share budgets, two rounds, waves of 20", at: near, o: drain.WaveOptions{Rounds: 2, MaxNodes: 20}, waves: 4, looks: 1905},
		{name: "one budget", shared: true, at: far, change: allows(7), waves: 30, looks: 807},
		{name: "one budget, waves of 2", shared: true, at: far, change: allows(7), o: drain.WaveOptions{MaxNodes: 2}, waves: 30, looks: 720},
		{name: "one budget, two rounds", shared: true, at: far, change: allows(7), o: drain.WaveOptions{Rounds: 2}, waves: 15, looks: 2055},
		{name: "one budget, any number of rounds", shared: true, at: far, change: allows(7), o: drain.WaveOptions{Rounds: -1}, waves: 1, looks: 1269},
		{name: "one budget that refuses everything", shared: true, at: far, change: allows(0), waves: 0, looks: 363},
		{name: "one budget that refuses everything, two rounds", shared: true, at: far, change: allows(0), o: drain.WaveOptions{Rounds: 2}, waves: 0, looks: 720},
		{name: "one workload in twelve is stuck, waves of 2", at: far, change: stuck, o: drain.WaveOptions{MaxNodes: 2}, waves: 23, looks: 645},
		{name: "one workload in twelve is stuck, waves of 2, two rounds", at: far, change: stuck, o: drain.WaveOptions{MaxNodes: 2, Rounds: 2}, waves: 23, looks: 1146},
		{name: "one workload in twelve is stuck, room for three pods, waves of 2, two rounds", at: far, change: stuck, room: 3, o: drain.WaveOptions{MaxNodes: 2, Rounds: 2}, waves: 23, looks: 1237},
		{name: "a pod in nine needs a flag, waves of 2", at: far, change: bare, o: drain.WaveOptions{MaxNodes: 2}, waves: 20, looks: 600},
		{name: "a pod in nine needs a flag, waves of 2, two rounds", at: far, change: bare, o: drain.WaveOptions{MaxNodes: 2, Rounds: 2}, waves: 20, looks: 960},
		{name: "a pod in nine fits nowhere, waves of 2", at: far, change: unfit, room: 1, o: drain.WaveOptions{MaxNodes: 2}, waves: 20, looks: 825},
		{name: "a surplus", at: far, change: surplus, waves: 3, looks: 804},
		{name: "a surplus, two rounds", at: near, change: surplus, o: drain.WaveOptions{Rounds: 2}, waves: 1, looks: 1269},
		{name: "room for three pods", at: far, room: 3, waves: 7, looks: 1575},
		{name: "room for a pod, waves of 20, two rounds", at: far, room: 1, o: drain.WaveOptions{MaxNodes: 20, Rounds: 2}, waves: 4, looks: 5479},
		{name: "neighbours share budgets, room for a pod, two rounds", at: near, room: 1, o: drain.WaveOptions{Rounds: 2}, waves: 5, looks: 6615},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := threePods(nodes, tc.shared, tc.at)
			if tc.change != nil {
				tc.change(&s)
			}
			looks := 0
			if tc.room > 0 {
				tc.o.Nodes = withRoom(s, nodes, tc.room)
			}
			tc.o.SkipPod = func(*corev1.Pod) bool { looks++; return false }
			plan, _, err := drain.Waves(disruption.NewIndex(s, disruption.Options{}), nodeNames(nodes), tc.o)
			require.NoError(t, err)
			require.LessOrEqual(t, len(plan.Waves), tc.waves)
			require.LessOrEqual(t, looks, tc.looks)
		})
	}
}

// stuck makes the budget of one workload in twelve refuse everything.
func stuck(s *disruption.Snapshot) {
	for i := 0; i < len(s.Budgets); i += 12 {
		s.Budgets[i].Spec.MaxUnavailable = ptr.To(intstr.FromInt32(0))
	}
}

// bare leaves pods on some nodes without a controller.
func bare(s *disruption.Snapshot) {
	for i := 0; i < len(s.Pods); i += 9 {
		s.Pods[i].OwnerReferences = nil
	}
}

// unfit lets some pods fit on no node.
func unfit(s *disruption.Snapshot) {
	for i := 0; i < len(s.Pods); i += 9 {
		s.Pods[i].Spec.NodeSelector = map[string]string{"no": "node"}
	}
}

// surplus gives each ReplicaSet a pod more than it wants.
func surplus(s *disruption.Snapshot) {
	for _, set := range s.ReplicaSets {
		set.Spec.Replicas = ptr.To(int32(2))
	}
}
