package disruption

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/purekube/purekube"
)

// guard is a budget with its selector compiled. A selector that does not compile is nil.
type guard struct {
	budget   *policyv1.PodDisruptionBudget
	selector labels.Selector
}

// newGuard compiles the budget's selector. Without one a budget covers no pod; with an empty
// one, all of its namespace.
func newGuard(b *policyv1.PodDisruptionBudget) (guard, *purekube.ObjectError) {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return guard{budget: b}, &purekube.ObjectError{
			Kind: budgetKind, Namespace: b.Namespace, Name: b.Name, Field: "spec.selector", Err: err}
	}
	return guard{budget: b, selector: selector}, nil
}

// covers reports whether the budget guards the pod.
func (g guard) covers(pod *corev1.Pod) bool {
	return g.selector != nil && g.budget.Namespace == pod.Namespace && g.selector.Matches(labels.Set(pod.Labels))
}
