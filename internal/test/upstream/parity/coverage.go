package parity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// leastShare is the share of cases in which each kind of thing has to occur: a comparison
// that never sees an error says nothing about errors.
const leastShare = 0.02

// coverage counts the cases in which each kind of thing occurred.
type coverage struct {
	cases int
	by    map[string]int
}

func (c *coverage) add(kinds []string) {
	if c.by == nil {
		c.by = map[string]int{}
	}
	c.cases++
	slices.Sort(kinds)
	for _, kind := range slices.Compact(kinds) {
		c.by[kind]++
	}
}

// check fails when a wanted kind is rare, or when a kind occurs that nobody wanted, and for which no share is therefore
// required.
func (c *coverage) check(t *testing.T, wanted []string) {
	t.Helper()
	var table strings.Builder
	for _, kind := range wanted {
		fmt.Fprintf(&table, "\n%6.1f %%  %s", 100*float64(c.by[kind])/float64(c.cases), kind)
	}
	t.Logf("%d cases without a difference; of them had%s", c.cases, table.String())
	if c.cases < 500 {
		return // a few cases, to look at one or to try something, prove no share
	}
	for _, kind := range wanted {
		if float64(c.by[kind]) < leastShare*float64(c.cases) {
			t.Errorf("%q is in %d of %d cases only", kind, c.by[kind], c.cases)
		}
	}
	for kind, n := range c.by {
		if !slices.Contains(wanted, kind) {
			t.Errorf("%q is in %d of %d cases and not among the kinds of this controller", kind, n, c.cases)
		}
	}
}
