package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What migrating.md tells to call instead is there: functions, types, and the methods of an Index.
func TestMigratingNamesWhatExists(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "migrating.md"))
	require.NoError(t, err)
	packages := map[string]map[string]bool{}
	for _, name := range []string{"servicecidr", "resourceclaim", "ttl", "rbacaggregate", "disruption"} {
		packages[name] = exported(t, filepath.Join(root, name))
	}
	name := regexp.MustCompile("`(servicecidr|resourceclaim|ttl|rbacaggregate|disruption|index)\\.(\\w+)(?:\\.(\\w+))?")
	found := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.SplitN(line, "|", 3) // the first column is what others call
		for _, call := range name.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			of, what := call[1], call[2]
			if of == "index" {
				of, what = "disruption", "Index."+what
			} else if call[3] != "" {
				what += "." + call[3]
			}
			require.True(t, packages[of][what], "migrating.md: %s has no %s", of, what)
			found++
		}
	}
	require.Greater(t, found, 15)
}

// exported are the functions and types of a package, and its methods as Type.Method.
func exported(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	names := map[string]bool{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					names[d.Name.Name] = true
					continue
				}
				of := d.Recv.List[0].Type
				if pointer, ok := of.(*ast.StarExpr); ok {
					of = pointer.X
				}
				if is, ok := of.(*ast.Ident); ok {
					names[is.Name+"."+d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if is, ok := spec.(*ast.TypeSpec); ok {
						names[is.Name.Name] = true
					}
				}
			}
		}
	}
	return names
}
