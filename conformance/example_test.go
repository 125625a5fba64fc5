package conformance_test

import (
	"os"
	"testing"

	"github.com/purekube/purekube/conformance"
)

func TestPolicy(t *testing.T) { conformance.Run(t, os.DirFS("testdata/policy")) }
