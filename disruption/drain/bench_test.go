package drain_test

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
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/largecluster"
)

// drainCluster is largecluster.Workloads.
func drainCluster(nodes int, shared bool, at largecluster.Spread) disruption.Snapshot {
	c := largecluster.Workloads(nodes, shared, at)
	return disruption.Snapshot{Now: scenarioTime, Pods: c.Pods, Budgets: c.Budgets, ReplicaSets: c.ReplicaSets}
}

// onePodWorkloads has so many workloads of one pod each, so many of them on a node, under one budget that lets one pod
// go.
func onePodWorkloads(pods, perNode int) disruption.Snapshot {
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "all", Generation: 1}
	s := disruption.Snapshot{Now: scenarioTime, Budgets: []*policyv1.PodDisruptionBudget{{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: &metav1.LabelSelector{}, MaxUnavailable: ptr.To(intstr.FromInt32(1))}}}}
	for i := range pods {
		meta := metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("app-", i), UID: types.UID(fmt.Sprint("uid-", i))}
		s.StatefulSets = append(s.StatefulSets, &appsv1.StatefulSet{ObjectMeta: meta})
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: meta.Name + "-0", UID: meta.UID + "-0", Labels: map[string]string{"app": meta.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: meta.Name, UID: meta.UID, Controller: ptr.To(true)}}}}
		p.Spec.NodeName = fmt.Sprint("node-", i/perNode)
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		s.Pods = append(s.Pods, p)
	}
	return s
}

// oneSet has the pods of one workload on one node, under a budget that lets one go. One more has ended.
func oneSet(pods int, kind string) disruption.Snapshot {
	s := onePodWorkloads(pods+1, pods+1)
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "all", UID: "uid-all"}
	s.StatefulSets = []*appsv1.StatefulSet{{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To(int32(pods))}}}
	s.ReplicaSets = []*appsv1.ReplicaSet{{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(int32(pods))}}}
	for i, p := range s.Pods {
		p.Name = fmt.Sprint("all-", i)
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: meta.Name, UID: meta.UID, Controller: ptr.To(true)}}
	}
	ended := s.Pods[pods]
	ended.Spec.NodeName, ended.Status.Phase, ended.Status.Conditions[0].Status = "elsewhere", corev1.PodFailed, corev1.ConditionFalse
	return s
}

// benchmarkDrains drains the nodes, each alone, on the snapshot of each size. The ratio is to half the size.
func benchmarkDrains(b *testing.B, snapshot func(pods int) disruption.Snapshot, nodes func(pods int) int) {
	var before float64
	for _, pods := range []int{500, 1000, 2000, 4000, 8000} {
		s := snapshot(pods)
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			x := disruption.NewIndex(s, disruption.Options{})
			b.ReportAllocs()
			for b.Loop() {
				evicted := 0
				for n := range nodes(pods) {
					d, _ := play(x, fmt.Sprint("node-", n), drain.Options{})
					if d.Outcome != drain.InRounds {
						b.Fatalf("%v", d.Outcome)
					}
					evicted += len(d.Rounds)
				}
				if evicted != pods {
					b.Fatalf("%d of %d pods", evicted, pods)
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
}

// BenchmarkDrainAllNodesOfOneBudget drains nodes of ten pods, each alone, under one budget of all workloads.
func BenchmarkDrainAllNodesOfOneBudget(b *testing.B) {
	benchmarkDrains(b, func(pods int) disruption.Snapshot { return onePodWorkloads(pods, 10) }, func(pods int) int { return pods / 10 })
}

// BenchmarkDrainOneNodePodByPod drains a node that has all pods, one in each round.
func BenchmarkDrainOneNodePodByPod(b *testing.B) {
	one := func(int) int { return 1 }
	b.Run("workloads of one pod", func(b *testing.B) {
		benchmarkDrains(b, func(pods int) disruption.Snapshot { return onePodWorkloads(pods, pods) }, one)
	})
	for _, kind := range []string{"ReplicaSet", "StatefulSet"} {
		b.Run("one "+kind, func(b *testing.B) {
			benchmarkDrains(b, func(pods int) disruption.Snapshot { return oneSet(pods, kind) }, one)
		})
	}
}
