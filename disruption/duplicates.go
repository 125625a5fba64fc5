package disruption

import (
	"cmp"
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
)

// duplicate is a name that several pods have, and the node of one of them. A snapshot of two dumps of a cluster has all
// names twice, so the names of a node are found without a look at the others.
type duplicate struct {
	node string
	name types.NamespacedName
}

type duplicates = persistent.Map[duplicate, struct{}]

func compareDuplicates(a, b duplicate) int {
	return cmp.Or(cmp.Compare(a.node, b.node), persistent.CompareNames(a.name, b.name))
}

func newDuplicates(pods *persistent.Objects[corev1.Pod, *corev1.Pod]) *duplicates {
	found := persistent.NewMap[duplicate, struct{}](compareDuplicates).Edit()
	for name, versions := range pods.AmbiguousNames() {
		for _, pod := range versions {
			found.Set(duplicate{pod.Spec.NodeName, name}, struct{}{})
		}
	}
	return found.Map()
}

// changedDuplicates follows the changes of pods.
func changedDuplicates(d *duplicates, changes []persistent.Change[*corev1.Pod]) *duplicates {
	next := d.Edit()
	for _, c := range changes {
		if len(c.Before) > 1 {
			for _, pod := range c.Before {
				next.Delete(duplicate{pod.Spec.NodeName, c.Name})
			}
		}
		if len(c.After) > 1 {
			for _, pod := range c.After {
				next.Set(duplicate{pod.Spec.NodeName, c.Name}, struct{}{})
			}
		}
	}
	return next.Map()
}

// duplicatesOn returns the names, sorted.
func duplicatesOn(d *duplicates, node string) iter.Seq[types.NamespacedName] {
	return func(yield func(types.NamespacedName) bool) {
		for at := range d.From(duplicate{node: node}) {
			if at.node != node || !yield(at.name) {
				return
			}
		}
	}
}
