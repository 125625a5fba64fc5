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
	"github.com/purekube/purekube/internal/test/seed"
)

var update = flag.Bool("update", false, "write the tables in README.md anew")

// No count grows faster from one size to the next than its bound says.
func TestBounds(t *testing.T) {
	command := ""
	if !seed.Short() {
		command = build(t)
	}
	summary, figures := bounds.SummaryHeader, ""
	for _, s := range bounds.Subjects {
		t.Run(s.Name, func(t *testing.T) {
			if seed.Short() && s.Slow {
				t.Skip("takes seconds")
			}
			sizes := bounds.Sizes(t, 0)
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
				for _, problem := range bounds.Exceeded(counts[:i+1], counts[i+1]) {
					t.Error(problem)
				}
			}
			table, largest := bounds.Table(sizes, counts), bounds.Summary(s.Name, counts)
			t.Logf("\n%s", table)
			t.Log("ratios at most " + strings.ReplaceAll(strings.Trim(largest, "| \n"), " | ", "; "))
			summary += largest
			figures += "## " + s.Name + "\n\n" + table + "\n"
		})
	}
	if *update {
		require.Equal(t, len(bounds.Subjects), strings.Count(figures, "## "), "the tables have all subjects")
		badinput.Section(t, "README.md", "summary", summary, true)
		badinput.Section(t, "figures.md", "figures", strings.TrimSuffix(figures, "\n"), true)
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
	allocations := func(n float64) bounds.Cost { return bounds.Cost{Allocations: n} }
	bytes := func(n float64) bounds.Cost { return bounds.Cost{Bytes: n} }
	blocks := func(n float64) bounds.Cost { return bounds.Cost{Blocks: n} }
	keys := func(n float64) bounds.Cost { return bounds.Cost{Keys: n} }
	actions := func(n float64) bounds.Cost { return bounds.Cost{Actions: n} }
	one := bounds.Question{Name: "one", Growth: bounds.Logarithmic}
	all := bounds.Question{Name: "all", Growth: bounds.Linearithmic, Once: true}
	for _, tc := range []struct {
		name, reason string
		q            bounds.Question
		of           func(float64) bounds.Cost
		was, is      float64
		want         string
	}{
		{"one level more", "a tree of ten times the size has it", one, allocations, 10, 13, ""},
		{"allocations", "an allocation for each object", one, allocations, 10, 100, "one: allocations"},
		{"bytes", "a copy of a table", one, bytes, 1000, 10_000, "one: bytes"},
		{"blocks", "a loop over all objects", one, blocks, 100, 1000, "one: blocks of code"},
		{"from nothing", "none is a count, too", one, allocations, 0, 1, "one: allocations"},
		{"keys", "all are affected", one, keys, 1, 10, "one: keys"},
		{"actions", "all are written", one, actions, 1, 10, "one: actions"},
		{"sorted", "n log n", all, blocks, 100, 1300, ""},
		{"pairs", "each object is compared with each", all, blocks, 100, 10_000, "all: blocks of code"},
		{"an action each", "as many as there are objects", all, actions, 100, 1000, ""},
		{"an action for each pair", "more than there are objects", all, actions, 100, 10_000, "all: actions"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			at := func(objects int, count float64) bounds.Counts {
				return bounds.Counts{
					Objects: objects, Questions: []bounds.Question{tc.q}, Costs: []bounds.Cost{tc.of(count)},
				}
			}
			got := bounds.Exceeded([]bounds.Counts{at(1000, tc.was)}, at(10_000, tc.is))
			if tc.want == "" {
				require.Empty(t, got, tc.reason)
				return
			}
			require.Len(t, got, 1, tc.reason)
			require.Contains(t, got[0], tc.want)
		})
	}
}

// An Index that keeps more for each object than before is noticed.
func TestMemoryIsNoticed(t *testing.T) {
	before := bounds.Counts{Objects: 1000, Kept: 10, KeptUpdated: 10}
	after := bounds.Counts{Objects: 10_000, Kept: 100, KeptUpdated: 100}
	require.Len(t, bounds.Exceeded([]bounds.Counts{before}, after), 2)
	after.Kept, after.KeptUpdated = 12, 12
	require.Empty(t, bounds.Exceeded([]bounds.Counts{before}, after))
}

// A table that has just doubled is no growth of memory: an earlier size has the same. Growth is noticed from each size, and
// nothing excuses more blocks of code than the last size allows.
func TestSizesOfTables(t *testing.T) {
	kept := func(objects int, bytes float64) bounds.Counts { return bounds.Counts{Objects: objects, Kept: bytes} }
	smaller := []bounds.Counts{kept(1000, 107), kept(10_000, 87), kept(100_000, 71)}
	require.Empty(t, bounds.Exceeded(smaller, kept(1_000_000, 109)))
	require.Len(t, bounds.Exceeded(smaller[2:], kept(1_000_000, 109)), 1)
	require.Len(t, bounds.Exceeded(smaller, kept(1_000_000, 300)), 1)

	ran := func(objects int, blocks float64) bounds.Counts {
		return bounds.Counts{Objects: objects, Costs: []bounds.Cost{{Blocks: blocks}},
			Questions: []bounds.Question{{Name: "all", Growth: bounds.Linearithmic, Once: true}}}
	}
	require.Len(t, bounds.Exceeded([]bounds.Counts{ran(1000, 100), ran(10_000, 300)}, ran(100_000, 15_000)), 1)
}
