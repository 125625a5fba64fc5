package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A cell that is longer than a line runs over, and no other row is padded to it: one label of 70,000 characters made a
// table of as many characters for each node.
func TestTablesAreNotPaddedToALongCell(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	require.Equal(t, []string{
		"NODE  POOL",
		long + "  a",
		"n     " + long,
		"node  b",
	}, aligned([][]string{{"NODE", "POOL"}, {long, "a"}, {"n", long}, {"node", "b"}}))
}

func TestTablesOfALongLabelAreSmall(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	node := func(name, pool string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"labels":{"pool":%q}},
			"status":{"allocatable":{"pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}}`, name, pool) +
			podOf("db-"+name, "db", "ReplicaSet", name, "True")
	}
	input := node("long", long) + node(long, "a") + repeated(30, func(i int) string { return node(fmt.Sprint("n", i), fmt.Sprint("p", i)) })
	for _, flags := range []string{"--pool pool", "--pool pool -o wide"} {
		t.Run(flags, func(t *testing.T) {
			got := plan(t, nil, input, append([]string{"-drain", "all", "--none", "pdb,rs,deploy", "-"}, strings.Fields(flags)...)...)
			require.True(t, strings.Contains(got.stdout, long), got.stderr)
			require.Less(t, len(got.stdout), 10*len(long), "bytes")
		})
	}
}
