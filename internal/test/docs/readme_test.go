package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// The README has the table that internal/test/upstream/parity measured, without the columns that need explaining.
func TestReadmeHasTheMeasuredTable(t *testing.T) {
	measured, err := os.ReadFile(filepath.Join(root, "internal", "test", "upstream", "parity", "README.md"))
	require.NoError(t, err)
	_, table, _ := cut(t, string(measured), "<!-- benchmarks:begin -->\n", "<!-- benchmarks:end -->")
	var want strings.Builder
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			want.WriteString(line)
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), "|")
		require.Len(t, cells, 9, line)
		want.WriteString("|" + strings.Join([]string{cells[1], cells[2], cells[3], cells[6], cells[7]}, "|") + "|\n")
	}
	require.Contains(t, want.String(), "| snapshot | requests | kube-controller-manager | purekube | ratio |")

	path := filepath.Join(root, "README.md")
	readme, err := os.ReadFile(path)
	require.NoError(t, err)
	before, got, after := cut(t, string(readme), "<!-- measured:begin -->\n", "<!-- measured:end -->")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(before+want.String()+after), 0o644))
	} else if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("README.md has other measurements (-is +README); go test ./internal/test/docs -run TestReadme -update writes them:\n%s", diff)
	}
}

// cut is the text up to and with begin, between begin and end, and from end on.
func cut(t *testing.T, text, begin, end string) (before, between, after string) {
	t.Helper()
	before, rest, found := strings.Cut(text, begin)
	require.True(t, found, begin)
	between, after, found = strings.Cut(rest, end)
	require.True(t, found, end)
	return before + begin, between, end + after
}
