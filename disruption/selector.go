package disruption

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/purekube/purekube"
)

// matcher is a budget with its selector compiled. A selector that does not compile is nil.
type matcher struct {
	budget   *policyv1.PodDisruptionBudget
	selector labels.Selector
}

// selects reports whether the budget applies to the pod. It is false for a selector that does not compile, as in the
// eviction handler's getPodDisruptionBudgets; the status of such a budget allows nothing all the same.
func (m matcher) selects(pod *corev1.Pod) bool {
	return m.selector != nil && m.budget.Namespace == pod.Namespace && m.selector.Matches(labels.Set(pod.Labels))
}

// compiler compiles the selectors of budgets. It remembers which labels are well-formed: a thousand budgets use the
// same few keys, and checking the keys is most of the work.
type compiler struct {
	keys, values map[string]bool
}

func newCompiler() *compiler { return &compiler{keys: map[string]bool{}, values: map[string]bool{}} }

// matcher compiles the budget's selector. A budget without a selector selects no pod; a budget with an empty selector
// selects all pods of its namespace. If the selector does not compile, the matcher selects nothing and the error says
// why. The errors of the fast and the slow way are the same: wellFormed is false for a malformed label.
func (c *compiler) matcher(b *policyv1.PodDisruptionBudget) (matcher, *purekube.ObjectError) {
	if s := b.Spec.Selector; s != nil && len(s.MatchExpressions) == 0 && c.wellFormed(s.MatchLabels) {
		return matcher{budget: b, selector: labels.Set(s.MatchLabels).AsSelectorPreValidated()}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return matcher{budget: b}, &purekube.ObjectError{
			Kind: budgetKind, Namespace: b.Namespace, Name: b.Name, Field: "spec.selector", Err: firstError(b.Spec.Selector, err)}
	}
	return matcher{budget: b, selector: selector}, nil
}

// firstError returns the error about the first malformed label by name. The library checks labels in the random order
// of a map, and the text becomes part of the budget's condition.
func firstError(s *metav1.LabelSelector, otherwise error) error {
	for _, k := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		if _, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchLabels: map[string]string{k: s.MatchLabels[k]}}); err != nil {
			return err
		}
	}
	return otherwise
}

// wellFormed reports whether all keys and values of a label selector are valid. The budget with a malformed label is
// rare, so the text of the error is left to the library.
func (c *compiler) wellFormed(set map[string]string) bool {
	for k, v := range set {
		if !remember(c.keys, k, validation.IsQualifiedName) || !remember(c.values, v, validation.IsValidLabelValue) {
			return false
		}
	}
	return true
}

// remember returns whether check finds nothing wrong with s, and keeps the answer in known.
func remember(known map[string]bool, s string, check func(string) []string) bool {
	valid, ok := known[s]
	if !ok {
		valid = len(check(s)) == 0
		known[s] = valid
	}
	return valid
}
