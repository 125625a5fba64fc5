package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
)

func expression(key string, op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}
}

func TestBudgetsFor(t *testing.T) {
	other := budget()
	other.Namespace = "elsewhere"
	front := budget(named("front"), selecting(expression("tier", metav1.LabelSelectorOpExists)))
	all := budget(named("all"), selecting(&metav1.LabelSelector{}))
	none := budget(named("none"), selecting(nil))
	web := budget()
	budgets := []*policyv1.PodDisruptionBudget{web, other, front, none, all}

	got, err := BudgetsFor(budgets, pod("a"))
	require.NoError(t, err)
	require.Equal(t, []*policyv1.PodDisruptionBudget{all, web}, got)
	require.Same(t, web, got[1], "the caller's own objects")

	got, err = BudgetsFor(budgets, nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestBudgetsForBadInput(t *testing.T) {
	broken := budget(named("broken"), selecting(expression("app", "Like")))
	budgets := []*policyv1.PodDisruptionBudget{nil, broken, budget(named("twice")), budget(named("twice")), budget()}
	got, err := BudgetsFor(budgets, pod("a"))
	require.Len(t, got, 1)
	require.ErrorIs(t, err, purekube.ErrNil)
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.ErrorContains(t, err, "PodDisruptionBudget shop/broken: spec.selector")
}
