package bounds

import (
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that says how many objects are tried; 10,000 if it is not set.
const Variable = "PUREKUBE_BOUNDS"

// Sizes are numbers of objects, each ten times its predecessor, from 1,000 to Variable, or to most if that is less. A
// most of 0 is no limit.
func Sizes(t testing.TB, most int) (sizes []int) {
	t.Helper()
	last := 10_000
	if text := os.Getenv(Variable); text != "" {
		var err error
		if last, err = strconv.Atoi(text); err != nil || last < 1000 {
			t.Fatalf("%s=%s: want a number of objects, 1000 or more", Variable, text)
		}
	}
	if most > 0 {
		last = min(last, most)
	}
	for n := 1000; n <= last; n *= 10 {
		sizes = append(sizes, n)
	}
	return sizes
}
