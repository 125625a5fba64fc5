// Package restson says what the drains of nodes rest on: which kinds the input must say something about, and for which
// nodes it does not say enough. The command and the playground refuse by the same rules.
package restson

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube/manifests"
)

// workloads are the kinds of workloads whose objects say how many pods there should be.
var workloads = []schema.GroupKind{manifests.ReplicaSet, manifests.Deployment, manifests.StatefulSet,
	manifests.ReplicationController}

// ControllerKinds are the kinds of workloads that control a pod or a ReplicaSet of the set. Without their objects it is
// not known how many pods there should be.
func ControllerKinds(s *manifests.Set) []schema.GroupKind {
	used := map[string]bool{}
	note := func(o metav1.Object) {
		if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
			group, _, _ := strings.Cut(owner.APIVersion, "/")
			if core := group == "v1"; core == (owner.Kind == "ReplicationController") && (core || group == "apps") {
				used[owner.Kind] = true
			}
		}
	}
	for _, p := range s.Pods {
		note(p)
	}
	for _, r := range s.ReplicaSets {
		note(r)
	}
	return slices.DeleteFunc(slices.Clone(workloads), func(kind schema.GroupKind) bool { return !used[kind.Kind] })
}

// NodesWithoutBudgets are the nodes with a pod of a namespace where a PodDisruptionBudget could not be read, which may
// select the pod. Nothing can be said about their drains. A budget that may be of any namespace is not one of them: see
// [manifests.Set.HidesIn].
func NodesWithoutBudgets(s *manifests.Set) (nodes, namespaces map[string]bool) {
	namespaces, _ = s.HidesIn(manifests.PodDisruptionBudget)
	nodes = map[string]bool{}
	for _, p := range s.Pods {
		if namespaces[p.Namespace] && p.Spec.NodeName != "" {
			nodes[p.Spec.NodeName] = true
		}
	}
	return nodes, namespaces
}

// UnknownNodes are the nodes of pods that the set has no Node of: evicted pods are not placed there.
func UnknownNodes(s *manifests.Set) map[string]bool {
	known, unknown := map[string]bool{"": true}, map[string]bool{}
	for _, n := range s.Nodes {
		known[n.Name] = true
	}
	for _, p := range s.Pods {
		if !known[p.Spec.NodeName] {
			unknown[p.Spec.NodeName] = true
		}
	}
	return unknown
}
