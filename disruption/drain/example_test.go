package drain_test

import (
	"fmt"
	"testing"

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
