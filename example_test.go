package purekube_test

import (
	"fmt"
	"time"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/manifests"
)

// Can this node be drained, and what is in the way? The README shows the same code.
func Example() {
	cluster, err := manifests.Load(manifests.Options{}, "cmd/purekube/cluster") // or a file with the output of kubectl get
	if err != nil {
		fmt.Println("not everything could be read:", err)
		return
	}
	index := disruption.NewIndex(cluster.Disruption(time.Now()), disruption.Options{})
	result, _, err := drain.Node(index, "worker-1", drain.Options{Force: true})
	fmt.Println(result.Node, result.Outcome, err)
	for _, refused := range result.Refused {
		fmt.Println(refused.Pod.Name, "stays:", refused.Message)
	}
	// Output:
	// worker-1 Never <nil>
	// basket-0 stays: Cannot evict pod as it would violate the pod's disruption budget. The disruption budget basket needs 2 healthy pods and has 2 currently
	// checkout-6d4b75cb6d-4zlqb stays: Cannot evict pod as it would violate the pod's disruption budget. The disruption budget checkout needs 2 healthy pods and has 2 currently
}
