package disruption

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
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
	p := newPlanner(Snapshot{Budgets: inNamespace(budgets, pod.Namespace)}, Options{})
	problems := p.problems
	for _, problem := range p.budgetProblems() {
		problems.Add(problem)
	}
	for _, i := range p.covering(pod) {
		covering = append(covering, p.matchers[i].budget)
	}
	slices.SortFunc(covering, func(a, b *policyv1.PodDisruptionBudget) int { return cmp.Compare(a.Name, b.Name) })
	return covering, problems.Err()
}
