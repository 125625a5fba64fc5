// Command mutation changes the decisions of a package in one place at a time, and looks whether its tests notice.
//
//	go run ./internal/test/mutation [-only REGEXP] [-every 3] [-short] [-patience 5s] ./servicecidr ./ttl …
//
// All changes are compiled into one test binary, in which an environment variable chooses one: a change costs a run of
// those tests that come by it, until the first failure, and no compilation. Tests that take longer than -patience run
// only on what survives the others. Changes are: a condition that always or never holds, a comparison with the next one
// in its place or its opposite, && and || in each other's place or without one of their sides, ! left out, true and
// false, + and −, an integer that is one more, and a statement that is left out. What methods String and Error print is
// left alone, as are constants.
//
// A change that the tests do not notice survives. Survivors that change nothing that anybody can see are listed in
// internal/test/mutation/survivors, a file for each package, with the reason why; the command ends with status 1 if
// there are others.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	only      = flag.String("only", ".", "mutate only functions and files that match, as \"file.go:Function\"")
	without   = flag.String("without", "^$", "leave out functions and files that match")
	short     = flag.Bool("short", false, "run the tests with -short")
	onlyTests = flag.String("run", "", "ask only tests that match")
	workers   = flag.Int("p", 2, "test binaries to run at a time")
	survivors = flag.String("survivors", "internal/test/mutation/survivors",
		"the folder of the survivors that are known, with reasons")
	listOnly = flag.Bool("list", false, "list the mutants and run nothing")
	every    = flag.Int("every", 1, "ask about one mutant in so many, in the order of the files")
	patience = flag.Duration("patience", time.Hour,
		"ask tests that take more of the processor's time without a mutant only about mutants that survive the others")
	verbose = flag.Bool("v", false, "say what became of each mutant")
)

func main() {
	flag.Parse()
	unknown := 0
	fmt.Println("| package | mutants | killed | survived, changing nothing | survived |")
	fmt.Println("|---|---|---|---|---|")
	var left []mutant
	for _, pattern := range flag.Args() {
		known, err := readKnown(filepath.Join(*survivors, filepath.Base(pattern)+".txt"))
		if err != nil {
			fail(err)
		}
		r, err := run(pattern, known)
		if err != nil {
			fail(fmt.Errorf("%s: %w", pattern, err))
		}
		fmt.Printf("| %s | %d | %d (%.1f %%) | %d | %d |\n", pattern, r.mutants, r.killed,
			100*float64(r.killed)/float64(max(1, r.mutants)), r.excused, len(r.survived))
		left = append(left, r.survived...)
		unknown += len(r.survived)
	}
	for _, m := range left {
		fmt.Printf("%s:%d %s: %s\n\t%s\n", m.file, m.line, m.function, m.what, m.source)
	}
	if unknown > 0 {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}

type result struct {
	mutants, killed, excused int
	survived                 []mutant
}

func run(pattern string, known map[string]bool) (result, error) {
	scratch, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(scratch)
	binary, folder, mutants, err := compile(pattern, scratch)
	if err != nil {
		return result{}, err
	}
	if *listOnly {
		for _, m := range mutants {
			fmt.Printf("%d\t%s:%d\t%s\t%s\n", m.number, m.file, m.line, m.function, m.what)
		}
		return result{}, nil
	}
	began := time.Now()
	reached := filepath.Join(scratch, "reached")
	tests, slow, err := watch(binary, folder, reached)
	if err != nil {
		return result{}, err
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return m.number%*every != 0 })
	fmt.Fprintf(os.Stderr, "%s: %d mutants, %d tests take %s; %d more are for survivors: %s\n", pattern, len(mutants),
		len(tests), time.Since(began).Round(time.Second/10), len(slow), strings.Join(slow, " "))

	r := result{mutants: len(mutants)}
	all := make([]int, len(mutants))
	for i := range all {
		all[i] = i
	}
	alive := make([]bool, len(mutants))
	askAll(binary, folder, mutants, all, tests, alive)
	again := slices.DeleteFunc(all, func(i int) bool { return !alive[i] || known[mutants[i].key()] })
	if len(again) > 0 && len(slow) > 0 {
		tests = tests[:0]
		for _, name := range slow {
			t, err := watchTest(binary, folder, reached, name, time.Hour)
			if err != nil {
				return result{}, err
			}
			tests = append(tests, t)
		}
		askAll(binary, folder, mutants, again, tests, alive)
	}
	for i, m := range mutants {
		switch {
		case !alive[i]:
			r.killed++
		case known[m.key()]:
			r.excused++
		default:
			r.survived = append(r.survived, m)
		}
	}
	return r, nil
}

// askAll runs the tests on the mutants of these places, several at a time, and notes which of them are alive.
func askAll(binary, folder string, mutants []mutant, places []int, tests []watched, alive []bool) {
	next := make(chan int)
	var group sync.WaitGroup
	for range *workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range next {
				alive[i] = !killed(binary, folder, mutants[i].number, tests)
				if *verbose {
					fmt.Fprintf(os.Stderr, "%s:%d %s: survives %t\n", mutants[i].file, mutants[i].line, mutants[i].what, alive[i])
				}
			}
		}()
	}
	for _, i := range places {
		next <- i
	}
	close(next)
	group.Wait()
}

// key is what a mutant is known by. Lines may move.
func (m mutant) key() string {
	return filepath.ToSlash(m.file) + "\t" + m.function + "\t" + m.what + "\t" + m.source
}

// readKnown reads the survivors that change nothing: blocks of a reason, in lines that begin with #, and the
// mutants that it is the reason for.
func readKnown(path string) (map[string]bool, error) {
	known := map[string]bool{}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return known, nil
	}
	reason := false
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
			reason = true
		case line == "":
			reason = false
		case !reason:
			return nil, fmt.Errorf("%s:%d: a survivor without a reason", path, i+1)
		default:
			known[line] = true
		}
	}
	return known, err
}

// watched is a test: how much time of the processor it takes without a mutant, and the mutants that it comes by.
type watched struct {
	name    string
	took    time.Duration
	reaches map[int]bool
}

// watch runs each test alone, without a mutant. Tests that take longer than patience are not watched to their end: it
// returns their names.
func watch(binary, folder, reached string) (tests []watched, slow []string, err error) {
	c := exec.Command(binary, "-test.list="+cmp.Or(*onlyTests, "."))
	c.Dir = folder
	names, err := c.Output()
	if err != nil {
		return nil, nil, err
	}
	for _, name := range strings.Fields(string(names)) {
		if !isTest.MatchString(name) {
			continue
		}
		t, err := watchTest(binary, folder, reached, name, *patience+2*time.Second)
		switch {
		case t.took >= *patience:
			slow = append(slow, name)
		case err != nil:
			return nil, nil, err
		default:
			tests = append(tests, t)
		}
	}
	slices.SortStableFunc(tests, func(a, b watched) int { return cmp.Compare(a.took, b.took) })
	return tests, slow, nil
}

// watchTest runs a test without a mutant. It may take as much of the processor's time as limit.
func watchTest(binary, folder, reached, name string, limit time.Duration) (watched, error) {
	out, took, failed := runTests(binary, folder, 0, limit, "^"+name+"$", "PUREKUBE_REACHED="+reached)
	t := watched{name: name, took: took, reaches: map[int]bool{}}
	numbers, err := os.ReadFile(reached)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return t, err
	}
	for _, line := range strings.Fields(string(numbers)) {
		n, err := strconv.Atoi(line)
		if err != nil {
			return t, err
		}
		t.reaches[n] = true
	}
	if err := os.RemoveAll(reached); err != nil {
		return t, err
	}
	if failed != nil {
		return t, fmt.Errorf("%s fails without a mutant: %w\n%s", name, failed, out)
	}
	return t, nil
}

var isTest = regexp.MustCompile(`^(Test|Fuzz|Example)`)

// killed runs the tests that come by the mutant until one fails, the quickest first: in batches, each of which takes
// twice as long as the one before. Most mutants fall to the first.
func killed(binary, folder string, number int, tests []watched) bool {
	const start = 15 * time.Millisecond // of the program, which is a part of what each test took
	var names []string
	var takes time.Duration
	ask := func() bool {
		// A mutant that loops is one that is noticed.
		_, _, err := runTests(binary, folder, number, 3*time.Second+5*takes, "^("+strings.Join(names, "|")+")$")
		names, takes = nil, 0
		return err != nil
	}
	size := 50 * time.Millisecond
	for _, t := range tests {
		if !t.reaches[number] {
			continue
		}
		if len(names) > 0 && takes+t.took > size {
			if ask() {
				return true
			}
			size *= 2
		}
		names = append(names, t.name)
		takes += max(t.took-start, time.Millisecond)
	}
	return len(names) > 0 && ask()
}

// runTests runs tests of the binary, and says how much time of the processor they took. They may take as much as limit:
// a busy machine does not make a mutant look as if it looped.
func runTests(
	binary, folder string, number int, limit time.Duration, which string, env ...string,
) (out []byte, took time.Duration, err error) {
	seconds := max(1, int(limit/time.Second))
	// Nothing in the packages waits, and the runtime ends a program in which everything does.
	const waits = time.Hour
	args := []string{"-c", fmt.Sprintf(`ulimit -t %d && exec "$0" "$@"`, seconds), binary,
		"-test.v", "-test.failfast", "-test.timeout=" + waits.String(), "-test.run=" + which}
	if *short {
		args = append(args, "-test.short")
	}
	ctx, cancel := context.WithTimeout(context.Background(), waits+10*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", args...)
	c.Dir = folder
	c.Env = append(append(os.Environ(), fmt.Sprintf("PUREKUBE_MUTANT=%d", number), "GOMEMLIMIT=1GiB"), env...)
	out, err = c.CombinedOutput()
	if c.ProcessState != nil {
		took = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	return out, took, err
}

// compile makes the test binary with all mutants of the package.
func compile(pattern, scratch string) (binary, folder string, mutants []mutant, err error) {
	listed, err := list(pattern)
	if err != nil {
		return "", "", nil, err
	}
	target := listed[len(listed)-1]
	exports := map[string]string{}
	for _, p := range listed {
		exports[p.ImportPath] = p.Export
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range target.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(target.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return "", "", nil, err
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	if _, err := config.Check(target.ImportPath, files, parsed, info); err != nil {
		return "", "", nil, err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	include, exclude := regexp.MustCompile(*only), regexp.MustCompile(*without)
	for i, f := range parsed {
		name := target.GoFiles[i]
		source, err := os.ReadFile(filepath.Join(target.Dir, name))
		if err != nil {
			return "", "", nil, err
		}
		// Functions that are left out are taken out of the tree, not of the text.
		f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
			fn, ok := d.(*ast.FuncDecl)
			at := name + ":"
			if ok {
				at += fn.Name.Name
			}
			return !include.MatchString(at) || exclude.MatchString(at)
		})
		m := &mutator{files: files, info: info, name: filepath.Base(target.Dir) + "/" + name, source: source,
			lines: strings.Split(string(source), "\n"), first: 1 + len(mutants)}
		m.mutate(f)
		mutants = append(mutants, m.mutants...)
		out := filepath.Join(scratch, name)
		if err := os.WriteFile(out, m.text(), 0o600); err != nil {
			return "", "", nil, err
		}
		overlay.Replace[filepath.Join(target.Dir, name)] = out
	}
	extra := filepath.Join(scratch, "mutant_runtime.go")
	if err := os.WriteFile(extra, fmt.Appendf(nil, runtime, target.Name), 0o600); err != nil {
		return "", "", nil, err
	}
	overlay.Replace[filepath.Join(target.Dir, "mutant_runtime.go")] = extra
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", "", nil, err
	}
	overlayFile := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(overlayFile, text, 0o600); err != nil {
		return "", "", nil, err
	}
	binary = filepath.Join(scratch, "tests")
	c := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlayFile, "-o", binary, pattern)
	if out, err := c.CombinedOutput(); err != nil {
		return "", "", nil, fmt.Errorf("%w\n%s", err, out)
	}
	return binary, target.Dir, mutants, nil
}

type listedPackage struct {
	Dir, ImportPath, Name, Export string
	GoFiles                       []string
}

// list returns the package and what it depends on, the package last.
func list(pattern string) ([]listedPackage, error) {
	c := exec.Command("go", "list", "-export", "-deps", "-json=Dir,ImportPath,Name,Export,GoFiles", pattern)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, err
	}
	var all []listedPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}
