package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A page shows the worst objects with something to do, and says how many others there are: pages of a cluster without a
// controller had megabytes of statuses to be written.
func TestPageOfManyObjectsWithActions(t *testing.T) {
	const objects = 1000
	got := plan(t, nil, repeated(objects, func(i int) string {
		name := fmt.Sprint("node-", i)
		return `{"apiVersion":"v1","kind":"Node","metadata":{"name":"` + name + `"}}` + "\n" +
			budgetOf(name, name, `"maxUnavailable":1`, noStatus) + statefulSetOf(name, 2) + podOf(name+"-0", name, "StatefulSet", name, "True")
	}), "-o", "html", "--now", noon, "-")
	require.Empty(t, got.stderr)
	p := parsePage(t, got.stdout)
	body, _, _ := strings.Cut(got.stdout, "<script>")
	require.Equal(t, 2*restAtMost, strings.Count(body, `<details class="object row"`), "disruption and ttl")
	require.Equal(t, 2, strings.Count(p.text, fmt.Sprint(objects-restAtMost, " more with actions, events or warnings.")))
	require.Contains(t, p.text, fmt.Sprint(objects, " actions"))
	for _, target := range p.targets {
		require.Equal(t, 1, p.ids[strings.TrimPrefix(target, "#")], target)
	}
}
