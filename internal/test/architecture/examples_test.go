package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every exported function of the five packages has an Example that runs: what a reader copies is what a test
// has checked.
func TestExportedFunctionsHaveExamples(t *testing.T) {
	for _, folder := range purePackages {
		functions, examples := map[string]bool{}, map[string]bool{}
		for name, file := range parsed(t, filepath.Join(root, folder)) {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Recv != nil {
					continue
				}
				switch example, isExample := strings.CutPrefix(f.Name.Name, "Example"); {
				case isExample && strings.HasSuffix(name, "_test.go"):
					about, _, _ := strings.Cut(example, "_")
					examples[about] = true
				case f.Name.IsExported() && !strings.HasSuffix(name, "_test.go"):
					functions[f.Name.Name] = true
				}
			}
		}
		require.NotEmpty(t, functions, folder)
		for f := range functions {
			// An Example of a type shows how to make one.
			if !examples[f] && !examples[strings.TrimPrefix(f, "New")] {
				t.Errorf("%s.%s has no Example", folder, f)
			}
		}
	}
}

// parsed are the Go files of a folder by name.
func parsed(t *testing.T, folder string) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	files := map[string]*ast.File{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution|parser.ParseComments)
		require.NoError(t, err)
		files[name] = file
	}
	return files
}
