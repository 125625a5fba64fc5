package docs_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/purekubetest"
)

func Example_drain() {
	t := &testing.T{}                                                 // the test's own
	web := purekubetest.Deployment("shop/web", 4, "node-a", "node-b") // two pods on each
	cluster := purekubetest.NewCluster(t, web.Objects(purekubetest.MaxUnavailable("shop/web", "1"))...)

	index := disruption.NewIndex(cluster.Disruption(), disruption.Options{})
	d, after, err := drain.Node(index, "node-a", drain.Options{IgnoreDaemonSets: true})
	fmt.Println(d.Outcome, err)
	for round, pods := range d.Rounds {
		fmt.Println("round", round+1, "evicts", len(pods))
	}
	// The cluster after that drain: node-b next, on what is left.
	d, _, err = drain.Node(after, "node-b", drain.Options{IgnoreDaemonSets: true})
	fmt.Println(d.Outcome, err)
	// Output:
	// InRounds <nil>
	// round 1 evicts 1
	// round 2 evicts 1
	// InRounds <nil>
}

func Example_scaleDown() {
	t := &testing.T{} // the test's own
	web := purekubetest.Deployment("shop/web", 3, "node-a", "node-b", "node-c")
	broken := purekubetest.NotReady(web.Pods[2]) // on node-c
	cluster := purekubetest.NewCluster(t, web.Objects(purekubetest.MaxUnavailable("shop/web", "1"))...)
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
