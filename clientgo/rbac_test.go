package clientgo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rights count all actions that the packages have, and the Type of each is the name of its type.
func TestRightsCountAllActions(t *testing.T) {
	for _, name := range Names() {
		var have []string
		for _, a := range needed[name].actions {
			have = append(have, a.Type())
		}
		slices.Sort(have)
		require.Equal(t, actionTypes(t, filepath.Join("..", name)), have, name)
	}
	require.Len(t, needed, len(Names()))
}

// actionTypes are the types of a package that have the method isAction.
func actionTypes(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	var types []string
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "isAction" {
				types = append(types, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	slices.Sort(types)
	return types
}
