package disruption

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
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
	return arrange(Snapshot{Budgets: budgets}, Options{}, everyBudget).BudgetsFor(pod)
}

// BudgetsFor is [BudgetsFor] for the objects of the Index. The pod need not be in the index.
func (x *Index) BudgetsFor(pod *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	if err := x.o.err(); err != nil {
		return nil, err
	}
	if pod == nil {
		return nil, nil
	}
	var problems snapshot.Problems
	x.budgets.AddTo(&problems)
	for _, problem := range x.budgetProblems(pod.Namespace) {
		problems.Add(problem)
	}
	var covering []*policyv1.PodDisruptionBudget
	for _, st := range x.coveredBy(pod) {
		covering = append(covering, st.budget)
	}
	return covering, problems.Err()
}

// budgetProblems are the budgets of a namespace that cannot be told to cover a pod or not.
func (x *Index) budgetProblems(namespace string) []*purekube.ObjectError {
	var found []*purekube.ObjectError
	if x.broken.Len() > 0 {
		for key := range x.broken.From(types.NamespacedName{Namespace: namespace}) {
			if key.Namespace != namespace {
				break
			}
			if st := x.states.Find(key); st != nil {
				found = append(found, st.broken)
			}
		}
	}
	for key := range x.budgets.AmbiguousIn(namespace) {
		found = append(found, snapshot.DuplicateError(budgetKind, key))
	}
	return found
}

// coveredBy are the budgets that cover a pod, sorted by name.
func (x *Index) coveredBy(pod *corev1.Pod) []*budgetState {
	var scratch [8]*filedBudget
	return coveredBy(x.byLabel.Append(scratch[:0], pod.Namespace, pod.Labels), x.states.Find, pod)
}

// coveredBy are those of the candidates that cover the pod and are there yet, sorted by name.
func coveredBy(candidates []*filedBudget, find func(types.NamespacedName) *budgetState, pod *corev1.Pod) []*budgetState {
	var found []*budgetState
	for _, f := range candidates {
		if !f.Value.covers(pod) {
			continue
		}
		if st := find(types.NamespacedName{Namespace: f.Scope, Name: f.Name}); st != nil && st.filed == f {
			found = append(found, st)
		}
	}
	if len(found) > 1 {
		slices.SortFunc(found, func(a, b *budgetState) int { return cmp.Compare(a.budget.Name, b.budget.Name) })
	}
	return found
}
