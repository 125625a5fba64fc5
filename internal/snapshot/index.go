// Package snapshot prepares the slices of a snapshot for plans: without nil objects, with one object for each name,
// and with problems in an order that does not depend on the order of the slices.
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

// KeyOf returns the namespace and name of an object.
func KeyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Compact returns the objects that are not nil, in a new slice. If an object is nil, it adds one [purekube.ErrNil] to
// problems.
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

// DuplicateError returns the error for a name that several objects of a kind have.
func DuplicateError(kind string, key types.NamespacedName) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrDuplicate}
}
