package disruption

import (
	"cmp"
	"hash/maphash"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// podTerms finds pods by a term: their namespace, a label in a namespace, their node, their controller,
// or that they are being deleted. It never changes.
//
// A term is a hash, so that what is found is a superset: the caller compares. Each term of each pod
// that the index was made from costs four bytes; what is added later lies in a sorted map over that.
type podTerms struct {
	seed maphash.Seed
	base []*corev1.Pod
	// numbers numbers the terms of base. The pods of term n are positions[first[n]:first[n+1]].
	numbers          map[uint64]int32
	first, positions []int32
	// added are terms that pods have got since. Those that they have lost are not noted.
	added *persistent.Map[addedTerm, struct{}]
}

type addedTerm struct {
	term uint64
	pod  types.NamespacedName
}

func compareAddedTerms(a, b addedTerm) int {
	return cmp.Or(cmp.Compare(a.term, b.term), persistent.CompareNames(a.pod, b.pod))
}

const (
	namespaceTerm = iota
	labelTerm
	nodeTerm
	controllerTerm
	deletingTerm
)

func newPodTerms(pods []*corev1.Pod) *podTerms {
	t := &podTerms{seed: maphash.MakeSeed(), base: pods, numbers: map[uint64]int32{},
		added: persistent.NewMap[addedTerm, struct{}](compareAddedTerms)}
	var scratch []uint64
	numbers := make([]int32, 0, 8*len(pods))
	var counts []int32
	// Most terms are those of many pods: the last ones are found without the map.
	var recent [256]struct {
		term uint64
		n    int32
	}
	ends := make([]int32, len(pods))
	for i, pod := range pods {
		scratch = t.of(scratch[:0], pod)
		for _, term := range scratch {
			r := &recent[term%uint64(len(recent))]
			n, known := r.n, r.term == term && term != 0
			if !known {
				n, known = t.numbers[term]
			}
			if !known {
				n = int32(len(counts))
				t.numbers[term] = n
				counts = append(counts, 0)
			}
			r.term, r.n = term, n
			counts[n]++
			numbers = append(numbers, n)
		}
		ends[i] = int32(len(numbers))
	}
	t.first = make([]int32, len(counts)+1)
	for n, count := range counts {
		t.first[n+1] = t.first[n] + count
		counts[n] = t.first[n]
	}
	t.positions = make([]int32, len(numbers))
	at := int32(0)
	for i := range pods {
		for ; at < ends[i]; at++ {
			n := numbers[at]
			t.positions[counts[n]] = int32(i)
			counts[n]++
		}
	}
	return t
}

// of appends the terms of a pod.
func (t *podTerms) of(terms []uint64, pod *corev1.Pod) []uint64 {
	namespace := maphash.String(t.seed, pod.Namespace)
	terms = append(terms, persistent.Mix(namespaceTerm, namespace))
	for k, v := range pod.Labels {
		terms = append(terms, persistent.Mix(labelTerm, namespace, maphash.String(t.seed, k), maphash.String(t.seed, v)))
	}
	if pod.Spec.NodeName != "" {
		terms = append(terms, t.node(pod.Spec.NodeName))
	}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		terms = append(terms, persistent.Mix(controllerTerm, namespace, maphash.String(t.seed, ref.Name)))
	}
	if pod.DeletionTimestamp != nil {
		terms = append(terms, persistent.Mix(deletingTerm, namespace))
	}
	return terms
}

func (t *podTerms) namespace(namespace string) uint64 {
	return persistent.Mix(namespaceTerm, maphash.String(t.seed, namespace))
}

func (t *podTerms) label(namespace, key, value string) uint64 {
	return persistent.Mix(labelTerm, maphash.String(t.seed, namespace), maphash.String(t.seed, key), maphash.String(t.seed, value))
}

func (t *podTerms) node(name string) uint64 {
	return persistent.Mix(nodeTerm, maphash.String(t.seed, name))
}

func (t *podTerms) controller(namespace string, ref *metav1.OwnerReference) uint64 {
	return persistent.Mix(controllerTerm, maphash.String(t.seed, namespace), maphash.String(t.seed, ref.Name))
}

func (t *podTerms) deleting(namespace string) uint64 {
	return persistent.Mix(deletingTerm, maphash.String(t.seed, namespace))
}

// baseCount is how many pods of base have the term.
func (t *podTerms) baseCount(term uint64) int32 {
	n, known := t.numbers[term]
	if !known {
		return 0
	}
	return t.first[n+1] - t.first[n]
}

// withTerm returns the pods that have the term and match, in no particular order. find is how they are found by
// name, and added the terms that were added.
func (t *podTerms) withTerm(term uint64, find func(types.NamespacedName) *corev1.Pod,
	added *lazyEdit[addedTerm, struct{}], match func(*corev1.Pod) bool) []*corev1.Pod {
	var pods []*corev1.Pod
	if n, known := t.numbers[term]; known {
		for _, i := range t.positions[t.first[n]:t.first[n+1]] {
			if pod := find(snapshot.KeyOf(t.base[i])); pod != nil && match(pod) {
				pods = append(pods, pod)
			}
		}
	}
	inBase := len(pods)
	for x := range added.since(addedTerm{term: term}) {
		if x.term != term {
			break
		}
		if pod := find(x.pod); pod != nil && match(pod) {
			pods = append(pods, pod)
		}
	}
	if inBase > 0 && len(pods) > inBase {
		// A pod that lost the term and got it back is there twice.
		sortPods(pods)
		pods = slices.Compact(pods)
	}
	return pods
}

func sortPods(pods []*corev1.Pod) {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return persistent.CompareNames(snapshot.KeyOf(a), snapshot.KeyOf(b)) })
}
