package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// What a drain asks of an Index, beyond its public questions.

// changed is Without and With in one, without the keys that they affect.
func (x *Index) changed(put, gone Snapshot) *Index {
	next := x
	if len(gone.Pods) > 0 {
		next, _ = next.Without(gone)
	}
	if len(put.Pods)+len(put.Budgets) > 0 || !put.Now.IsZero() {
		next, _ = next.With(put)
	}
	return next
}

// namesOfBudgets are the budgets that cover the pod, sorted by name.
func (x *Index) namesOfBudgets(pod *corev1.Pod) []types.NamespacedName {
	covering := x.coveredBy(pod)
	names := make([]types.NamespacedName, len(covering))
	for i, st := range covering {
		names[i] = snapshot.KeyOf(st.budget)
	}
	return names
}

// budget returns the only budget of that name, or nil.
func (x *Index) budget(name types.NamespacedName) *policyv1.PodDisruptionBudget {
	if st := x.states.Find(name); st != nil {
		return st.budget
	}
	return nil
}

// duplicatesOnNode are the names of pods on the node that other pods have as well, sorted.
func (x *Index) duplicatesOnNode(node string) []types.NamespacedName {
	var names []types.NamespacedName
	if x.pods.double.Len() == 0 {
		return nil
	}
	for name, same := range x.pods.double.All() {
		if slices.ContainsFunc(same, func(p *corev1.Pod) bool { return p.Spec.NodeName == node }) {
			names = append(names, name)
		}
	}
	return names
}

// podsBeingDeleted are the pods of a namespace that have a deletion timestamp, in no particular order. Those whose name
// another pod has are not among them.
func (x *Index) podsBeingDeleted(namespace string) []*corev1.Pod {
	added := lazily(x.terms.added)
	return x.terms.withTerm(x.terms.deleting(namespace), x.pods.unique.Find, &added, func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil && pod.Namespace == namespace
	})
}

// podsNaming is the number of pods with that controller reference, or more.
func (x *Index) podsNaming(namespace string, ref *metav1.OwnerReference) int {
	term := x.terms.controller(namespace, ref)
	n := int(x.terms.baseCount(term))
	added := lazily(x.terms.added)
	for a := range added.since(addedTerm{term: term}) {
		if a.term != term {
			break
		}
		n++
	}
	return n
}

// planned is the budget as the disruption controller writes it, nil if it would not.
func (x *Index) planned(budget types.NamespacedName) *policyv1.PodDisruptionBudget {
	if st := x.states.Find(budget); st != nil {
		return x.decide(st).budget
	}
	return nil
}

func sortNames(names []types.NamespacedName) []types.NamespacedName {
	slices.SortFunc(names, persistent.CompareNames)
	return slices.Compact(names)
}
