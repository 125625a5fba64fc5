package samplecluster

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WithNodes gives the pods requests, and some of them a zone to run in. It returns the nodes of the cluster and up to
// two others, some of them with little room, cordoned or not ready.
func (c Cluster) WithNodes(r *rand.Rand) []*corev1.Node {
	for _, p := range c.Pods {
		p.Spec.Containers = []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(r.IntN(3)), resource.DecimalSI)}}}}
		if r.IntN(4) == 0 {
			p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zones[r.IntN(len(zones))]}
		}
	}
	var nodes []*corev1.Node
	names := append(append([]string(nil), c.Nodes...), "spare-1", "spare-2")
	for _, name := range names[:len(c.Nodes)+r.IntN(3)] {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{corev1.LabelTopologyZone: zones[r.IntN(len(zones))]}}}
		n.Spec.Unschedulable = r.IntN(8) == 0
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if r.IntN(8) == 0 {
			n.Status.Conditions[0].Status = corev1.ConditionUnknown
		}
		n.Status.Allocatable = corev1.ResourceList{
			corev1.ResourcePods: *resource.NewQuantity(int64(3+r.IntN(12)), resource.DecimalSI),
			corev1.ResourceCPU:  *resource.NewQuantity(int64(r.IntN(15)), resource.DecimalSI),
		}
		nodes = append(nodes, n)
	}
	r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	return nodes
}

var zones = []string{"east", "west"}
