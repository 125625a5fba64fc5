// Package shop has the objects of the tests of disruption and disruption/drain: pods with the label app=web in the
// namespace shop, their workloads and budgets.
package shop

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// Now is the time of all tests; Epoch is long before it.
var (
	Now   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	Epoch = Now.Add(-24 * time.Hour)
)

// Namespace of all objects.
const Namespace = "shop"

// Ago is a time before Now.
func Ago(d time.Duration) metav1.Time { return metav1.NewTime(Now.Add(-d)) }

// Meta is of an object that was made at Epoch. Its UID is uid- and the name.
func Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: Namespace, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Generation: 1,
		CreationTimestamp: metav1.NewTime(Epoch),
	}
}

// Owned makes the object controlled by another.
func Owned(m metav1.ObjectMeta, apiVersion, kind, name string) metav1.ObjectMeta {
	m.OwnerReferences = []metav1.OwnerReference{
		// An owner that is not the controller never counts.
		{APIVersion: "v1", Kind: "ConfigMap", Name: "bystander", UID: "uid-bystander"},
		{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: ptr.To(true)},
	}
	return m
}

// Pod is a ready pod with the label app=web.
func Pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: Meta(name), Status: corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}}
	p.Labels = map[string]string{"app": "web"}
	for _, c := range change {
		c(p)
	}
	return p
}

// By makes a pod controlled by another object.
func By(apiVersion, kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.ObjectMeta = Owned(p.ObjectMeta, apiVersion, kind, name) }
}

// Unready takes the condition Ready from a pod.
func Unready(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

// Deleting marks a pod as being deleted for a second.
func Deleting(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(Ago(time.Second)) }

// Created makes a pod that old.
func Created(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = Ago(d) }
}

// Phase sets the phase of a pod.
func Phase(ph corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = ph }
}

// Labelled replaces the labels of a pod.
func Labelled(set map[string]string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = set }
}

// Pods are so many pods of one controller, the first ready ones of which are ready.
func Pods(n, ready int, controller func(*corev1.Pod)) []*corev1.Pod {
	var all []*corev1.Pod
	for i := range n {
		p := Pod("web-"+string(rune('a'+i)), controller)
		if i >= ready {
			Unready(p)
		}
		all = append(all, p)
	}
	return all
}

// Deployment has that many replicas, or leaves the number out.
func Deployment(name string, replicas *int32) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: Meta(name), Spec: appsv1.DeploymentSpec{Replicas: replicas}}
}

// ReplicaSet is controlled by a Deployment unless that is "".
func ReplicaSet(name, deployment string, replicas *int32) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: Meta(name), Spec: appsv1.ReplicaSetSpec{Replicas: replicas}}
	if deployment != "" {
		rs.ObjectMeta = Owned(rs.ObjectMeta, "apps/v1", "Deployment", deployment)
	}
	return rs
}

// StatefulSet has that many replicas, or leaves the number out.
func StatefulSet(name string, replicas *int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: Meta(name), Spec: appsv1.StatefulSetSpec{Replicas: replicas}}
}

// ReplicationController has that many replicas, or leaves the number out.
func ReplicationController(name string, replicas *int32) *corev1.ReplicationController {
	return &corev1.ReplicationController{ObjectMeta: Meta(name),
		Spec: corev1.ReplicationControllerSpec{Replicas: replicas}}
}

// Budget selects app=web, and its status has not been computed yet.
func Budget(change ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: Meta("web")}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	for _, c := range change {
		c(b)
	}
	return b
}

// Value is a number or a percentage.
func Value(s string) *intstr.IntOrString { return ptr.To(intstr.Parse(s)) }

// MaxUnavailable sets that field of a budget.
func MaxUnavailable(v string) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = Value(v) }
}

// MinAvailable sets that field of a budget.
func MinAvailable(v string) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = Value(v) }
}

// Named gives a budget another name.
func Named(name string) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.ObjectMeta = Meta(name) }
}

// Disrupted are the pods that a budget says were evicted just now.
func Disrupted(entries map[string]metav1.Time) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptedPods = entries }
}

// Selecting replaces the selector of a budget.
func Selecting(s *metav1.LabelSelector) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = s }
}

// NamespacedName is of an object in Namespace.
func NamespacedName(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: Namespace, Name: name}
}

// ScaleNeed is the lookup of a scale, in the version v1. Of a ReplicaSet the object is looked up.
func ScaleNeed(group, kind, namespace, name string) purekube.Need {
	apiVersion := "v1"
	if group != "" {
		apiVersion = group + "/v1"
	}
	return purekube.Need{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, Subresource: "scale"}
}

// ObjectNeed is the lookup of a ReplicaSet.
func ObjectNeed(namespace, name string) purekube.Need {
	return purekube.Need{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: namespace, Name: name}
}

// ScaleOf is the answer to a lookup of a scale.
func ScaleOf(uid types.UID, replicas int32) purekube.Answer {
	return purekube.Answer{Object: &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: uid},
		Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}}
}

// UnhealthyPolicy sets that field of a budget.
func UnhealthyPolicy(p policyv1.UnhealthyPodEvictionPolicyType) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Spec.UnhealthyPodEvictionPolicy = &p }
}
