package architecture

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// The README's example is the body of the root package's Example, so it compiles and prints
// what it says.
func TestReadmeExampleIsTheExampleFunction(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)\n```go\n(.*?)```\n").FindSubmatch(readme)
	require.NotNil(t, block, "README.md has no block of Go")

	source, err := os.ReadFile(filepath.Join(root, "example_test.go"))
	require.NoError(t, err)
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "example_test.go", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	var body []byte
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Example" {
			body = source[files.Position(f.Body.Lbrace).Offset+1 : files.Position(f.Body.Rbrace).Offset]
		}
	}
	body, _, _ = bytes.Cut(body, []byte("\t// Output:"))
	var want strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(string(body), "\n")) {
		want.WriteString(strings.TrimPrefix(line, "\t"))
	}
	if diff := cmp.Diff(want.String(), string(block[1])); diff != "" {
		t.Errorf("README.md and Example differ (-example +readme):\n%s", diff)
	}
}
