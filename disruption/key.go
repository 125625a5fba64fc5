package disruption

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// BudgetKey returns the key of a PodDisruptionBudget. The plan is about its status.
func BudgetKey(namespace, name string) purekube.Key {
	return purekube.Key{Kind: budgetKind, Namespace: namespace, Name: name}
}

// PodKey returns the key of a pod. The plan is about its condition DisruptionTarget (BR-25-05): it is empty unless the
// condition is True and the pod is neither being deleted nor done.
func PodKey(namespace, name string) purekube.Key {
	return purekube.Key{Kind: podKind, Namespace: namespace, Name: name}
}

// KeyOf returns the key of a budget or a pod. It returns the zero key for nil.
func KeyOf[T *policyv1.PodDisruptionBudget | *corev1.Pod](object T) purekube.Key {
	switch o := any(object).(type) {
	case *policyv1.PodDisruptionBudget:
		if o != nil {
			return BudgetKey(o.Namespace, o.Name)
		}
	case *corev1.Pod:
		if o != nil {
			return PodKey(o.Namespace, o.Name)
		}
	}
	return purekube.Key{}
}

func budgetKey(n types.NamespacedName) purekube.Key { return BudgetKey(n.Namespace, n.Name) }

func podKey(n types.NamespacedName) purekube.Key { return PodKey(n.Namespace, n.Name) }
