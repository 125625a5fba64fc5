package charts

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/manifests"
)

var update = flag.Bool("update", false, "write testdata/*.txt; read the difference, and judge each new finding in README.md")

// Each input is taken, and every question about it gets an answer; testdata has the findings, which README.md judges.
func TestCharts(t *testing.T) {
	command := build(t)
	for _, s := range sources {
		t.Run(s.name, func(t *testing.T) {
			dir := s.download(t)
			var found strings.Builder
			total := counts{}
			for _, input := range s.inputs(t, dir) {
				total.add(counted(t, dir, input))
				fmt.Fprintf(&found, "%s\n", input)
				for _, line := range ask(t, command, dir, input) {
					fmt.Fprintf(&found, "    %s\n", line)
				}
			}
			golden(t, s.name, fmt.Sprintf("%s %s: %s\n\n%s", s.module, s.version, total, found.String()))
		})
	}
}

// build returns the path of the command.
func build(t *testing.T) string {
	t.Helper()
	command := filepath.Join(t.TempDir(), "purekube")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", command, ".")
	cmd.Dir = "../../../cmd/purekube"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return command
}

// counts is what was read.
type counts struct{ inputs, objects, ignored, pods int }

func (c *counts) add(more counts) {
	c.inputs += more.inputs
	c.objects += more.objects
	c.ignored += more.ignored
	c.pods += more.pods
}

func (c counts) String() string {
	return fmt.Sprintf("%d inputs, %d objects (%d of kinds that no package reads), %d pods at full health", c.inputs, c.objects, c.ignored, c.pods)
}

// counted reads the input with the library. What the library does not read is an error that names the file.
func counted(t *testing.T, dir, input string) counts {
	t.Helper()
	set, err := manifests.Load(manifests.Options{Files: os.DirFS(dir)}, input)
	for _, e := range manifests.Errors(err) {
		require.True(t, strings.HasPrefix(e.Error(), input), "%v names another file than %s", e, input)
	}
	full, err := set.AtFullHealth()
	for _, e := range manifests.Errors(err) {
		require.NotEmpty(t, e.Refs, "%v", e)
	}
	again, _ := manifests.Load(manifests.Options{Files: os.DirFS(dir)}, input)
	require.Equal(t, set, again, "AtFullHealth changed its input")
	return counts{1, set.Len(), len(set.Ignored), len(full.Pods)}
}

// ask asks the command, and returns what lint found and the line that sums up each other answer.
func ask(t *testing.T, command, dir, input string) []string {
	t.Helper()
	lines := slices.DeleteFunc(run(t, command, dir, "lint", input), func(line string) bool {
		return strings.HasPrefix(line, "Explained in: ") || strings.HasPrefix(line, "    ")
	})
	for _, args := range [][]string{
		{"plan", "--at-full-health", "--nodes", "3", "--builtin-roles"},
		{"drain", "all", "--at-full-health", "--nodes", "3", "--ignore-daemonsets", "--delete-emptydir-data", "--none", "pdb,pods"},
		{"drain", "--waves", "--at-full-health", "--nodes", "3", "--ignore-daemonsets", "--delete-emptydir-data", "--none", "pdb,pods"},
		{"diff", "--upstream", "v1.36", "--at-full-health", "--nodes", "3", "--builtin-roles"},
	} {
		answer := run(t, command, dir, append(args, "-f", input)...)
		// The line that sums up begins so; without one, the last line says why there is none.
		said := "no answer"
		for _, line := range answer {
			sums := slices.ContainsFunc([]string{"Plan: ", "Drains: ", "Waves: ", "Diff: "}, func(word string) bool { return strings.HasPrefix(line, word) })
			if sums || strings.HasPrefix(line, "purekube: ") {
				said = line
			}
		}
		lines = append(lines, args[0]+": "+said)
	}
	return lines
}

// run returns the lines of both outputs. A panic, or an exit status that is not documented, fails the test.
func run(t *testing.T, command, dir string, args ...string) []string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), command, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.True(t, errors.As(err, &exit) && slices.Contains([]int{1, 3, 5}, exit.ExitCode()), "%v: %v\n%s", args, err, stderr.Bytes())
	}
	require.NotContains(t, stderr.String(), "panic")
	var lines []string
	for line := range strings.Lines(stderr.String() + stdout.String()) {
		lines = append(lines, strings.TrimRight(line, "\n"))
	}
	return lines
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); judge it in README.md, then run with -update:\n%s", path, diff)
	}
}
