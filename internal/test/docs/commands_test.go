package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	word     = regexp.MustCompile(`'[^']*'|"[^"]*"|&&|\S+`)
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`)
	// selects is which functions of a package a flag of go test chooses from.
	selects = map[string]*regexp.Regexp{
		"-run": regexp.MustCompile(`^(Test|Fuzz|Example)`), "-bench": regexp.MustCompile(`^Benchmark`), "-fuzz": regexp.MustCompile(`^Fuzz`),
	}
)

// The tests and benchmarks that a page tells to run are there: go test passes when a pattern matches nothing.
func TestCommandsSelectWhatExists(t *testing.T) {
	checked := 0
	for _, pattern := range []string{
		"*.md", "docs/*.md", "docs/upstream/*.md", "internal/test/*.md", "internal/test/*/README.md", "internal/test/upstream/*/README.md",
	} {
		pages, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, path := range pages {
			page, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, line := range commandLines(string(page)) {
				for _, c := range goTests(line) {
					functions := testFunctions(t, filepath.Dir(path), c)
					for flag, pattern := range c.patterns {
						for _, top := range topLevel(pattern) {
							matches := func(name string) bool {
								return selects[flag].MatchString(name) && regexp.MustCompile(top).MatchString(name)
							}
							if !slices.ContainsFunc(functions, matches) {
								t.Errorf("%s: %s\n%s %s: %q matches no function", path, line, flag, pattern, top)
							}
							checked++
						}
					}
				}
			}
		}
	}
	require.Greater(t, checked, 15)
}

// commandLines are the lines of a page that are indented or in a fence. A line that ends in \ has the next one in it.
func commandLines(page string) (lines []string) {
	fenced := false
	for line := range strings.Lines(strings.ReplaceAll(page, "\\\n", " ")) {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced, strings.HasPrefix(line, "    "):
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// goTest is a command: the patterns of its flags, the folder that cd changes to, and its packages.
type goTest struct {
	patterns map[string]string
	folder   string
	packages []string
}

func goTests(line string) (all []goTest) {
	line, _, _ = strings.Cut(line, " #")
	folder, words := "", word.FindAllString(line, -1)
	for i, w := range words {
		switch next := i + 1; {
		case w == "cd" && next < len(words):
			folder = filepath.Join(folder, words[next])
		case w == "go" && next < len(words) && words[next] == "test":
			c := goTest{map[string]string{}, folder, nil}
			for j := next + 1; j < len(words) && words[j] != "&&"; j++ {
				flag, value, hasValue := strings.Cut(words[j], "=")
				switch {
				case strings.HasPrefix(flag, "."):
					c.packages = append(c.packages, words[j])
				case selects[flag] != nil && hasValue:
					c.patterns[flag] = strings.Trim(value, `'"`)
				case selects[flag] != nil && j+1 < len(words):
					j++
					c.patterns[flag] = strings.Trim(words[j], `'"`)
				}
			}
			all = append(all, c)
		}
	}
	return all
}

// topLevel are the parts of a pattern that choose functions: of each alternative, what is before the first slash. "^$"
// chooses none on purpose.
func topLevel(pattern string) (parts []string) {
	depth, from := 0, 0
	add := func(alternative string) {
		depth := 0
		end := strings.IndexFunc(alternative, func(r rune) bool {
			depth += strings.Count("([", string(r)) - strings.Count(")]", string(r))
			return r == '/' && depth == 0
		})
		if end >= 0 {
			alternative = alternative[:end]
		}
		if alternative != "^$" {
			parts = append(parts, alternative)
		}
	}
	for i, r := range pattern {
		depth += strings.Count("([", string(r)) - strings.Count(")]", string(r))
		if r == '|' && depth == 0 {
			add(pattern[from:i])
			from = i + 1
		}
	}
	add(pattern[from:])
	return parts
}

// testFunctions are those of the command's packages. A page's commands begin in its own folder, in the one above, or in the
// root.
func testFunctions(t *testing.T, page string, c goTest) (names []string) {
	t.Helper()
	if len(c.packages) == 0 {
		c.packages = []string{"."}
	}
	for _, from := range []string{root, page, filepath.Dir(page)} {
		for _, p := range c.packages {
			dir, all := strings.CutSuffix(p, "...")
			dir = filepath.Join(from, c.folder, dir)
			files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
			require.NoError(t, err)
			if all {
				_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
					if err == nil && strings.HasSuffix(path, "_test.go") {
						files = append(files, path)
					}
					return nil // a folder that is not there has no tests
				})
			}
			for _, file := range files {
				content, err := os.ReadFile(file)
				require.NoError(t, err)
				for _, found := range testFunc.FindAllStringSubmatch(string(content), -1) {
					names = append(names, found[1])
				}
			}
		}
	}
	return names
}

func TestTopLevel(t *testing.T) {
	require.Equal(t, []string{"A", "B"}, topLevel("A/(x|y)/z|B"))
	require.Equal(t, []string{"^(A|B)$"}, topLevel("^(A|B)$"))
	require.Equal(t, []string{""}, topLevel("/sub"))
	require.Empty(t, topLevel("^$"))
}
