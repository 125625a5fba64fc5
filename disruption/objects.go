package disruption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The methods in this file return what an Index holds. Unlike most of what this package returns the objects are the
// caller's own and no copies: read them only.
//
// With CheckEviction, With and Without they are what a simulation of evictions reads: package drain is one.

// Options are those that the index was made with.
func (x *Index) Options() Options { return x.o }

// Now is the time of the snapshot.
func (x *Index) Now() time.Time { return x.time }

// Pod returns the pod of that name. It returns nil if there is none, or more than one.
func (x *Index) Pod(name types.NamespacedName) *corev1.Pod { return x.pods.Find(name) }

// Budget returns the budget of that name. It returns nil if there is none, or more than one.
func (x *Index) Budget(name types.NamespacedName) *policyv1.PodDisruptionBudget {
	return x.budgets.Find(name)
}

// PodsOnNode returns the pods with that spec.nodeName, and the names of pods on the node that several pods have: which
// of these is the real one cannot be known. Both are sorted by namespace and name. Pods without a node are on none. It
// costs the pods that it returns.
func (x *Index) PodsOnNode(node string) (pods []*corev1.Pod, duplicates []types.NamespacedName) {
	if node == "" {
		return nil, nil
	}
	on := func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node }
	for name, versions := range x.pods.AmbiguousNames() {
		if slices.ContainsFunc(versions, on) {
			duplicates = append(duplicates, name)
		}
	}
	pods = x.terms.matching(on, x.terms.Term(nodeTerm, node))
	sortPods(pods)
	return pods, duplicates
}

// PodsOfController returns the pods of the namespace that name the controller in their owner references, and the names
// of such pods that several pods have. Both are sorted by name. The apiVersion, kind, name and UID of the reference
// count. It costs the pods that it returns; [Workload].MaxPods is how many these are at the most.
func (x *Index) PodsOfController(namespace string, ref *metav1.OwnerReference) (pods []*corev1.Pod, duplicates []types.NamespacedName) {
	of := func(pod *corev1.Pod) bool {
		return pod.Namespace == namespace && sameController(metav1.GetControllerOfNoCopy(pod), ref)
	}
	for name, versions := range x.pods.AmbiguousIn(namespace) {
		if slices.ContainsFunc(versions, of) {
			duplicates = append(duplicates, name)
		}
	}
	pods = x.terms.matching(of, x.terms.Term(controllerTerm, namespace, ref.Name))
	sortPods(pods)
	return pods, duplicates
}

// PodsBeingDeleted returns the pods of the namespace that have a deletion timestamp, sorted by name, without those whose
// name several pods have. It costs the pods that it returns.
func (x *Index) PodsBeingDeleted(namespace string) []*corev1.Pod {
	pods := x.terms.matching(func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil && pod.Namespace == namespace
	}, x.terms.Term(deletingTerm, namespace))
	sortPods(pods)
	return pods
}
