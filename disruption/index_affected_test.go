package disruption

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/indextest"
)

var anyTime = cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")

// Random changes, with nil objects, objects without a name and up to three of one name: a key that is not named
// has the same outcome before and after.
func TestIndexNamesEveryChangedOutcome(t *testing.T) {
	for seed := range uint64(150) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 45)), bad: seed%2 == 0}
		s := g.snapshot()
		x := NewIndex(s, []Options{{}, {MatchUpstream: purekube.V1_36}, {}}[seed%3])
		for range 12 {
			st := g.step()
			if g.in(6) {
				st.objects.Pods = append(st.objects.Pods, nil)
			}
			if g.in(4) {
				st.objects.Pods = append(st.objects.Pods, g.pod(""), g.pod("pod-1"), g.pod("pod-1"))
			}
			if g.in(4) {
				st.objects.Budgets = append(st.objects.Budgets, nil, g.budget(""), g.budget("budget-1"), g.budget("budget-1"))
			}
			if g.in(6) {
				st.objects.Deployments = append(st.objects.Deployments, nil)
			}
			next, affected := st.on(x)
			before, _ := x.PlanAll()
			after, _ := next.PlanAll()
			unnamed := indextest.Unnamed(before, after, affected, anyTime, cmpopts.IgnoreFields(corev1.PodCondition{}, "LastTransitionTime"))
			require.Empty(t, unnamed, "seed %d: %s", seed, describe(st.objects))
			x = next
		}
		_, affected := x.With(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{nil, g.budget("")}, Deployments: []*appsv1.Deployment{nil}})
		require.Empty(t, affected, "they are no key's")
	}
}

// A pod without a name closes the budgets of its namespace, and a nil one those of all. A nil pod is what their
// condition names first, so a budget that was closed already says something else.
func TestIndexNamesBudgetsThatSayWhyTheyAreClosed(t *testing.T) {
	s := web(budget(maxUnavailable("1")), 2, pods(2, 2, byWeb)...)
	// A budget that asks for no controller stays open: it is in none of the lists of keys.
	s.Budgets = append(s.Budgets, budget(named("number"), minAvailable("1")))
	x := NewIndex(s, Options{})
	for _, step := range []struct {
		reason   string
		pod      *corev1.Pod
		affected []purekube.Key
	}{
		{"a pod of another namespace is none of theirs", func() *corev1.Pod { p := pod(""); p.Namespace = "team"; return p }(), nil},
		{"a pod without a name may have a controller that is not counted", pod(""), []purekube.Key{key("web")}},
		{"a second one changes nothing", pod(""), nil},
		{"a nil pod is what the condition names then", nil, []purekube.Key{key("web")}},
		{"a second one changes nothing", nil, nil},
	} {
		next, affected := x.With(Snapshot{Pods: []*corev1.Pod{step.pod}})
		before, _ := x.PlanAll()
		after, _ := next.PlanAll()
		require.Equal(t, step.affected, affected, step.reason)
		require.Empty(t, indextest.Unnamed(before, after, affected, anyTime), step.reason)
		x = next
	}
}
