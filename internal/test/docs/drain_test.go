package docs_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

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

func Example_drainWaves() {
	t := &testing.T{} // the test's own
	web := purekubetest.Deployment("shop/web", 4, "east-1", "east-2", "west-1", "west-2")
	short := purekubetest.Deployment("shop/cart", 2, "east-3", "west-3")
	purekubetest.NotReady(short.Pods[1])
	budgets := []purekubetest.Object{purekubetest.MaxUnavailable("shop/web", "2"), purekubetest.MaxUnavailable("shop/cart", "1")}
	cluster := purekubetest.NewCluster(t, append(web.Objects(budgets...), short.Objects()...)...)
	index := disruption.NewIndex(cluster.Disruption(), disruption.Options{})

	zone := func(node string) string { return node[:4] }
	plan, _, err := drain.Waves(index, []string{"east-1", "east-2", "east-3", "west-1", "west-2", "west-3"}, drain.WaveOptions{
		Options: drain.Options{IgnoreDaemonSets: true}, MaxNodes: 20, GroupOf: zone,
	})
	fmt.Println(err)
	for i, wave := range plan.Waves {
		fmt.Println("wave", i+1, wave.Group, wave.Nodes)
	}
	for _, d := range plan.Blocked {
		for _, p := range d.Refused {
			fmt.Println(d.Node, d.Outcome, p.Eviction.Budget, "is short of", p.Eviction.Shortfall)
		}
	}
	// Output:
	// <nil>
	// wave 1 east [east-1 east-2]
	// wave 2 west [west-1 west-2 west-3]
	// east-3 Never shop/cart is short of 1
}

func Example_drainNeedsANode() {
	t := &testing.T{}                                       // the test's own
	web := purekubetest.Deployment("shop/web", 2, "node-a") // two pods on it
	cluster := purekubetest.NewCluster(t, web.Objects(purekubetest.MaxUnavailable("shop/web", "1"))...)
	index := disruption.NewIndex(cluster.Disruption(), disruption.Options{})

	var nodes []*corev1.Node // yours come from an informer or a list
	for _, name := range []string{"node-a", "node-b"} {
		n := purekubetest.Node(name)
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
		nodes = append(nodes, n)
	}
	d, _, err := drain.Node(index, "node-a", drain.Options{Nodes: nodes})
	fmt.Println(d.Outcome, err)
	for _, p := range d.Pending {
		fmt.Println(p.Message)
	}
	// Output:
	// LeavesPending <nil>
	// 0/2 nodes are available: 1 Too many pods, 1 node(s) were unschedulable.
}

func Example_drainBlockers() {
	t := &testing.T{} // the test's own
	web := purekubetest.Deployment("shop/web", 3, "node-a", "node-b", "node-c")
	cart := purekubetest.Deployment("shop/cart", 2, "node-c", "node-d")
	budgets := []purekubetest.Object{purekubetest.MaxUnavailable("shop/web", "0"), purekubetest.MinAvailable("shop/cart", "2")}
	cluster := purekubetest.NewCluster(t, append(web.Objects(budgets...), cart.Objects()...)...)
	index := disruption.NewIndex(cluster.Disruption(), disruption.Options{})

	drains, err := drain.Each(index, []string{"node-a", "node-b", "node-c", "node-d"}, drain.Options{})
	fmt.Println(err)
	for _, b := range drain.Blockers(index, drains, drain.Options{}) {
		fmt.Println(b.Message, "stops", b.Nodes, "alone", b.Alone)
		for _, fix := range b.Fixes {
			fmt.Println("  ", fix, "drains", fix.Frees)
		}
	}
	// Output:
	// <nil>
	// budget shop/web (maxUnavailable 0) never allows a disruption stops [node-a node-b node-c] alone [node-a node-b]
	//    with maxUnavailable 1 drains [node-a node-b]
	// budget shop/cart (minAvailable 2) never allows a disruption stops [node-c node-d] alone [node-d]
	//    with minAvailable 1 drains [node-d]
	//    with 3 replicas of Deployment/shop/cart drains [node-d]
}
