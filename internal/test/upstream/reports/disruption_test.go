package reports

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	scalefake "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/utils/ptr"
)

// startDisruption runs the controller with the scales that the API server has, by resource and name.
func startDisruption(t *testing.T, client *fake.Clientset, scales map[string]*autoscalingv1.Scale) {
	t.Helper()
	scaleClient := &scalefake.FakeScaleClient{}
	scaleClient.AddReactor("get", "*", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		return true, scales[action.GetResource().Resource+" "+action.(clienttesting.GetAction).GetName()], nil
	})
	start(t, client, func(ctx context.Context, f informers.SharedInformerFactory) func(context.Context) {
		core, apps := f.Core().V1(), f.Apps().V1()
		return runDisruption(disruption.NewDisruptionController(ctx, core.Pods(), f.Policy().V1().PodDisruptionBudgets(),
			core.ReplicationControllers(), apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(),
			client, testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme), scaleClient, client.Discovery()))
	})
}

func readyPod(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: labels},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

func notReady(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	p.Status.Conditions[0].Status = corev1.ConditionFalse
	return p
}

func controlledBy(owner metav1.Object, kind string) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(kind))}
}

func minAvailable(name string, n int32, selector map[string]string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(n)), Selector: &metav1.LabelSelector{MatchLabels: selector},
		},
	}
}

// With the defect fixed, the scale is the one of the Deployment, and no disruption is allowed.
func TestDeploymentIsNotInTheCache(t *testing.T) {
	expectDefect(t, "D-22.md", func(t *testing.T) error {
		client := newCluster(t, lag{"deployments": time.Minute})
		startDisruption(t, client, map[string]*autoscalingv1.Scale{
			"deployments web":     {ObjectMeta: metav1.ObjectMeta{UID: "web"}, Spec: autoscalingv1.ScaleSpec{Replicas: 4}},
			"replicasets web-5d9": {ObjectMeta: metav1.ObjectMeta{UID: "web-5d9"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3}},
		})

		// A rollout of 4 pods has begun: the old ReplicaSet has 3, and the pod of the new one is not there yet.
		labels := map[string]string{"app": "web"}
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web"}}
		deployment.Spec.Replicas = ptr.To(int32(4))
		_, err := client.AppsV1().Deployments("shop").Create(t.Context(), deployment, metav1.CreateOptions{})
		require.NoError(t, err)
		replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-5d9", UID: "web-5d9"}}
		replicaSet.OwnerReferences = controlledBy(deployment, "Deployment")
		replicaSet.Spec.Replicas = ptr.To(int32(3))
		_, err = client.AppsV1().ReplicaSets("shop").Create(t.Context(), replicaSet, metav1.CreateOptions{})
		require.NoError(t, err)
		for i := range 3 {
			pod := readyPod(fmt.Sprintf("web-5d9-%d", i), labels)
			pod.OwnerReferences = controlledBy(replicaSet, "ReplicaSet")
			_, err = client.CoreV1().Pods("shop").Create(t.Context(), pod, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		budget := minAvailable("web", 0, labels)
		budget.Spec.MinAvailable, budget.Spec.MaxUnavailable = nil, ptr.To(intstr.FromInt32(1))
		_, err = client.PolicyV1().PodDisruptionBudgets("shop").Create(t.Context(), budget, metav1.CreateOptions{})
		require.NoError(t, err)

		time.Sleep(time.Hour)
		if statusOf(t, client, "web").DisruptionsAllowed > 0 {
			return errors.New("Deployment web wants 4 pods, 3 are healthy, maxUnavailable is 1, and one more may be disrupted")
		}
		return nil
	})
}

func statusOf(t *testing.T, client *fake.Clientset, budget string) policyv1.PodDisruptionBudgetStatus {
	t.Helper()
	found, err := client.PolicyV1().PodDisruptionBudgets("shop").Get(t.Context(), budget, metav1.GetOptions{})
	require.NoError(t, err)
	return found.Status
}

// With the defects fixed, an event of a pod queues all its budgets, and finding them costs no parsing of selectors.
func TestOverlappingBudgets(t *testing.T) {
	t.Run("status", func(t *testing.T) {
		expectDefect(t, "tenant-budgets.md", func(t *testing.T) error {
			a := readyPod("a", map[string]string{"app": "web", "pod": "a"})
			b := readyPod("b", map[string]string{"app": "web", "pod": "b"})
			objects := []apiruntime.Object{a, b, minAvailable("web", 1, map[string]string{"app": "web"})}
			for i := range 20 {
				objects = append(objects, minAvailable(fmt.Sprintf("only-a-%d", i), 0, map[string]string{"pod": "a"}))
			}
			client := newCluster(t, nil, objects...)
			startDisruption(t, client, nil)
			pods := client.CoreV1().Pods("shop")

			// Which of its 21 budgets an event of pod a queues is random: in 20 attempts it is another one than web.
			for attempt := range 20 {
				require.EqualValues(t, 1, statusOf(t, client, "web").DisruptionsAllowed)
				_, err := pods.Update(t.Context(), notReady(a), metav1.UpdateOptions{})
				require.NoError(t, err)
				time.Sleep(time.Hour)
				if statusOf(t, client, "web").DisruptionsAllowed > 0 {
					return errors.New("budget web wants one healthy pod, pod a is not ready for an hour, and pod b may be evicted")
				}
				_, err = pods.Update(t.Context(), a, metav1.UpdateOptions{})
				require.NoError(t, err)
				// An event of pod b queues web, its only budget. A write that changes nothing causes no event.
				b.Annotations = map[string]string{"attempt": strconv.Itoa(attempt)}
				_, err = pods.Update(t.Context(), b.DeepCopy(), metav1.UpdateOptions{})
				require.NoError(t, err)
				time.Sleep(time.Minute)
			}
			return nil
		})
	})
	t.Run("cost", func(t *testing.T) {
		expectDefect(t, "tenant-budgets.md", func(t *testing.T) error {
			const more = 200
			few, many := allocationsOfAnEvent(t, 20), allocationsOfAnEvent(t, 20+more)
			if many-few > more {
				return fmt.Errorf("%d more budgets that do not select the pod: %d more allocations for each event", more, many-few)
			}
			return nil
		})
	})
}

// allocationsOfAnEvent is what one event of a pod costs, in a namespace with so many budgets, none of which selects it.
func allocationsOfAnEvent(t *testing.T, budgets int) int {
	t.Helper()
	pod := readyPod("a", map[string]string{"pod": "a"})
	objects := []apiruntime.Object{pod}
	for i := range budgets {
		objects = append(objects, minAvailable(fmt.Sprintf("budget-%d", i), 1, map[string]string{"pod": fmt.Sprint(i)}))
	}
	client := newCluster(t, nil, objects...)
	startDisruption(t, client, nil)
	const events = 50
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range events {
		pod.Annotations = map[string]string{"example.com/step": fmt.Sprint(i)}
		_, err := client.CoreV1().Pods("shop").Update(t.Context(), pod, metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Second)
	}
	runtime.ReadMemStats(&after)
	return int(after.Mallocs-before.Mallocs) / events
}
