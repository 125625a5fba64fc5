package drain

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
	"github.com/purekube/purekube/disruption"
)

// now is the time of all tests; epoch is long before it.
var (
	now   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	epoch = now.Add(-24 * time.Hour)
)

const ns = "shop"

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: ns, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Generation: 1,
		CreationTimestamp: metav1.NewTime(epoch),
	}
}

// owned makes the object controlled by another.
func owned(m metav1.ObjectMeta, apiVersion, kind, name string) metav1.ObjectMeta {
	m.OwnerReferences = []metav1.OwnerReference{
		// An owner that is not the controller never counts.
		{APIVersion: "v1", Kind: "ConfigMap", Name: "bystander", UID: "uid-bystander"},
		{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: ptr.To(true)},
	}
	return m
}

// pod is a ready pod with the label app=web.
func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta(name), Status: corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}}
	p.Labels = map[string]string{"app": "web"}
	for _, c := range change {
		c(p)
	}
	return p
}

func by(apiVersion, kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.ObjectMeta = owned(p.ObjectMeta, apiVersion, kind, name) }
}

func unready(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func deleting(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(ago(time.Second)) }

func phase(ph corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = ph }
}

func labelled(set map[string]string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = set }
}

// pods are so many pods of one controller, the first ready ones of which are ready.
func pods(n, ready int, controller func(*corev1.Pod)) []*corev1.Pod {
	var all []*corev1.Pod
	for i := range n {
		p := pod("web-"+string(rune('a'+i)), controller)
		if i >= ready {
			unready(p)
		}
		all = append(all, p)
	}
	return all
}

// replicaSet is controlled by a Deployment unless that is "".
func replicaSet(name, deployment string, replicas *int32) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: meta(name), Spec: appsv1.ReplicaSetSpec{Replicas: replicas}}
	if deployment != "" {
		rs.ObjectMeta = owned(rs.ObjectMeta, "apps/v1", "Deployment", deployment)
	}
	return rs
}

func statefulSet(name string, replicas *int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: meta(name), Spec: appsv1.StatefulSetSpec{Replicas: replicas}}
}

func replicationController(name string, replicas *int32) *corev1.ReplicationController {
	return &corev1.ReplicationController{ObjectMeta: meta(name), Spec: corev1.ReplicationControllerSpec{Replicas: replicas}}
}

// budget covers app=web and its status has not been computed yet.
func budget(change ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: meta("web")}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	for _, c := range change {
		c(b)
	}
	return b
}

func value(s string) *intstr.IntOrString { return ptr.To(intstr.Parse(s)) }

func maxUnavailable(v string) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = value(v) }
}

func minAvailable(v string) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = value(v) }
}

func named(name string) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.ObjectMeta = meta(name) }
}

func disrupted(entries map[string]metav1.Time) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptedPods = entries }
}

func nn(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: ns, Name: name}
}

// scaleNeed is the lookup of a scale, in the version v1. Of a ReplicaSet the object is looked up.
func scaleNeed(group, kind, namespace, name string) purekube.Need {
	apiVersion := "v1"
	if group != "" {
		apiVersion = group + "/v1"
	}
	return purekube.Need{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, Subresource: "scale"}
}

// objectNeed is the lookup of a ReplicaSet.
func objectNeed(namespace, name string) purekube.Need {
	return purekube.Need{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: namespace, Name: name}
}

func scaleOf(uid types.UID, replicas int32) purekube.Answer {
	return purekube.Answer{Object: &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: uid}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}}
}

func unhealthyPolicy(p policyv1.UnhealthyPodEvictionPolicyType) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Spec.UnhealthyPodEvictionPolicy = &p }
}

var bothModes = map[string]disruption.Options{"default": {}, "upstream": {MatchUpstream: purekube.V1_36}}

// play is Node, whose error is about objects that no drain rests on.
func play(x *disruption.Index, node string, o Options) (Drain, *disruption.Index) {
	d, after, _ := Node(x, node, o)
	return d, after
}

func podsOn(x *disruption.Index, node string) []*corev1.Pod {
	pods, _ := x.PodsOnNode(node)
	return pods
}
