package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// podTerms finds pods by a term: their namespace, a label or the key of a label in a namespace, their node, their
// controller, or that they are being deleted. It does not find pods whose name another pod has.
//
// A term is a hash, so a search may return pods that do not have it, and pods that had it before a change. Each caller
// checks the pods itself; matching does that.
type podTerms struct {
	persistent.Hash
	*persistent.TermIndex[corev1.Pod, *corev1.Pod]
}

const (
	// What a term is about: a node and a namespace of one name have different terms.
	namespaceTerm = iota
	labelTerm
	labelKeyTerm
	nodeTerm
	controllerTerm
	deletingTerm
)

func newPodTerms(pods *persistent.Objects[corev1.Pod, *corev1.Pod]) podTerms {
	t := podTerms{Hash: persistent.NewHash()}
	t.TermIndex = persistent.NewTermIndex(pods, t.of)
	return t
}

// of appends the terms of a pod. It must depend on nothing but the pod. Labels are terms within a namespace, because a
// budget selects pods of its namespace only, and "app" is a label in all of them.
func (t podTerms) of(terms []uint64, pod *corev1.Pod) []uint64 {
	namespace := t.Text(pod.Namespace)
	terms = append(terms, persistent.Mix(namespaceTerm, namespace), persistent.Mix(nodeTerm, t.Text(pod.Spec.NodeName)))
	for k, v := range pod.Labels {
		key := t.Text(k)
		terms = append(terms, persistent.Mix(labelKeyTerm, namespace, key),
			persistent.Mix(labelTerm, namespace, key, t.Text(v)))
	}
	// The name alone is enough: a Deployment and a StatefulSet of one name are rare, and the caller compares the rest.
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		terms = append(terms, persistent.Mix(controllerTerm, namespace, t.Text(ref.Name)))
	}
	if pod.DeletionTimestamp != nil {
		terms = append(terms, persistent.Mix(deletingTerm, namespace))
	}
	return terms
}

// selected returns the pods that a budget selects. It finds them by the rarest label, or key of a label, that the
// selector requires: of {app: web, managed-by: helm}, the second may be on every pod of the namespace. A selector that
// requires no label, such as NotIn, costs the pods of the namespace.
func (t podTerms) selected(st *budgetState) []*corev1.Pod {
	return t.selectedAmong(st, namespaceTerm, st.selects)
}

// selectedBeingDeleted returns the selected pods that are being deleted.
func (t podTerms) selectedBeingDeleted(st *budgetState) []*corev1.Pod {
	return t.selectedAmong(st, deletingTerm, func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil && st.selects(pod)
	})
}

// selectedAmong returns the selected pods that match. All of them have the term, which is about the namespace.
func (t podTerms) selectedAmong(st *budgetState, term uint64, match func(*corev1.Pod) bool) []*corev1.Pod {
	if st.filed == nil {
		return nil
	}
	ways := [][]uint64{{t.Term(term, st.Namespace)}}
	for _, d := range st.filed.Demands {
		var way []uint64
		for _, v := range d.Values {
			way = append(way, t.Term(labelTerm, st.Namespace, d.Key, v))
		}
		if len(way) == 0 { // Exists
			way = append(way, t.Term(labelKeyTerm, st.Namespace, d.Key))
		}
		ways = append(ways, way)
	}
	// Among ways with equally few pods, a label is better than the term of the namespace.
	slices.Reverse(ways)
	return t.matching(match, ways[t.Rarest(ways)]...)
}

// matching are the pods that have one of the terms and match, each once, in no particular order.
func (t podTerms) matching(match func(*corev1.Pod) bool, terms ...uint64) []*corev1.Pod {
	var pods []*corev1.Pod
	for pod := range t.Find(terms...) {
		if match(pod) {
			pods = append(pods, pod)
		}
	}
	if len(terms) > 1 {
		// Both terms find a pod whose label changed from one of the values to another.
		return slices.Compact(sorted(pods))
	}
	return pods
}

// sorted sorts the slice by namespace and name.
func sorted(pods []*corev1.Pod) []*corev1.Pod {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return persistent.CompareNames(snapshot.KeyOf(a), snapshot.KeyOf(b))
	})
	return pods
}
