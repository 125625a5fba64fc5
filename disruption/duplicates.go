package disruption

import (
	"cmp"
	"iter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
)

// duplicate is a name that several pods have, and the node or the controller of one of them. A snapshot of two dumps of
// a cluster has all names twice, so the names of a node or controller are found without a look at the others.
type duplicate struct {
	of   holder
	name types.NamespacedName
}

// holder is a node, or the name of a controller in a namespace. The field about is nodeTerm or controllerTerm.
type holder struct {
	about           uint64
	namespace, name string
}

type duplicates = persistent.Map[duplicate, struct{}]

func compareDuplicates(a, b duplicate) int {
	return cmp.Or(cmp.Compare(a.of.about, b.of.about), cmp.Compare(a.of.namespace, b.of.namespace),
		cmp.Compare(a.of.name, b.of.name), persistent.CompareNames(a.name, b.name))
}

func newDuplicates(pods *persistent.Objects[corev1.Pod, *corev1.Pod]) *duplicates {
	found := persistent.NewMap[duplicate, struct{}](compareDuplicates).Edit()
	for name, versions := range pods.AmbiguousNames() {
		for _, pod := range versions {
			for _, of := range holdersOf(pod) {
				found.Set(duplicate{of, name}, struct{}{})
			}
		}
	}
	return found.Map()
}

// holdersOf are the node and the controller of a pod.
func holdersOf(pod *corev1.Pod) []holder {
	of := []holder{{about: nodeTerm, name: pod.Spec.NodeName}}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		of = append(of, holder{controllerTerm, pod.Namespace, ref.Name})
	}
	return of
}

// changedDuplicates follows the changes of pods.
func changedDuplicates(d *duplicates, changes []persistent.Change[*corev1.Pod]) *duplicates {
	next := d.Edit()
	for _, c := range changes {
		if len(c.Before) > 1 {
			for _, pod := range c.Before {
				for _, of := range holdersOf(pod) {
					next.Delete(duplicate{of, c.Name})
				}
			}
		}
		if len(c.After) > 1 {
			for _, pod := range c.After {
				for _, of := range holdersOf(pod) {
					next.Set(duplicate{of, c.Name}, struct{}{})
				}
			}
		}
	}
	return next.Map()
}

// duplicatesOf returns the names of the node or controller, sorted.
func duplicatesOf(d *duplicates, of holder) iter.Seq[types.NamespacedName] {
	return func(yield func(types.NamespacedName) bool) {
		for at := range d.From(duplicate{of: of}) {
			if at.of != of || !yield(at.name) {
				return
			}
		}
	}
}
