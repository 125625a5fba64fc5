package disruption

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// BudgetsFor returns the budgets that select the pod, sorted by name. The pod need not be in the Index. Unlike the
// other results of this package, the budgets are your own objects and not copies: do not write to them.
//
// A budget selects the pods of its namespace that its selector matches. A budget without a selector selects no pod, and
// a budget with an empty selector selects all pods of its namespace. A selector that does not compile selects no pod;
// the eviction handler does the same.
//
// The error joins the problems of the budgets in the pod's namespace: selectors that do not compile, names that several
// budgets have (none of these is returned), nil pointers and budgets without a name.
func (x *Index) BudgetsFor(pod *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	if pod == nil {
		return nil, nil
	}
	// A nil budget may be in any namespace, so it is always reported. The other problems belong to the pod's namespace.
	var problems snapshot.Problems
	x.budgets.AddTo(&problems)
	problems.Add(x.budgetProblems(pod.Namespace)...)
	var covering []*policyv1.PodDisruptionBudget
	for _, st := range x.coveredBy(pod) {
		covering = append(covering, st.PodDisruptionBudget)
	}
	return covering, problems.Err()
}

// budgetProblems returns an error for each budget of a namespace for which it is unknown which pods it selects. The
// errors are shared and must not be written to. It costs the budgets of the namespace whose selector demands no label.
func (x *Index) budgetProblems(namespace string) []*purekube.ObjectError {
	var found []*purekube.ObjectError
	for _, f := range x.byLabel.Append(nil, namespace, nil) {
		if st := x.states.Find(types.NamespacedName{Namespace: f.Scope, Name: f.Name}); st != nil && st.broken != nil {
			found = append(found, st.broken)
		}
	}
	for key := range x.budgets.AmbiguousIn(namespace) {
		found = append(found, snapshot.DuplicateError(budgetKind, key))
	}
	return found
}

// coveredBy returns the budgets that select a pod, sorted by name. The pod need not be in the Index. scratch has room
// for the usual number of candidates, so a search usually allocates nothing.
func (x *Index) coveredBy(pod *corev1.Pod) []*budgetState {
	var scratch [8]*filedBudget
	return coveredBy(x.byLabel.Append(scratch[:0], pod.Namespace, pod.Labels), x.states.Find, pod)
}

// coveredBy returns the candidates that select the pod and still exist, sorted by name. A candidate may be an earlier
// version of a budget, so that one budget may be a candidate twice.
func coveredBy(
	candidates []*filedBudget, find func(types.NamespacedName) *budgetState, pod *corev1.Pod,
) []*budgetState {
	var found []*budgetState
	for _, f := range candidates {
		if !f.Value.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if st := find(types.NamespacedName{Namespace: f.Scope, Name: f.Name}); st != nil && st.selects(pod) {
			found = append(found, st)
		}
	}
	return byName(found)
}

// byName sorts budgets of one namespace, and returns each once.
func byName(list []*budgetState) []*budgetState {
	slices.SortFunc(list, func(a, b *budgetState) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(list)
}
