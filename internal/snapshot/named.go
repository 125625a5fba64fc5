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
