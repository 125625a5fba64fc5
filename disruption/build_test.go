package disruption

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

// now is the time of all tests; epoch is long before it.
var (
	now   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	epoch = now.Add(-24 * time.Hour)
)

const ns = "shop"

// key is a budget's, podNamed a pod's, and nn the name of either.
func key(name string) purekube.Key { return purekube.Key{Kind: budgetKind, Namespace: ns, Name: name} }

func podNamed(name string) purekube.Key {
	return purekube.Key{Kind: podKind, Namespace: ns, Name: name}
}

func nn(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: ns, Name: name}
}

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

func created(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = ago(d) }
}

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

func deployment(name string, replicas *int32) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: meta(name), Spec: appsv1.DeploymentSpec{Replicas: replicas}}
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

func selecting(s *metav1.LabelSelector) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = s }
}

// web is a snapshot of one budget over pods of the Deployment web.
func web(b *policyv1.PodDisruptionBudget, replicas int32, ps ...*corev1.Pod) Snapshot {
	return Snapshot{
		Now: now, Budgets: []*policyv1.PodDisruptionBudget{b}, Pods: ps,
		ReplicaSets: []*appsv1.ReplicaSet{replicaSet("web-rs", "web", ptr.To(replicas))},
		Deployments: []*appsv1.Deployment{deployment("web", ptr.To(replicas))},
	}
}

var byWeb = by("apps/v1", "ReplicaSet", "web-rs")

// statusOf plans the budget web and returns the status that it asks to write.
func statusOf(t *testing.T, s Snapshot, o Options) policyv1.PodDisruptionBudgetStatus {
	t.Helper()
	r, err := Plan(s, key("web"), o)
	require.NoError(t, err)
	return written(t, r)
}

func written(t *testing.T, r Result) policyv1.PodDisruptionBudgetStatus {
	t.Helper()
	require.Empty(t, r.Needs)
	require.Len(t, r.Actions, 1)
	require.IsType(t, UpdateStatus{}, r.Actions[0])
	return r.Actions[0].(UpdateStatus).Budget.Status
}

func reasons(r Result) []string {
	var all []string
	for _, e := range r.Events {
		all = append(all, e.Reason)
	}
	return all
}

var bothModes = map[string]Options{"default": {}, "upstream": {MatchUpstream: purekube.V1_36}}

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

// affectedBy are the keys that an index names when objects take the place of others, or go if nothing does. The
// snapshot is the one after that.
func affectedBy(s, before, after Snapshot, o Options) []purekube.Key {
	x, _ := NewIndex(s, o).Without(after)
	x, _ = x.With(before)
	if reflect.ValueOf(after).IsZero() {
		_, affected := x.Without(before)
		return affected
	}
	_, affected := x.With(after)
	return affected
}

// The snapshot of one object, if it is there.

func ofPod(o *corev1.Pod) (s Snapshot) {
	if o != nil {
		s.Pods = []*corev1.Pod{o}
	}
	return s
}

func ofDeployment(o *appsv1.Deployment) (s Snapshot) {
	if o != nil {
		s.Deployments = []*appsv1.Deployment{o}
	}
	return s
}

func ofReplicaSet(o *appsv1.ReplicaSet) (s Snapshot) {
	if o != nil {
		s.ReplicaSets = []*appsv1.ReplicaSet{o}
	}
	return s
}

func ofStatefulSet(o *appsv1.StatefulSet) (s Snapshot) {
	if o != nil {
		s.StatefulSets = []*appsv1.StatefulSet{o}
	}
	return s
}

func ofReplicationController(o *corev1.ReplicationController) (s Snapshot) {
	if o != nil {
		s.ReplicationControllers = []*corev1.ReplicationController{o}
	}
	return s
}
