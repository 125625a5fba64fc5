package manifests

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// nodesFor are the nodes that get pods of the workload. If there are nodes and none of them does, that is an error: its
// pods would be pending, so none is made.
func (f *filler) nodesFor(w workload) (fitting []*corev1.Node, ok bool) {
	spec := &w.template.Spec
	added := 0
	for _, n := range f.nodes {
		switch {
		case f.set.added[n.Name]:
			added++
			fitting = append(fitting, n)
		case !n.Spec.Unschedulable && allows(spec, n) && tolerates(spec.Tolerations, n.Spec.Taints):
			fitting = append(fitting, n)
		}
	}
	if selective := len(spec.NodeSelector) > 0 || spec.Affinity != nil && spec.Affinity.NodeAffinity != nil; selective &&
		added > 0 {
		f.note(w, "spec.template.spec", "every added node is taken to fit its nodeSelector and node affinity")
	}
	if len(f.nodes) > 0 && len(fitting) == 0 {
		f.fail(w, "spec.template.spec", "no node of the set fits its nodeSelector, affinity and tolerations")
		return nil, false
	}
	return fitting, true
}

// daemonFits reports whether a DaemonSet of this template has a pod on the node. The DaemonSet controller lets its pods
// tolerate problems of a node, and a cordon. An added node fits every template.
func daemonFits(spec *corev1.PodSpec, n *corev1.Node, added bool) bool {
	if added {
		return true
	}
	tolerations := slices.Clone(spec.Tolerations)
	for _, taint := range []string{
		corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure,
		corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable,
	} {
		tolerations = append(tolerations, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists})
	}
	if spec.HostNetwork {
		tolerations = append(tolerations,
			corev1.Toleration{Key: corev1.TaintNodeNetworkUnavailable, Operator: corev1.TolerationOpExists})
	}
	return allows(spec, n) && tolerates(tolerations, n.Spec.Taints)
}

// tolerates reports whether there is a toleration for each taint that keeps pods away.
func tolerates(tolerations []corev1.Toleration, taints []corev1.Taint) bool {
	for _, taint := range taints {
		keepsAway := taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
		if keepsAway && !slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
			exists := t.Operator == corev1.TolerationOpExists
			return (t.Effect == "" || t.Effect == taint.Effect) &&
				(t.Key == taint.Key || t.Key == "" && exists) &&
				(exists || (t.Operator == "" || t.Operator == corev1.TolerationOpEqual) && t.Value == taint.Value)
		}) {
			return false
		}
	}
	return true
}

// allows reports whether nodeName, nodeSelector and required node affinity allow the node.
func allows(spec *corev1.PodSpec, n *corev1.Node) bool {
	if spec.NodeName != "" && spec.NodeName != n.Name {
		return false
	}
	if !labels.SelectorFromSet(spec.NodeSelector).Matches(labels.Set(n.Labels)) {
		return false
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil ||
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	return slices.ContainsFunc(required.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		return len(t.MatchExpressions)+len(t.MatchFields) > 0 &&
			matches(t.MatchExpressions, n.Labels) && matches(t.MatchFields, map[string]string{"metadata.name": n.Name})
	})
}

// matches reports whether all requirements hold. One that no API server admits holds for no node.
func matches(requirements []corev1.NodeSelectorRequirement, of map[string]string) bool {
	operators := map[corev1.NodeSelectorOperator]selection.Operator{
		corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
		corev1.NodeSelectorOpExists:       selection.Exists,
		corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist, corev1.NodeSelectorOpGt: selection.GreaterThan,
		corev1.NodeSelectorOpLt: selection.LessThan,
	}
	for _, r := range requirements {
		requirement, err := labels.NewRequirement(r.Key, operators[r.Operator], r.Values)
		if err != nil || !requirement.Matches(labels.Set(of)) {
			return false
		}
	}
	return true
}

// WithNodes adds this many nodes for the pods of [Set.AtFullHealth]. Each of them fits every workload: their labels are
// not known, so nothing that selects nodes by labels or taints is looked at. Names that the set already has are
// skipped. It returns a new set. More than [MaxNodes] are not added.
func (s *Set) WithNodes(nodes int) *Set {
	set := *s
	set.Nodes, set.added = slices.Clone(s.Nodes), maps.Clone(s.added)
	if set.added == nil {
		set.added = map[string]bool{}
	}
	taken := map[string]bool{}
	for _, n := range set.Nodes {
		if n != nil {
			taken[n.Name] = true
		}
	}
	nodes = min(nodes, MaxNodes)
	for i := 1; nodes > 0; i++ {
		name := fmt.Sprintf("node-%d", i)
		if taken[name] {
			continue
		}
		nodes--
		set.added[name] = true
		set.Nodes = append(set.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}}})
	}
	return &set
}
