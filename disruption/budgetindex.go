package disruption

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/purekube/purekube/internal/persistent"
)

// byLabel finds the budgets that select a pod, without trying all budgets. It files each budget under the labels that
// its selector requires: {app: web, tier: front} is found by the rarer of both labels. Requirements that demand no
// label (NotIn, DoesNotExist) cannot be filed; the selector itself checks them afterwards.
type byLabel = persistent.Selectors[labels.Selector]

// filedBudget is a budget in byLabel. It has no pointer to the budget, since another version with the same selector may
// replace the budget.
type filedBudget = persistent.Filed[labels.Selector]

// file makes the selector of a budget findable. It returns nil if the budget selects no pod: its selector does not
// compile, or is absent. An empty selector is filed without demands, and is a candidate for each pod of its namespace.
func (m matcher) file() *filedBudget {
	if m.selector == nil || m.budget.Spec.Selector == nil {
		return nil
	}
	return &filedBudget{Scope: m.budget.Namespace, Name: m.budget.Name, Demands: demandsOf(m.budget), Value: m.selector}
}

// demandsOf returns the requirements of a budget's selector that an index of pods by label can answer.
func demandsOf(b *policyv1.PodDisruptionBudget) []persistent.Demand {
	if b.Spec.Selector == nil {
		return nil
	}
	demands := make([]persistent.Demand, 0, len(b.Spec.Selector.MatchLabels)+len(b.Spec.Selector.MatchExpressions))
	for k, v := range b.Spec.Selector.MatchLabels {
		demands = append(demands, persistent.Demand{Key: k, Values: []string{v}})
	}
	for _, e := range b.Spec.Selector.MatchExpressions {
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			// A value that is named twice would find the pod twice.
			values := slices.Clone(e.Values)
			slices.Sort(values)
			demands = append(demands, persistent.Demand{Key: e.Key, Values: slices.Compact(values)})
		// Without values, any value will do. A Demand for each value would need to know all values.
		case metav1.LabelSelectorOpExists:
			demands = append(demands, persistent.Demand{Key: e.Key})
		}
	}
	return demands
}
