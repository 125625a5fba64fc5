package model

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
)

var (
	pods         = corev1.SchemeGroupVersion.WithResource("pods")
	budgets      = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
	deployments  = appsv1.SchemeGroupVersion.WithResource("deployments")
	replicaSets  = appsv1.SchemeGroupVersion.WithResource("replicasets")
	statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")
)

// budgetWorld is a StatefulSet db of two under a budget of maxUnavailable 1, and a Deployment web of one
// under a budget of minAvailable 50 %.
func budgetWorld(o disruption.Options) Scenario {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: UID(1)}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1)}}
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-rs", UID: UID(2), OwnerReferences: controlledBy("Deployment", "web", 1)},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](1)}}
	statefulSet := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "db", UID: UID(3)}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2)}}
	db := newBudget("db", 4)
	db.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	web := newBudget("web", 5)
	web.Spec.MinAvailable = ptr.To(intstr.FromString("50%"))
	return Scenario{
		Name:    "PodDisruptionBudgets",
		Kinds:   []schema.GroupVersionResource{pods, budgets, deployments, replicaSets, statefulSets},
		Lag:     2,
		Current: []schema.GroupVersionResource{deployments, replicaSets, statefulSets},
		Until:   250 * time.Second,
		Objects: []Object{
			deployment, replicaSet, statefulSet, db, web,
			ready(newWorkloadPod("db-0", 6, "db", controlledBy("StatefulSet", "db", 3))),
			ready(newWorkloadPod("db-1", 7, "db", controlledBy("StatefulSet", "db", 3))),
			ready(newWorkloadPod("web-00008", 8, "web", controlledBy("ReplicaSet", "web-rs", 2))),
		},
		Events: []Event{
			{Name: "eviction", Do: evict},
			{Name: "eviction of a pod that is not ready", Do: evictNotReady},
			{Name: "eviction, second half", Settles: true, Do: deleteEvicted},
			{Name: "the API server dies in the middle of an eviction", Max: 1, Do: abandonEviction},
			{Name: "terminated", Settles: true, Do: terminate},
			{Name: "replaced", Settles: true, Do: replacePods},
			{Name: "ready", Settles: true, Do: becomeReady},
			{Name: "scaled", Max: 1, Do: func(v *View, do func(string, ...Change)) {
				d, rs := Get[*appsv1.Deployment](v, "ns", "web").DeepCopy(), Get[*appsv1.ReplicaSet](v, "ns", "web-rs").DeepCopy()
				d.Spec.Replicas, rs.Spec.Replicas = ptr.To[int32](2), ptr.To[int32](2)
				do("the user scales Deployment web to 2", Put(d), Put(rs))
			}},
			{Name: "budget changed", Max: 1, Do: func(v *View, do func(string, ...Change)) {
				b := Get[*policyv1.PodDisruptionBudget](v, "ns", "db").DeepCopy()
				b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(0))
				b.Generation++
				do("the user sets maxUnavailable of db to 0", Put(b))
			}},
			{Name: "preempted", Max: 1, Do: func(v *View, do func(string, ...Change)) {
				if p := Get[*corev1.Pod](v, "ns", "db-1"); p != nil && p.DeletionTimestamp == nil && condition(p, corev1.DisruptionTarget) == nil {
					p = p.DeepCopy()
					p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
						Reason: corev1.PodReasonPreemptionByScheduler, LastTransitionTime: metav1.NewTime(v.Now)})
					do("the scheduler is about to preempt db-1, and dies", Put(p))
				}
			}},
		},
		Controller: budgetController(o),
		Faults:     Faults{Refuse: true, LoseAnswer: true, Crash: true},
		Guarantees: []Guarantee{
			{"never more pods gone than the budget allows", evictionsLeaveEnough},
			{"nothing the user did is undone", workloadsKeepWhatIsTheirs},
		},
		Ghost:    rememberEvictions,
		Rest:     budgetsAreExact,
		Describe: describeWorkload,
	}
}

func controlledBy(kind, name string, numberOf int) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: UID(numberOf), Controller: ptr.To(true)}}
}

func newBudget(name string, numberOf int) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: UID(numberOf), Generation: 1},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}}
}

func newWorkloadPod(name string, numberOf int, app string, owner []metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: UID(numberOf), Labels: map[string]string{"app": app},
		OwnerReferences: owner, CreationTimestamp: metav1.NewTime(Start)}, Spec: corev1.PodSpec{NodeName: "node"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
}

func ready(p *corev1.Pod) *corev1.Pod {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	return p
}

func condition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func isReady(p *corev1.Pod) bool {
	c := condition(p, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

func describeWorkload(o Object) string {
	switch o := o.(type) {
	case *policyv1.PodDisruptionBudget:
		st := o.Status
		return fmt.Sprintf("budget %s: %d expected, %d desired, %d healthy, %d allowed, disrupted %v", o.Name, st.ExpectedPods, st.DesiredHealthy, st.CurrentHealthy, st.DisruptionsAllowed, sortedKeys(st.DisruptedPods))
	case *corev1.Pod:
		s := fmt.Sprintf("pod %s (%s)", o.Name, o.UID)
		if isReady(o) {
			s += " ready"
		} else {
			s += " not ready"
		}
		if c := condition(o, corev1.DisruptionTarget); c != nil {
			s += ", DisruptionTarget=" + string(c.Status)
		}
		if o.DeletionTimestamp != nil {
			s += ", being deleted"
		}
		return s
	case *appsv1.Deployment:
		return fmt.Sprintf("Deployment %s: %d replicas", o.Name, *o.Spec.Replicas)
	case *appsv1.ReplicaSet:
		return fmt.Sprintf("ReplicaSet %s: %d replicas", o.Name, *o.Spec.Replicas)
	case *appsv1.StatefulSet:
		return fmt.Sprintf("StatefulSet %s: %d replicas", o.Name, *o.Spec.Replicas)
	}
	return o.GetName()
}
