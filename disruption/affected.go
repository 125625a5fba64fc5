package disruption

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/snapshot"
)

// BudgetsFor returns the budgets that cover the pod, sorted by name. Unlike everything else in
// this package they are the caller's own objects and no copies: read them only.
//
// A budget covers the pods of its namespace that its selector matches; without a selector
// none, with an empty one all. A selector that does not compile covers none, in the
// eviction handler as well. The error joins what is wrong with the budgets of the pod's
// namespace: such selectors, names that two budgets have (neither is returned), nil pointers and
// budgets without a name.
func BudgetsFor(budgets []*policyv1.PodDisruptionBudget, pod *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	if pod == nil {
		return nil, nil
	}
	var covering []*policyv1.PodDisruptionBudget
	c := newCount(Snapshot{Budgets: inNamespace(budgets, pod.Namespace)}, Options{})
	problems := c.problems
	for _, p := range c.budgetProblems() {
		problems.Add(p)
	}
	for _, i := range c.covering(pod) {
		covering = append(covering, c.guards[i].budget)
	}
	slices.SortFunc(covering, func(a, b *policyv1.PodDisruptionBudget) int { return cmp.Compare(a.Name, b.Name) })
	return covering, problems.Err()
}

// AffectedByPod returns the keys of the budgets to plan again when a pod is added, changed or
// deleted, sorted by name: those that cover it. When its labels changed, ask for the old and the
// new object: the budgets that covered it before have one pod less.
//
// Upstream plans only one of them, whichever its cache returns first, and those of the
// new labels only. Changes of workloads affect no budget until a pod changes.
func AffectedByPod(budgets []*policyv1.PodDisruptionBudget, pod *corev1.Pod) []types.NamespacedName {
	if pod == nil {
		return nil
	}
	var keys []types.NamespacedName
	compile := newCompiler()
	for _, b := range budgets {
		if b == nil || b.Name == "" || b.Namespace != pod.Namespace {
			continue
		}
		if g, problem := compile.guard(b); problem == nil && g.covers(pod) {
			keys = append(keys, snapshot.KeyOf(b))
		}
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(keys)
}
