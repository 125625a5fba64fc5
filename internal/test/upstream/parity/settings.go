package parity

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/purekube/purekube/internal/test/seed"
)

// run is how much is compared: from the environment, so that a failure can be repeated and a
// longer run needs no change.
type run struct {
	seed  uint64 // PARITY_SEED, 1 by default: the same cases on every push; "random": others each time
	count int    // PARITY_CASES, 5,000 by default
	only  int    // PARITY_CASE: the only case to run; -1 for all
}

func settings(t *testing.T) run {
	t.Helper()
	r := run{seed: seed.FromVariable(t, "PARITY_SEED", 1), count: Number(t, "PARITY_CASES", 5000),
		only: Number(t, "PARITY_CASE", -1)}
	t.Logf("PARITY_SEED=%d PARITY_CASES=%d", r.seed, r.count)
	return r
}

// Number returns the number in an environment variable, or otherwise if the variable is empty.
func Number[N int | uint64](t *testing.T, variable string, otherwise N) N {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return N(n)
}

// cases yields the numbers of the cases to run.
func (r run) cases() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if r.only >= 0 {
			yield(r.only)
			return
		}
		for i := range r.count {
			if !yield(i) {
				return
			}
		}
	}
}

// source is the generator of random numbers of one case: each case can be made alone.
func (r run) source(i int) *rand.Rand { return rand.New(rand.NewPCG(r.seed, uint64(i))) }

// again says how to repeat a case.
func (r run) again(t *testing.T, i int) string {
	return fmt.Sprintf(
		"again: (cd internal/test/upstream && PARITY_SEED=%d PARITY_CASE=%d GOWORK=off go test %s./parity -run '^%s$')",
		r.seed, i, testFlags, t.Name())
}
