package snapshot

import "k8s.io/apimachinery/pkg/types"

// Name is [types.NamespacedName] in JSON: that type has no tags, and its keys would be Namespace and Name. Reading
// needs no type of its own, since package json takes keys in any case.
type Name struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Names are the names of a list, nil for nil.
func Names(list []types.NamespacedName) []Name {
	var names []Name
	for _, n := range list {
		names = append(names, Name(n))
	}
	return names
}
