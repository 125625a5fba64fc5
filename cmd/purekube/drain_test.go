package main

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// nodeOf is a node with room for so many pods.
func nodeOf(name string, pods int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q},"status":{"allocatable":{"pods":"%d"},"conditions":[{"type":"Ready","status":"True"}]}}`, name, pods) + "\n"
}

func scaledPod(name, app, kind, node string) string { return podOf(name, app, kind, node, "True") }

// Every outcome, and what is in the way.
func TestDrainTable(t *testing.T) {
	manifests := statefulSetOf("db", 4) + statefulSetOf("web", 1) + statefulSetOf("ledger", 2) +
		budgetOf("db", "db", `"maxUnavailable":1`, noStatus) +
		budgetOf("ledger", "ledger", `"maxUnavailable":0`, noStatus) +
		budgetOf("queue", "queue", `"minAvailable":"50%"`, noStatus) +
		scaledPod("db-0", "db", "StatefulSet", "node-a") + scaledPod("db-1", "db", "StatefulSet", "node-a") + scaledPod("db-2", "db", "StatefulSet", "node-a") +
		scaledPod("db-3", "db", "StatefulSet", "node-b") + scaledPod("web-0", "web", "StatefulSet", "node-b") +
		scaledPod("ledger-0", "ledger", "StatefulSet", "node-c") + scaledPod("ledger-1", "ledger", "StatefulSet", "node-e") +
		scaledPod("proxy-0", "proxy", "DaemonSet", "node-d") +
		scaledPod("queue-0", "queue", "Queue", "node-f") + nodeOf("node-z", 110)
	for _, name := range []string{"node-a", "node-b", "node-c", "node-d", "node-e", "node-f"} {
		manifests += nodeOf(name, 110)
	}
	for _, tc := range []struct {
		name, reason string
		args         []string
		want         string
		status       int
	}{
		{name: "all", reason: "a row for each node with pods", args: []string{"-drain", "all"}, want: `kubectl drain, each node alone
In the way:
    budget shop/ledger (maxUnavailable 0) never allows a disruption
        stops 2 nodes (node-c, node-e); pods: shop/ledger-0, shop/ledger-1
        with maxUnavailable 1: 2 of 2 nodes drain now
    cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)
        stops 1 node (node-d); pods: shop/proxy-0
        with --ignore-daemonsets: drains now
    needs the scale of Queue shop/queue (apps/v1), which is not in the input (kubectl get queue.apps
        queue -n shop -o json prints the object, whose spec.replicas is used)
        leaves 1 node unknown (node-f)
NODE    DRAINS       PODS  EVICTED  SKIPPED  STAY
node-a  in 3 rounds  3     3        0        0
    budget shop/db: of 3 pods on this node, 1 can be evicted at once
node-b  now          2     2        0        0
node-c  never        1     0        0        1
node-d  not started  1     0        0        1
node-e  never        1     0        0        1
node-f  unknown      1     0        0        1
Drains: 1 now, 1 in rounds, 2 never, 1 not started, 1 unknown, 1 node without pods
`},
		{name: "one", reason: "the rounds one by one", args: []string{"-drain", "node-a"}, want: `kubectl drain
NODE    DRAINS       PODS  EVICTED  SKIPPED  STAY
node-a  in 3 rounds  3     3        0        0
    round 1: evicts shop/db-0
    round 2: evicts shop/db-1
    round 3: evicts shop/db-2
    budget shop/db: of 3 pods on this node, 1 can be evicted at once
`},
		{name: "flag", reason: "kubectl's flags have kubectl's names", args: []string{"-drain", "node-d", "--ignore-daemonsets"}, want: `kubectl drain --ignore-daemonsets
NODE    DRAINS  PODS  EVICTED  SKIPPED  STAY
node-d  now     1     0        1        0
    skips shop/proxy-0: ignoring DaemonSet-managed Pods
`},
		{name: "no pods", reason: "nothing to do, and that is said", args: []string{"-drain", "node-z"}, want: `kubectl drain
NODE    DRAINS  PODS  EVICTED  SKIPPED  STAY
node-z  now     0     0        0        0
    no pod of the input is on the node
`},
		{name: "exit status", reason: "for a pipeline", args: []string{"-drain", "node-c", "--fail-on", "never"}, status: exitNever, want: `kubectl drain
In the way:
    budget shop/ledger (maxUnavailable 0) never allows a disruption
        pods: shop/ledger-0
        with maxUnavailable 1: drains now
NODE    DRAINS  PODS  EVICTED  SKIPPED  STAY
node-c  never   1     0        0        1
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, manifests, append([]string{"-"}, tc.args...)...)
			require.Empty(t, got.stderr)
			require.Equal(t, tc.status, got.status, tc.reason)
			if diff := cmp.Diff(tc.want, got.stdout); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// An evicted pod needs a node. What is not known of the nodes is said.
func TestDrainNeedsNodes(t *testing.T) {
	web := statefulSetOf("web", 2) + budgetOf("web", "web", `"maxUnavailable":1`, noStatus) +
		scaledPod("web-0", "web", "StatefulSet", "node-a") + scaledPod("web-1", "web", "StatefulSet", "node-b")
	for _, tc := range []struct {
		name, reason, nodes, want string
	}{
		{"no room", "the other node is full", nodeOf("node-a", 1) + nodeOf("node-b", 1), `kubectl drain
In the way:
    evicted pods find no node, such as shop/web-0: 0/2 nodes are available: 1 Too many pods, 1
        node(s) were unschedulable
        pods: shop/web-0
        with another node like the drained one: drains now
NODE    DRAINS               PODS  EVICTED  SKIPPED  STAY
node-a  leaves pods pending  1     1        0        0
    round 1: evicts shop/web-0
`},
		{"room", "for one pod more", nodeOf("node-a", 1) + nodeOf("node-b", 2), `kubectl drain
NODE    DRAINS  PODS  EVICTED  SKIPPED  STAY
node-a  now     1     1        0        0
    round 1: evicts shop/web-0
`},
		{"no nodes", "kubectl get ran without nodes", "", `kubectl drain
NODE    DRAINS  PODS  EVICTED  SKIPPED  STAY
node-a  now     1     1        0        0
    round 1: evicts shop/web-0
No Node in the input: evicted pods are assumed to find a node.
`},
		{"one node", "kubectl get node node-a", nodeOf("node-a", 2), `kubectl drain
In the way:
    evicted pods find no node, such as shop/web-0: 0/1 nodes are available: 1 node(s) were
        unschedulable
        pods: shop/web-0
        with another node like the drained one: drains now
NODE    DRAINS               PODS  EVICTED  SKIPPED  STAY
node-a  leaves pods pending  1     1        0        0
    round 1: evicts shop/web-0
Pods run on nodes that are not in the input (node-b): evicted pods are not placed there.
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, web+tc.nodes, "-", "-drain", "node-a")
			require.Empty(t, got.stderr)
			require.Equal(t, tc.want, got.stdout, tc.reason)

			got = plan(t, nil, web+tc.nodes, "-", "-drain", "node-a", "-o", "json")
			var report jsonDrains
			require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &report))
			require.Equal(t, tc.nodes != "", report.Drains[0].NodesChecked, tc.reason)
			require.Equal(t, strings.Contains(tc.want, "in the input"), len(report.Notes) == 1, tc.reason)
		})
	}
}

// A table without a row, or a node that nobody knows and that "drains now", would look like success.
func TestNothingToDrain(t *testing.T) {
	pod := podOf("db-0", "db", "StatefulSet", "node-a", "True")
	for _, tc := range []struct {
		name, reason, node, input, want string
	}{
		{"unknown node", "its name may be misspelt", "node-z", pod, "purekube: no Node node-z in the input, and no pod on it\n"},
		{"no node", "nothing that could be drained", allNodes, budgetOf("db", "db", `"maxUnavailable":1`, noStatus), "purekube: no Node in the input, and no pod on a node\n"},
		{"empty input", "the pipe broke", allNodes, "", "purekube: standard input: no Kubernetes object in it\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, tc.input, "-drain", tc.node, "--none", "pods,pdb,sts", "-")
			require.Equal(t, outcome{status: exitInput, stderr: tc.want}, got, tc.reason)
		})
	}
	twice := plan(t, nil, pod+pod, "-drain", "node-a", "--none", "pdb,sts", "-")
	require.Equal(t, exitInput, twice.status)
	require.Contains(t, twice.stderr, "Pod shop/db-0: several objects in the snapshot have this name")
}

// The embedded cluster, as the documentation shows it.
func TestDrainEmbedded(t *testing.T) {
	golden(t, "embedded.drain.txt", plan(t, nil, "", "--now", noon, "-drain", "all", "--force", "--demo").stdout)
}

// The flags of a command are not those of another one.
func TestDrainFlags(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		args       []string
	}{
		{"no node", "drain needs the names of nodes, or all, or --selector", []string{"drain"}},
		{"requests", `-o "requests": drain prints text, wide, json, yaml`, []string{"drain", "all", "-o", "requests"}},
		{"action", `"action": must be one of error, never, none`, []string{"drain", "all", "--demo", "--fail-on", "action"}},
		{"flag of drain", "unknown flag: --force (purekube plan --help lists the flags)", []string{"plan", "--force"}},
		{"no such command", `unknown command "drian" for "purekube" Did you mean this? drain`, []string{"drian"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, "", tc.args...)
			if tc.name == "no such command" {
				var stderr bytes.Buffer
				got.status = run(tc.args, system{stderr: &stderr, now: noonClock})
				got.stderr = stderr.String()
			}
			require.Equal(t, exitInput, got.status)
			require.Contains(t, got.stderr, tc.want)
		})
	}
}

// What is in the way of a fleet fits on a screen: the worst causes, and the nodes by outcome.
func TestDrainOfAFleet(t *testing.T) {
	got := plan(t, nil, scaleInput(scaleBudgets, 300), "drain", "all", "--now", noon, "-")
	require.Empty(t, got.stderr)
	require.LessOrEqual(t, strings.Count(got.stdout, "\n"), 30, got.stdout)
	require.Contains(t, got.stdout, "In the way:\n    budget shop/")
	require.Contains(t, got.stdout, "more causes: -o wide prints them\n")
	require.Contains(t, got.stdout, "\nnever: 40 nodes (node-002.eu-west-1.compute.internal, ")

	var report jsonDrains
	got = plan(t, nil, scaleInput(scaleBudgets, 300), "drain", "all", "--now", noon, "-o", "json", "-")
	require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &report))
	require.Len(t, report.Blockers, 2*scaleBudgets/30)
	require.NotEmpty(t, report.Blockers[0].Pods[0].Name)
}
