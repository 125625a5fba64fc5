package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// reportedIn are the tests of internal/test/upstream/reports, with the page that each of them passes to expectDefect.
func reportedIn(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "internal", "test", "upstream", "reports", "*_test.go"))
	require.NoError(t, err)
	pages := map[string]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			test, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(test.Name.Name, "Test") || test.Name.Name == "TestMain" {
				continue
			}
			ast.Inspect(test, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if called, ok := call.Fun.(*ast.Ident); ok && called.Name == "expectDefect" {
					page, err := strconv.Unquote(call.Args[1].(*ast.BasicLit).Value)
					require.NoError(t, err)
					if before, again := pages[test.Name.Name]; again {
						require.Equal(t, before, page, "%s reports two defects", test.Name.Name)
					}
					pages[test.Name.Name] = page
				}
				return true
			})
			require.Contains(t, pages, test.Name.Name, "%s does not say what it reports", test.Name.Name)
		}
	}
	return pages
}

// Each report has the headings of the issue template, a test that exists, and a row in the table. Each test has a report.
func TestReportsHaveATest(t *testing.T) {
	folder := filepath.Join(root, "docs", "upstream")
	table, err := os.ReadFile(filepath.Join(folder, "README.md"))
	require.NoError(t, err)
	tests := reportedIn(t)
	require.NotEmpty(t, tests)
	rows := 0
	for test, name := range tests {
		content, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err, test)
		page := string(content)
		require.Equal(t, []string{
			"What happened?", "What did you expect to happen?",
			"How can we reproduce it (as minimally and precisely as possible)?",
			"Anything else we need to know?", "Kubernetes version",
		}, headings(page)[1:], name)
		for _, part := range []string{
			"-run '^" + test + "$' -v ./reports\n", ".go " + test + " -->\n```go\n",
			"\n\nSince: ", "\n\nProposed fix: ", "\n\nExisting reports: ",
		} {
			require.True(t, strings.Contains(page, part), "%s does not contain %q", name, part)
		}
		sig := regexp.MustCompile("`/sig ([a-z-]+)`").FindStringSubmatch(page)
		require.NotNil(t, sig, "%s names no SIG", name)
		divergence := strings.TrimSuffix(name, ".md")
		if !regexp.MustCompile(`^D-\d+$`).MatchString(divergence) {
			divergence = ""
		}
		cells := []string{"[" + headings(page)[0] + "](" + name + ")", sig[1], divergence, "`" + test + "`", ""}
		row := strings.ReplaceAll("\n| "+strings.Join(cells, " | "), "|  |", "| |")
		require.True(t, strings.Contains(string(table), row), "README.md has no row %s", row)
		rows++
	}
	require.Equal(t, rows, strings.Count(string(table), ".md) | "), "README.md has a row without a test")
	files, err := filepath.Glob(filepath.Join(folder, "*.md"))
	require.NoError(t, err)
	require.Len(t, files, rows+1, "a page has no test")
}

func headings(page string) (all []string) {
	for _, found := range heading.FindAllStringSubmatch(page, -1) {
		all = append(all, found[1])
	}
	return all
}
