// Command tables makes Markdown tables of what long tests print: `go test -v`, fuzzing, and internal/test/mutation.
//
//	go test -v ./internal/test/model | go run ./internal/test/tables
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

func main() {
	if err := write(os.Stdout, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var (
	// What go test prints: which test the next lines are of, its end, and where a log line was written.
	name   = regexp.MustCompile(`^=== (?:RUN|CONT|NAME) +(\S+)$`)
	ended  = regexp.MustCompile(`^( *)--- (PASS|FAIL|SKIP): (\S+) \((.*)s\)$`)
	logged = regexp.MustCompile(`^ +\w+\.go:\d+: (.*)$`)
	// What a search of internal/test/model logs, and the part of its test's name that says how far caches lag.
	searched = regexp.MustCompile(`^(.+): (\d+) states, (\d+) steps, depth (\d+), (\S+): (.+)$`)
	lag      = regexp.MustCompile(`,_caches_behind_by_(\w+)$`)
	// The last of these lines of a package says how far fuzzing came.
	fuzzed  = regexp.MustCompile(`^fuzz: elapsed: (\S+), execs: (\d+) .*new interesting: (\d+)`)
	tested  = regexp.MustCompile(`^(ok|FAIL)\s+(\S+)\s+([\d.]+)s`)
	verdict = map[string]string{"PASS": "passes", "FAIL": "fails", "SKIP": "not run", "ok": "passes"}
)

// table is a heading and rows.
type table struct {
	heading []string
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write prints nothing for a table without rows.
func (t *table) write(w io.Writer) {
	if len(t.rows) == 0 {
		return
	}
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(t.heading, " | "), strings.Repeat("---|", len(t.heading)))
	for _, cells := range t.rows {
		for _, cell := range cells {
			fmt.Fprintf(w, "| %s ", strings.ReplaceAll(cell, "|", `\|`))
		}
		fmt.Fprintln(w, "|")
	}
	fmt.Fprintln(w)
}

// write reads what tests print, and writes the tables of it.
func write(w io.Writer, r io.Reader) error {
	searches := table{heading: []string{"scenario", "cache lag", "states", "steps between them", "depth", "time", "end"}}
	tests := table{heading: []string{"test", "result", "seconds", "what it says"}}
	fuzzing := table{heading: []string{"package", "result", "time", "executions", "new inputs"}}
	packages := table{heading: []string{"package", "result", "seconds"}}
	said := map[string][]string{} // by each test
	var current string
	var progress []string // of fuzzing the current package
	var ready strings.Builder

	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		line := lines.Text()
		if m := name.FindStringSubmatch(line); m != nil {
			current = m[1]
		} else if m := logged.FindStringSubmatch(line); m != nil {
			if s := searched.FindStringSubmatch(m[1]); s != nil {
				behind := "one"
				if l := lag.FindStringSubmatch(current); l != nil {
					behind = l[1]
				}
				searches.add(s[1], behind, s[2], s[3], s[4], s[5], s[6])
				continue
			}
			top, _, _ := strings.Cut(current, "/")
			said[top] = append(said[top], strings.TrimSuffix(m[1], "; of them had"))
		} else if m := ended.FindStringSubmatch(line); m != nil && m[1] == "" {
			tests.add(m[3], verdict[m[2]], m[4], strings.Join(said[m[3]], "; "))
		} else if m := fuzzed.FindStringSubmatch(line); m != nil {
			progress = m[1:]
		} else if m := tested.FindStringSubmatch(line); m != nil {
			if progress != nil {
				fuzzing.add(append([]string{m[2], verdict[m[1]]}, progress...)...)
				progress = nil
				continue
			}
			packages.add(m[2], verdict[m[1]], m[3])
		} else if strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "|---") {
			fmt.Fprintln(&ready, line)
		}
	}
	if ready.Len() > 0 {
		fmt.Fprintf(w, "%s\n", ready.String())
	}
	for _, t := range []*table{&searches, &tests, &fuzzing, &packages} {
		t.write(w)
	}
	return lines.Err()
}
