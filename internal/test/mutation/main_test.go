package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/seed"
)

// The tests of testdata/limit leave these mutants alive, and no others.
func TestSurvivors(t *testing.T) {
	if seed.Short() {
		t.Skip("compiles a package")
	}
	*only = ""
	known := map[string]bool{"limit/limit.go\tLimit\t> is >=\tif n > most {": true}
	r, err := run("./testdata/limit", known)
	require.NoError(t, err)
	var survived []string
	for _, m := range r.survived {
		survived = append(survived, m.function+": "+m.what)
	}
	want := []string{
		"Within: without the right side of &&",
		"Within: >= is >",
		"Within: <= is <",
	}
	if diff := cmp.Diff(want, survived); diff != "" {
		t.Errorf("survivors (-want +got):\n%s", diff)
	}
	require.Equal(t, 1, r.excused)
	require.Equal(t, r.mutants, r.killed+1+len(want))
	require.Greater(t, r.mutants, 20)
}

// An entry of the survivors whose line of source has changed excuses nothing, and its reason is about nothing.
func TestKnownSurvivorsAreInTheSource(t *testing.T) {
	const root = "../../.."
	folders := map[string]string{"memory": "resourceclaim/memory", "drain": "disruption/drain"} // of packages that are not at the root
	lists, err := filepath.Glob("survivors/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	for _, list := range lists {
		name := strings.TrimSuffix(filepath.Base(list), ".txt")
		folder, nested := folders[name]
		if !nested {
			folder = name
		}
		known, err := readKnown(list)
		require.NoError(t, err)
		for key := range known {
			parts := strings.Split(key, "\t")
			require.Len(t, parts, 4, "%s: file, function, change and source line: %s", list, key)
			file, function, line := parts[0], parts[1], parts[3]
			require.Equal(t, name, filepath.Dir(file), "%s: %s", list, key)
			require.Contains(t, linesOf(t, filepath.Join(root, folder, filepath.Base(file)), function), line, "%s: %s", list, key)
		}
	}
}

// linesOf are the lines of all functions of the name in a file, without the blanks around them.
func linesOf(t *testing.T, path, function string) (lines []string) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	all := slices.Collect(strings.Lines(string(text)))
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == function {
			for _, line := range all[files.Position(f.Pos()).Line-1 : files.Position(f.End()).Line] {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return lines
}
