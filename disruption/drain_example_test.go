package disruption_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
)

// A node holds three databases of one replica each. Their budget lets one of them be unavailable at a
// time, so the node drains in three rounds. Then another node is drained, in the cluster that the first drain
// leaves.
func ExampleIndex_DrainNode() {
	labels := map[string]string{"app": "db"}
	s := disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)),
			Selector:       &metav1.LabelSelector{MatchLabels: labels},
		},
	}}}
	for name, node := range map[string]string{"orders": "node-1", "users": "node-1", "stock": "node-1", "mail": "node-2"} {
		uid := types.UID("uid-" + name)
		s.StatefulSets = append(s.StatefulSets, &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: uid},
			Spec:       appsv1.StatefulSetSpec{Replicas: ptr.To[int32](1)},
		})
		s.Pods = append(s.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: name + "-0", Labels: labels,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: name, UID: uid, Controller: ptr.To(true)}},
			},
			Spec: corev1.PodSpec{NodeName: node},
			Status: corev1.PodStatus{
				Phase:      corev1.PodRunning,
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		})
	}

	x := disruption.NewIndex(s, disruption.Options{})
	for _, node := range []string{"node-1", "node-2"} {
		drain, after := x.DrainNode(node, disruption.DrainOptions{IgnoreDaemonSets: true})
		fmt.Println(node, drain.Outcome)
		for i, pods := range drain.Rounds {
			fmt.Println("  round", i+1, pods)
		}
		for _, p := range drain.Refused {
			fmt.Println("  stays", p.Pod, p.Message)
		}
		x = after
	}
	// Output:
	// node-1 DrainsInRounds
	//   round 1 [shop/orders-0]
	//   round 2 [shop/stock-0]
	//   round 3 [shop/users-0]
	// node-2 DrainsNow
	//   round 1 [shop/mail-0]
}
