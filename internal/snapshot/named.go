package snapshot

import (
	"errors"

	"github.com/purekube/purekube"
)

// ErrNoName is the cause of the error for an object without a name. Nothing can be written to such an object, and its
// key would be the same as the key for the snapshot as a whole.
var ErrNoName = errors.New("required")

// NamelessError returns the error for an object without a name.
func NamelessError(kind string) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: kind, Field: "metadata.name", Err: ErrNoName}
}

// Named is [Compact] for kinds whose key is the name alone. It also leaves out objects without a name, and adds one
// error to problems if there are any.
func Named[T any, P Object[T]](kind string, objects []P, problems *Problems) []P {
	kept := Compact(kind, objects, problems)
	named := kept[:0]
	for _, o := range kept {
		if o.GetName() != "" {
			named = append(named, o)
		}
	}
	if len(named) < len(kept) {
		problems.Add(NamelessError(kind))
	}
	return named
}
