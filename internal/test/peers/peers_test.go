package peers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An adapter has at most 40 lines of code.
func TestAdaptersAreShort(t *testing.T) {
	adapters, err := filepath.Glob("*/adapter.go")
	if err != nil || len(adapters) != 5 {
		t.Fatalf("%v, %v", adapters, err)
	}
	for _, path := range adapters {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, code, _ := strings.Cut(string(text), "\n)\n") // behind the imports
		lines := 0
		for line := range strings.Lines(code) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
		if lines > 40 {
			t.Errorf("%s has %d lines of code", path, lines)
		}
	}
}
