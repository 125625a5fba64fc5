package clusterapi

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/purekube/purekube/disruption/drain"
)

// Rules are the MachineDrainRules that match a Machine, sorted by name, and the labels of the workload cluster's
// namespaces.
type Rules struct {
	Sorted     []*clusterv1.MachineDrainRule
	Namespaces map[string]labels.Set
}

// Options are the flags of a drain of Cluster API. It evicts no pod whose behavior is Skip or WaitCompleted.
func (r Rules) Options() drain.Options {
	skip := func(pod *corev1.Pod) bool {
		b := r.Behavior(pod)
		return b == clusterv1.MachineDrainRuleDrainBehaviorSkip ||
			b == clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted
	}
	return drain.Options{Force: true, DeleteEmptyDirData: true, IgnoreDaemonSets: true, SkipPod: skip}
}

// Behavior is what the label of a pod says, or the first rule that matches the pod. A drain ends only after the pods
// with WaitCompleted have ended: ask for each pod of Drain.Skipped.
func (r Rules) Behavior(pod *corev1.Pod) clusterv1.MachineDrainRuleDrainBehavior {
	switch label := strings.ToLower(pod.Labels[clusterv1.PodDrainLabel]); strings.Replace(label, "-", "", 1) {
	case "skip":
		return clusterv1.MachineDrainRuleDrainBehaviorSkip
	case "waitcompleted":
		return clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted
	}
	in, known := r.Namespaces[pod.Namespace]
	if !known { // an error for Cluster API: here no rule skips the pod
		return clusterv1.MachineDrainRuleDrainBehaviorDrain
	}
	for _, rule := range r.Sorted {
		matches := len(rule.Spec.Pods) == 0
		for _, s := range rule.Spec.Pods {
			matches = matches || selects(s.Selector, pod.Labels) && selects(s.NamespaceSelector, in)
		}
		if matches {
			return rule.Spec.Drain.Behavior
		}
	}
	return clusterv1.MachineDrainRuleDrainBehaviorDrain
}

// selects reports whether the selector matches the labels. Not set, it matches all.
func selects(s *metav1.LabelSelector, of labels.Set) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return s == nil || err == nil && selector.Matches(of)
}
