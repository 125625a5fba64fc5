package docs_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/purekubetest"
)

func Example_drain() {
	t := &testing.T{}                                                 // the test's own
	web := purekubetest.Deployment("shop/web", 4, "node-a", "node-b") // two pods on each
	cluster := purekubetest.NewCluster(t, web, purekubetest.MaxUnavailable("shop/web", "1"))

	index := disruption.NewIndex(cluster.Disruption(), disruption.Options{})
	drain, after := index.DrainNode("node-a", disruption.DrainOptions{IgnoreDaemonSets: true})
	fmt.Println(drain.Outcome)
	for round, pods := range drain.Rounds {
		fmt.Println("round", round+1, "evicts", len(pods))
	}
	// The cluster after that drain: node-b next, on what is left.
	drain, _ = after.DrainNode("node-b", disruption.DrainOptions{IgnoreDaemonSets: true})
	fmt.Println(drain.Outcome)
	// Output:
	// DrainsInRounds
	// round 1 evicts 1
	// round 2 evicts 1
	// DrainsInRounds
}

func Example_scaleDown() {
	t := &testing.T{} // the test's own
	web := purekubetest.Deployment("shop/web", 3, "node-a", "node-b", "node-c")
	broken := purekubetest.NotReady(web.Pods[2]) // on node-c
	cluster := purekubetest.NewCluster(t, web, purekubetest.MaxUnavailable("shop/web", "1"))
	index := disruption.NewIndex(cluster.Disruption(), disruption.Options{})

	// What could go as the cluster is, each node alone: the same index answers for all.
	for _, node := range []string{"node-a", "node-b", "node-c"} {
		drain, _ := index.DrainNode(node, disruption.DrainOptions{})
		fmt.Println(node, drain.Outcome)
		for _, refused := range drain.Refused {
			fmt.Println("  refused with", refused.Eviction.Verdict.StatusCode(), "by", refused.Eviction.Blocking)
		}
	}
	// A branch: what if the pod on node-c were ready again? The index itself stays as it is.
	ready := broken.DeepCopy()
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	branch, _ := index.With(disruption.Snapshot{Pods: []*corev1.Pod{ready}})
	drain, _ := branch.DrainNode("node-a", disruption.DrainOptions{})
	fmt.Println("with node-c ready:", drain.Outcome)
	// Output:
	// node-a DrainsNever
	//   refused with 429 by [shop/web]
	// node-b DrainsNever
	//   refused with 429 by [shop/web]
	// node-c DrainsNow
	// with node-c ready: DrainsNow
}
