package rbacaggregate

import (
	"fmt"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	operator "k8s.io/apimachinery/pkg/selection"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
)

// selector is a selector of an aggregationRule that converts to a label selector.
type selector struct {
	compiled labels.Selector
	// text is equal only for selectors that match the same ClusterRoles.
	text string
	// demands are the labels that every matching object has.
	demands []persistent.Demand
}

func (s *selector) matches(set map[string]string) bool { return s.compiled.Matches(labels.Set(set)) }

// newSelector converts a selector. metav1.LabelSelectorAsSelector returns the error of whichever invalid label its map
// yields first. newSelector always returns the error of the first invalid label by key, then of the first invalid
// expression.
func newSelector(ls *metav1.LabelSelector) (*selector, error) {
	compiled, err := metav1.LabelSelectorAsSelector(ls)
	if err != nil {
		return nil, firstError(ls, err)
	}
	s := &selector{compiled: compiled, text: compiled.String()}
	requirements, _ := compiled.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case operator.Equals, operator.DoubleEquals, operator.In:
			s.demands = append(s.demands, persistent.Demand{Key: r.Key(), Values: slices.Sorted(maps.Keys(r.Values()))})
		case operator.Exists:
			s.demands = append(s.demands, persistent.Demand{Key: r.Key()})
		}
	}
	return s, nil
}

func firstError(ls *metav1.LabelSelector, err error) error {
	for _, key := range slices.Sorted(maps.Keys(ls.MatchLabels)) {
		one := metav1.LabelSelector{MatchLabels: map[string]string{key: ls.MatchLabels[key]}}
		if _, err := metav1.LabelSelectorAsSelector(&one); err != nil {
			return err
		}
	}
	return err // the first expression's: they are a list
}

// aggregation is an aggregationRule with its selectors converted.
type aggregation struct {
	// selectors has nil for a selector that does not convert.
	selectors []*selector
	// problems has an error for each selector that does not convert.
	problems []*purekube.ObjectError
}

// byText returns the selectors that convert, by their texts.
func (a *aggregation) byText() map[string]*selector {
	if a == nil {
		return nil
	}
	texts := make(map[string]*selector, len(a.selectors))
	for _, s := range a.selectors {
		if s != nil {
			texts[s.text] = s
		}
	}
	return texts
}

// converter converts aggregationRules. Selectors with the same text become one selector.
type converter map[string]*selector

func (c converter) aggregation(object *rbacv1.ClusterRole) *aggregation {
	rule := object.AggregationRule
	if rule == nil {
		return nil
	}
	a := &aggregation{selectors: make([]*selector, len(rule.ClusterRoleSelectors))}
	for i := range rule.ClusterRoleSelectors {
		s, err := newSelector(&rule.ClusterRoleSelectors[i])
		if err != nil {
			a.problems = append(a.problems, &purekube.ObjectError{
				Kind: kindClusterRole, Name: object.Name, Field: selectorField(i), Err: err,
			})
			continue
		}
		if same := c[s.text]; same != nil {
			s = same
		} else {
			c[s.text] = s
		}
		a.selectors[i] = s
	}
	return a
}

// selectorField is the path of a selector in its ClusterRole.
func selectorField(i int) string { return fmt.Sprintf("aggregationRule.clusterRoleSelectors[%d]", i) }
