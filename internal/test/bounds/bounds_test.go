package bounds_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/badinput"
	"github.com/purekube/purekube/internal/test/bounds"
)

var update = flag.Bool("update", false, "write the tables in README.md anew")

// sizes are the numbers of objects that a subject is asked about, up to PUREKUBE_BOUNDS.
func sizes(t *testing.T, s bounds.Subject) []int {
	most := 10_000
	if text := os.Getenv("PUREKUBE_BOUNDS"); text != "" {
		var err error
		most, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	if s.Most > 0 {
		most = min(most, s.Most)
	}
	var all []int
	for n := 1000; n <= most; n *= 10 {
		all = append(all, n)
	}
	return all
}

// No count grows faster from one size to the next than its bound says.
func TestBounds(t *testing.T) {
	command := ""
	if !testing.Short() {
		command = build(t)
	}
	var report strings.Builder
	for _, s := range bounds.Subjects {
		t.Run(s.Name, func(t *testing.T) {
			if testing.Short() && s.Slow {
				t.Skip("takes seconds: not with -short")
			}
			sizes := sizes(t, s)
			var counts []bounds.Counts
			for _, n := range sizes {
				counts = append(counts, s.Count(n, nil))
			}
			if command != "" {
				debug.FreeOSMemory()
				for i, c := range countBlocks(t, command, s.Name, sizes) {
					for k := range c.Costs {
						counts[i].Costs[k].Blocks = c.Costs[k].Blocks
					}
				}
			}
			for i := range counts[1:] {
				for _, problem := range bounds.Exceeded(counts[i], counts[i+1]) {
					t.Error(problem)
				}
			}
			table := bounds.Table(sizes, counts)
			t.Logf("\n%s", table)
			report.WriteString("### " + s.Name + "\n\n" + table + "\n")
		})
	}
	if *update {
		badinput.Section(t, "README.md", "bounds", report.String(), true)
	}
}

// build builds the command blocks so that it can count.
func build(t *testing.T) string {
	t.Helper()
	command := filepath.Join(t.TempDir(), "blocks")
	out, err := exec.Command("go", "build", "-cover", "-covermode=atomic", "-coverpkg=github.com/purekube/purekube/...",
		"-o", command, "./blocks").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return command
}

func countBlocks(t *testing.T, command, subject string, sizes []int) (counts []bounds.Counts) {
	t.Helper()
	args := []string{subject}
	for _, n := range sizes {
		args = append(args, strconv.Itoa(n))
	}
	blocks := exec.Command(command, args...)
	blocks.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
	blocks.Stderr = os.Stderr
	out, err := blocks.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &counts))
	require.Len(t, counts, len(sizes))
	return counts
}

// Each kind of growth is noticed, in each count.
func TestGrowthIsNoticed(t *testing.T) {
	at := func(objects int, once bool, g bounds.Growth, c bounds.Cost) bounds.Counts {
		return bounds.Counts{Objects: objects, Costs: []bounds.Cost{c}, Questions: []bounds.Question{{Name: "Q", Once: once, Growth: g}}}
	}
	cost := func(of string, count float64) (c bounds.Cost) {
		*map[string]*float64{"allocations": &c.Allocations, "bytes": &c.Bytes, "blocks of code": &c.Blocks, "keys": &c.Keys, "actions": &c.Actions}[of] = count
		return c
	}
	for _, tc := range []struct {
		name, counted string
		once          bool
		g             bounds.Growth
		was, is       float64
		noticed       bool
	}{
		{"one level more", "allocations", false, bounds.Logarithmic, 10, 13, false},
		{"tenfold allocations", "allocations", false, bounds.Logarithmic, 10, 100, true},
		{"tenfold bytes", "bytes", false, bounds.Logarithmic, 1000, 10_000, true},
		{"tenfold blocks", "blocks of code", false, bounds.Logarithmic, 100, 1000, true},
		{"nothing before", "allocations", false, bounds.Logarithmic, 0, 1, true},
		{"tenfold keys", "keys", false, bounds.Logarithmic, 1, 10, true},
		{"tenfold actions", "actions", false, bounds.Logarithmic, 1, 10, true},
		{"tenfold of all", "blocks of code", true, bounds.Linearithmic, 100, 1300, false},
		{"a hundredfold of all", "blocks of code", true, bounds.Linearithmic, 100, 10_000, true},
		{"tenfold actions of all", "actions", true, bounds.Linearithmic, 100, 1000, false},
		{"a hundredfold actions of all", "actions", true, bounds.Linearithmic, 100, 10_000, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := bounds.Exceeded(at(1000, tc.once, tc.g, cost(tc.counted, tc.was)), at(10_000, tc.once, tc.g, cost(tc.counted, tc.is)))
			if !tc.noticed {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Contains(t, got[0], tc.counted)
		})
	}
}
