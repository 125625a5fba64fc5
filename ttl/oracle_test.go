package ttl

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/test/largecluster"
)

// cluster is the deliberately simple second implementation: it knows the rules' table and one node
// event at a time.
type cluster struct{ nodes, step int }

// The table of BR-19-01 … BR-19-05, as the rules have it.
var (
	ruleMin = []int{0, 90, 450, 900, 1800}
	ruleMax = []int{100, 500, 1000, 2000, 2147483647}
	ruleTTL = []int{0, 15, 30, 60, 300}
)

func (c *cluster) add() {
	c.nodes++
	if c.nodes > ruleMax[c.step] {
		c.step++
	}
}

func (c *cluster) remove() {
	c.nodes--
	if c.nodes < ruleMin[c.step] {
		c.step--
	}
}

// annotation stands for "no annotation" when it is absent.
const absent = "\x00absent"

func node(name, annotation string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"kubernetes.io/hostname": name},
	}}
	if annotation != absent {
		n.Annotations = map[string]string{Annotation: annotation, "other": "kept"}
	}
	return n
}

// fleet is so many nodes, node-00000 and on, with the same annotation.
func fleet(count int, annotation string) []*corev1.Node {
	nodes := largecluster.Nodes(count, annotation).Nodes
	for i := range nodes {
		if annotation == absent {
			nodes[i].Annotations = nil
		}
	}
	return nodes
}

// recovered is the step that an index of the nodes recovers.
func recovered(nodes []*corev1.Node) int {
	x, _ := NewIndex(Snapshot{Nodes: nodes}, Options{}).Recover()
	return x.step
}
