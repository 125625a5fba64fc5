package rbacaggregate

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// compile converts a selector. metav1.LabelSelectorAsSelector stops at whichever wrong label its map
// yields first; here it is always the first by key, then the first expression.
func compile(ls *metav1.LabelSelector) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(ls)
	if err == nil {
		return selector, nil
	}
	for _, key := range slices.Sorted(maps.Keys(ls.MatchLabels)) {
		one := metav1.LabelSelector{MatchLabels: map[string]string{key: ls.MatchLabels[key]}}
		if _, err := metav1.LabelSelectorAsSelector(&one); err != nil {
			return nil, err
		}
	}
	for _, expression := range ls.MatchExpressions {
		one := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{expression}}
		if _, err := metav1.LabelSelectorAsSelector(&one); err != nil {
			return nil, err
		}
	}
	return nil, err
}

// label is one key and value.
type label struct{ key, value string }

// labelIndex knows which ClusterRoles have a label. It holds only the labels that some
// selector asks for by matchLabels, and the ClusterRoles in their own order.
type labelIndex map[label][]int

// newLabelIndex goes over all roles once.
func newLabelIndex(roles []role) labelIndex {
	index := labelIndex{}
	for i := range roles {
		for _, selector := range roles[i].selectors() {
			for key, value := range selector.MatchLabels {
				index[label{key, value}] = nil
			}
		}
	}
	if len(index) == 0 {
		return index
	}
	for i := range roles {
		for _, object := range roles[i].objects {
			for key, value := range object.Labels {
				at := label{key, value}
				have, wanted := index[at]
				// Two objects of one name may both have it.
				if wanted && (len(have) == 0 || have[len(have)-1] != i) {
					index[at] = append(have, i)
				}
			}
		}
	}
	return index
}

// candidates returns the roles that the selector may match, in their own order: those with the
// rarest label that it asks for. Without matchLabels that is everyone, and all is true.
func (index labelIndex) candidates(ls *metav1.LabelSelector) (some []int, all bool) {
	all = true
	for key, value := range ls.MatchLabels {
		// Lists of equal length hold the same answer, so the map's order does not matter.
		if have := index[label{key, value}]; all || len(have) < len(some) {
			some, all = have, false
		}
	}
	return some, all
}
