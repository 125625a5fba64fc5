package conformance_test

import (
	"testing"

	"github.com/purekube/purekube/conformance"
)

// Each rule and each divergence is decided as its file says.
func TestRules(t *testing.T) { conformance.Run(t, conformance.Files) }
