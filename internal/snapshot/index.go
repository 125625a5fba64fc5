// Package snapshot turns the slices of a snapshot into what a plan can rely on: no nil
// objects, one object a name, problems collected in an order that does not depend on the
// order of the slices.
package snapshot

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// Object is a pointer to an API object.
type Object[T any] interface {
	*T
	metav1.Object
}

// KeyOf is the namespace and name of an object.
func KeyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Compact returns the objects that are not nil, in a slice of its own, and adds one
// [purekube.ErrNil] to problems if any was.
func Compact[T any, P Object[T]](kind string, objects []P, problems *Problems) []P {
	kept := make([]P, 0, len(objects))
	for _, o := range objects {
		if o != nil {
			kept = append(kept, o)
		}
	}
	if len(kept) < len(objects) {
		problems.Add(&purekube.ObjectError{Kind: kind, Err: purekube.ErrNil})
	}
	return kept
}

// Unique returns the objects by key. A name that more than one object has is left out and
// named in duplicates: which of them is the real one cannot be known.
func Unique[T any, P Object[T]](objects []P) (byKey map[types.NamespacedName]P, duplicates map[types.NamespacedName]bool) {
	byKey = make(map[types.NamespacedName]P, len(objects))
	for _, o := range objects {
		if o == nil {
			continue
		}
		key := KeyOf(o)
		if duplicates[key] {
			continue
		}
		if _, taken := byKey[key]; taken {
			if duplicates == nil {
				duplicates = map[types.NamespacedName]bool{}
			}
			duplicates[key] = true
			delete(byKey, key)
			continue
		}
		byKey[key] = o
	}
	return byKey, duplicates
}

// DuplicateError is the error for a name that more than one object of a kind has.
func DuplicateError(kind string, key types.NamespacedName) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrDuplicate}
}
