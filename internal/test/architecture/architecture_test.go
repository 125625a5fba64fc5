// Package architecture holds the tests of what must stay true of the module as a whole: which
// modules it requires, and that the five packages are pure.
package architecture

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

const root = "../../.."

// The library's direct requirements. Everybody who imports it gets them, so the list is closed.
var allowedModules = []string{
	"github.com/google/go-cmp",
	"github.com/stretchr/testify",
	"go4.org/netipx",
	"k8s.io/api",
	"k8s.io/apimachinery",
	"k8s.io/utils",
	"sigs.k8s.io/yaml",
}

func TestRequiredModules(t *testing.T) {
	out, err := exec.Command("go", "mod", "edit", "-json", filepath.Join(root, "go.mod")).Output()
	require.NoError(t, err)
	var mod struct {
		Require []struct {
			Path, Version string
			Indirect      bool
		}
		Replace []struct{}
	}
	require.NoError(t, json.Unmarshal(out, &mod))
	for _, r := range mod.Require {
		if !r.Indirect && !slices.Contains(allowedModules, r.Path) {
			t.Errorf("go.mod requires %s: only %s are allowed", r.Path, strings.Join(allowedModules, ", "))
		}
		if r.Path == "k8s.io/client-go" || r.Path == "k8s.io/kubernetes" {
			t.Errorf("go.mod requires %s, even indirectly", r.Path)
		}
	}
	require.Empty(t, mod.Replace, "a replace in go.mod does not reach who imports the module")
}

// purePackages are the folders whose code must be pure, tests apart; so must what they share.
var purePackages = []string{"servicecidr", "resourceclaim", "ttl", "rbacaggregate", "disruption"}

// impureImports are what a pure package has no use for.
var impureImports = regexp.MustCompile(`^(k8s\.io/(client-go|kubernetes|klog|component-base|controller-manager)(/.*)?` +
	`|math/rand(/.*)?|crypto/rand|context|log(/.*)?|os(/.*)?|io/fs|net|net/http|syscall|testing|unsafe` +
	`|k8s\.io/apimachinery/pkg/util/(wait|uuid|rand|clock)|k8s\.io/utils/clock(/.*)?` +
	`|k8s\.io/api/.*/v\d+alpha\d+)$`)

// impureCalls read the clock, start timers or sleep.
var impureCalls = map[string][]string{
	"time":                                 {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"k8s.io/apimachinery/pkg/apis/meta/v1": {"Now", "NowMicro"},
}

func TestPackagesArePure(t *testing.T) {
	for _, folder := range append([]string{".", "admission", "disruption/drain", "manifests/lint", "internal/message", "internal/persistent", "internal/podstate", "internal/snapshot"}, purePackages...) {
		for _, problem := range impurities(t, filepath.Join(root, folder)) {
			t.Error(problem)
		}
	}
}

// The check itself is checked: each kind of impurity is found.
func TestImpuritiesAreFound(t *testing.T) {
	for _, tc := range []struct{ name, reason, source, want string }{
		{"client", "a client-go import", `import _ "k8s.io/client-go/rest"`, `1: imports k8s.io/client-go/rest`},
		{"random", "random numbers", `import _ "math/rand/v2"`, `1: imports math/rand/v2`},
		{"alpha", "an alpha API", `import _ "k8s.io/api/resource/v1alpha3"`, `1: imports k8s.io/api/resource/v1alpha3`},
		{"beta", "a beta API is no alpha one", `import _ "k8s.io/api/policy/v1beta1"`, ``},
		{"clock", "the clock", `import "time"; var _ = time.Now`, `1: uses time.Now`},
		{"renamed clock", "the clock under another name", `import clock "time"; var _ = clock.Since`, `1: uses time.Since`},
		{"metav1 clock", "the clock behind metav1", `import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"; func f() { _ = metav1.Now() }`, `1: uses k8s.io/apimachinery/pkg/apis/meta/v1.Now`},
		{"duration", "time itself is fine", `import "time"; const d = 2 * time.Minute`, ``},
		{"goroutine", "a goroutine", `func f() { go f() }`, `1: starts a goroutine`},
		{"init", "an init function", `func init() {}`, `1: has an init function`},
		{"state", "a package variable that a function writes to", `var n int; func f() { n++ }`, `1: writes to the package variable n`},
		{"map state", "an element of one", `var m map[int]int; func f() { m[1] = 2 }`, `1: writes to the package variable m`},
		{"local", "a local variable of a function", `func f() { n := 0; n++ }`, ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(folder, "x.go"), []byte("package x; "+tc.source), 0o600))
			got := strings.Join(impurities(t, folder), "\n")
			if tc.want != "" {
				tc.want = filepath.Join(folder, "x.go") + ":" + tc.want
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// impurities lists what makes the Go files of a folder impure, tests apart.
func impurities(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	files := token.NewFileSet()
	var parsed []*ast.File
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != folder:
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		parsed = append(parsed, file)
		return err
	})
	require.NoError(t, err)

	packageVariables := map[string]bool{}
	for _, file := range parsed {
		for _, d := range file.Decls {
			if general, ok := d.(*ast.GenDecl); ok && general.Tok == token.VAR {
				for _, spec := range general.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						packageVariables[name.Name] = true
					}
				}
			}
		}
	}
	for _, file := range parsed {
		note := func(at token.Pos, format string, args ...any) {
			position := files.Position(at)
			found = append(found, fmt.Sprintf("%s:%d: %s", position.Filename, position.Line, fmt.Sprintf(format, args...)))
		}
		imported := map[string]string{} // by the name that the file uses
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			name := path[strings.LastIndex(path, "/")+1:]
			if spec.Name != nil {
				name = spec.Name.Name
			}
			imported[name] = path
			if impureImports.MatchString(path) {
				note(spec.Pos(), "imports %s", path)
			}
		}
		writes := func(target ast.Expr) {
			for {
				switch e := target.(type) {
				case *ast.IndexExpr:
					target = e.X
					continue
				case *ast.SelectorExpr:
					target = e.X
					continue
				case *ast.StarExpr:
					target = e.X
					continue
				case *ast.Ident:
					if e.Name != "_" && packageVariables[e.Name] {
						note(e.Pos(), "writes to the package variable %s", e.Name)
					}
				}
				return
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && slices.Contains(impureCalls[imported[x.Name]], n.Sel.Name) {
					note(n.Pos(), "uses %s.%s", imported[x.Name], n.Sel.Name)
				}
			case *ast.GoStmt:
				note(n.Pos(), "starts a goroutine")
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					note(n.Pos(), "has an init function")
				}
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, target := range n.Lhs {
						writes(target)
					}
				}
			case *ast.IncDecStmt:
				writes(n.X)
			}
			return true
		})
	}
	return found
}
