package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// explain of a node says how a drain of it would go, and what is in its way.
func TestExplainNode(t *testing.T) {
	const command = "kubectl drain --ignore-daemonsets --delete-emptydir-data --force: "
	node := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"},"status":{"conditions":[{"type":"Ready","status":"True"}],"allocatable":{"pods":"110"}}}`
	pods := podOf("db-0", "db", "StatefulSet", "node-a", "True") + podOf("db-1", "db", "StatefulSet", "node-b", "False")
	blocked := pods + statefulSetOf("db", 2) + budgetOf("db", "db", `"maxUnavailable":1`, noStatus)
	unread := strings.Replace(budgetOf("db", "db", `"maxUnavailable":1`, noStatus), `"selector":{`, `"selector":7,"x":{`, 1)
	for _, tc := range []struct{ name, input, want string }{
		{"a budget", blocked, command + "never budget shop/db (maxUnavailable 1) is short of 1 healthy pod: shop/db-0"},
		{"budgets that nobody asked for", pods + statefulSetOf("db", 2), command + "not answered: the input has no PodDisruptionBudget."},
		{"nothing known", "", command + "not answered: the input has no Pod, no PodDisruptionBudget."},
		{"a budget that cannot be read", pods + statefulSetOf("db", 2) + unread,
			"drain: not answered for 1 node (node-a): a PodDisruptionBudget that may select pods there could not be read, in namespace shop"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, node+tc.input, "explain", "node/node-a", "-")
			require.Contains(t, strings.Join(strings.Fields(got.stdout), " "), tc.want, got.stderr)
			if strings.Contains(tc.want, "not answered") {
				require.Equal(t, exitInput, got.status, "as for drain")
				require.Contains(t, got.stderr, "not answered")
			}
		})
	}
	require.NotContains(t, plan(t, nil, node+blocked, "plan", "--explain", "-").stdout, "kubectl drain", "plan is about controllers")
	require.NotContains(t, plan(t, nil, node+blocked, "explain", "node/node-c", "-").stdout, "kubectl drain", "there is no such node")
}
