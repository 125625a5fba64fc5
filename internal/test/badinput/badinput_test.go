package badinput

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/manifests"
)

var update = flag.Bool("update", false, "write the tables in README.md anew")

const root = "../../.."

// A function or method that is new has a line in surfaces, or this test fails.
func TestEveryFunctionIsThere(t *testing.T) {
	known := map[string]bool{}
	folders := map[string]bool{}
	for _, s := range surfaces() {
		folders[s.folder] = true
		for _, f := range functionsOf(s) {
			known[s.folder+" "+f.name] = true
		}
	}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		folder, err := filepath.Rel(root, path)
		require.NoError(t, err)
		if folder == "conformance" {
			return nil // its Run begins subtests; FuzzParse of internal/scenario gives it bad files
		}
		_, module := os.Stat(filepath.Join(path, "go.mod"))
		if folder != "." && (module == nil || strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"internal", "cmd", "examples", "docs", "testdata"}, entry.Name())) {
			return filepath.SkipDir
		}
		found := exported(t, path)
		for _, name := range found {
			require.True(t, known[filepath.ToSlash(folder)+" "+name], "%s.%s is in no surface of functions.go", folder, name)
		}
		if len(found) > 0 {
			require.True(t, folders[filepath.ToSlash(folder)], folder)
		}
		return nil
	})
	require.NoError(t, err)
}

// exported are the names of a package's exported functions and methods: "Plan", "Index.Plan". Interfaces have none of their own.
func exported(t *testing.T, folder string) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	var files []*ast.File
	all := token.NewFileSet()
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(all, path, nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, file)
	}
	p, err := doc.NewFromFiles(all, files, folder)
	require.NoError(t, err)
	for _, f := range p.Funcs {
		names = append(names, f.Name)
	}
	for _, of := range p.Types {
		for _, f := range of.Funcs {
			names = append(names, f.Name)
		}
		for _, f := range of.Methods {
			names = append(names, of.Name+"."+f.Name)
		}
	}
	return names
}

// callable is a function, or a method with its receiver as the first argument.
type callable struct {
	name string
	fn   reflect.Value
}

func functionsOf(s surface) (all []callable) {
	for name, f := range s.functions {
		all = append(all, callable{name, reflect.ValueOf(f)})
	}
	for _, of := range s.types {
		name, _, _ := strings.Cut(of.Name(), "[")
		pointer := reflect.PointerTo(of)
		for i := range pointer.NumMethod() {
			m := pointer.Method(i)
			fn := m.Func
			if value, ok := of.MethodByName(m.Name); ok {
				fn = value.Func
			}
			all = append(all, callable{name + "." + m.Name, fn})
		}
	}
	slices.SortFunc(all, func(a, b callable) int { return strings.Compare(a.name, b.name) })
	return all
}

// Every function answers every case: it does not panic, the error that it returns says something, and the objects are as they were.
// README.md has what each answers.
func TestBadInput(t *testing.T) {
	var table strings.Builder
	cases := Cases(t)
	var names []string
	for _, of := range cases {
		c := of()
		names = append(names, c.Name)
		fmt.Fprintf(&table, "- **%s**: %s.\n", c.Name, c.Reason)
	}
	for _, s := range surfaces() {
		fmt.Fprintf(&table, "\n### %s\n\n| function |", title(s.folder))
		for _, name := range names {
			fmt.Fprintf(&table, " %s |", name)
		}
		table.WriteString("\n|---|" + strings.Repeat("---|", len(cases)) + "\n")
		rows := map[string][]string{}
		functions := functionsOf(s)
		for _, of := range cases {
			c, pristine := of(), of()
			a := argumentsFor(t, c)
			for _, f := range functions {
				c, a := c, a
				if writes[s.folder+" "+f.name] {
					c = of()
					a = argumentsFor(t, c)
				}
				rows[f.name] = append(rows[f.name], strings.Join(answers(t, s, f, c, a), ", "))
			}
			require.True(t, reflect.DeepEqual(pristine.Set.Objects(), c.Set.Objects()), "a function of %s writes to an object of the case %s", s.folder, c.Name)
		}
		for _, f := range functions {
			fmt.Fprintf(&table, "| %s | %s |\n", f.name, strings.Join(rows[f.name], " | "))
		}
	}
	if !seed.Short() { // with fewer calls, fewer answers
		Section(t, "README.md", "functions", table.String(), *update)
	}
}

// writes are the functions that change the object which they are given, as their comments say.
var writes = map[string]bool{
	"purekubetest Deleted": true, "purekubetest Ended": true, "purekubetest NotReady": true, "purekubetest ClaimFor": true,
	"manifests Set.Add": true, "purekubetest Cluster.Add": true,
}

func title(folder string) string {
	if folder == "." {
		return "purekube"
	}
	return folder
}

// answers calls a function with values of the case, and says which kinds of answers it gave.
func answers(t *testing.T, s surface, f callable, c Case, a *arguments) []string {
	t.Helper()
	kinds := map[string]bool{}
	of := f.fn.Type()
	pools := make([][]reflect.Value, of.NumIn())
	calls := 1
	for i := range pools {
		switch {
		case of.In(i).Kind() == reflect.Pointer && (i == 0 && strings.Contains(f.name, ".") || s.folder == "disruption/drain"):
			// A method of a nil pointer, and a drain on a nil Index, panic.
			pools[i] = slices.DeleteFunc(slices.Clone(a.of(of.In(i))), func(v reflect.Value) bool { return v.IsNil() })
		default:
			pools[i] = a.of(of.In(i))
		}
		if s.folder == "purekubetest" && of.In(i).Kind() == reflect.Int32 {
			// As many pods as the test asks for are made.
			pools[i] = slices.DeleteFunc(slices.Clone(pools[i]), func(v reflect.Value) bool { return v.Int() > 1_000 })
		}
		calls = max(calls, len(pools[i]))
	}
	if seed.Short() {
		calls = min(calls, 3)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range calls * min(2, len(pools)+1) {
		in := make([]reflect.Value, len(pools))
		for i, pool := range pools {
			if n < calls {
				in[i] = pool[n%len(pool)]
			} else {
				in[i] = pool[random.IntN(len(pool))]
			}
		}
		kinds[call(t, s.folder+"."+f.name+" ("+c.Name+")", f.fn, in)] = true
	}
	var all []string
	for k := range kinds {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

func call(t *testing.T, name string, fn reflect.Value, in []reflect.Value) (kind string) {
	t.Helper()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case testFailed:
			kind = "test fails"
		default:
			if strings.HasPrefix(name, "purekubetest.") { // a builder that a test gives nil
				kind = "test fails"
				return
			}
			t.Errorf("%s panics: %v\n%.300v\n%s", name, r, in, debug.Stack())
			kind = "panic"
		}
	}()
	for i, v := range in {
		switch x := v.Interface().(type) {
		case *http.Request:
			x.Body, _ = x.GetBody()
		case *httptest.ResponseRecorder:
			in[i] = reflect.ValueOf(httptest.NewRecorder())
		}
	}
	var out []reflect.Value
	if fn.Type().IsVariadic() {
		out = fn.CallSlice(in)
	} else {
		out = fn.Call(in)
	}
	kind = "answer"
	for _, v := range out {
		switch x := v.Interface().(type) {
		case *admissionv1.AdmissionResponse:
			switch {
			case x == nil:
				t.Errorf("%s: a nil response", name)
			case x.Allowed:
				kind = "allowed"
			default:
				kind = fmt.Sprintf("refused %d", x.Result.Code)
			}
		case error:
			kind = kindOf(t, name, x)
		}
	}
	for _, v := range in {
		if w, ok := v.Interface().(*httptest.ResponseRecorder); ok {
			kind = fmt.Sprintf("HTTP %d", w.Code)
		}
	}
	return kind
}

// kindOf says of which type the errors are that an error joins. An error that is not about one object, such as that of an option, is an
// "error".
func kindOf(t *testing.T, name string, err error) string {
	t.Helper()
	if err.Error() == "" && !strings.Contains(name, "Error.Unwrap") {
		t.Errorf("%s: an error without a text: %#v", name, err)
	}
	leaves := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		leaves = joined.Unwrap()
	}
	kind := ""
	for _, leaf := range leaves {
		var object *purekube.ObjectError
		var file *manifests.Error
		switch {
		case errors.As(leaf, &object):
			// The object that the question names is named as it was asked for, so its kind may be empty.
			if object.Err == nil || object.Kind == "" && !errors.Is(object, purekube.ErrNotFound) && !strings.Contains(name, "ObjectError.") {
				t.Errorf("%s: an ObjectError without kind or cause: %#v", name, object)
			}
			kind = "ObjectError"
		case errors.As(leaf, &file):
			kind = "Error"
		case kind == "":
			kind = "error"
		}
	}
	return kind
}
