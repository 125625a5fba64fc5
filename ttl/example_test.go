package ttl_test

import (
	"fmt"

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

	index := ttl.NewIndex(ttl.Snapshot{Step: 0, Nodes: nodes}, ttl.Options{})
	outcomes, err := index.PlanAll()
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println("step", index.Step()) // to be kept for the next snapshot
	for _, o := range outcomes {
		if o.Err != nil {
			fmt.Println(o.Err)
		}
		for _, a := range o.Result.Actions {
			fmt.Println(a)
			request := a.Request(nil) // what to send, for any client
			fmt.Println(request, string(request.Patch))
		}
	}
	// Output:
	// step 1
	// SetTTL new: 15s
	// patch nodes new {"metadata":{"annotations":{"node.alpha.kubernetes.io/ttl":"15"}}}
}

func ExamplePlan() {
	s := ttl.Snapshot{Step: 1, Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}}
	result, err := ttl.Plan(s, ttl.Key("a"), ttl.Options{})
	fmt.Println(result.Actions, err)
	// Output: [SetTTL a: 15s] <nil>
}

// What the cluster comes to, for the next snapshot.
func ExampleIndex_Step() {
	s := ttl.Snapshot{Step: 1, Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}}
	fmt.Println(ttl.NewIndex(s, ttl.Options{}).Step())
	// Output: 0
}

func ExampleIndex_Explain() {
	s := ttl.Snapshot{Step: 1, Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}}
	e, err := ttl.NewIndex(s, ttl.Options{}).Explain(ttl.Key("a"))
	for _, r := range e.Reasons {
		fmt.Println(r.Code, err)
		fmt.Println(r)
	}
	// Output:
	// AnnotationMissing <nil>
	// metadata.annotations[node.alpha.kubernetes.io/ttl]: the annotation is missing; it should be 15
}

func ExampleIndex_ExplainAll() {
	s := ttl.Snapshot{Nodes: []*corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "b", Annotations: map[string]string{ttl.Annotation: "0"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
	}}
	explanations, err := ttl.NewIndex(s, ttl.Options{}).ExplainAll()
	if err != nil {
		fmt.Println(err)
	}
	for _, e := range explanations {
		fmt.Println(e.Key, e.Want, e.Reasons[0].Code)
	}
	// Output:
	// Node/a 0s AnnotationMissing
	// Node/b 0s AnnotationMatches
}

func ExampleIndex_ExplainStep() {
	s := ttl.Snapshot{Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}}
	e, err := ttl.NewIndex(s, ttl.Options{}).ExplainStep()
	if err != nil {
		fmt.Println(err)
	}
	fmt.Printf("step %d (%v); a higher one from %d nodes on\n", e.Step, e.Boundary.TTL, e.UpAt)
	fmt.Println(e.Reasons[0])
	// Output:
	// step 0 (0s); a higher one from 101 nodes on
	// step 0 is for 0 to 100 nodes, and there are 1
}

// An informer's handler: one call for each event, and the plans that it names. The index keeps the
// step.
func ExampleIndex() {
	s := ttl.Snapshot{Step: 0}
	for i := range 100 {
		s.Nodes = append(s.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("node-%03d", i), Annotations: map[string]string{ttl.Annotation: "0"},
		}})
	}
	index := ttl.NewIndex(s, ttl.Options{})

	added := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-100"}}
	index, affected := index.With(ttl.Snapshot{Nodes: []*corev1.Node{added}})
	fmt.Println(len(affected), "nodes to plan at step", index.Step())
	result, err := index.Plan(ttl.Key("node-100"))
	fmt.Println(result.Actions, err)

	heartbeat := added.DeepCopy()
	_, affected = index.With(ttl.Snapshot{Nodes: []*corev1.Node{heartbeat}})
	fmt.Println(affected)
	// Output:
	// 101 nodes to plan at step 1
	// [SetTTL node-100: 15s] <nil>
	// [Node/node-100]
}

// A controller starts in an overlap: 95 nodes may be in step 0 or 1, and their annotations say which.
func ExampleIndex_Recover() {
	index := ttl.NewIndex(ttl.Snapshot{}, ttl.Options{})
	for i := range 95 { // as an informer lists them
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("node-%d", i), Annotations: map[string]string{ttl.Annotation: "15"},
		}}
		index, _ = index.With(ttl.Snapshot{Nodes: []*corev1.Node{node}})
	}
	fmt.Println("step", index.Step())
	index, _ = index.Recover()
	fmt.Println("step", index.Step())
	// Output:
	// step 0
	// step 1
}

// The key of a node that is known by its name.
func ExampleKey() {
	fmt.Println(ttl.Key("worker-1"))
	// Output: Node/worker-1
}

// A queue holds keys.
func ExampleKeyOf() {
	fmt.Println(ttl.KeyOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}))
	// Output: Node/worker-1
}

// The TTL of each step, and the sizes of a cluster that it is for.
func ExampleSteps() {
	for i, s := range ttl.Steps()[:2] {
		fmt.Println("step", i, "from", s.SizeMin, "to", s.SizeMax, "nodes:", s.TTL)
	}
	// Output:
	// step 0 from 0 to 100 nodes: 0s
	// step 1 from 90 to 500 nodes: 15s
}
