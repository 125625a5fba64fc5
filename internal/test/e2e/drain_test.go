package e2e

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
)

func init() { stories["budget and the drain of a node"] = drainOfANode }

// drain.Node says beforehand which pods go in which round and which stay. Then the same node is drained through the
// eviction API, with a kubelet that ends the evicted pods and controllers that make them again elsewhere,
// played by hand: the rounds are the same.
func drainOfANode(t *testing.T, w *world) {
	ns := w.namespace(t, "drain")
	web := w.createReplicaSet(t, ns, "web", 5)
	api := w.createReplicaSet(t, ns, "api", 2)
	w.createBudget(t, ns, "web", policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromString("60%"))})
	w.createBudget(t, ns, "api", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(0))})
	w.createBudget(t, ns, "db", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1))})
	w.drainable(t, ns, "web", web, "old", 4)
	w.drainable(t, ns, "web-elsewhere", web, "other", 1)
	w.drainable(t, ns, "api", api, "old", 1)
	w.drainable(t, ns, "api-elsewhere", api, "other", 1)
	w.drainable(t, ns, "free", w.createReplicaSet(t, ns, "free", 1), "old", 1)
	for i := range 3 {
		name := fmt.Sprintf("db-%d", i)
		w.drainable(t, ns, name, w.createStatefulSet(t, ns, name, 1), "old", 1)
	}
	w.drainable(t, ns, "logs", metav1.OwnerReference{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "logs", UID: "1", Controller: ptr.To(true)}, "old", 1)
	eventually(t, patience, "the budgets have been computed", func(ctx context.Context) error {
		for name, allowed := range map[string]int32{"web": 2, "api": 0, "db": 1} {
			b, err := w.PolicyV1().PodDisruptionBudgets(ns).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if err := expect("what "+name+" allows", allowed, b.Status.DisruptionsAllowed); err != nil {
				return err
			}
		}
		return nil
	})

	plan, _, err := drain.Node(disruption.NewIndex(w.disruptions(t, ns), disruption.Options{}), "old", drain.Options{IgnoreDaemonSets: true})
	require.NoError(t, err)
	require.Equal(t, drain.Never, plan.Outcome, "%+v", plan)
	require.Len(t, plan.Rounds, 3, "web needs two rounds and db three")
	t.Logf("rounds %v, refused %v", plan.Rounds, plan.Refused)
	var refused []types.NamespacedName
	for _, r := range plan.Refused {
		refused = append(refused, r.Pod)
	}

	left := w.podsOn(t, ns, "old", "logs-0")
	var rounds [][]types.NamespacedName
	for len(rounds) < len(plan.Rounds) {
		var evicted []types.NamespacedName
		for _, pod := range slices.Clone(left) {
			if w.evictNow(t, pod) {
				evicted = append(evicted, types.NamespacedName{Namespace: ns, Name: pod.Name})
				left = slices.DeleteFunc(left, func(p *corev1.Pod) bool { return p.Name == pod.Name })
			}
		}
		rounds = append(rounds, evicted)
		for _, pod := range evicted {
			w.comeBack(t, ns, pod.Name)
		}
		w.disturb()
		w.settled(t, ns)
	}
	require.Equal(t, plan.Rounds, rounds)
	var stay []types.NamespacedName
	for _, pod := range left {
		require.False(t, w.evictNow(t, pod), "%s stays", pod.Name)
		stay = append(stay, types.NamespacedName{Namespace: ns, Name: pod.Name})
	}
	require.Equal(t, refused, stay)
}

// drainable makes ready pods of an owner on a node.
func (w *world) drainable(t *testing.T, ns, name string, owner metav1.OwnerReference, node string, count int) {
	t.Helper()
	for i := range count {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i), Labels: map[string]string{"app": appOf(owner.Name)}, OwnerReferences: []metav1.OwnerReference{owner}},
			Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "image"}}},
		}
		_, err := w.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
		w.setReady(t, ns, pod.Name, true)
	}
}

// appOf is the label of the pods of an owner: db for db-0, db-1 and so on.
func appOf(owner string) string {
	if len(owner) > 2 && owner[:3] == "db-" {
		return "db"
	}
	return owner
}

// comeBack plays the kubelet, which ends an evicted pod, and the controller, which makes it again elsewhere.
func (w *world) comeBack(t *testing.T, ns, name string) {
	t.Helper()
	gone, err := w.CoreV1().Pods(ns).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	w.removePod(t, ns, name)
	again := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: gone.Labels, OwnerReferences: gone.OwnerReferences},
		Spec:       corev1.PodSpec{NodeName: "other", Containers: []corev1.Container{{Name: "c", Image: "image"}}},
	}
	if gone.OwnerReferences[0].Kind != "StatefulSet" {
		again.Name, again.GenerateName = "", gone.OwnerReferences[0].Name+"-"
	}
	again, err = w.CoreV1().Pods(ns).Create(t.Context(), again, metav1.CreateOptions{})
	require.NoError(t, err)
	w.setReady(t, ns, again.Name, true)
}

// evictNow reports whether the API server evicts the pod. It waits until it has an answer that counts: one to a
// status that the controller has computed.
func (w *world) evictNow(t *testing.T, pod *corev1.Pod) bool {
	t.Helper()
	w.settled(t, pod.Namespace)
	err := w.evict(t.Context(), pod.Namespace, pod.Name)
	if !apierrors.IsTooManyRequests(err) {
		require.NoError(t, err)
	}
	return err == nil
}

// settled waits until nothing is left to plan for the budgets of the namespace.
func (w *world) settled(t *testing.T, ns string) {
	t.Helper()
	eventually(t, patience, "the budgets are up to date", func(context.Context) error {
		outcomes, err := disruption.PlanAll(w.disruptions(t, ns), disruption.Options{})
		if err != nil {
			return err
		}
		for _, o := range outcomes {
			if len(o.Result.Actions) > 0 {
				return fmt.Errorf("to do: %v", o.Result.Actions)
			}
		}
		return nil
	})
}

func (w *world) podsOn(t *testing.T, ns, node, except string) []*corev1.Pod {
	t.Helper()
	list, err := w.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	require.NoError(t, err)
	pods := slices.DeleteFunc(pointers(list.Items), func(p *corev1.Pod) bool { return p.Name == except })
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// disruptions is what the API server holds of a namespace.
func (w *world) disruptions(t *testing.T, ns string) disruption.Snapshot {
	t.Helper()
	all := metav1.ListOptions{}
	budgets, err := w.PolicyV1().PodDisruptionBudgets(ns).List(t.Context(), all)
	require.NoError(t, err)
	pods, err := w.CoreV1().Pods(ns).List(t.Context(), all)
	require.NoError(t, err)
	sets, err := w.AppsV1().ReplicaSets(ns).List(t.Context(), all)
	require.NoError(t, err)
	stateful, err := w.AppsV1().StatefulSets(ns).List(t.Context(), all)
	require.NoError(t, err)
	return disruption.Snapshot{Now: time.Now(), Budgets: pointers(budgets.Items), Pods: pointers(pods.Items),
		ReplicaSets: pointers(sets.Items), StatefulSets: pointers(stateful.Items)}
}
