package fleet

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/disruption"
)

// textOfNodes are the nodes, a line each.
func textOfNodes(nodes []*corev1.Node) string {
	var b strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&b, "Node %s zone %s cpu %s pods %s taints %d unschedulable %t\n", n.Name, n.Labels["zone"],
			n.Status.Allocatable.Cpu(), n.Status.Allocatable.Pods(), len(n.Spec.Taints), n.Spec.Unschedulable)
	}
	return b.String()
}

// text is the snapshot in a few lines.
func text(s disruption.Snapshot) string {
	var b strings.Builder
	for _, d := range s.Deployments {
		fmt.Fprintf(&b, "Deployment %s/%s replicas %d\n", d.Namespace, d.Name, *d.Spec.Replicas)
	}
	for _, rs := range s.ReplicaSets {
		fmt.Fprintf(&b, "ReplicaSet %s/%s replicas %d\n", rs.Namespace, rs.Name, *rs.Spec.Replicas)
	}
	for _, rc := range s.ReplicationControllers {
		fmt.Fprintf(&b, "ReplicationController %s/%s replicas %d\n", rc.Namespace, rc.Name, *rc.Spec.Replicas)
	}
	for _, set := range s.StatefulSets {
		fmt.Fprintf(&b, "StatefulSet %s/%s replicas %d %s ordinals %v minReadySeconds %d\n",
			set.Namespace, set.Name, *set.Spec.Replicas, set.Spec.PodManagementPolicy, set.Spec.Ordinals, set.Spec.MinReadySeconds)
	}
	for _, pdb := range s.Budgets {
		policy := ""
		if p := pdb.Spec.UnhealthyPodEvictionPolicy; p != nil {
			policy = string(*p)
		}
		fmt.Fprintf(&b, "PodDisruptionBudget %s/%s min %v max %v of %v %s: ", pdb.Namespace, pdb.Name,
			pdb.Spec.MinAvailable, pdb.Spec.MaxUnavailable, pdb.Spec.Selector.MatchLabels, policy)
		fmt.Fprintf(&b, "allowed %d, healthy %d of %d, expected %d, disrupted %v\n", pdb.Status.DisruptionsAllowed,
			pdb.Status.CurrentHealthy, pdb.Status.DesiredHealthy, pdb.Status.ExpectedPods, pdb.Status.DisruptedPods)
	}
	for _, p := range s.Pods {
		owner := "nobody"
		if ref := metav1.GetControllerOf(p); ref != nil {
			owner = ref.Kind + "/" + ref.Name
		}
		fmt.Fprintf(&b, "Pod %s/%s of %s on %s %v %s %s", p.Namespace, p.Name, owner, p.Spec.NodeName, p.Labels, p.Status.Phase,
			[]string{"pending", "unready", "healthy"}[healthOf(p)])
		fmt.Fprintf(&b, " cpu %s %v", p.Spec.Containers[0].Resources.Requests.Cpu(), p.Spec.NodeSelector)
		if p.DeletionTimestamp != nil {
			fmt.Fprintf(&b, " deleted %v", s.Now.Sub(p.DeletionTimestamp.Time))
		}
		b.WriteString("\n")
	}
	return b.String()
}
