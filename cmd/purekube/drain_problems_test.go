package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/manifests"
)

// A budget whose selector does not compile protects nothing, whatever it was meant for: each command that drains says so, as plan does.
func TestDrainNamesBudgetsThatSelectNothing(t *testing.T) {
	broken := strings.Replace(budgetOf("db", "db", `"maxUnavailable":0`, noStatus), `"matchLabels":{"app":"db"}`,
		`"matchExpressions":[{"key":"app","operator":"Within","values":["db"]}]`, 1)
	input := statefulSetOf("db", 1) + broken + podOf("db-0", "db", "StatefulSet", "node-a", "True") +
		`{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}}{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-b"}}`
	const says = `PodDisruptionBudget shop/db: spec.selector: "Within" is not a valid label selector operator`
	for _, tc := range []struct {
		name, reason, args string
		status, times      int
	}{
		{"plan", "the others are compared with it", "plan", exitPlan, 1},
		{"drain", "each node alone", "drain all", exitPlan, 1},
		{"drain together", "the same", "drain --together node-a", exitPlan, 1},
		{"drain in waves", "the same", "drain --waves", exitPlan, 1},
		{"report", "the plan in it has said it", "report --waves", exitPlan, 1},
		{"report of another core", "only the waves have it", "report --waves --core ttl", exitPlan, 1},
		{"explain of the node", "it says how a drain goes", "explain node/node-a", exitPlan, 1},
		{"explain of another node", "no pod on it is of the namespace", "explain node/node-b", exitPlanned, 0},
		{"drain of another node", "the budget is not in the namespace of a pod that is drained", "drain node-b", exitPlanned, 0},
		{"not asked for", "it is an error of the plan", "drain all --fail-on none", exitPlanned, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, input, append(strings.Fields(tc.args), "-")...)
			require.Equal(t, tc.status, got.status, tc.reason)
			require.Equal(t, tc.times, strings.Count(got.stderr, says), "%s: %s", tc.reason, got.stderr)
		})
	}
}

// The nodes of --nodes are others than those of the input.
func TestNodesOfOtherNames(t *testing.T) {
	c := load(manifestsOf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-2"}}`), "-")
	c.atFullHealth(3)
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Name)
	}
	require.Equal(t, []string{"node-2", "node-1", "node-3", "node-4"}, names)
}

func manifestsOf(text string) manifests.Options {
	return manifests.Options{Stdin: strings.NewReader(text)}
}
