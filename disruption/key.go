package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Kind says which of the two plans a [Key] is for.
type Kind string

const (
	// BudgetKey is the kind of a budget's key: its status is computed.
	BudgetKey Kind = "budget"
	// PodKey is the kind of a pod's key: its condition DisruptionTarget is cleared when the
	// pod was not deleted after all.
	PodKey Kind = "pod"
)

// Key names one budget or one pod. Keys are what Plan works on and what a caller queues.
type Key struct {
	Kind            Kind
	Namespace, Name string
}

// KeyOf is the key of a budget or a pod. That of a nil pointer is the zero key.
func KeyOf[T *policyv1.PodDisruptionBudget | *corev1.Pod](object T) Key {
	switch o := any(object).(type) {
	case *policyv1.PodDisruptionBudget:
		if o != nil {
			return Key{Kind: BudgetKey, Namespace: o.Namespace, Name: o.Name}
		}
	case *corev1.Pod:
		if o != nil {
			return Key{Kind: PodKey, Namespace: o.Namespace, Name: o.Name}
		}
	}
	return Key{}
}

// String is "budget:ns/name" or "pod:ns/name".
func (k Key) String() string {
	return string(k.Kind) + ":" + k.Namespace + "/" + k.Name
}

// ParseKey reads what [Key.String] wrote. It is an error if the kind is neither "budget" nor
// "pod", or if namespace or name is missing.
func ParseKey(s string) (Key, error) {
	kind, object, _ := strings.Cut(s, ":")
	namespace, name, _ := strings.Cut(object, "/")
	k := Key{Kind: Kind(kind), Namespace: namespace, Name: name}
	switch {
	case k.Kind != BudgetKey && k.Kind != PodKey:
		return Key{}, fmt.Errorf("key %q: want budget:namespace/name or pod:namespace/name", s)
	case namespace == "" || name == "" || strings.Contains(name, "/"):
		return Key{}, fmt.Errorf("key %q: want a namespace and a name after %s", s, kind)
	}
	return k, nil
}

func (k Key) object() types.NamespacedName {
	return types.NamespacedName{Namespace: k.Namespace, Name: k.Name}
}

// kindName is the Kubernetes kind of the key's object.
func (k Key) kindName() string {
	switch k.Kind {
	case BudgetKey:
		return budgetKind
	case PodKey:
		return podKind
	}
	return string(k.Kind)
}

func budgetKey(n types.NamespacedName) Key {
	return Key{Kind: BudgetKey, Namespace: n.Namespace, Name: n.Name}
}

func podKey(n types.NamespacedName) Key {
	return Key{Kind: PodKey, Namespace: n.Namespace, Name: n.Name}
}

// compareKeys orders by kind, namespace and name. The zero key comes first.
func compareKeys(a, b Key) int {
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

// sortedKeys sorts the keys and names each once.
func sortedKeys(keys []Key) []Key {
	slices.SortFunc(keys, compareKeys)
	return slices.Compact(keys)
}
