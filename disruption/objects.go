package disruption

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// The methods in this file return what an Index has. The objects are your own and not copies: do not write to them.
//
// Package drain simulates evictions with these methods, CheckEviction, With and Without.

// Options returns the options of the Index.
func (x *Index) Options() Options { return x.options }

// Now returns the time of the snapshot.
func (x *Index) Now() time.Time { return x.now }

// Pod returns the pod of that name. It returns nil if there is no such pod, or more than one.
func (x *Index) Pod(name types.NamespacedName) *corev1.Pod { return x.pods.Find(name) }

// Budget returns the budget of that name. It returns nil if there is no such budget, or more than one.
func (x *Index) Budget(name types.NamespacedName) *policyv1.PodDisruptionBudget {
	return x.budgets.Find(name)
}

// PodsOnNode returns the pods with that spec.nodeName. duplicates are the names that several pods have, at least one of
// them on the node: nobody can know which of these pods is real. Both lists are sorted by namespace and name. For an
// empty node, both are empty. The cost grows with the number of returned pods and names.
func (x *Index) PodsOnNode(node string) (pods []*corev1.Pod, duplicates []types.NamespacedName) {
	if node == "" {
		return nil, nil
	}
	return x.podsAndDuplicates(x.terms.Term(nodeTerm, node), func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == node
	})
}

// PodsOfController returns the pods of the namespace whose owner reference has the apiVersion, kind, name and UID of
// ref. duplicates are the names that several pods have, at least one of them with such a reference. Both lists are
// sorted by name. The cost grows with the number of returned pods, at most [Workload].MaxPods.
// For a nil reference, both lists are empty.
func (x *Index) PodsOfController(
	namespace string, ref *metav1.OwnerReference,
) (pods []*corev1.Pod, duplicates []types.NamespacedName) {
	if ref == nil {
		return nil, nil
	}
	return x.podsAndDuplicates(x.terms.Term(controllerTerm, namespace, ref.Name), func(pod *corev1.Pod) bool {
		return pod.Namespace == namespace && sameController(metav1.GetControllerOfNoCopy(pod), ref)
	})
}

// podsAndDuplicates returns the pods with the term that match, and the names that several pods have one of which does.
func (x *Index) podsAndDuplicates(
	term uint64, match func(*corev1.Pod) bool,
) (pods []*corev1.Pod, duplicates []types.NamespacedName) {
	for pod := range x.terms.Versions(term) {
		switch name := snapshot.KeyOf(pod); {
		case !match(pod):
		case x.pods.Ambiguous(name):
			duplicates = append(duplicates, name)
		default:
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(duplicates, persistent.CompareNames)
	return sorted(pods), slices.Compact(duplicates)
}

// SelectedPodsBeingDeleted returns the pods that the budget selects and that have a deletion timestamp, sorted by name.
// It leaves out names that several pods have, and returns nil for a budget that is missing or has the name of another.
// The cost grows with the pods of the namespace that are being deleted, or with the pods that have the rarest label of
// the selector, whichever are fewer.
func (x *Index) SelectedPodsBeingDeleted(budget types.NamespacedName) []*corev1.Pod {
	st := x.states.Find(budget)
	if st == nil {
		return nil
	}
	return sorted(x.terms.selectedBeingDeleted(st))
}

// WorkloadsIn returns the ReplicationControllers, ReplicaSets, Deployments and StatefulSets of the namespace, sorted by
// name. It leaves out what cannot be used: nil pointers, objects without a name, and names that several objects have.
// The error names these. The cost grows with the workloads of all namespaces.
func (x *Index) WorkloadsIn(namespace string) (Snapshot, error) {
	w := x.workloads
	var problems snapshot.Problems
	there := Snapshot{
		ReplicationControllers: inNamespace(w.replicationControllers, namespace, &problems),
		ReplicaSets:            inNamespace(w.replicaSets, namespace, &problems),
		Deployments:            inNamespace(w.deployments, namespace, &problems),
		StatefulSets:           inNamespace(w.statefulSets, namespace, &problems),
	}
	return there, problems.Err()
}

func inNamespace[T any, P interface {
	*T
	metav1.Object
}](objects *persistent.Objects[T, P], namespace string, problems *snapshot.Problems) (found []P) {
	if unnamed := objects.Unnamed(namespace); unnamed != nil {
		problems.Add(unnamed)
	}
	for name := range objects.AmbiguousIn(namespace) {
		_, ambiguous := objects.Lookup(name)
		problems.Add(ambiguous)
	}
	for o := range objects.All() {
		if o.GetNamespace() == namespace {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b P) int { return strings.Compare(a.GetName(), b.GetName()) })
	return found
}
