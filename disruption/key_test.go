package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/purekube/purekube"
)

func TestKeyOf(t *testing.T) {
	require.Equal(t, "PodDisruptionBudget/shop/web", BudgetKey("shop", "web").String())
	require.Equal(t, "Pod/shop/web-0", PodKey("shop", "web-0").String())
	require.Equal(t, key("web"), KeyOf(budget()))
	require.Equal(t, podNamed("a"), KeyOf(pod("a")))
	require.Zero(t, KeyOf[*policyv1.PodDisruptionBudget](nil))
	require.Zero(t, KeyOf[*corev1.Pod](nil))
}

// An Index is what generic code takes.
var _ purekube.Index[*Index, Snapshot, Action] = (*Index)(nil)
