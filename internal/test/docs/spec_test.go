package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	labelled  = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)
	ruleCell  = regexp.MustCompile(`^BR-(\d+)-\d+$`)
	numbered  = regexp.MustCompile(`^BR-\d+-\d+`)
	noteTitle = regexp.MustCompile(`^## (\d+) `)
)

func readPage(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", name))
	require.NoError(t, err)
	return string(page)
}

// spec.md has a row for each rule of the specification, and for each rule that has a scenario file. The files and the
// tests of its rows exist.
func TestSpecNamesWhatExists(t *testing.T) {
	require.Empty(t, wrongInSpec(t, readPage(t, "spec.md")))
}

// TestSpecThatIsWrong shows that the check before this one finds what it is there for.
func TestSpecThatIsWrong(t *testing.T) {
	page := readPage(t, "spec.md")
	for _, tc := range []struct{ name, is, was, want string }{
		{"no such scenario", "BR-30-02-owner.yaml)", "BR-30-02-owner-reference.yaml)", "BR-30-02-owner.yaml: no such file"},
		{"another scenario", "[BR-30-02-owner]", "[BR-30-02-owner-reference]",
			"BR-30-02-owner: the text of a link is the name of its file"},
		{"no such folder", "(../ttls/rules_test.go)", "(../ttl/rules_test.go)", "../ttls/rules_test.go: no such file"},
		{"no such test", "[`TestBR1901To06_DefaultTable`]", "[`TestBR1901To05_DefaultTable`]",
			"ttl/rules_test.go has no TestBR1901To06_DefaultTable"},
		{"no such case", "`TestPodPass/adopts`", "`TestPodPass/adopted`", `resourceclaim/plan_test.go has no case "adopts"`},
		{"no such divergence", "[D-30](", "[D-21](", "divergences.md has no D-30"},
		{"a rule without a row", "| — | 500 deleted", "| BR-30-09 | 500 deleted", "no row for BR-30-09"},
		{"a rule of another note", "| BR-25-09 | 500 deleted", "| BR-30-09 | 500 deleted", "BR-25-09 is no rule of note 30"},
		{"nothing", "| It is so. |", "| Not tested: kube-apiserver does it, and not the controller. |",
			`neither a file nor a reason: "It is so."`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Contains(t, page, tc.was)
			require.Contains(t, strings.Join(wrongInSpec(t, strings.ReplaceAll(page, tc.was, tc.is)), "\n"), tc.want)
		})
	}
}

// wrongInSpec is what is wrong with the page.
func wrongInSpec(t *testing.T, page string) (wrong []string) {
	t.Helper()
	divergences := readPage(t, "divergences.md")
	note, rules := "", map[string]bool{}
	for line := range strings.Lines(page) {
		if title := noteTitle.FindStringSubmatch(line); title != nil {
			note = title[1]
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 3 || strings.Contains(line, "| sentence |") {
			continue
		}
		number, testedBy := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[2])
		if of := ruleCell.FindStringSubmatch(number); of != nil && of[1] == note {
			rules[number] = true
		} else if number != "—" {
			wrong = append(wrong, fmt.Sprintf("%s is no rule of note %s", number, note))
		}
		links := labelled.FindAllStringSubmatch(testedBy, -1)
		for _, l := range links {
			wrong = append(wrong, wrongLink(l[1], l[2], divergences)...)
		}
		if len(links) == 0 && !strings.HasPrefix(testedBy, "Not tested: ") && !strings.HasPrefix(testedBy, "Not followed: ") {
			wrong = append(wrong, fmt.Sprintf("neither a file nor a reason: %q", testedBy))
		}
	}
	for _, number := range specified(t) {
		if !rules[number] {
			wrong = append(wrong, "no row for "+number)
		}
	}
	return wrong
}

// wrongLink is what is wrong with a link to a scenario file, to a test or to a divergence. Other links are checked by
// TestLinksLeadSomewhere.
func wrongLink(text, target, divergences string) []string {
	switch base := path.Base(target); {
	case strings.HasPrefix(target, "divergences.md"):
		if !strings.Contains(divergences, "["+text+"]") {
			return []string{"divergences.md has no " + text}
		}
	case strings.HasSuffix(base, ".yaml"):
		if _, err := os.Stat(filepath.Join(root, "docs", target)); err != nil {
			return []string{target + ": no such file"}
		}
		if text != strings.TrimSuffix(base, ".yaml") {
			return []string{text + ": the text of a link is the name of its file"}
		}
	case strings.HasSuffix(base, "_test.go"):
		source, err := os.ReadFile(filepath.Join(root, "docs", target))
		if err != nil {
			return []string{target + ": no such file"}
		}
		test, of, isCase := strings.Cut(strings.Trim(text, "`"), "/")
		if !declaresTest(source, test) {
			return []string{target + " has no " + test}
		}
		if isCase && !strings.Contains(string(source), fmt.Sprintf("%q", of)) {
			return []string{fmt.Sprintf("%s has no case %q", target, of)}
		}
	}
	return nil
}

func declaresTest(source []byte, name string) bool {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	return err == nil && slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, isFunc := d.(*ast.FuncDecl)
		return isFunc && f.Recv == nil && f.Name.Name == name && strings.HasPrefix(name, "Test")
	})
}

// specified are the rules of the specification, and those of the scenario files.
func specified(t *testing.T) (numbers []string) {
	t.Helper()
	for note, n := range rulesOf {
		for i := range n {
			numbers = append(numbers, fmt.Sprintf("BR-%02d-%02d", note, i+1))
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "conformance", "*", "BR-*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		numbers = append(numbers, numbered.FindString(filepath.Base(file)))
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}
