package largecluster

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// PodsPerBudget is how many pods each budget of Budgets has.
const PodsPerBudget = 20

// Budgets has so many budgets of 20 pods each, spread over namespaces, and 30 pods on a node. Every pod has the
// five labels that pods have in practice, two of which the budgets demand; every Deployment
// has its ReplicaSet. The statuses are right, as they are nearly always.
func Budgets(budgets, namespaces int) Cluster {
	var c Cluster
	nodes := max(1, budgets*PodsPerBudget/30)
	for i := range budgets {
		ns := fmt.Sprintf("team-%d", i%namespaces)
		app := fmt.Sprintf("app-%d", i)
		meta := func(name string, owners []metav1.OwnerReference) metav1.ObjectMeta {
			return metav1.ObjectMeta{
				Namespace: ns, Name: name, UID: types.UID("uid-" + name), OwnerReferences: owners,
				Labels: map[string]string{
					"app.kubernetes.io/name": app, "app.kubernetes.io/part-of": "shop", "tier": "backend",
					"pod-template-hash": "6d4b75cb6d", "version": "v1",
				},
			}
		}
		d := &appsv1.Deployment{
			ObjectMeta: meta(app, nil), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](PodsPerBudget)},
		}
		rs := &appsv1.ReplicaSet{
			ObjectMeta: meta(app+"-6d4b75cb6d", controlledBy("Deployment", d.ObjectMeta)),
			Spec:       appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](PodsPerBudget)},
		}
		c.Deployments, c.ReplicaSets = append(c.Deployments, d), append(c.ReplicaSets, rs)
		for p := range PodsPerBudget {
			c.Pods = append(c.Pods, &corev1.Pod{
				ObjectMeta: meta(fmt.Sprintf("%s-%05d", rs.Name, p), controlledBy("ReplicaSet", rs.ObjectMeta)),
				Spec: corev1.PodSpec{
					NodeName:   fmt.Sprint("node-", len(c.Pods)%nodes),
					Containers: []corev1.Container{{Name: "c", Image: "i"}},
				},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
					{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue},
					{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
					{Type: corev1.PodReady, Status: corev1.ConditionTrue},
					{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
					{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
				}},
			})
		}
		c.Budgets = append(c.Budgets, &policyv1.PodDisruptionBudget{
			ObjectMeta: meta(app, nil),
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: ptr.To(intstr.FromString("10%")),
				Selector: &metav1.LabelSelector{
					MatchLabels: map[string]string{"app.kubernetes.io/name": app, "tier": "backend"},
				},
			},
			Status: policyv1.PodDisruptionBudgetStatus{
				ExpectedPods: PodsPerBudget, DesiredHealthy: 18, CurrentHealthy: PodsPerBudget, DisruptionsAllowed: 2,
				Conditions: []metav1.Condition{{
					Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue,
					Reason: policyv1.SufficientPodsReason,
				}},
			},
		})
	}
	return c
}

// Spread says on which of the nodes a workload's pods run.
type Spread func(workload, pod, nodes int) int

// Workloads has workloads of 30 pods, 100 to a namespace, and as many nodes, with 30 pods each. Each
// workload has a budget that allows one disruption, or all of them are in one namespace and share one.
func Workloads(nodes int, shared bool, at Spread) Cluster {
	var c Cluster
	budget := func(meta metav1.ObjectMeta, labels map[string]string, expected int32) {
		c.Budgets = append(c.Budgets, &policyv1.PodDisruptionBudget{
			ObjectMeta: meta,
			Spec: policyv1.PodDisruptionBudgetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels}, MaxUnavailable: ptr.To(intstr.FromInt32(1)),
			},
			Status: policyv1.PodDisruptionBudgetStatus{
				ObservedGeneration: 1, DisruptionsAllowed: 1,
				CurrentHealthy: expected, DesiredHealthy: expected - 1, ExpectedPods: expected,
				Conditions: []metav1.Condition{{
					Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue,
					Reason: policyv1.SufficientPodsReason, ObservedGeneration: 1,
				}},
			},
		})
	}
	if shared {
		budget(metav1.ObjectMeta{Namespace: "ns-0", Name: "all", Generation: 1}, nil, int32(30*nodes))
	}
	for i := range nodes {
		meta := metav1.ObjectMeta{
			Namespace: fmt.Sprint("ns-", i/100), Name: fmt.Sprint("app-", i),
			UID: types.UID(fmt.Sprint("uid-", i)), Generation: 1,
		}
		if shared {
			meta.Namespace = "ns-0"
		}
		labels := map[string]string{"app": meta.Name, "tier": fmt.Sprint(i % 3)}
		c.ReplicaSets = append(c.ReplicaSets, &appsv1.ReplicaSet{
			ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](30)},
		})
		if !shared {
			budget(meta, labels, 30)
		}
		for n := range 30 {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: meta.Namespace, Name: fmt.Sprint(meta.Name, "-", n),
				UID: types.UID(fmt.Sprint("uid-", i, "-", n)), Labels: labels,
				OwnerReferences: controlledBy("ReplicaSet", meta),
			}}
			p.Spec.NodeName = fmt.Sprint("node-", at(i, n, nodes))
			p.Status.Phase = corev1.PodRunning
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			c.Pods = append(c.Pods, p)
		}
	}
	return c
}
