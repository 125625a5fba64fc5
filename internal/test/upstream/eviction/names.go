package eviction

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// KeyOf names an object.
func KeyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// StillFails reports whether both statuses of a budget are the fail-safe one. Which of several failures it names
// changes from pass to pass: the disruption controller does not hear of that, or it would never be idle.
func StillFails(before, after *policyv1.PodDisruptionBudget) bool {
	failed := func(b *policyv1.PodDisruptionBudget) bool {
		return slices.ContainsFunc(b.Status.Conditions, func(c metav1.Condition) bool {
			return c.Reason == policyv1.SyncFailedReason
		})
	}
	return failed(before) && failed(after) && before.Status.DisruptionsAllowed == after.Status.DisruptionsAllowed
}
