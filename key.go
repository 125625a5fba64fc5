package purekube

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Key names one object. Each package has constructors for the kinds that it plans. In JSON a key is the text that
// [Key.String] writes, as a value and as the key of a map.
type Key struct {
	// Kind is the API's: "Pod", "PodDisruptionBudget", "ClusterRole".
	Kind string
	// Namespace is empty for a cluster-scoped object.
	Namespace string
	Name      string
}

// NamespacedName is the namespace and the name. It leaves out the kind, as the name that a controller's queue or a
// client's Get takes.
func (k Key) NamespacedName() types.NamespacedName {
	return types.NamespacedName{Namespace: k.Namespace, Name: k.Name}
}

// String is the kind, the namespace if there is one, and the name: "Pod/ml/train-0", "ClusterRole/admin".
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + "/" + k.Name
	}
	return k.Kind + "/" + k.Namespace + "/" + k.Name
}

// Compare orders keys by kind, namespace and name. It returns a number below, equal to or above 0.
func (k Key) Compare(other Key) int {
	// Not by cmp.Or, which would compare all three each time.
	if k.Kind != other.Kind {
		return strings.Compare(k.Kind, other.Kind)
	}
	if k.Namespace != other.Namespace {
		return strings.Compare(k.Namespace, other.Namespace)
	}
	return strings.Compare(k.Name, other.Name)
}

// MarshalText writes what [Key.String] writes, and no text for the zero Key.
//
// A key is text in JSON, and not an object, so that it can be a key of a map.
func (k Key) MarshalText() ([]byte, error) {
	if k == (Key{}) {
		return nil, nil
	}
	return []byte(k.String()), nil
}

// UnmarshalText reads what [Key.MarshalText] writes. It returns the error of [ParseKey]. No text is the zero Key.
func (k *Key) UnmarshalText(text []byte) (err error) {
	*k = Key{}
	if len(text) > 0 {
		*k, err = ParseKey(string(text))
	}
	return err
}

// errKey: a text is not a key.
var errKey = errors.New("want Kind/name or Kind/namespace/name")

// ParseKey reads what [Key.String] writes. It knows no kinds: a plan for a kind that its package does not plan is
// empty.
func ParseKey(s string) (Key, error) {
	parts := strings.Split(s, "/")
	// Names of the API have no slash and are not empty, so the number of parts says whether there is a namespace.
	for _, part := range parts {
		if part == "" {
			return Key{}, fmt.Errorf("key %q: %w", s, errKey)
		}
	}
	switch len(parts) {
	case 2:
		return Key{Kind: parts[0], Name: parts[1]}, nil
	case 3:
		return Key{Kind: parts[0], Namespace: parts[1], Name: parts[2]}, nil
	}
	return Key{}, fmt.Errorf("key %q: %w", s, errKey)
}
