// Package snapshot has what plans say about a snapshot as a whole: its problems, in an order that does not depend on
// the order of the slices, and tables of its objects by name.
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

// DuplicateError returns the error for a name that several objects of a kind have.
func DuplicateError(kind string, key types.NamespacedName) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrDuplicate}
}
