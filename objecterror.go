package purekube

import (
	"errors"
	"strings"
)

// Causes of an [ObjectError]. Test for them with errors.Is.
var (
	// ErrNil: a slice of the snapshot has a nil pointer in place of an object.
	ErrNil = errors.New("nil object in the snapshot")
	// ErrDuplicate: several objects in the snapshot have the same kind and name. An API server never has two such
	// objects, so it is unknown which object is the real one.
	ErrDuplicate = errors.New("several objects in the snapshot have this name")
	// ErrNotFound: the object that a question is about is not in the snapshot. Questions such as Explain return it.
	// Plan does not: the plan for an object that is gone is empty.
	ErrNotFound = errors.New("not in the snapshot")
	// ErrPathSegment: an object refers to another one by a name, a kind or an apiVersion that cannot be a part of a
	// request's path, for example "../prod/db-0". Users choose these values. No such object can exist, so there is no
	// [Need] for it.
	ErrPathSegment = errors.New("not valid as a path segment")
)

// ObjectError says what is wrong with one object of a snapshot. Functions of this module return it joined with others
// (errors.Join); take it out with errors.As. It is a pointer type in errors.As: `var e *purekube.ObjectError`.
type ObjectError struct {
	// Kind of the object, for example "ClusterRole".
	Kind string
	// Namespace and Name of the object; both empty for a nil pointer.
	Namespace, Name string
	// Field is the path of the field as manifests spell it, for example "spec.cidrs[1]". If it is empty, the error is
	// about the object as a whole.
	Field string
	// Err is the cause.
	Err error
}

// Error returns "Kind namespace/name: field: cause". Empty parts are left out.
func (e *ObjectError) Error() string {
	var b strings.Builder
	b.WriteString(e.Kind)
	if e.Namespace != "" || e.Name != "" {
		b.WriteByte(' ')
	}
	if e.Namespace != "" {
		b.WriteString(e.Namespace)
		b.WriteByte('/')
	}
	b.WriteString(e.Name)
	if e.Field != "" {
		b.WriteString(": ")
		b.WriteString(e.Field)
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause. It makes errors.Is(err, ErrDuplicate) work.
func (e *ObjectError) Unwrap() error { return e.Err }
