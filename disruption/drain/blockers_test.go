package drain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
)

// said is a blocker as people read it.
func said(b Blocker) string {
	lines := []string{fmt.Sprintf("%s: stops %s, alone %s", b.Message, strings.Join(b.Nodes, " "), strings.Join(b.Alone, " "))}
	for _, fix := range b.Fixes {
		line := fmt.Sprintf("%s, %d of %d drain", fix, len(fix.Frees), fix.Played)
		if len(fix.Frees) > 0 {
			line += fmt.Sprintf(" in %d rounds", fix.Rounds)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n  ")
}

// stuckIn has two pods of web under a budget that lets one pod go, and beside the first one, a pod of StatefulSet db that does not end.
func stuckIn(s disruption.Snapshot) disruption.Snapshot {
	s.Now, s.Budgets = now, []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}
	s.ReplicaSets = []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))}
	s.Pods = []*corev1.Pod{
		pod("db-0", by("apps/v1", "StatefulSet", "db"), on("n0"), unready, deletedBy(time.Hour)),
		pod("web-0", by("apps/v1", "ReplicaSet", "rs"), on("n0")), pod("web-1", by("apps/v1", "ReplicaSet", "rs"), on("n1")),
	}
	return s
}

// waiting has three pods of StatefulSet db, the second of which is not ready, under a budget that needs two.
func waiting(policy appsv1.PodManagementPolicyType) disruption.Snapshot {
	of, set := by("apps/v1", "StatefulSet", "db"), statefulSet("db", ptr.To(int32(3)))
	set.Spec.PodManagementPolicy = policy
	return disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2"))}, StatefulSets: []*appsv1.StatefulSet{set},
		Pods: []*corev1.Pod{pod("db-0", of, on("n0")), pod("db-1", of, on("n1"), unready), pod("db-2", of, on("n2"))}}
}

// Each cause, with each change that helps. What is played follows from the numbers: three pods of web, one on each node.
func TestBlockers(t *testing.T) {
	readyStuck := stuckIn(disruption.Snapshot{StatefulSets: []*appsv1.StatefulSet{statefulSet("db", ptr.To(int32(1)))}})
	readyStuck.Pods[0] = pod("db-0", by("apps/v1", "StatefulSet", "db"), on("n0"), deletedBy(time.Hour))
	notReady := func(s disruption.Snapshot, which ...int) disruption.Snapshot {
		for _, i := range which {
			s.Pods[i] = pod(s.Pods[i].Name, by("apps/v1", "ReplicaSet", "rs"), on(fmt.Sprint("n", i)), wants("cpu", "1"), unready)
		}
		return s
	}
	with := func(s disruption.Snapshot, p *corev1.Pod) disruption.Snapshot {
		s.Pods = append(s.Pods, p)
		return s
	}
	for _, tc := range []struct {
		name, reason string
		s            disruption.Snapshot
		o            Options
		want         []string
	}{
		{
			name: "none in the way", reason: "a node that drains has no cause", s: threeNodes(maxUnavailable("1")),
		},
		{
			name: "maxUnavailable 0", reason: "one is enough, since each node has one pod", s: threeNodes(maxUnavailable("0")),
			want: []string{"budget shop/web (maxUnavailable 0) never allows a disruption: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with maxUnavailable 1, 3 of 3 drain in 1 rounds"},
		},
		{
			name: "as many as there are", reason: "a smaller number, or a replica more", s: threeNodes(minAvailable("3")),
			want: []string{"budget shop/web (minAvailable 3) never allows a disruption: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with minAvailable 2, 3 of 3 drain in 1 rounds\n" +
				"  with 4 replicas of ReplicaSet/shop/rs, 3 of 3 drain in 1 rounds"},
		},
		{
			name: "a broken pod", reason: "web-1 may go, since the budget expects it not to be healthy; a replica more is expected as well",
			s: notReady(threeNodes(maxUnavailable("1")), 1),
			want: []string{"budget shop/web (maxUnavailable 1) is short of 1 healthy pod: stops n0 n2, alone n0 n2\n" +
				"  with maxUnavailable 2, 2 of 2 drain in 1 rounds\n" +
				"  with 1 more pod healthy (shop/web-1), 2 of 2 drain in 1 rounds"},
		},
		{
			name: "broken pods stay", reason: "IfHealthyBudget keeps them while the budget is short", s: notReady(threeNodes(maxUnavailable("1")), 0, 1),
			want: []string{"budget shop/web (maxUnavailable 1) is short of 2 healthy pods: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with maxUnavailable 3, 3 of 3 drain in 1 rounds\n" +
				"  with 2 more pods healthy (shop/web-0, shop/web-1), 3 of 3 drain in 1 rounds\n" +
				"  with unhealthyPodEvictionPolicy AlwaysAllow, 2 of 3 drain in 1 rounds"},
		},
		{
			name: "a flag", reason: "the budget is hidden until the flag is there",
			s: with(threeNodes(maxUnavailable("0")), pod("agent", by("apps/v1", "DaemonSet", "agent"), on("n1"), labelled(map[string]string{"app": "agent"}))),
			want: []string{
				"budget shop/web (maxUnavailable 0) never allows a disruption: stops n0 n2, alone n0 n2\n" +
					"  with maxUnavailable 1, 2 of 2 drain in 1 rounds",
				"cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): stops n1, alone n1\n" +
					"  with --ignore-daemonsets, 0 of 1 drain",
			},
		},
		{
			name: "a stuck pod", reason: "its finalizer is not removed",
			s: with(threeNodes(maxUnavailable("1")), pod("stuck", on("n1"), labelled(map[string]string{"app": "other"}), func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(ago(time.Hour)) }, by("apps/v1", "ReplicaSet", "gone"))),
			want: []string{"pod shop/stuck: " + stuckText + ": stops n1, alone n1\n" +
				"  without that pod, 1 of 1 drain in 1 rounds"},
		},
		{
			name: "a stuck pod of a StatefulSet", reason: "the pod that takes its place is not ready, and the budget goes on expecting it",
			s: stuckIn(disruption.Snapshot{StatefulSets: []*appsv1.StatefulSet{statefulSet("db", ptr.To(int32(1)))}}),
			want: []string{"budget shop/web (maxUnavailable 1) is short of 1 healthy pod: stops n0 n1, alone n1\n" +
				"  with maxUnavailable 2, 1 of 2 drain in 1 rounds",
				"pod shop/db-0: " + stuckText + ": stops n0, alone \n  without that pod, 0 of 1 drain"},
		},
		{
			name: "a stuck pod that is ready", reason: "the pod that takes its place is not ready at first", s: readyStuck,
			want: []string{"budget shop/web (maxUnavailable 1) is short of 1 healthy pod: stops n0 n1, alone n1\n" +
				"  with maxUnavailable 2, 1 of 2 drain in 1 rounds",
				"pod shop/db-0: " + stuckText + ": stops n0, alone \n  without that pod, 0 of 1 drain"},
		},
		{
			name: "a stuck pod of a StatefulSet that is not known", reason: "the budget goes on asking for its replicas", s: stuckIn(disruption.Snapshot{}),
			want: []string{"needs the scale of StatefulSet/shop/db, which is not in the snapshot: stops n0 n1, alone n1",
				"pod shop/db-0: " + stuckText + ": stops n0, alone "},
		},
		{
			name: "a stuck pod of a node that is not there", reason: "without the pod, it is empty", o: Options{Nodes: nodes(1)},
			s: disruption.Snapshot{Now: now, Pods: []*corev1.Pod{
				pod("stuck", on("n1"), labelled(nil), by("apps/v1", "ReplicaSet", "gone"), func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(ago(time.Hour)) })}},
			want: []string{"pod shop/stuck: " + stuckText + ": stops n1, alone n1\n  without that pod, 1 of 1 drain in 0 rounds"},
		},
		{
			name: "several budgets", reason: "no number helps", s: func() disruption.Snapshot {
				s := threeNodes(maxUnavailable("1"))
				s.Budgets = append(s.Budgets, budget(named("other"), maxUnavailable("1")))
				return s
			}(),
			want: []string{"pods are selected by several budgets: shop/other, shop/web: stops n0 n1 n2, alone n0 n1 n2"},
		},
		{
			name: "no room", reason: "both other nodes are full", s: threeNodes(maxUnavailable("1")),
			o: Options{Nodes: nodes(3, allocatable("pods", "10", "cpu", "1"))},
			want: []string{"evicted pods find no node, such as shop/web-0: " + strings.TrimSuffix(full, ".") + ": stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with another node like the drained one, 3 of 3 drain in 1 rounds"},
		},
		{
			name: "no room for a replica", reason: "what is in the way besides is the budget, for which a replica more has no node", s: threeNodes(minAvailable("3")),
			o: Options{Nodes: nodes(3, allocatable("pods", "10", "cpu", "1"))},
			want: []string{"budget shop/web (minAvailable 3) never allows a disruption: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with minAvailable 2, 0 of 3 drain"},
		},
		{
			name: "a Job", reason: "a budget over pods without a scale needs a minimum", s: func() disruption.Snapshot {
				s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}}
				for i := range 2 {
					s.Pods = append(s.Pods, pod(fmt.Sprint("job-", i), by("batch/v1", "Job", "job"), on(fmt.Sprint("n", i))))
				}
				return s
			}(),
			want: []string{"budget shop/web (maxUnavailable 1): " + noScaleText + ": stops n0 n1, alone n0 n1\n" +
				"  with minAvailable 1, 2 of 2 drain in 1 rounds"},
		},
		{
			name: "a Job, and numbers of an older status", reason: "only the pods that are there count", s: func() disruption.Snapshot {
				b := budget(maxUnavailable("1"))
				b.Status = policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 9, CurrentHealthy: 1, ExpectedPods: 10}
				s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{b}}
				for i := range 2 {
					s.Pods = append(s.Pods, pod(fmt.Sprint("job-", i), by("batch/v1", "Job", "job"), on(fmt.Sprint("n", i))))
				}
				s.Pods = append(s.Pods, pod("job-2", by("batch/v1", "Job", "job"), on("n0"), unready))
				return s
			}(),
			want: []string{"budget shop/web (maxUnavailable 1): " + noScaleText + ": stops n0 n1, alone n0 n1\n" +
				"  with minAvailable 1, 2 of 2 drain in 1 rounds"},
		},
		{
			name: "no number", reason: "a budget that sets neither field allows nothing", s: threeNodes(func(*policyv1.PodDisruptionBudget) {}),
			want: []string{"budget shop/web never allows a disruption: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with minAvailable 2, 3 of 3 drain in 1 rounds"},
		},
		{
			name: "two budgets of one name", reason: "nobody knows which one counts",
			s: func() disruption.Snapshot {
				s := threeNodes(maxUnavailable("1"))
				s.Budgets = append(s.Budgets, budget(maxUnavailable("1")))
				return s
			}(),
			want: []string{"budget shop/web: several objects in the snapshot have this name: stops n0 n1 n2, alone n0 n1 n2"},
		},
		{
			name: "a value that the API server rejects", reason: "a number is better, and the pods that are there count, not an older status", s: func() disruption.Snapshot {
				s := threeNodes(minAvailable("half"))
				s.Budgets[0].Status = policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 9, CurrentHealthy: 9, ExpectedPods: 10}
				return s
			}(),
			want: []string{"budget shop/web (minAvailable half): " + notANumber + ": stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with minAvailable 2, 3 of 3 drain in 1 rounds"},
		},
		{
			name: "maxUnavailable 0 over one pod", reason: "the field stays the same", s: func() disruption.Snapshot {
				s := threeNodes(maxUnavailable("0"))
				s.ReplicaSets[0].Spec.Replicas, s.Pods = ptr.To(int32(1)), s.Pods[:1]
				return s
			}(),
			want: []string{"budget shop/web (maxUnavailable 0) never allows a disruption: stops n0, alone n0\n" +
				"  with maxUnavailable 1, 1 of 1 drain in 1 rounds"},
		},
		{
			name: "two pods that nothing recreates beside two that are pending", reason: "pending pods go whatever the budget says: of six healthy pods, two go",
			o: Options{Force: true}, s: disruption.Snapshot{
				Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("6"))}, Pods: []*corev1.Pod{
					pod("a", on("n0")), pod("b", on("n0")), pod("c", on("n0"), phase(corev1.PodPending), unready), pod("d", on("n0"), phase(corev1.PodPending), unready),
					pod("e", on("else")), pod("f", on("else")), pod("g", on("else")), pod("h", on("else"))}},
			want: []string{"budget shop/web (minAvailable 6) is short of 1 healthy pod: stops n0, alone n0\n" +
				"  with minAvailable 4, 1 of 1 drain in 1 rounds"},
		},
		{
			name: "several pods on a node", reason: "one number more lets them go one after the other", s: func() disruption.Snapshot {
				s := threeNodes(maxUnavailable("0"))
				s.Pods[1] = pod("web-1", by("apps/v1", "ReplicaSet", "rs"), on("n0"))
				return s
			}(),
			want: []string{"budget shop/web (maxUnavailable 0) never allows a disruption: stops n0 n2, alone n0 n2\n" +
				"  with maxUnavailable 1, 2 of 2 drain in 2 rounds"},
		},
		{
			name: "a share of more pods", reason: "50% of two pods are one, and one is broken; of three pods, two may be missing", s: func() disruption.Snapshot {
				s := notReady(threeNodes(maxUnavailable("50%")), 1)
				s.ReplicaSets[0].Spec.Replicas = ptr.To(int32(2))
				s.Pods = s.Pods[:2]
				return s
			}(),
			want: []string{"budget shop/web (maxUnavailable 50%) is short of 1 healthy pod: stops n0, alone n0\n" +
				"  with maxUnavailable 2, 1 of 1 drain in 1 rounds\n" +
				"  with 1 more pod healthy (shop/web-1), 1 of 1 drain in 1 rounds\n" +
				"  with 3 replicas of ReplicaSet/shop/rs, 1 of 1 drain in 1 rounds"},
		},
		{
			name: "a broken pod that is pending", reason: "when it runs, the budget counts it, and it goes after the other one", s: func() disruption.Snapshot {
				s := threeNodes(maxUnavailable("1"))
				s.Pods[1] = pod("web-1", by("apps/v1", "ReplicaSet", "rs"), on("n0"), phase(corev1.PodPending), unready)
				return s
			}(),
			want: []string{"budget shop/web (maxUnavailable 1) is short of 1 healthy pod: stops n0 n2, alone n0 n2\n" +
				"  with maxUnavailable 2, 2 of 2 drain in 1 rounds\n" +
				"  with 1 more pod healthy (shop/web-1), 2 of 2 drain in 2 rounds"},
		},
		{
			name: "a hundred replicas more", reason: "as many as are tried", s: threeNodes(minAvailable("102")),
			want: []string{"budget shop/web (minAvailable 102) never allows a disruption: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with minAvailable 2, 3 of 3 drain in 1 rounds\n" +
				"  with 103 replicas of ReplicaSet/shop/rs, 3 of 3 drain in 1 rounds"},
		},
		{
			name: "a hundred and one replicas more", reason: "they are not tried", s: threeNodes(minAvailable("103")),
			want: []string{"budget shop/web (minAvailable 103) never allows a disruption: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with minAvailable 2, 3 of 3 drain in 1 rounds"},
		},
		{
			name: "replicas that are not set", reason: "one", s: func() disruption.Snapshot {
				s := threeNodes(minAvailable("1"))
				s.ReplicaSets[0].Spec.Replicas, s.Pods = nil, s.Pods[:1]
				return s
			}(),
			want: []string{"budget shop/web (minAvailable 1) never allows a disruption: stops n0, alone n0\n" +
				"  with minAvailable 0, 1 of 1 drain in 1 rounds\n" +
				"  with 2 replicas of ReplicaSet/shop/rs, 1 of 1 drain in 1 rounds"},
		},
		{
			name: "more pods than replicas", reason: "the ReplicaSet removes two pods, also if it has a replica more", s: func() disruption.Snapshot {
				s := threeNodes(minAvailable("3"))
				s.ReplicaSets[0].Spec.Replicas = ptr.To(int32(1))
				return s
			}(),
			want: []string{"budget shop/web (minAvailable 3) never allows a disruption: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with minAvailable 2, 3 of 3 drain in 1 rounds"},
		},
		{
			name: "a ReplicaSet that is being deleted", reason: "it makes no pod", s: func() disruption.Snapshot {
				s := threeNodes(minAvailable("3"))
				s.ReplicaSets[0].DeletionTimestamp = ptr.To(ago(time.Minute))
				return s
			}(),
			want: []string{"budget shop/web (minAvailable 3) never allows a disruption: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with minAvailable 2, 3 of 3 drain in 1 rounds"},
		},
		{
			name: "room for one pod more", reason: "the replica has a node, and then the pod of the drained node has none", s: threeNodes(minAvailable("3")),
			o: Options{Nodes: append(nodes(3, allocatable("pods", "10", "cpu", "1")), node("n3", allocatable("pods", "10", "cpu", "1")))},
			want: []string{"budget shop/web (minAvailable 3) never allows a disruption: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with minAvailable 2, 3 of 3 drain in 1 rounds\n" +
				"  with 4 replicas of ReplicaSet/shop/rs, 0 of 3 drain"},
		},
		{
			name: "room for two pods more", reason: "the replica and the pod of the drained node have one", s: threeNodes(minAvailable("3")),
			o: Options{Nodes: append(nodes(3, allocatable("pods", "10", "cpu", "1")), node("n3", allocatable("pods", "10", "cpu", "2")))},
			want: []string{"budget shop/web (minAvailable 3) never allows a disruption: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with minAvailable 2, 3 of 3 drain in 1 rounds\n" +
				"  with 4 replicas of ReplicaSet/shop/rs, 3 of 3 drain in 1 rounds"},
		},
		{
			name: "a lookup", reason: "its replicas are not known", s: func() disruption.Snapshot {
				s := threeNodes(maxUnavailable("1"))
				s.ReplicaSets = nil
				return s
			}(),
			want: []string{"needs ReplicaSet/shop/rs, which is not in the snapshot: stops n0 n1 n2, alone n0 n1 n2"},
		},
		{
			name: "Jobs without a healthy pod", reason: "no number is below 0", s: func() disruption.Snapshot {
				s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}}
				s.Pods = append(s.Pods, pod("job-0", by("batch/v1", "Job", "job"), on("n0"), unready))
				return s
			}(),
			want: []string{"budget shop/web (maxUnavailable 1): " + noScaleText + ": stops n0, alone n0\n" +
				"  with unhealthyPodEvictionPolicy AlwaysAllow, 1 of 1 drain in 1 rounds"},
		},
		{
			name: "pods that nothing recreates", reason: "one number less lets one of two go, so it has to be two", o: Options{Force: true}, s: disruption.Snapshot{
				Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2"))}, Pods: []*corev1.Pod{pod("a", on("n0")), pod("b", on("n0"))}},
			want: []string{"budget shop/web (minAvailable 2) never allows a disruption: stops n0, alone n0\n" +
				"  with minAvailable 0, 1 of 1 drain in 1 rounds"},
		},
		{
			name: "labelled by hand", reason: "a replica more has the labels of the template, and does not count", s: func() disruption.Snapshot {
				s := threeNodes(minAvailable("3"))
				s.ReplicaSets[0].Spec.Template.Labels = map[string]string{"app": "of the template"}
				return s
			}(),
			want: []string{"budget shop/web (minAvailable 3) never allows a disruption: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with minAvailable 2, 3 of 3 drain in 1 rounds"},
		},
		{
			name: "a lookup behind the budget", reason: "with another number, the drain needs the replicas: it is not known whether the budget is in the way then",
			s: disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2"))},
				Pods: []*corev1.Pod{pod("web-0", by("apps/v1", "ReplicaSet", "rs"), on("n0")), pod("web-1", by("apps/v1", "ReplicaSet", "rs"), on("n0"))}},
			want: []string{"budget shop/web (minAvailable 2) is short of 1 healthy pod: stops n0, alone n0\n" +
				"  with minAvailable 0, 1 of 1 drain in 1 rounds"},
		},
		{
			name: "a number that no workload has", reason: "hundreds of replicas are no advice", s: threeNodes(minAvailable("500")),
			want: []string{"budget shop/web (minAvailable 500) never allows a disruption: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with minAvailable 2, 3 of 3 drain in 1 rounds"},
		},
		{
			name: "no room on nodes that are cordoned", reason: "another node is not", s: threeNodes(maxUnavailable("1")),
			o: Options{Nodes: nodes(3, cordoned, tainted(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule))},
			want: []string{"evicted pods find no node, such as shop/web-0: 0/3 nodes are available: 3 node(s) were unschedulable: stops n0 n1 n2, alone n0 n1 n2\n" +
				"  with another node like the drained one, 3 of 3 drain in 1 rounds"},
		},
		{
			name: "the cause that stops a node alone", reason: "it comes before one that stops more nodes, none of them alone", s: func() disruption.Snapshot {
				s := threeNodes(maxUnavailable("0"))
				s.Budgets = append(s.Budgets, budget(named("other"), maxUnavailable("0"), func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels = map[string]string{"app": "other"} }),
					budget(named("third"), maxUnavailable("0"), func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels = map[string]string{"app": "third"} }))
				s.Pods = append(s.Pods[:2], pod("other-0", on("n0"), labelled(map[string]string{"app": "other"}), by("apps/v1", "ReplicaSet", "rs")),
					pod("other-1", on("n1"), labelled(map[string]string{"app": "other"}), by("apps/v1", "ReplicaSet", "rs")),
					pod("third", on("n2"), labelled(map[string]string{"app": "third"}), by("apps/v1", "ReplicaSet", "rs")))
				return s
			}(),
			want: []string{
				"budget shop/third (maxUnavailable 0) never allows a disruption: stops n2, alone n2\n" +
					"  with maxUnavailable 3, 1 of 1 drain in 1 rounds",
				"budget shop/other (maxUnavailable 0) never allows a disruption: stops n0 n1, alone \n" +
					"  with maxUnavailable 2, 0 of 2 drain",
				"budget shop/web (maxUnavailable 0) never allows a disruption: stops n0 n1, alone \n" +
					"  with maxUnavailable 2, 0 of 2 drain",
			},
		},
		{
			name: "a StatefulSet", reason: "the next ordinal is healthy", s: func() disruption.Snapshot {
				s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2"))},
					StatefulSets: []*appsv1.StatefulSet{statefulSet("db", ptr.To(int32(2)))}}
				for i := range 2 {
					s.Pods = append(s.Pods, pod(fmt.Sprint("db-", i), by("apps/v1", "StatefulSet", "db"), on(fmt.Sprint("n", i))))
				}
				return s
			}(),
			want: []string{"budget shop/web (minAvailable 2) never allows a disruption: stops n0 n1, alone n0 n1\n" +
				"  with minAvailable 1, 2 of 2 drain in 1 rounds\n" +
				"  with 3 replicas of StatefulSet/shop/db, 2 of 2 drain in 1 rounds"},
		},
		{
			name: "a StatefulSet that waits for a pod", reason: "it creates no other until that pod is ready", s: waiting(appsv1.OrderedReadyPodManagement),
			want: []string{"budget shop/web (minAvailable 2) is short of 1 healthy pod: stops n0 n2, alone n0 n2\n" +
				"  with minAvailable 1, 2 of 2 drain in 1 rounds\n" +
				"  with 1 more pod healthy (shop/db-1), 2 of 2 drain in 1 rounds"},
		},
		{
			name: "a StatefulSet that waits for no pod", reason: "with Parallel, it creates the next one", s: waiting(appsv1.ParallelPodManagement),
			want: []string{"budget shop/web (minAvailable 2) is short of 1 healthy pod: stops n0 n2, alone n0 n2\n" +
				"  with minAvailable 1, 2 of 2 drain in 1 rounds\n" +
				"  with 1 more pod healthy (shop/db-1), 2 of 2 drain in 1 rounds\n" +
				"  with 4 replicas of StatefulSet/shop/db, 2 of 2 drain in 1 rounds"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := disruption.NewIndex(tc.s, disruption.Options{})
			drains, _ := Each(x, []string{"n0", "n1", "n2"}, tc.o)
			var got []string
			for _, b := range Blockers(x, drains, tc.o) {
				got = append(got, said(b))
			}
			require.Equal(t, tc.want, got, tc.reason)
		})
	}
}

const (
	stuckText   = "the pod should have been gone by 2026-11-21T11:00:00Z and is still there: its node may be down, or a finalizer may keep it"
	notANumber  = "invalid value for IntOrString: invalid type: string is not a percentage"
	noScaleText = "jobs.batch does not implement the scale subresource"
)

// Two nodes that drain alone, and stop each other at the same time: the pod of the first has no node while the second is cordoned.
func TestBlockersOfNodesTogether(t *testing.T) {
	s := threeNodes(maxUnavailable("1"))
	s.Pods, s.ReplicaSets[0].Spec.Replicas = s.Pods[:2], ptr.To(int32(2))
	x := disruption.NewIndex(s, disruption.Options{})
	o := Options{Nodes: nodes(2)}
	drains, _, err := Nodes(x, []string{"n0", "n1"}, o)
	require.NoError(t, err)
	var got []string
	for _, b := range Blockers(x, drains, o) {
		got = append(got, said(b))
	}
	require.Equal(t, []string{
		"budget shop/web (maxUnavailable 1) is short of 1 healthy pod: stops n1, alone n1\n  one after the other, 1 of 1 drain in 1 rounds",
		"evicted pods find no node, such as shop/web-0: 0/2 nodes are available: 2 node(s) were unschedulable: stops n0, alone n0\n" +
			"  one after the other, 1 of 1 drain in 1 rounds",
	}, got)
}
