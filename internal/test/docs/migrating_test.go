package docs_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/purekubetest"
)

func Example_whereTheAnswerDiffers() {
	ask := func(title string, pod *corev1.Pod, budgets ...*policyv1.PodDisruptionBudget) {
		s := disruption.Snapshot{Pods: []*corev1.Pod{pod}, Budgets: budgets}
		eviction, err := disruption.NewIndex(s, disruption.Options{}).CheckEviction(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, disruption.AsWritten)
		alone := "yes" // what status.disruptionsAllowed alone says
		for _, b := range budgets {
			if b.Status.DisruptionsAllowed < 1 {
				alone = "no"
			}
		}
		fmt.Println(title+":", eviction.Verdict, eviction.Verdict.StatusCode(), err, "(the status alone:", alone+")")
	}
	budget := func(name string, allowed int32) *policyv1.PodDisruptionBudget {
		b := purekubetest.MaxUnavailable("shop/web", "1")
		b.Name = name
		b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, DisruptionsAllowed: allowed, CurrentHealthy: 2, DesiredHealthy: 2}
		return b
	}
	pod := func() *corev1.Pod { return purekubetest.Deployment("shop/web", 1).Pods[0] }

	ask("two budgets that each allow one", pod(), budget("a", 1), budget("b", 1))

	pending := pod()
	pending.Status = corev1.PodStatus{Phase: corev1.PodPending}
	ask("pending, the budget allows none", pending, budget("a", 0))

	ask("ready, the budget allows none", pod(), budget("a", 0))
	ask("not ready, enough others are healthy", purekubetest.NotReady(pod()), budget("a", 0))

	short := budget("a", 0)
	short.Status.CurrentHealthy = 1
	ask("not ready, too few are healthy", purekubetest.NotReady(pod()), short)

	always := short.DeepCopy()
	always.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
	ask("the same with AlwaysAllow", purekubetest.NotReady(pod()), always)

	changed := budget("a", 1)
	changed.Generation++
	ask("the status is older than the spec", pod(), changed)
	// Output:
	// two budgets that each allow one: RefusedConflictingBudgets 500 <nil> (the status alone: yes)
	// pending, the budget allows none: AllowedNoBudget 201 <nil> (the status alone: no)
	// ready, the budget allows none: RefusedNow 429 <nil> (the status alone: no)
	// not ready, enough others are healthy: AllowedUnhealthy 201 <nil> (the status alone: no)
	// not ready, too few are healthy: RefusedNow 429 <nil> (the status alone: no)
	// the same with AlwaysAllow: AllowedUnhealthy 201 <nil> (the status alone: no)
	// the status is older than the spec: RefusedNow 429 <nil> (the status alone: yes)
}

// What the page says of drain.Node where it differs from the tracker: pods come back between the rounds, and between drains.
func TestDrainNodeBringsPodsBack(t *testing.T) {
	web := purekubetest.Deployment("shop/web", 3, "node-a", "node-b", "node-c")
	index := disruption.NewIndex(purekubetest.NewCluster(t, web.Objects(purekubetest.MaxUnavailable("shop/web", "1"))...).Disruption(), disruption.Options{})
	for _, node := range []string{"node-a", "node-b", "node-c"} {
		d, after, err := drain.Node(index, node, drain.Options{})
		require.NoError(t, err)
		require.Equal(t, drain.Now, d.Outcome, node)
		index = after
	}
}

// What the page says of drain.Node and canRemove: a node whose pods go in turns, and one whose last pod never goes since
// nothing comes back.
func TestDrainNodeBesideCanRemove(t *testing.T) {
	managed := purekubetest.Deployment("shop/web", 2, "node-a")
	bare := []*corev1.Pod{purekubetest.Pod("shop/x"), purekubetest.Pod("shop/y")}
	for _, p := range bare {
		p.Labels, p.Spec.NodeName = map[string]string{"app": "web"}, "node-a"
	}
	for _, tc := range []struct {
		name    string
		objects []purekubetest.Object
		want    drain.Outcome
	}{
		{"each may go alone and comes back", managed.Objects(purekubetest.MaxUnavailable("shop/web", "1")), drain.InRounds},
		{"each may go alone and does not come back", []purekubetest.Object{bare[0], bare[1], purekubetest.MinAvailable("shop/web", "1")}, drain.Never},
		{"both may go", managed.Objects(purekubetest.MaxUnavailable("shop/web", "2")), drain.Now},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cluster := purekubetest.NewCluster(t, tc.objects...)
			index := disruption.NewIndex(cluster.Disruption(), disruption.Options{})
			for _, pod := range cluster.Pods {
				eviction, err := index.CheckEviction(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, disruption.Recomputed)
				require.NoError(t, err)
				require.Equal(t, disruption.AllowedWithinBudget, eviction.Verdict, "canRemove asks about each pod alone")
			}
			d, _, err := drain.Node(index, "node-a", drain.Options{Force: true})
			require.NoError(t, err)
			require.Equal(t, tc.want, d.Outcome)
		})
	}
}

// What the page says of a selector that does not compile: its budget covers nothing, others are decided, and the error names it.
func TestASelectorThatDoesNotCompile(t *testing.T) {
	web := purekubetest.Deployment("shop/web", 2, "node-a")
	broken := purekubetest.MaxUnavailable("shop/broken", "1")
	broken.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	never := purekubetest.MaxUnavailable("shop/web", "0")
	index := disruption.NewIndex(purekubetest.NewCluster(t, web.Objects(broken, never)...).Disruption(), disruption.Options{})
	eviction, err := index.CheckEviction(types.NamespacedName{Namespace: "shop", Name: web.Pods[0].Name}, disruption.Recomputed)
	require.Equal(t, []types.NamespacedName{{Namespace: "shop", Name: "web"}}, eviction.Blocking)
	require.ErrorContains(t, err, "shop/broken")
}

// What the page says of the written status: drain.Node does not read it.
func TestDrainNodeDoesNotReadTheStatus(t *testing.T) {
	web, budget := purekubetest.Deployment("shop/web", 1, "node-a"), purekubetest.MinAvailable("shop/web", "1")
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, DisruptionsAllowed: 5, CurrentHealthy: 6, DesiredHealthy: 1}
	index := disruption.NewIndex(purekubetest.NewCluster(t, web.Objects(budget)...).Disruption(), disruption.Options{})
	d, _, err := drain.Node(index, "node-a", drain.Options{})
	require.NoError(t, err)
	require.Equal(t, drain.Never, d.Outcome)
}
