package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// PodDisruptionBudget stories: BR-25-01 … BR-25-06.
func init() {
	stories["budget follows readiness"] = budgetFollowsReadiness
	stories["budget lets evictions go one by one"] = evictionsOneByOne
	stories["budget of a custom resource"] = budgetOfACustomResource
	stories["budget of ten StatefulSets"] = tenStatefulSets
	stories["budget and a disruption that came to nothing"] = disruptionThatCameToNothing
}

func budgetFollowsReadiness(t *testing.T, w *world) {
	ns := w.namespace(t, "readiness")
	rs := w.createReplicaSet(t, ns, "web", 3)
	w.createBudget(t, ns, "web", policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(2))})
	for i := range 3 {
		w.createPod(t, ns, fmt.Sprintf("web-%d", i), "web", rs)
	}
	w.disturb()
	eventually(t, patience, "nobody is ready", w.budgetIs(ns, "web", budgetStatus{expected: 3, desired: 2}))
	for i := range 3 {
		w.setReady(t, ns, fmt.Sprintf("web-%d", i), true)
	}
	w.disturb()
	eventually(t, patience, "all are ready", w.budgetIs(ns, "web", budgetStatus{allowed: 1, expected: 3, desired: 2, healthy: 3}))
	w.setReady(t, ns, "web-1", false)
	w.disturb()
	eventually(t, patience, "one is not ready", w.budgetIs(ns, "web", budgetStatus{expected: 3, desired: 2, healthy: 2}))
	_, err := w.PolicyV1().PodDisruptionBudgets(ns).Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"minAvailable":1}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, patience, "the budget is changed", w.budgetIs(ns, "web", budgetStatus{allowed: 1, expected: 3, desired: 1, healthy: 2}))
	// A workload that is scaled, with no pod changed yet.
	_, err = w.AppsV1().ReplicaSets(ns).Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":5}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = w.PolicyV1().PodDisruptionBudgets(ns).Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"minAvailable":"40%"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	w.disturb()
	eventually(t, patience, "a percentage of what is wanted", w.budgetIs(ns, "web", budgetStatus{expected: 5, desired: 2, healthy: 2}))
}

// The API server evicts while the budget says so, refuses with 429 after that, and goes on once another pod
// has taken the place of the first.
func evictionsOneByOne(t *testing.T, w *world) {
	ns := w.namespace(t, "evictions")
	rs := w.createReplicaSet(t, ns, "web", 2)
	w.createBudget(t, ns, "web", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1))})
	for _, name := range []string{"web-a", "web-b"} {
		w.createPod(t, ns, name, "web", rs)
		w.setReady(t, ns, name, true)
	}
	w.disturb()
	eventually(t, patience, "one may go", w.budgetIs(ns, "web", budgetStatus{allowed: 1, expected: 2, desired: 1, healthy: 2}))
	require.NoError(t, w.evict(t.Context(), ns, "web-a"))
	w.disturb()
	require.True(t, apierrors.IsTooManyRequests(w.evict(t.Context(), ns, "web-b")), "the second must be refused")
	eventually(t, patience, "none may go", w.budgetIs(ns, "web", budgetStatus{expected: 2, desired: 1, healthy: 1}))
	require.True(t, apierrors.IsTooManyRequests(w.evict(t.Context(), ns, "web-b")), "the second must be refused still")
	w.removePod(t, ns, "web-a")
	w.createPod(t, ns, "web-c", "web", rs)
	w.setReady(t, ns, "web-c", true)
	w.disturb()
	eventually(t, patience, "the second may go", func(ctx context.Context) error { return w.evict(ctx, ns, "web-b") })
}

// A custom resource's scale counts; one without a scale allows nothing, and the budget says why.
func budgetOfACustomResource(t *testing.T, w *world) {
	w.createCustomResource(t, "games", "Game", true)
	w.createCustomResource(t, "notes", "Note", false)
	ns := w.namespace(t, "custom")
	game := w.createCustom(t, ns, "games", "Game", "chess", 4)
	note := w.createCustom(t, ns, "notes", "Note", "todo", 4)
	for _, owner := range []metav1.OwnerReference{game, note} {
		app := strings.ToLower(owner.Kind)
		w.createBudget(t, ns, app, policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1))})
		for i := range 4 {
			name := fmt.Sprintf("%s-%d", app, i)
			w.createPod(t, ns, name, app, owner)
			w.setReady(t, ns, name, true)
		}
	}
	w.disturb()
	eventually(t, patience, "the scale counts", w.budgetIs(ns, "game", budgetStatus{allowed: 1, expected: 4, desired: 3, healthy: 4}))
	eventually(t, patience, "no scale, nothing allowed", w.budgetFails(ns, "note", "notes.example.com does not implement the scale subresource"))

	require.NoError(t, w.RESTClient().Delete().AbsPath("/apis/example.com/v1/namespaces", ns, "games", "chess").Do(t.Context()).Error())
	w.setReady(t, ns, "game-0", false)
	w.disturb()
	eventually(t, patience, "the custom resource is gone", w.budgetFails(ns, "game", "found no controllers for pod"))
}

// Under one budget of maxUnavailable 1, ten StatefulSets of one replica each lose one pod at a time.
func tenStatefulSets(t *testing.T, w *world) {
	ns := w.namespace(t, "ten")
	w.createBudget(t, ns, "db", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1))})
	for i := range 10 {
		owner := w.createStatefulSet(t, ns, fmt.Sprintf("db-%d", i), 1)
		w.createPod(t, ns, fmt.Sprintf("db-%d-0", i), "db", owner)
		w.setReady(t, ns, fmt.Sprintf("db-%d-0", i), true)
	}
	w.disturb()
	eventually(t, patience, "one of ten may go", w.budgetIs(ns, "db", budgetStatus{allowed: 1, expected: 10, desired: 9, healthy: 10}))
	require.NoError(t, w.evict(t.Context(), ns, "db-3-0"))
	for i := range 10 {
		if i != 3 {
			require.True(t, apierrors.IsTooManyRequests(w.evict(t.Context(), ns, fmt.Sprintf("db-%d-0", i))), "db-%d-0 must be refused", i)
		}
	}
	w.removePod(t, ns, "db-3-0")
	w.disturb()
	// The pod is gone, and with it the last that named its StatefulSet: nine are expected, and eight would do.
	// That is how Kubernetes counts, until the StatefulSet controller has made the pod again.
	eventually(t, patience, "nine are left", w.budgetIs(ns, "db", budgetStatus{allowed: 1, expected: 9, desired: 8, healthy: 9}))
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db-3", Controller: ptr.To(true)}
	set, err := w.AppsV1().StatefulSets(ns).Get(t.Context(), "db-3", metav1.GetOptions{})
	require.NoError(t, err)
	owner.UID = set.UID
	w.createPod(t, ns, "db-3-0", "db", owner)
	eventually(t, patience, "not ready yet", w.budgetIs(ns, "db", budgetStatus{expected: 10, desired: 9, healthy: 9}))
	w.setReady(t, ns, "db-3-0", true)
	eventually(t, patience, "back again", w.budgetIs(ns, "db", budgetStatus{allowed: 1, expected: 10, desired: 9, healthy: 10}))
}

// A pod that was to be disrupted and is not being deleted two minutes later is an ordinary pod again
// (BR-25-05).
func disruptionThatCameToNothing(t *testing.T, w *world) {
	ns := w.namespace(t, "target")
	w.createPod(t, ns, "pod", "pod", metav1.OwnerReference{})
	since := metav1.NewTime(time.Now().Add(-2*time.Minute + 8*time.Second))
	pod, err := w.CoreV1().Pods(ns).Get(t.Context(), "pod", metav1.GetOptions{})
	require.NoError(t, err)
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", LastTransitionTime: since})
	_, err = w.CoreV1().Pods(ns).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.disturb()
	is := func(want corev1.ConditionStatus) func(context.Context) error {
		return func(ctx context.Context) error {
			pod, err := w.CoreV1().Pods(ns).Get(ctx, "pod", metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.DisruptionTarget {
					return expect("DisruptionTarget", want, c.Status)
				}
			}
			return errors.New("no condition DisruptionTarget")
		}
	}
	throughout(t, time.Until(since.Add(2*time.Minute-2*time.Second)), "a target for two minutes", is(corev1.ConditionTrue))
	eventually(t, patience, "no target any more", is(corev1.ConditionFalse))
}

// budgetStatus are the numbers of a budget's status.
type budgetStatus struct{ allowed, expected, desired, healthy int32 }

func (w *world) budgetIs(ns, name string, want budgetStatus) func(context.Context) error {
	return func(ctx context.Context) error {
		b, err := w.PolicyV1().PodDisruptionBudgets(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		s := b.Status
		got := budgetStatus{s.DisruptionsAllowed, s.ExpectedPods, s.DesiredHealthy, s.CurrentHealthy}
		return errors.Join(expect("the status", want, got), expect("observedGeneration", b.Generation, s.ObservedGeneration))
	}
}

func (w *world) budgetFails(ns, name, why string) func(context.Context) error {
	return func(ctx context.Context) error {
		b, err := w.PolicyV1().PodDisruptionBudgets(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
		if c == nil || c.Reason != policyv1.SyncFailedReason || !strings.Contains(c.Message, why) {
			return fmt.Errorf("the condition is %+v", c)
		}
		return expect("disruptionsAllowed", 0, b.Status.DisruptionsAllowed)
	}
}

func (w *world) createBudget(t *testing.T, ns, app string, spec policyv1.PodDisruptionBudgetSpec) {
	t.Helper()
	spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	_, err := w.PolicyV1().PodDisruptionBudgets(ns).Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app}, Spec: spec}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func podTemplate(app string) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{"app": app}
	return &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}}},
	}
}

func (w *world) createReplicaSet(t *testing.T, ns, app string, replicas int32) metav1.OwnerReference {
	t.Helper()
	selector, template := podTemplate(app)
	o, err := w.AppsV1().ReplicaSets(ns).Create(t.Context(), &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector, Template: template}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: o.UID, Controller: ptr.To(true)}
}

func (w *world) createStatefulSet(t *testing.T, ns, name string, replicas int32) metav1.OwnerReference {
	t.Helper()
	selector, template := podTemplate(name)
	o, err := w.AppsV1().StatefulSets(ns).Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.StatefulSetSpec{Replicas: &replicas, Selector: selector, Template: template, ServiceName: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: name, UID: o.UID, Controller: ptr.To(true)}
}

// evict asks for the eviction of a pod, as kubectl drain does.
func (w *world) evict(ctx context.Context, ns, name string) error {
	return w.PolicyV1().Evictions(ns).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}})
}

// createCustomResource makes a CustomResourceDefinition of example.com/v1, and waits until it is served.
func (w *world) createCustomResource(t *testing.T, plural, kind string, scale bool) {
	t.Helper()
	subresources := ``
	if scale {
		subresources = `,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}}`
	}
	body := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]s.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"%[1]s","kind":"%[2]s"},"versions":[{"name":"v1","served":true,"storage":true%[3]s,
		"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"spec":{"type":"object","properties":{"replicas":{"type":"integer"}}},
		"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}}]}}`, plural, kind, subresources)
	require.NoError(t, w.RESTClient().Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").Body([]byte(body)).Do(t.Context()).Error())
	eventually(t, patience, plural+" are served", func(ctx context.Context) error {
		list, err := w.Discovery().ServerResourcesForGroupVersion("example.com/v1")
		if err != nil {
			return err
		}
		for _, r := range list.APIResources {
			if r.Name == plural {
				return w.RESTClient().Get().AbsPath("/apis/example.com/v1", plural).Do(ctx).Error()
			}
		}
		return fmt.Errorf("discovery does not list %s", plural)
	})
}

func (w *world) createCustom(t *testing.T, ns, plural, kind, name string, replicas int) metav1.OwnerReference {
	t.Helper()
	body := fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":%q,"metadata":{"name":%q},"spec":{"replicas":%d}}`, kind, name, replicas)
	var made metav1.PartialObjectMetadata
	raw, err := w.RESTClient().Post().AbsPath("/apis/example.com/v1/namespaces", ns, plural).Body([]byte(body)).Do(t.Context()).Raw()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &made))
	return metav1.OwnerReference{APIVersion: "example.com/v1", Kind: kind, Name: name, UID: made.UID, Controller: ptr.To(true)}
}
