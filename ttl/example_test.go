package ttl_test

import (
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/ttl"
)

// 101 nodes are more than step 0 allows. All of them are right for step 1 already but the one that
// has just joined.
func ExamplePlanAll() {
	var nodes []*corev1.Node
	for i := range 100 {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name:        fmt.Sprintf("node-%d", i),
			Annotations: map[string]string{ttl.Annotation: "15"},
		}})
	}
	nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "new"}})

	step, outcomes := ttl.PlanAll(ttl.Snapshot{Step: 0, Nodes: nodes}, ttl.Options{})
	fmt.Println("step", step)
	for _, o := range outcomes {
		if o.Err != nil {
			fmt.Println(o.Err)
		}
		for _, a := range o.Result.Actions {
			fmt.Println(a)
			if set, ok := a.(ttl.SetTTL); ok {
				kind, body := set.Patch()
				fmt.Println(kind, string(body))
			}
		}
	}
	// Output:
	// step 1
	// SetTTL new: 15s
	// application/strategic-merge-patch+json {"metadata":{"annotations":{"node.alpha.kubernetes.io/ttl":"15"}}}
}

// After a restart in an overlap: 95 nodes may be in step 0 or 1, and their annotations say which.
func ExampleTable_Recover() {
	var nodes []*corev1.Node
	for i := range 95 {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name:        fmt.Sprintf("node-%d", i),
			Annotations: map[string]string{ttl.Annotation: "15"},
		}})
	}
	var table ttl.Table
	step := table.Recover(nodes)
	_, outcomes := ttl.PlanAll(ttl.Snapshot{Step: step, Nodes: nodes}, ttl.Options{Table: table})
	fmt.Printf("step %d, %d nodes to write\n", step, len(outcomes))
	// Output: step 1, 0 nodes to write
}

func ExampleNewTable() {
	_, err := ttl.NewTable(
		ttl.Boundary{SizeMin: 0, SizeMax: 1000, TTL: 0},
		ttl.Boundary{SizeMin: 1200, SizeMax: math.MaxInt32, TTL: time.Minute},
	)
	fmt.Println(err)
	// Output: ttl: step 1: SizeMin 1200 leaves a gap after the step before, which ends at 1000
}

func ExampleExplain() {
	nodes := []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}
	e := ttl.Explain(ttl.Snapshot{Nodes: nodes}, ttl.Options{})
	fmt.Printf("step %d (%v) with %d node; the next one up from %d nodes\n", e.Step, e.Boundary.TTL, e.Nodes, e.UpAt)
	for _, d := range e.Differ {
		fmt.Printf("%s: annotation %s, want %v\n", d.Node, d.Cause, d.Want)
	}
	// Output:
	// step 0 (0s) with 1 node; the next one up from 101 nodes
	// a: annotation missing, want 0s
}
