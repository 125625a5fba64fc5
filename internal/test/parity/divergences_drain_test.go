package parity

import "k8s.io/apimachinery/pkg/runtime"

var drainDivergences = []divergence{
	{
		ID:    "D-40",
		Title: "a PodDisruptionBudget with an empty selector in a preemption",
		Harm:  "kube-scheduler preempts pods that a PodDisruptionBudget protects, although others could be preempted",
		Since: "at least v1.36",
		Why: "In policy/v1 an empty selector selects every pod of the namespace, and the API server refuses to evict " +
			"these pods. When kube-scheduler looks for victims of a preemption, it takes such a budget for one that " +
			"selects no pod (as in policy/v1beta1), and a pod without labels for one that no budget selects. By default, " +
			"drain.Violations counts the pods that the budget selects. kubernetes#141785 mends this for v1.38.",
		Setting: "All pods are victims. Both budgets allow no disruption.",
		Given: func() []runtime.Object {
			var objects []runtime.Object
			for _, b := range D40().Budgets {
				objects = append(objects, b)
			}
			for _, p := range D40().Victims {
				objects = append(objects, p)
			}
			return objects
		},
		RunBy:     "internal/test/eviction",
		Component: "kube-scheduler",
		Upstream:  D40().Upstream,
		Ours:      D40().Ours,
	},
}
