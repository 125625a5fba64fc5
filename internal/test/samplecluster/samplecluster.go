// Package samplecluster makes small random clusters to drain, for tests. Their controllers share
// budgets, and their pods have most of what an eviction or kubectl drain looks at.
package samplecluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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

// Cluster is a snapshot and what else a drain looks at.
type Cluster struct {
	disruption.Snapshot
	// Nodes that hold the pods.
	Nodes []string
	// DaemonSets exist wherever a pod names one.
	DaemonSets []*appsv1.DaemonSet
}

// New makes a cluster. Equal states of the generator make equal clusters.
func New(r *rand.Rand, now time.Time) Cluster {
	b := builder{r: r, c: Cluster{Nodes: []string{"node-a", "node-b", "node-c"}}}
	b.crowded = b.oneIn(2)
	b.c.Now = now
	b.c.Answers = map[purekube.Need]purekube.Answer{}
	for i := range 1 + r.IntN(5) {
		b.workload(fmt.Sprintf("w%d", i))
	}
	for i := range []int{0, 1, 1, 1, 2, 2, 3}[r.IntN(7)] {
		b.budget(fmt.Sprintf("budget-%d", i))
	}
	return b.c
}

type builder struct {
	r *rand.Rand
	c Cluster
	// crowded: most pods are on the first node.
	crowded bool
}

// oneIn is true once in n times.
func (b *builder) oneIn(n int) bool { return b.r.IntN(n) == 0 }

// workload adds a controller and its pods.
func (b *builder) workload(name string) {
	replicas := int32([]int{0, 1, 1, 2, 3, 4}[b.r.IntN(6)])
	// Mostly there are as many pods as wanted.
	pods := int(replicas)
	switch b.r.IntN(8) {
	case 0:
		pods++
	case 1:
		pods = max(0, pods-1)
	}
	meta := metav1.ObjectMeta{Namespace: b.namespace(), Name: name, UID: types.UID("uid-" + name)}
	labels := map[string]string{"app": name, "tier": []string{"front", "front", "back"}[b.r.IntN(3)]}
	var owner *metav1.OwnerReference
	controlledBy := func(apiVersion, kind string) {
		owner = &metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: meta.UID,
			Controller: ptr.To(true)}
	}
	switch b.r.IntN(14) {
	case 0, 1, 2:
		controlledBy("apps/v1", "ReplicaSet")
		b.deployment(meta, replicas)
	case 3:
		controlledBy("apps/v1", "ReplicaSet")
		b.c.ReplicaSets = append(b.c.ReplicaSets,
			&appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}})
	case 4, 5, 6, 7:
		controlledBy("apps/v1", "StatefulSet")
		if b.oneIn(2) {
			replicas, pods = 1, 1
		}
		policy := []appsv1.PodManagementPolicyType{"", "", appsv1.OrderedReadyPodManagement,
			appsv1.ParallelPodManagement}[b.r.IntN(4)]
		b.c.StatefulSets = append(b.c.StatefulSets, &appsv1.StatefulSet{ObjectMeta: meta,
			Spec: appsv1.StatefulSetSpec{Replicas: &replicas, PodManagementPolicy: policy}})
	case 8:
		controlledBy("v1", "ReplicationController")
		b.c.ReplicationControllers = append(b.c.ReplicationControllers,
			&corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Replicas: &replicas}})
	case 9:
		controlledBy("example.com/v1", "Widget")
		answer := scaleOf(meta.UID, replicas)
		if b.oneIn(6) {
			answer = purekube.Answer{Err: errors.New("widgets.example.com does not implement the scale subresource")}
		}
		need := purekube.Need{
			APIVersion: "example.com/v1", Kind: "Widget", Namespace: meta.Namespace, Name: name, Subresource: "scale"}
		b.c.Answers[need] = answer
	case 10:
		controlledBy("apps/v1", "DaemonSet")
		b.c.DaemonSets = append(b.c.DaemonSets, &appsv1.DaemonSet{ObjectMeta: meta})
		pods = len(b.c.Nodes)
	case 11: // nobody's pods
	case 12:
		controlledBy("batch/v1", "Job")
	case 13:
		// kubectl drain does not know it.
		controlledBy("apps.kruise.io/v1alpha1", "DaemonSet")
		b.c.Answers[purekube.Need{APIVersion: "apps.kruise.io/v1alpha1", Kind: "DaemonSet", Namespace: meta.Namespace,
			Name: name, Subresource: "scale"}] =
			scaleOf(meta.UID, replicas)
	}
	for i := range pods {
		p := b.pod(meta.Namespace, fmt.Sprintf("%s-%d", name, i), labels)
		if owner != nil {
			p.OwnerReferences = []metav1.OwnerReference{*owner}
			if owner.Kind == "DaemonSet" && owner.APIVersion == "apps/v1" {
				p.Spec.NodeName = b.c.Nodes[i]
			}
		}
		b.c.Pods = append(b.c.Pods, p)
	}
}

// deployment adds a Deployment and its ReplicaSet, whose replicas may still differ in a rollout.
func (b *builder) deployment(meta metav1.ObjectMeta, replicas int32) {
	d := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: ptr.To(replicas)}}
	d.UID = "uid-deployment-" + types.UID(meta.Name)
	if b.oneIn(6) {
		*d.Spec.Replicas++
	}
	rs := &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}}
	rs.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "Deployment", Name: d.Name, UID: d.UID, Controller: ptr.To(true)}}
	b.c.Deployments, b.c.ReplicaSets = append(b.c.Deployments, d), append(b.c.ReplicaSets, rs)
}

func (b *builder) namespace() string { return []string{"ns", "ns", "ns", "ns", "other"}[b.r.IntN(5)] }

func (b *builder) pod(namespace, name string, labels map[string]string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1", Labels: labels,
		CreationTimestamp: metav1.NewTime(b.c.Now.Add(-time.Hour)),
	}}
	p.Spec.NodeName = b.c.Nodes[b.r.IntN(len(b.c.Nodes))]
	if b.crowded && !b.oneIn(3) {
		p.Spec.NodeName = b.c.Nodes[0]
	}
	p.Status.Phase = corev1.PodRunning
	ready := corev1.ConditionTrue
	switch b.r.IntN(20) {
	case 0:
		p.Status.Phase, ready = corev1.PodPending, corev1.ConditionFalse
	case 1:
		p.Status.Phase, ready = []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}[b.r.IntN(2)], corev1.ConditionFalse
	case 2, 3, 4:
		ready = []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown}[b.r.IntN(2)]
	case 5:
		p.DeletionTimestamp = ptr.To(metav1.NewTime(b.c.Now.Add(time.Second)))
		p.DeletionGracePeriodSeconds = ptr.To[int64](30)
		if b.oneIn(3) {
			// Its node is down.
			p.DeletionTimestamp = ptr.To(metav1.NewTime(b.c.Now.Add(-time.Hour)))
		}
	}
	if p.Status.Phase != corev1.PodRunning && b.oneIn(4) {
		// No kubelet says so, and everybody has to decide something.
		ready = corev1.ConditionTrue
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	if b.oneIn(12) {
		p.Spec.Volumes = []corev1.Volume{
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	}
	if b.oneIn(40) {
		p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "m"}
	}
	return p
}

// budget adds a budget, whose status is as nobody computed it yet, or as of some time before.
func (b *builder) budget(name string) {
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{
		Namespace: b.namespace(), Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1", Generation: 1,
	}}
	amount := ptr.To(intstr.Parse([]string{"0", "1", "1", "1", "2", "3", "0%", "30%", "50%", "50%", "100%"}[b.r.IntN(11)]))
	if b.oneIn(2) {
		pdb.Spec.MaxUnavailable = amount
	} else {
		pdb.Spec.MinAvailable = amount
	}
	switch b.r.IntN(6) {
	case 0, 1:
		pdb.Spec.Selector = &metav1.LabelSelector{} // several controllers
	case 2:
		pdb.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}
	default:
		pdb.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("w%d", b.r.IntN(3))}}
	}
	if b.oneIn(2) {
		policy := []policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow, policyv1.IfHealthyBudget}[b.r.IntN(2)]
		pdb.Spec.UnhealthyPodEvictionPolicy = &policy
	}
	if b.oneIn(3) {
		pdb.Status = policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: int64(b.r.IntN(2)), DisruptionsAllowed: int32(b.r.IntN(3)),
			CurrentHealthy: int32(b.r.IntN(4)), DesiredHealthy: int32(b.r.IntN(4)), ExpectedPods: int32(b.r.IntN(4)),
		}
		for _, p := range b.c.Pods {
			if p.Namespace == pdb.Namespace && b.oneIn(4) {
				if pdb.Status.DisruptedPods == nil {
					pdb.Status.DisruptedPods = map[string]metav1.Time{}
				}
				ago := []time.Duration{0, time.Minute, 110 * time.Second, 5 * time.Minute}[b.r.IntN(4)]
				pdb.Status.DisruptedPods[p.Name] = metav1.NewTime(b.c.Now.Add(-ago))
			}
		}
	}
	b.c.Budgets = append(b.c.Budgets, pdb)
}

// On are the pods of a node, sorted by namespace and name.
func (c Cluster) On(node string) []*corev1.Pod {
	var on []*corev1.Pod
	for _, p := range c.Pods {
		if p.Spec.NodeName == node {
			on = append(on, p)
		}
	}
	slices.SortFunc(on, func(a, b *corev1.Pod) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
	return on
}

// SomeOf returns about half of the objects.
func SomeOf[T any](r *rand.Rand, objects []T) []T {
	var kept []T
	for _, o := range objects {
		if r.IntN(2) == 0 {
			kept = append(kept, o)
		}
	}
	return kept
}

// StatefulSet returns the StatefulSet with that UID, or nil.
func (c Cluster) StatefulSet(uid types.UID) *appsv1.StatefulSet {
	for _, ss := range c.StatefulSets {
		if ss.UID == uid {
			return ss
		}
	}
	return nil
}

// Replicas are what the controller of that UID wants; 0 if its kind has no scale.
func (c Cluster) Replicas(uid types.UID) int32 {
	for _, rs := range c.ReplicaSets {
		if rs.UID == uid {
			return *rs.Spec.Replicas
		}
	}
	for _, ss := range c.StatefulSets {
		if ss.UID == uid {
			return *ss.Spec.Replicas
		}
	}
	for _, rc := range c.ReplicationControllers {
		if rc.UID == uid {
			return *rc.Spec.Replicas
		}
	}
	for _, answer := range c.Answers {
		if scale, found := answer.Object.(*autoscalingv1.Scale); found && scale.UID == uid {
			return scale.Spec.Replicas
		}
	}
	return 0
}

func scaleOf(uid types.UID, replicas int32) purekube.Answer {
	return purekube.Answer{Object: &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: uid},
		Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}}
}
