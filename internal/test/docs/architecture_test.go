package docs

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule is the number of a rule of the specification, or of a divergence.
var rule = regexp.MustCompile(`\b(?:BR-\d+-\d+|D-\d+)\b`)

// ruleFolders are where rules are decided.
var ruleFolders = []string{"servicecidr", "resourceclaim", "resourceclaim/memory", "ttl", "rbacaggregate", "disruption", "disruption/drain", "clientgo"}

// rulesOf is how many rules of the specification each package has: BR-31-01 to BR-31-05, and so on.
var rulesOf = map[int]int{31: 5, 30: 9, 19: 7, 27: 6, 25: 6}

// architecture.md has, for each folder, the declaration that decides each rule: that of rules.go, or else the first one whose
// comment has the number. Every rule of the specification and every divergence is there.
func TestArchitectureFindsEveryRule(t *testing.T) {
	found := map[string]bool{}
	var table strings.Builder
	table.WriteString("| folder | rule: declaration, in rules.go unless it says another file |\n|---|---|\n")
	for _, folder := range ruleFolders {
		places := placesOfRules(t, folder)
		var cells []string
		for _, number := range slices.SortedFunc(maps.Keys(places), compareRules) {
			// What a package decides, the packages behind it in the list may mention.
			if beside := strings.Contains(folder, "/") || folder == "clientgo"; beside && found[number] {
				continue
			}
			found[number] = true
			cells = append(cells, number+" "+places[number])
		}
		fmt.Fprintf(&table, "| `%s` | %s |\n", folder, strings.Join(cells, "; "))
	}
	for spec, n := range rulesOf {
		for i := range n {
			number := fmt.Sprintf("BR-%02d-%02d", spec, i+1)
			require.True(t, found[number], "no declaration has %s in its comment", number)
		}
	}
	divergences, err := os.ReadFile(filepath.Join(root, "docs", "divergences.md"))
	require.NoError(t, err)
	for _, number := range rule.FindAllString(string(divergences), -1) {
		if number != "D-30" { // does not exist
			require.True(t, found[number], "no declaration has %s in its comment", number)
		}
	}

	path := filepath.Join(root, "docs", "architecture.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	before, got, after := cut(t, string(page), "<!-- rules:begin -->\n", "<!-- rules:end -->")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(before+table.String()+after), 0o644))
		return
	}
	require.Equal(t, table.String(), got, "go test ./internal/test/docs -run TestArchitecture -update writes it")
	require.Less(t, strings.Count(string(page), "\n"), 120, "it is one page")
}

// compareRules sorts BR- before D-, and by numbers.
func compareRules(a, b string) int {
	numbers := func(text string) (n int) {
		for _, part := range strings.Split(text, "-")[1:] {
			i, _ := strconv.Atoi(part)
			n = n*100 + i
		}
		return n
	}
	return cmp.Or(cmp.Compare(a[:1], b[:1]), cmp.Compare(numbers(a), numbers(b)))
}

// placesOfRules says for each rule which declaration of the folder decides it.
func placesOfRules(t *testing.T, folder string) map[string]string {
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	require.NoError(t, err)
	if i := slices.Index(files, filepath.Join(root, folder, "rules.go")); i > 0 { // it comes first
		files = slices.Insert(slices.Delete(files, i, i+1), 0, filepath.Join(root, folder, "rules.go"))
	}
	places := map[string]string{}
	note := func(text, file, name string) {
		for _, number := range rule.FindAllString(text, -1) {
			if places[number] == "" {
				places[number] = "`" + name + "`"
				if file != "rules.go" {
					places[number] += " (" + file + ")"
				}
			}
		}
	}
	type declaration struct{ file, name, body string }
	var all []declaration
	for _, path := range files {
		file := filepath.Base(path)
		if strings.HasSuffix(file, "_test.go") || file == "doc.go" || file == "reason.go" { // summaries
			continue
		}
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, path, content, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			name, doc := nameOf(d)
			note(doc.Text(), file, name)
			all = append(all, declaration{file, name, string(content[set.Position(d.Pos()).Offset:set.Position(d.End()).Offset])})
		}
	}
	for _, d := range all { // a rule that is one line of a function
		note(d.body, d.file, d.name)
	}
	return places
}

// nameOf returns the name of a declaration and its comment.
func nameOf(d ast.Decl) (string, *ast.CommentGroup) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Name.Name, d.Doc
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				return spec.Name.Name, d.Doc
			case *ast.ValueSpec:
				return spec.Names[0].Name, d.Doc
			}
		}
		return "", d.Doc
	}
	return "", nil
}
