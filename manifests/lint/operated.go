package lint

import (
	"cmp"
	"maps"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/manifests"
)

// operated are the objects of operators, which have replicas and no template. An operator makes the pods, with
// labels of its choice. Usually, these are the labels of the object, or one of them has the object's name as its value.
// Each list is sorted by kind and name.
type operated struct {
	in    map[string][]*manifests.CustomWorkload
	with  map[label][]*manifests.CustomWorkload
	named map[types.NamespacedName]*manifests.CustomWorkload
}

type label struct{ namespace, key, value string }

func operatedIn(set *manifests.Set) operated {
	objects := slices.DeleteFunc(slices.Clone(set.CustomWorkloads), func(w *manifests.CustomWorkload) bool {
		return w == nil || w.Template != nil
	})
	slices.SortFunc(objects, byKind)
	o := operated{
		in: map[string][]*manifests.CustomWorkload{}, with: map[label][]*manifests.CustomWorkload{},
		named: map[types.NamespacedName]*manifests.CustomWorkload{},
	}
	for _, w := range objects {
		o.in[w.Namespace] = append(o.in[w.Namespace], w)
		for key, value := range w.Labels {
			at := label{w.Namespace, key, value}
			o.with[at] = append(o.with[at], w)
		}
		name := types.NamespacedName{Namespace: w.Namespace, Name: w.Name}
		if o.named[name] == nil {
			o.named[name] = w
		}
	}
	return o
}

func byKind(a, b *manifests.CustomWorkload) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// by is the first object whose pods the budget may select, or nil. It looks at the objects with the rarest label of
// the selector, until one matches.
func (o operated) by(b *policyv1.PodDisruptionBudget) *manifests.CustomWorkload {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return nil // which is another finding
	}
	candidates := o.in[b.Namespace]
	for key, value := range b.Spec.Selector.MatchLabels {
		if with := o.with[label{b.Namespace, key, value}]; len(with) < len(candidates) {
			candidates = with
		}
	}
	var found []*manifests.CustomWorkload
	matches := func(w *manifests.CustomWorkload) bool { return selector.Matches(labels.Set(w.Labels)) }
	if i := slices.IndexFunc(candidates, matches); i >= 0 {
		found = append(found, candidates[i])
	}
	values := slices.Collect(maps.Values(b.Spec.Selector.MatchLabels))
	for _, r := range b.Spec.Selector.MatchExpressions {
		if r.Operator == metav1.LabelSelectorOpIn {
			values = append(values, r.Values...)
		}
	}
	for _, value := range values {
		if w := o.named[types.NamespacedName{Namespace: b.Namespace, Name: value}]; w != nil {
			found = append(found, w)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return slices.MinFunc(found, byKind)
}
