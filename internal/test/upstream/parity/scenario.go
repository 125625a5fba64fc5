package parity

import (
	"io/fs"
	"testing"

	"github.com/purekube/purekube/conformance"
	"github.com/purekube/purekube/internal/scenario"
)

// Scenario is a file of package conformance, and its text.
func Scenario(t *testing.T, name string) (s *scenario.Scenario, text string) {
	t.Helper()
	data, err := fs.ReadFile(conformance.Files, name)
	if err != nil {
		t.Fatal(err)
	}
	s, err = scenario.Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return s, string(data)
}
