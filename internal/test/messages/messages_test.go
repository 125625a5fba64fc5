// Package messages keeps a list of every sentence that a user of the library, the modules and the command can see.
package messages

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write messages.txt anew from the code")

// golden holds the list, so that all messages can be read in one sitting and Vale reads them as prose.
const golden = "messages.txt"

// TestMessages compares the list with the code. After a change of a message, run the test with -update and read the
// difference as a user would.
func TestMessages(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	byFile := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir() && (name == filepath.Join("internal", "test") || strings.HasPrefix(entry.Name(), ".") && name != "."):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		found, err := messagesOf(path)
		if len(found) > 0 {
			byFile[filepath.ToSlash(name)] = found
		}
		return err
	})
	require.NoError(t, err)

	var list strings.Builder
	files := make([]string, 0, len(byFile))
	for name := range byFile {
		files = append(files, name)
	}
	slices.Sort(files)
	for _, name := range files {
		fmt.Fprintf(&list, "%s\n", name)
		for _, m := range byFile[name] {
			fmt.Fprintf(&list, "    %s\n", m)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(list.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), list.String(), "run the test with -update, then read the difference")
}

// messagesOf returns the string literals of a file that are sentences or parts of one, in their order.
func messagesOf(path string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []string
	note := func(text string) {
		if isSentence(text) && !slices.Contains(found, line(text)) {
			found = append(found, line(text))
		}
	}
	var inspect func(ast.Node) bool
	inspect = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field: // a struct tag is no message
			if field, ok := n.(*ast.Field); ok && field.Tag == nil {
				return true
			}
			return false
		case *ast.BinaryExpr:
			if n.Op != token.ADD {
				return true
			}
			text := ""
			for _, operand := range operands(n) { // a text in several literals is one
				if part, ok := textOf(operand); ok {
					text += part
					continue
				}
				note(text)
				text = ""
				ast.Inspect(operand, inspect)
			}
			note(text)
			return false
		case ast.Expr:
			text, _ := textOf(n)
			note(text)
		}
		return true
	}
	ast.Inspect(file, inspect)
	return found, nil
}

// operands are what a sum adds up, in order.
func operands(e ast.Expr) []ast.Expr {
	if sum, ok := e.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		return append(operands(sum.X), sum.Y)
	}
	return []ast.Expr{e}
}

// textOf is the text of a literal.
func textOf(e ast.Expr) (text string, ok bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// line prints a text on one line.
func line(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(strings.TrimSpace(text))
}

// isSentence reports whether a text has two words.
func isSentence(text string) bool {
	words := 0
	for _, word := range strings.Fields(text) {
		if strings.ContainsFunc(word, unicode.IsLetter) && !strings.HasPrefix(word, "%") {
			words++
		}
	}
	return words >= 2
}
