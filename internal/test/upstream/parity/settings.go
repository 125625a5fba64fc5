package parity

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/purekube/purekube/internal/test/seed"
)

// Cases are what a test compares: from the environment, so that a failure can be repeated and a longer run needs no
// change.
type Cases struct {
	Count int    // PARITY_CASES
	seed  uint64 // PARITY_SEED, 1 by default: the same cases on every push; "random": others each time
	only  int    // PARITY_CASE: the only case to run; -1 for all
}

// Settings are as many cases as the environment says, or otherwise.
func Settings(t *testing.T, otherwise int) Cases {
	t.Helper()
	c := Cases{number(t, "PARITY_CASES", otherwise), seed.FromVariable(t, "PARITY_SEED", 1), number(t, "PARITY_CASE", -1)}
	t.Logf("PARITY_SEED=%d PARITY_CASES=%d", c.seed, c.Count)
	return c
}

// number is the number in an environment variable, or otherwise if the variable is empty.
func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%s is not a number", variable, text)
	}
	return n
}

// Numbers yields the numbers of the cases to run.
func (c Cases) Numbers() iter.Seq[int] {
	return func(yield func(int) bool) {
		if c.only >= 0 {
			yield(c.only)
			return
		}
		for i := range c.Count {
			if !yield(i) {
				return
			}
		}
	}
}

// AtLeast reports whether so many cases run that they prove a share of each kind of thing: a few, to look at one or to
// try something, do not.
func (c Cases) AtLeast(n int) bool { return c.only < 0 && c.Count >= n }

// Source is the generator of random numbers of one case: each case can be made alone.
func (c Cases) Source(i int) *rand.Rand { return rand.New(rand.NewPCG(c.seed, uint64(i))) }

// Again says how to repeat a case.
func (c Cases) Again(t *testing.T, i int) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	_, folder, _ = strings.Cut(filepath.ToSlash(folder), "internal/test/upstream/")
	return fmt.Sprintf(
		"again: (cd internal/test/upstream && PARITY_SEED=%d PARITY_CASE=%d GOWORK=off go test %s./%s -run '^%s$')",
		c.seed, i, TestFlags, folder, strings.ReplaceAll(t.Name(), "/", "$/^"))
}
