package drain_test

import (
	"fmt"
	"testing"

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
