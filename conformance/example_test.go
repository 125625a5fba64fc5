package conformance_test

import (
	"os"
	"testing"

	"github.com/purekube/purekube/conformance"
)

// A policy test of your own: a folder with files in the same format.
func Example() {
	_ = func(t *testing.T) {
		conformance.Run(t, os.DirFS("testdata/policy"))
	}
}

func TestPolicy(t *testing.T) { conformance.Run(t, os.DirFS("testdata/policy")) }
