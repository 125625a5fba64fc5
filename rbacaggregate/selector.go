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
	// text is equal only for selectors that match the same ClusterRoles. It is the text of the compiled selector, whose
	// requirements are sorted by key: the order in which a manifest lists the labels makes no difference.
	text string
	// demands are the labels that every matching object has. A requirement with another operator, such as NotIn or
	// DoesNotExist, demands no label: objects without the label match.
	demands []persistent.Demand
}

// matches reports whether the selector matches an object with these labels. The empty selector matches every object.
func (s *selector) matches(set map[string]string) bool { return s.compiled.Matches(labels.Set(set)) }

// newSelector converts a selector. metav1.LabelSelectorAsSelector returns the error of whichever invalid label its map
// yields first. newSelector always returns the error of the first invalid label by key, then of the first invalid
// expression. The same snapshot must give the same error: in a log or a test, two texts look like two problems.
func newSelector(ls *metav1.LabelSelector) (*selector, error) {
	compiled, err := metav1.LabelSelectorAsSelector(ls)
	if err != nil {
		return nil, firstError(ls, err)
	}
	s := &selector{compiled: compiled, text: compiled.String()}
	// Requirements are a conjunction: an object that lacks one demanded label does not match.
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

// firstError returns the error that newSelector returns for an invalid selector. err is the error of its
// conversion, which depends on the order of a map.
func firstError(ls *metav1.LabelSelector, err error) error {
	// One label at a time, by key: the only way to ask LabelSelectorAsSelector about a single label.
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
	// selectors has nil for a selector that does not convert. The nils keep the positions, which fields of errors and
	// reasons name.
	selectors []*selector
	// problems has an error for each selector that does not convert, in the order of the selectors.
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

// converter converts aggregationRules. Selectors with the same text become one selector. A cluster with 10,000
// ClusterRoles that have the same aggregationRule keeps one compiled selector. A converter is thrown away after the
// objects of one call are converted.
type converter map[string]*selector

// aggregation converts the aggregationRule of an object; nil if there is none. It converts all selectors, also after an
// error, so that a user sees all problems at once. Upstream stops at the first.
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
		// Equal text means equal selector, so one object is enough for both.
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
