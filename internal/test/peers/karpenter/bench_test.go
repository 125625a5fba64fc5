package karpenter

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/peers/autoscaler"
	"github.com/purekube/purekube/internal/test/peers/verdicts"
)

// workloads of 30 pods each have a budget, in namespaces of 100 workloads; 30 pods are on each node.
func large(budgets int) disruption.Snapshot {
	s := disruption.Snapshot{Now: verdicts.Now}
	for i := range budgets {
		meta := metav1.ObjectMeta{Namespace: fmt.Sprint("ns-", i/100), Name: fmt.Sprint("app-", i),
			UID: types.UID(fmt.Sprint("uid-", i)), Generation: 1}
		labels := map[string]string{"app": meta.Name}
		s.ReplicaSets = append(s.ReplicaSets, &appsv1.ReplicaSet{ObjectMeta: meta,
			Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](30)}})
		b := &policyv1.PodDisruptionBudget{ObjectMeta: meta}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(3))
		b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 3, CurrentHealthy: 30,
			DesiredHealthy: 27, ExpectedPods: 30}
		s.Budgets = append(s.Budgets, b)
		for n := range 30 {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: fmt.Sprint(meta.Name, "-", n),
				Labels: labels,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: meta.Name,
					UID: meta.UID, Controller: ptr.To(true)}}}}
			p.Spec.NodeName = fmt.Sprint("node-", (i+n*37)%budgets)
			p.Status.Phase = corev1.PodRunning
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			s.Pods = append(s.Pods, p)
		}
	}
	return s
}

// BenchmarkPods asks both about each of some pods alone. The ratio is karpenter's time for one pod to ours.
func BenchmarkPods(b *testing.B) {
	for _, budgets := range []int{50, 500, 5000} {
		b.Run(fmt.Sprintf("budgets=%d,pods=%d", budgets, 30*budgets), func(b *testing.B) {
			s := large(budgets)
			l, x := limits(b, s.Budgets), disruption.NewIndex(s, disruption.Options{})
			i := 0
			var karpenter, purekube time.Duration
			for b.Loop() {
				pod := s.Pods[i*7919%len(s.Pods)]
				i++
				began := time.Now()
				ok := canEvict(l, pod)
				karpenter += time.Since(began)
				began = time.Now()
				e, _ := x.CheckEviction(verdicts.KeyOf(pod), disruption.AsWritten)
				purekube += time.Since(began)
				if ok != e.Verdict.Allowed() {
					b.Fatalf("%v: %t and %v", verdicts.KeyOf(pod), ok, e.Verdict)
				}
			}
			b.ReportMetric(float64(karpenter.Nanoseconds())/float64(b.N), "karpenter-ns/pod")
			b.ReportMetric(float64(purekube.Nanoseconds())/float64(b.N), "purekube-ns/pod")
			b.ReportMetric(float64(karpenter)/float64(purekube), "ratio")
		})
	}
}

// BenchmarkNodes asks karpenter about the pods of a node together, each alone; the tracker and drain.Pods whether all
// of them may go, from the written status; and drain.Node to drain the node. They take turns. A ratio is to
// drain.Pods.
func BenchmarkNodes(b *testing.B) {
	for _, budgets := range []int{50, 500, 5000} {
		b.Run(fmt.Sprintf("budgets=%d,pods=%d", budgets, 30*budgets), func(b *testing.B) {
			s := large(budgets)
			on := map[string][]*corev1.Pod{}
			names := map[string][]types.NamespacedName{}
			for _, p := range s.Pods {
				on[p.Spec.NodeName] = append(on[p.Spec.NodeName], p)
				names[p.Spec.NodeName] = append(names[p.Spec.NodeName], verdicts.KeyOf(p))
			}
			all, err := autoscaler.NewCounting(s.Budgets)
			if err != nil {
				b.Fatal(err)
			}
			l, x := limits(b, s.Budgets), disruption.NewIndex(s, disruption.Options{})
			i := 0
			var karpenter, tracker, pods, node time.Duration
			for b.Loop() {
				name := fmt.Sprint("node-", i%budgets)
				i++
				began := time.Now()
				canEvict(l, on[name]...)
				karpenter += time.Since(began)

				began = time.Now()
				_, together := all.CanRemovePods(on[name])
				tracker += time.Since(began)

				began = time.Now()
				evictions, _, _ := drain.Pods(x, names[name], drain.Options{Budgets: drain.AsWritten})
				pods += time.Since(began)
				refused := slices.ContainsFunc(evictions, func(e disruption.Eviction) bool { return !e.Verdict.Allowed() })
				if refused == together {
					b.Fatalf("%s: %t and %t", name, together, !refused)
				}

				began = time.Now()
				_, _, _ = drain.Node(x, name, drain.Options{})
				node += time.Since(began)
			}
			b.ReportMetric(float64(karpenter.Nanoseconds())/float64(b.N), "karpenter-ns/node")
			b.ReportMetric(float64(tracker.Nanoseconds())/float64(b.N), "tracker-ns/node")
			b.ReportMetric(float64(pods.Nanoseconds())/float64(b.N), "drain.Pods-ns/node")
			b.ReportMetric(float64(node.Nanoseconds())/float64(b.N), "drain.Node-ns/node")
			b.ReportMetric(float64(karpenter)/float64(pods), "karpenter/Pods")
			b.ReportMetric(float64(tracker)/float64(pods), "tracker/Pods")
			b.ReportMetric(float64(karpenter)/float64(node), "karpenter/Node")
			b.ReportMetric(float64(tracker)/float64(node), "tracker/Node")
		})
	}
}
