package docs

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/purekube/purekube/internal/test/seed"
)

var update = flag.Bool("update", false, "write code, output and pictures in the pages anew")

const root = "../../.."

// elsewhere are the pages that other tests hold to what they say.
var elsewhere = []string{"divergences.md", "trust.md", "command.md"}

func pages(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	reports, err := filepath.Glob(filepath.Join(root, "docs", "upstream", "*.md"))
	require.NoError(t, err)
	all = slices.DeleteFunc(all, func(path string) bool { return slices.Contains(elsewhere, filepath.Base(path)) })
	require.NotEmpty(t, all)
	return append(all, reports...)
}

// block is a fenced block of a page.
type block struct {
	line     int    // of the opening fence
	language string // the word after the fence
	marker   string // the HTML comment in the line before the fence: what the block is taken from
	text     string
}

// blocks of a page, and a function that gives the page with their texts as they are then.
func blocks(page string) (found []*block, rewritten func() string) {
	var parts []any // strings and *blocks in the page's order
	var current *block
	before := ""
	for i, line := range slices.Collect(strings.Lines(page)) {
		fence, isFence := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case isFence && current == nil:
			current = &block{line: i + 1, language: fence}
			if comment, ok := strings.CutPrefix(before, "<!-- "); ok {
				current.marker = strings.TrimSuffix(comment, " -->")
			}
			found = append(found, current)
			parts = append(parts, line, current)
		case isFence:
			parts = append(parts, line)
			current = nil
		case current != nil:
			current.text += line
		default:
			parts = append(parts, line)
		}
		before = strings.TrimRight(line, "\n")
	}
	return found, func() string {
		var b strings.Builder
		for _, part := range parts {
			if block, ok := part.(*block); ok {
				part = block.text
			}
			fmt.Fprint(&b, part)
		}
		return b.String()
	}
}

// What a page shows is what the code is, what its commands print, and what the pictures are drawn from. The commands run
// unless seed.Short says so: they take a minute.
func TestPagesShowWhatIsThere(t *testing.T) {
	for _, path := range pages(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			page, err := os.ReadFile(path)
			require.NoError(t, err)
			all, rewritten := blocks(string(page))
			printed := "" // by the sh block before
			runs := !seed.Short()
			for _, b := range all {
				where := fmt.Sprintf("%s:%d", path, b.line)
				kind, from, _ := strings.Cut(b.marker, ": ")
				var want string
				switch b.language + " " + kind {
				case "go code":
					want = declaration(t, where, from)
				case "text output":
					switch {
					case from != "":
						want = output(t, where, from)
					case runs:
						want = printed
					default:
						want = b.text
					}
				case "mermaid picture":
					draw := pictures[from]
					require.NotNil(t, draw, "%s: no picture is called %q", where, from)
					want = draw(t)
				case "yaml file":
					content, err := os.ReadFile(filepath.Join(root, from))
					require.NoError(t, err, where)
					want = string(content)
				case "sh ":
					want = b.text
					if runs {
						printed = run(t, where, b.text)
					}
				case "yaml ":
					decode(t, where, b.text)
					want = b.text
				default:
					t.Errorf("%s: a block of %q under the marker %q is held to nothing", where, b.language, b.marker)
					continue
				}
				if *update {
					b.text = want
				} else if diff := cmp.Diff(want, b.text); diff != "" {
					t.Errorf("%s: the page shows something else (-is +page); go test ./internal/test/docs -update writes it:\n%s", where, diff)
				}
			}
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(rewritten()), 0o644))
			}
		})
	}
}

// declaration is "file name": of a function that is called Example… its body without the output, of any other declaration
// its source with the comment.
func declaration(t *testing.T, where, of string) string {
	t.Helper()
	source, example := find(t, where, of)
	if !example {
		return source
	}
	output(t, where, of) // it is run
	body, _, _ := strings.Cut(source, "\t// Output:")
	var b strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(body, "\n")) {
		b.WriteString(strings.TrimPrefix(line, "\t"))
	}
	return b.String()
}

// output is what an Example prints: go test compares it with the comment.
func output(t *testing.T, where, of string) string {
	t.Helper()
	path, name, _ := strings.Cut(of, " ")
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.ParseComments)
	require.NoError(t, err, where)
	for _, example := range doc.Examples(file) {
		if "Example"+example.Name == name {
			require.NotEmpty(t, example.Output, "%s: %s has no output, so that it is not run", where, name)
			return example.Output
		}
	}
	t.Fatalf("%s: %s has no %s", where, path, name)
	return ""
}

// find returns the body of an Example, or the source of another declaration.
func find(t *testing.T, where, of string) (source string, example bool) {
	t.Helper()
	path, name, _ := strings.Cut(of, " ")
	content, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err, where)
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, content, parser.SkipObjectResolution|parser.ParseComments)
	require.NoError(t, err, where)
	text := func(from, to token.Pos) string {
		return string(content[files.Position(from).Offset:files.Position(to).Offset])
	}
	for _, d := range file.Decls {
		var comment *ast.CommentGroup
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name != name {
				continue
			}
			if strings.HasPrefix(name, "Example") && strings.HasSuffix(path, "_test.go") {
				return text(d.Body.Lbrace+1, d.Body.Rbrace), true
			}
			comment = d.Doc
		case *ast.GenDecl:
			spec, ok := d.Specs[0].(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				continue
			}
			comment = d.Doc
		}
		from := d.Pos()
		if comment != nil {
			from = comment.Pos()
		}
		return text(from, d.End()) + "\n", false
	}
	t.Fatalf("%s: %s declares no %s", where, path, name)
	return "", false
}

// run executes the commands of a block from the root of the repository, and returns what they print. The first
// that fails ends it, and the test.
func run(t *testing.T, where, commands string) string {
	t.Helper()
	command := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	command.Dir = root
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Errorf("%s: %v\n%s%s", where, err, &stdout, &stderr)
	}
	// The Go tool's times are other ones each time, and it says when it did not run a test anew.
	return regexp.MustCompile(`(?m)^(ok +\t\S+)\t.*$`).ReplaceAllString(stdout.String(), "$1")
}

// decode holds a manifest to the fields that its kind has.
func decode(t *testing.T, where, manifest string) {
	t.Helper()
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		var kind struct{ Kind string }
		require.NoError(t, yaml.Unmarshal([]byte(document), &kind), where)
		var object any
		switch kind.Kind {
		case "ValidatingWebhookConfiguration":
			object = &admissionregistrationv1.ValidatingWebhookConfiguration{}
		case "ClusterRole":
			object = &rbacv1.ClusterRole{}
		case "AdmissionReview":
			object = &admissionv1.AdmissionReview{}
		case "": // a map of rules, as -protect of the webhook reads it
			object = &map[string][]rbacv1.PolicyRule{}
		default:
			t.Fatalf("%s: the kind %s", where, kind.Kind)
		}
		require.NoError(t, yaml.UnmarshalStrict([]byte(document), object), where)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// A link to a file or a heading of this repository leads somewhere.
func TestLinksLeadSomewhere(t *testing.T) {
	top, err := filepath.Glob(filepath.Join(root, "*.md"))
	require.NoError(t, err)
	examples, err := filepath.Glob(filepath.Join(root, "examples", "*", "*.md"))
	require.NoError(t, err)
	results, err := filepath.Glob(filepath.Join(root, "internal", "test", "*.md"))
	require.NoError(t, err)
	trust := []string{filepath.Join(root, "docs", "trust.md")}
	for _, path := range slices.Concat(pages(t), top, examples, results, trust) {
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, found := range link.FindAllStringSubmatch(string(page), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			at := path
			if target != "" {
				at = filepath.Join(filepath.Dir(path), target)
			}
			content, err := os.ReadFile(at)
			if info, statErr := os.Stat(at); statErr == nil && info.IsDir() && anchor == "" {
				continue
			}
			if err != nil {
				t.Errorf("%s: the link to %s: %v", path, found[1], err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(string(content)), anchor) {
				t.Errorf("%s: %s has no heading %q", path, at, anchor)
			}
		}
	}
}

// anchors are what GitHub makes of the headings.
func anchors(page string) (all []string) {
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return all
}

// The pages of the index are in reading order: each leads to the next. divergences.md is made of the scenario files, and is
// looked up.
func TestPagesLeadToTheNext(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root, "docs", "README.md"))
	require.NoError(t, err)
	var order []string
	for _, row := range regexp.MustCompile(`(?m)^\| .* \| \[.*\]\((.*)\) \|$`).FindAllStringSubmatch(string(index), -1) {
		order = append(order, row[1])
	}
	require.Greater(t, len(order), 15)
	for i, name := range order[:len(order)-1] {
		if name == "divergences.md" {
			continue
		}
		page, err := os.ReadFile(filepath.Join(root, "docs", name))
		require.NoError(t, err)
		next, err := filepath.Rel(filepath.Dir(name), order[i+1])
		require.NoError(t, err)
		require.Regexp(t, `\nNext: \[.*\]\(`+regexp.QuoteMeta(filepath.ToSlash(next))+`\)\.\n$`, string(page), name)
	}
}

// The index has every page, and the README the index.
func TestIndexHasEveryPage(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root, "docs", "README.md"))
	require.NoError(t, err)
	all, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	for _, path := range all {
		if name := filepath.Base(path); name != "README.md" && !bytes.Contains(index, []byte("]("+name+")")) {
			t.Errorf("docs/README.md does not link to %s", name)
		}
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	require.Contains(t, string(readme), "(docs/README.md)")
}
