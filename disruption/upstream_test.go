package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// A Release that is none of the constants is never planned as one of them: every answer is empty, and says so.
func TestUnknownUpstreamIsAnErrorOfEveryAnswer(t *testing.T) {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0"}, Spec: corev1.PodSpec{NodeName: "n"}}
	s := Snapshot{Budgets: []*policyv1.PodDisruptionBudget{budget}, Pods: []*corev1.Pod{pod}}
	for _, text := range []purekube.Upstream{"1.36", "v1.36.3", "v1.38", "nonsense", " "} {
		o := Options{MatchUpstream: text}
		x := NewIndex(s, o)
		for name, ask := range map[string]func() (any, error){
			"Plan":             func() (any, error) { return Plan(s, KeyOf(budget), o) },
			"Index.Plan":       func() (any, error) { return x.Plan(KeyOf(budget)) },
			"PlanAll":          func() (any, error) { return PlanAll(s, o) },
			"Index.PlanAll":    func() (any, error) { return x.PlanAll() },
			"Explain":          func() (any, error) { return NewIndex(s, o).Explain(KeyOf(pod)) },
			"Index.Explain":    func() (any, error) { return x.Explain(KeyOf(pod)) },
			"ExplainAll":       func() (any, error) { return NewIndex(s, o).ExplainAll() },
			"Index.ExplainAll": func() (any, error) { return x.ExplainAll() },
			"CheckEviction": func() (any, error) {
				return NewIndex(s, o).CheckEviction(types.NamespacedName{Namespace: "shop", Name: "web-0"}, AsWritten)
			},
			"Index.CheckEviction": func() (any, error) {
				return x.CheckEviction(types.NamespacedName{Namespace: "shop", Name: "web-0"}, AsWritten)
			},
			"Index.Err":        func() (any, error) { return nil, x.Err() },
			"Index.BudgetsFor": func() (any, error) { return x.BudgetsFor(pod) },
		} {
			t.Run(name+" as "+string(text), func(t *testing.T) {
				answer, err := ask()
				require.ErrorIs(t, err, purekube.ErrUnknownUpstream)
				require.EqualError(t, err, `options: matchUpstream: "`+string(text)+`": want v1.36 or v1.37`)
				require.Empty(t, answer)
			})
		}
	}
	for _, o := range []Options{{}, {MatchUpstream: purekube.V1_36}, {MatchUpstream: purekube.V1_37}} {
		answer, err := PlanAll(s, o)
		require.NoError(t, err)
		require.NotEmpty(t, answer, "the snapshot has something to plan")
	}
}
