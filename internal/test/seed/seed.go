// Package seed gives tests the seeds of what they do at random. They are the same in every run, unless others are asked
// for, by the flag -seed of a package's tests or, for all packages at once, by the variable PUREKUBE_SEED:
//
//	go test ./disruption                 the fixed seeds
//	go test ./disruption -seed random    others, each time; a test logs the first one
//	go test ./disruption -seed 4711+     those from 4711 on: what a random run used
//	go test ./disruption -seed 4711      4711 alone: what a test that failed logs; then a test that also asks
//	                                     whether every kind of thing occurs may fail for that
//
// Only tests import it.
package seed

import (
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Variable is the environment variable that is read where the flag -seed is not given.
const Variable = "PUREKUBE_SEED"

// Choice is which seeds are used. It is a flag.Value; the zero value means the fixed seeds.
type Choice struct {
	text   string
	set    bool // by Set, even to the fixed ones
	first  uint64
	given  bool // other seeds than the fixed ones
	single bool // one seed alone
}

// String returns the text that asks for these seeds.
func (c *Choice) String() string { return c.text }

// Set reads "", "random", "4711+" or "4711".
func (c *Choice) Set(text string) error {
	switch from, onwards := strings.CutSuffix(text, "+"); {
	case text == "":
		*c = Choice{set: true}
	case text == "random":
		// Half of the range, so that no sum with a count overflows.
		first := rand.Uint64() >> 1
		*c = Choice{text: fmt.Sprintf("%d+", first), set: true, first: first, given: true}
	default:
		first, err := strconv.ParseUint(from, 10, 64)
		if err != nil {
			return fmt.Errorf("seed %q: want a number, a number and +, or random", text)
		}
		*c = Choice{text: text, set: true, first: first, given: true, single: !onwards}
	}
	return nil
}

// byFlag is the choice of the flag, which takes the place of the variable's.
var byFlag Choice

func init() {
	flag.Var(&byFlag, "seed",
		"`seed` of what tests do at random: a number, a number and + for those from it on, or random; none: fixed ones")
}

// byVariable is the choice of the variable. It is read when a test asks for the first time: what is read before the
// tests begin is unknown to go test, which would then print the result of other seeds again.
var byVariable = sync.OnceValue(func() Choice {
	var c Choice
	if err := c.Set(os.Getenv(Variable)); err != nil {
		panic(fmt.Sprintf("%s: %v", Variable, err))
	}
	return c
})

func choice() Choice {
	if byFlag.set {
		return byFlag
	}
	return byVariable()
}

// First returns the seed of a test that needs one: otherwise, unless another one is asked for, which it logs.
func First(t testing.TB, otherwise uint64) uint64 {
	t.Helper()
	c := choice()
	if !c.given {
		return otherwise
	}
	t.Logf("-seed %s", c.text)
	return c.first
}

// FromVariable returns the seed that an environment variable of its own asks for: a number or random, which it logs.
// Otherwise is the seed where the variable is not set.
func FromVariable(t testing.TB, variable string, otherwise uint64) uint64 {
	t.Helper()
	var c Choice
	if err := c.Set(os.Getenv(variable)); err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	if !c.given {
		return otherwise
	}
	t.Logf("%s=%d", variable, c.first)
	return c.first
}

// Chosen says whether other seeds than the fixed ones are asked for: then a rate among a few cases may be another one.
func Chosen() bool { return choice().given }

// Single says whether one seed alone is asked for: then a test cannot expect that every kind of thing occurs.
func Single() bool { return choice().single }

// Each yields the seeds of n cases: 0 and the following numbers, unless others are asked for. After the first case that
// fails it ends, and logs how to repeat the case.
func Each(t testing.TB, n int) iter.Seq[uint64] { return Range(t, 0, n) }

// Range yields what Each does, from another one on: for a test that draws more when it needs more.
func Range(t testing.TB, from uint64, n int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		t.Helper()
		first := First(t, 0) + from
		if Single() {
			n = 1
		}
		var current uint64
		running := false
		t.Cleanup(func() {
			if running && t.Failed() {
				t.Logf("again: -run '^%s$' -seed %d", t.Name(), current)
			}
		})
		for i := range uint64(n) {
			current, running = first+i, true
			if !yield(current) || t.Failed() {
				return
			}
			running = false
		}
	}
}

// Full is the environment variable that asks for everything. .ci/run sets it for packages with tests that would not run
// at all, and .ci/run long for all.
const Full = "PUREKUBE_FULL"

// Short reports whether tests leave out what takes long: many more random clusters, larger bounds, what compiles a
// program. They do with -short, and when all tests of a package run and PUREKUBE_FULL is not set. Whoever names tests
// with -run, or lets them write files with -update, wants what these tests do.
func Short() bool {
	return testing.Short() || os.Getenv(Full) == "" && !given("test.run") && !given("update")
}

// given reports whether the flag has another value than without it.
func given(name string) bool {
	f := flag.Lookup(name)
	return f != nil && f.Value.String() != f.DefValue
}
