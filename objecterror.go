package purekube

import (
	"errors"
	"strings"
)

// What is wrong with an object, where the error behind an [ObjectError] has no cause of
// its own. Test for them with errors.Is.
var (
	// ErrNil: a slice of the snapshot holds a nil pointer where an object should be.
	ErrNil = errors.New("nil object in the snapshot")
	// ErrDuplicate: the snapshot holds more than one object of that kind and name. An API
	// server never does, so there is no telling which of them is the real one.
	ErrDuplicate = errors.New("several objects in the snapshot have this name")
	// ErrNotFound: the snapshot does not hold the object that a question is about. It is the
	// answer to a question ("may this one go?"), never to a plan: the plan for an object that
	// is gone is empty.
	ErrNotFound = errors.New("not in the snapshot")
	// ErrPathSegment: an object refers to another one by a name, a kind or an apiVersion that cannot
	// be a part of a request's path, for example "../prod/db-0". Users choose these. There is no such object, and no
	// [Need] for it.
	ErrPathSegment = errors.New("not valid as a path segment")
)

// ObjectError says what is wrong with one object of a snapshot. Functions of this module
// return it joined with others (errors.Join); take it out with errors.As.
type ObjectError struct {
	// Kind of the object, for example "ClusterRole".
	Kind string
	// Namespace and Name of the object; both empty for a nil pointer.
	Namespace, Name string
	// Field is the path of the field inside the object as manifests spell it, for example
	// "spec.cidrs[1]". Empty: the object as a whole.
	Field string
	// Err is the cause.
	Err error
}

// Error reads "Kind namespace/name: field: cause", without the parts that are empty.
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

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }
