package karpenter

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/utils/pdb"
)

// lister is a client that lists budgets and does nothing else.
type lister struct {
	client.Client
	budgets []*policyv1.PodDisruptionBudget
}

func (l lister) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for _, b := range l.budgets {
		list.(*policyv1.PodDisruptionBudgetList).Items = append(list.(*policyv1.PodDisruptionBudgetList).Items, *b)
	}
	return nil
}

type silent struct{}

func (silent) Publish(...events.Event) {}

func limits(tb testing.TB, budgets []*policyv1.PodDisruptionBudget) pdb.Limits {
	tb.Helper()
	l, err := pdb.NewLimits(context.Background(), lister{budgets: budgets})
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// canEvict is karpenter's answer for the pods of a node, or for one.
func canEvict(l pdb.Limits, pods ...*corev1.Pod) bool {
	_, ok := l.CanEvictPods(pods, clock.RealClock{}, silent{})
	return ok
}
