package resourceclaim

import (
	"cmp"
	"fmt"
	"strings"
)

// Kind says which of the two passes a [Key] is for.
type Kind string

const (
	// PodKey is the kind of a pod's key: its claims are created, named in its status and
	// reserved for it.
	PodKey Kind = "pod"
	// ClaimKey is the kind of a claim's key: reservations that nobody needs are released,
	// and what is left over is deallocated and deleted.
	ClaimKey Kind = "claim"
)

// Key names one pod or one claim. Keys are what Plan works on and what a caller queues.
type Key struct {
	Kind            Kind
	Namespace, Name string
}

// String is the key as upstream's work queue spells it, "pod:ns/name" or "claim:ns/name".
func (k Key) String() string {
	return string(k.Kind) + ":" + k.Namespace + "/" + k.Name
}

// ParseKey reads what [Key.String] wrote. It is an error if the kind is neither "pod" nor
// "claim", or if namespace or name is missing.
func ParseKey(s string) (Key, error) {
	kind, object, _ := strings.Cut(s, ":")
	namespace, name, _ := strings.Cut(object, "/")
	k := Key{Kind: Kind(kind), Namespace: namespace, Name: name}
	switch {
	case k.Kind != PodKey && k.Kind != ClaimKey:
		return Key{}, fmt.Errorf("key %q: want pod:namespace/name or claim:namespace/name", s)
	case namespace == "" || name == "" || strings.Contains(name, "/"):
		return Key{}, fmt.Errorf("key %q: want a namespace and a name after %s", s, kind)
	}
	return k, nil
}

// compareKeys orders by kind, namespace and name. The zero key comes first.
func compareKeys(a, b Key) int {
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}
