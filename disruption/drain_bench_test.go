package disruption_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
)

// workloadNodes says on which of the nodes a workload's pods run.
type workloadNodes func(workload, pod, nodes int) int

// drainCluster has workloads of 30 pods, 100 to a namespace, and as many nodes, with 30 pods each. Each
// workload has a budget that lets one pod go, or all of a namespace share one.
func drainCluster(nodes int, shared bool, at workloadNodes) disruption.Snapshot {
	s := disruption.Snapshot{Now: scenarioTime}
	budget := func(meta metav1.ObjectMeta, labels map[string]string, expected int32) {
		s.Budgets = append(s.Budgets, &policyv1.PodDisruptionBudget{
			ObjectMeta: meta,
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, MaxUnavailable: ptr.To(intstr.FromInt32(1))},
			Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 1, CurrentHealthy: expected, DesiredHealthy: expected - 1, ExpectedPods: expected,
				Conditions: []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue, Reason: policyv1.SufficientPodsReason, ObservedGeneration: 1}}},
		})
	}
	if shared {
		budget(metav1.ObjectMeta{Namespace: "ns-0", Name: "all", Generation: 1}, nil, int32(30*nodes))
	}
	for i := range nodes {
		meta := metav1.ObjectMeta{Namespace: fmt.Sprint("ns-", i/100), Name: fmt.Sprint("app-", i), UID: types.UID(fmt.Sprint("uid-", i)), Generation: 1}
		if shared {
			meta.Namespace = "ns-0"
		}
		labels := map[string]string{"app": meta.Name, "tier": fmt.Sprint(i % 3)}
		s.ReplicaSets = append(s.ReplicaSets, &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](30)}})
		if !shared {
			budget(meta, labels, 30)
		}
		for n := range 30 {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: fmt.Sprint(meta.Name, "-", n), UID: types.UID(fmt.Sprint("uid-", i, "-", n)), Labels: labels,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: meta.Name, UID: meta.UID, Controller: ptr.To(true)}}}}
			p.Spec.NodeName = fmt.Sprint("node-", at(i, n, nodes))
			p.Status.Phase = corev1.PodRunning
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			s.Pods = append(s.Pods, p)
		}
	}
	return s
}

// BenchmarkDrainNodes drains nodes of a cluster, each alone; each has 30 pods. The ratio is to the cluster
// of a tenth of the size. A budget of all pods costs its controllers in each of 30 rounds, and is not measured at
// the largest size.
func BenchmarkDrainNodes(b *testing.B) {
	spread := func(i, n, nodes int) int { return (i + 37*n) % nodes }
	threes := func(i, n, nodes int) int { return (i + n%10) % nodes }
	for _, tc := range []struct {
		name   string
		at     workloadNodes
		shared bool
		want   disruption.DrainOutcome
	}{
		{name: "one pod of each budget", at: spread, want: disruption.DrainsNow},
		{name: "three pods of each budget", at: threes, want: disruption.DrainsInRounds},
		{name: "one budget of all pods", at: spread, shared: true, want: disruption.DrainsInRounds},
	} {
		b.Run(tc.name, func(b *testing.B) {
			var before float64
			for _, nodes := range []int{50, 500, 5000} {
				if tc.shared && nodes > 500 {
					continue
				}
				s := drainCluster(nodes, tc.shared, tc.at)
				b.Run(fmt.Sprintf("nodes=%d,pods=%d,budgets=%d", nodes, len(s.Pods), len(s.Budgets)), func(b *testing.B) {
					x := disruption.NewIndex(s, disruption.Options{})
					b.ReportAllocs()
					drained := 0
					for b.Loop() {
						d, _ := x.DrainNode(fmt.Sprint("node-", 101*drained%nodes), disruption.DrainOptions{})
						if d.Outcome != tc.want {
							b.Fatalf("%v", d.Outcome)
						}
						drained++
					}
					perNode := b.Elapsed().Seconds() / float64(drained)
					b.ReportMetric(1000*perNode, "s/1000nodes")
					if before > 0 {
						b.ReportMetric(perNode/before, "ratio")
					}
					before = perNode
				})
			}
		})
	}
}
