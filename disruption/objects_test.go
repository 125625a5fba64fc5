package disruption

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/internal/persistent"
)

func TestWorkloadsIn(t *testing.T) {
	elsewhere := deployment("elsewhere", nil)
	elsewhere.Namespace = "team"
	a, b, rc, rs := statefulSet("a", nil), statefulSet("b", nil), replicationController("rc", nil), replicaSet("rs", "", nil)
	x := NewIndex(Snapshot{
		ReplicationControllers: []*corev1.ReplicationController{rc},
		ReplicaSets:            []*appsv1.ReplicaSet{replicaSet("twin", "", nil), rs, replicaSet("twin", "", nil)},
		Deployments:            []*appsv1.Deployment{elsewhere, deployment("", nil)},
		StatefulSets:           []*appsv1.StatefulSet{b, a},
	}, Options{})
	got, err := x.WorkloadsIn(ns)
	require.EqualError(t, err, "Deployment: metadata.name: required\nReplicaSet shop/twin: several objects in the snapshot have this name")
	require.Equal(t, Snapshot{ReplicationControllers: []*corev1.ReplicationController{rc}, ReplicaSets: []*appsv1.ReplicaSet{rs},
		StatefulSets: []*appsv1.StatefulSet{a, b}}, got)
	got, err = x.WorkloadsIn("team")
	require.NoError(t, err, "the others are of another namespace")
	require.Equal(t, Snapshot{Deployments: []*appsv1.Deployment{elsewhere}}, got)
	withNil, _ := x.With(Snapshot{StatefulSets: []*appsv1.StatefulSet{nil}})
	_, err = withNil.WorkloadsIn("team")
	require.EqualError(t, err, "StatefulSet: nil object in the snapshot")
}

// The pods are found whether fewer pods are being deleted or fewer have the label.
func TestSelectedPodsBeingDeleted(t *testing.T) {
	db := labelled(map[string]string{"app": "db"})
	b, a, other := pod("b", deleting), pod("a", deleting), pod("other", db, deleting)
	rare := budget(named("rare"), selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "rare"}}))
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(), rare, budget(named("twin")), budget(named("twin")), budget(named("none"), selecting(nil))},
		Pods: []*corev1.Pod{b, pod("c"), pod("d"), pod("twin", deleting), pod("twin", deleting), a, other, pod("e"), pod("f", labelled(map[string]string{"app": "rare"}))}}
	x := NewIndex(s, Options{})
	require.Equal(t, []*corev1.Pod{a, b}, x.SelectedPodsBeingDeleted(nn("web")))
	for _, name := range []string{"rare", "twin", "none", "missing"} {
		require.Empty(t, x.SelectedPodsBeingDeleted(nn(name)), name)
	}
}

// A search visits the pods that have the rarest of the labels, or keys of labels, that the selector requires.
func TestSelectorsVisitFewPods(t *testing.T) {
	s := Snapshot{Budgets: []*policyv1.PodDisruptionBudget{budget(selecting(&metav1.LabelSelector{
		MatchLabels: map[string]string{"app": "web"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"front", "back"}},
			{Key: "team", Operator: metav1.LabelSelectorOpExists}},
	}))}}
	visits := func(web, tier, team int) (visited int) {
		s.Pods = nil
		for i := range 20 {
			p := pod(fmt.Sprint("pod-", i), labelled(map[string]string{}))
			if i < web {
				p.Labels["app"] = "web"
			}
			if i < tier {
				p.Labels["tier"] = "front"
			}
			if i < team {
				p.Labels["team"] = fmt.Sprint("team-", i)
			}
			s.Pods = append(s.Pods, p)
		}
		x := NewIndex(s, Options{})
		x.terms.selectedAmong(x.states.Find(nn("web")), namespaceTerm, func(*corev1.Pod) bool {
			visited++
			return true
		})
		return visited
	}
	require.Equal(t, 3, visits(3, 9, 9))
	require.Equal(t, 4, visits(9, 4, 9))
	require.Equal(t, 5, visits(9, 9, 5))
	require.Equal(t, 20, visits(20, 20, 20))
}

// A demand is what all selected objects have. What a selector excludes is no demand.
func TestDemandsOf(t *testing.T) {
	require.Equal(t, []persistent.Demand{{Key: "app", Values: []string{"web"}}, {Key: "tier", Values: []string{"back", "front"}}, {Key: "version"}},
		demandsOf(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}, MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"front", "back", "front"}},
			{Key: "version", Operator: metav1.LabelSelectorOpExists},
			{Key: "zone", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"a"}},
			{Key: "old", Operator: metav1.LabelSelectorOpDoesNotExist},
		}}))
}
