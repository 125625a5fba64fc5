package drain_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/purekubetest"
)

// A node holds three databases of one replica each. Their budget lets one of them be unavailable at a
// time, so the node drains in three rounds. Then another node is drained, in the cluster that the first drain
// leaves.
func ExampleNode() {
	objects := []purekubetest.Object{purekubetest.MaxUnavailable("shop/db", "1")}
	for name, node := range map[string]string{"orders": "node-1", "users": "node-1", "stock": "node-1", "mail": "node-2"} {
		set := purekubetest.StatefulSet("shop/"+name, 1, node)
		set.Pods[0].Labels["app"] = "db" // the budget is for all of them
		objects = append(objects, set.Objects()...)
	}
	cluster := purekubetest.NewCluster(&testing.T{}, objects...)

	x := disruption.NewIndex(cluster.Disruption(), disruption.Options{})
	for _, node := range []string{"node-1", "node-2"} {
		d, after, err := drain.Node(x, node, drain.Options{IgnoreDaemonSets: true})
		if err != nil {
			fmt.Println(err)
		}
		fmt.Println(node, d.Outcome)
		for i, pods := range d.Rounds {
			fmt.Println("  round", i+1, pods)
		}
		for _, p := range d.Refused {
			fmt.Println("  stays", p.Pod, p.Message)
		}
		x = after
	}
	// Output:
	// node-1 InRounds
	//   round 1 [shop/orders-0]
	//   round 2 [shop/stock-0]
	//   round 3 [shop/users-0]
	// node-2 Now
	//   round 1 [shop/mail-0]
}

// An autoscaler asks which of three nodes can go, each alone. Only node-c can: its pod is not ready, so the budget does
// not count it. On a branch of the cluster in which that pod is ready, node-a can go as well.
func ExampleNode_scaleDown() {
	web := purekubetest.Deployment("shop/web", 3, "node-a", "node-b", "node-c")
	broken := purekubetest.NotReady(web.Pods[2]) // on node-c
	cluster := purekubetest.NewCluster(&testing.T{}, web.Objects(purekubetest.MaxUnavailable("shop/web", "1"))...)
	index := disruption.NewIndex(cluster.Disruption(), disruption.Options{})

	// What could go as the cluster is, each node alone: the same index answers for all.
	for _, node := range []string{"node-a", "node-b", "node-c"} {
		d, _, err := drain.Node(index, node, drain.Options{})
		fmt.Println(node, d.Outcome, err)
		for _, refused := range d.Refused {
			fmt.Println("  refused with", refused.Eviction.Verdict.StatusCode(), "by", refused.Eviction.Blocking)
		}
	}
	// A branch: what if the pod on node-c were ready again? The index itself stays as it is.
	ready := broken.DeepCopy()
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	branch, _ := index.With(disruption.Snapshot{Pods: []*corev1.Pod{ready}})
	d, _, err := drain.Node(branch, "node-a", drain.Options{})
	fmt.Println("with node-c ready:", d.Outcome, err)
	// Output:
	// node-a Never <nil>
	//   refused with 429 by [shop/web]
	// node-b Never <nil>
	//   refused with 429 by [shop/web]
	// node-c Now <nil>
	// with node-c ready: Now <nil>
}

// Three nodes hold two pods each of a workload that may lack two. Drained at the same time, the first two nodes evict a
// pod each in the first round.
func ExampleNodes() {
	web := purekubetest.Deployment("shop/web", 6, "node-1", "node-2", "node-3")
	cluster := purekubetest.NewCluster(&testing.T{}, web.Objects(purekubetest.MaxUnavailable("shop/web", "2"))...)

	x := disruption.NewIndex(cluster.Disruption(), disruption.Options{})
	drains, _, err := drain.Nodes(x, []string{"node-1", "node-2", "node-3"}, drain.Options{})
	fmt.Println(err)
	for _, d := range drains {
		fmt.Println(d.Node, d.Outcome)
		for i, pods := range d.Rounds {
			fmt.Println("  round", i+1, len(pods))
		}
	}
	// Output:
	// <nil>
	// node-1 InRounds
	//   round 1 1
	//   round 2 1
	// node-2 InRounds
	//   round 1 1
	//   round 2 0
	//   round 3 1
	// node-3 InRounds
	//   round 1 0
	//   round 2 1
	//   round 3 1
}

// An autoscaler would like to remove two nodes, and asks whether their pods can be evicted together, before any of them
// is back.
func ExamplePods() {
	web := purekubetest.Deployment("shop/web", 3, "node-1", "node-2", "node-3")
	cluster := purekubetest.NewCluster(&testing.T{}, web.Objects(purekubetest.MaxUnavailable("shop/web", "1"))...)

	x := disruption.NewIndex(cluster.Disruption(), disruption.Options{})
	evictions, _, err := drain.Pods(x, []types.NamespacedName{
		{Namespace: "shop", Name: web.Pods[0].Name}, {Namespace: "shop", Name: web.Pods[1].Name},
	}, drain.Options{})
	fmt.Println(err)
	for _, e := range evictions {
		fmt.Println(e.Verdict, e.Blocking)
	}
	// Output:
	// <nil>
	// AllowedWithinBudget []
	// RefusedNow [shop/web]
}

// The autoscaler's question: may these nodes go, one after the other, while nothing that they ran is back yet?
func ExamplePods_nodes() {
	web := purekubetest.Deployment("shop/web", 3, "node-a", "node-b", "node-c")
	cluster := purekubetest.NewCluster(&testing.T{}, web.Objects(purekubetest.MaxUnavailable("shop/web", "1"))...)

	index := disruption.NewIndex(cluster.Disruption(), disruption.Options{})
	for _, node := range []string{"node-a", "node-b", "node-c"} {
		pods, _ := index.PodsOnNode(node)
		var names []types.NamespacedName
		for _, pod := range pods {
			names = append(names, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
		}
		evictions, next, err := drain.Pods(index, names, drain.Options{})
		refused := slices.ContainsFunc(evictions, func(e disruption.Eviction) bool { return !e.Verdict.Allowed() })
		fmt.Println(node, "can go:", !refused, err)
		if !refused {
			index = next
		}
	}
	// Output:
	// node-a can go: true <nil>
	// node-b can go: false <nil>
	// node-c can go: false <nil>
}

// A workload of three pods may lack one, so its nodes are drained one after the other; the fourth node has nothing of it
// and goes with the first. The budget of the database lets none of its pods go.
func ExampleWaves() {
	web := purekubetest.Deployment("shop/web", 3, "node-1", "node-2", "node-3")
	db := purekubetest.StatefulSet("shop/db", 1, "node-5")
	mail := purekubetest.StatefulSet("shop/mail", 1, "node-4")
	objects := web.Objects(mail.Objects(db.Objects(
		purekubetest.MaxUnavailable("shop/web", "1"), purekubetest.MaxUnavailable("shop/db", "0"))...)...)
	cluster := purekubetest.NewCluster(&testing.T{}, objects...)

	x := disruption.NewIndex(cluster.Disruption(), disruption.Options{})
	plan, _, err := drain.Waves(x, []string{"node-1", "node-2", "node-3", "node-4", "node-5"}, drain.WaveOptions{MaxNodes: 2})
	fmt.Println(err)
	for i, wave := range plan.Waves {
		fmt.Println("wave", i+1, wave.Nodes)
	}
	for _, d := range plan.Blocked {
		fmt.Println(d.Node, d.Outcome, d.Refused[0].Pod, d.Refused[0].Eviction.Blocking)
	}
	// Output:
	// <nil>
	// wave 1 [node-1 node-4]
	// wave 2 [node-2]
	// wave 3 [node-3]
	// node-5 Never shop/db-0 [shop/db]
}

// A scheduler would preempt two pods of a budget that allows one disruption.
func ExampleViolations() {
	web := purekubetest.Deployment("shop/web", 3, "node-1")
	budget := purekubetest.MaxUnavailable("shop/web", "1")
	budget.Status.DisruptionsAllowed = 1
	cluster := purekubetest.NewCluster(&testing.T{}, web.Objects(budget)...)

	x := disruption.NewIndex(cluster.Disruption(), disruption.Options{})
	var victims []types.NamespacedName
	for _, p := range web.Pods[:2] {
		victims = append(victims, types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
	}
	violating, allowed := drain.Violations(x, victims)
	fmt.Println(len(violating), len(allowed))
	// Output:
	// 1 1
}
