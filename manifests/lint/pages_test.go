package lint_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/manifests/lint"
)

// read loads a manifest that has to be read without an error that is no finding.
func read(t *testing.T, text string) *manifests.Set {
	t.Helper()
	set, err := manifests.Load(manifests.Options{Stdin: strings.NewReader(text)}, "-")
	for _, e := range manifests.Errors(err) {
		require.True(t, lint.Finds(e.Refs), "%v", e)
	}
	return set
}

// codesOf are the codes of findings, each once, in their order.
func codesOf(findings []lint.Finding) (codes []lint.Code) {
	seen := map[lint.Code]bool{}
	for _, f := range findings {
		if !seen[f.Code] {
			codes = append(codes, f.Code)
		}
		seen[f.Code] = true
	}
	return codes
}

var example = regexp.MustCompile("(?s)\n## (Bad|Good)\n.*?```yaml\n(.*?)```\n")

// Each code has a page that names its severity. The bad example gives exactly this code, and the good one gives none.
func TestPages(t *testing.T) {
	folder := filepath.Join("..", "..", "docs", "lint")
	index, err := os.ReadFile(filepath.Join(folder, "README.md"))
	require.NoError(t, err)
	for _, rule := range lint.Rules() {
		t.Run(string(rule.Code), func(t *testing.T) {
			page, err := os.ReadFile(filepath.Join(folder, string(rule.Code)+".md"))
			require.NoError(t, err)
			require.True(t, bytes.HasPrefix(page, []byte("# "+string(rule.Code)+"\n\nSeverity: "+string(rule.Severity)+". ")))
			require.Contains(t, string(index), "| ["+string(rule.Code)+"]("+string(rule.Code)+".md) | "+string(rule.Severity)+" |")
			examples := example.FindAllSubmatch(page, -1)
			require.Len(t, examples, 2)
			require.Equal(t, "Bad", string(examples[0][1]))
			require.Equal(t, "Good", string(examples[1][1]))

			bad := lint.Check(read(t, string(examples[0][2]))).Findings
			require.Equal(t, []lint.Code{rule.Code}, codesOf(bad), "%v", bad)
			for _, f := range bad {
				require.Equal(t, rule.Severity, f.Severity)
				require.NotZero(t, f.At.Line)
				require.NotEmpty(t, f.Message)
			}
			require.Empty(t, lint.Check(read(t, string(examples[1][2]))).Findings)
		})
	}
	pages, err := filepath.Glob(filepath.Join(folder, "*.md"))
	require.NoError(t, err)
	require.Len(t, pages, len(lint.Rules())+1, "a page for each code, and the index")
}
