package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// manyNodes has twelve nodes, eight of pool a and four without a pool. The first two of pool a have a pod of a budget that never
// allows a disruption, and the third has a pod of another one.
func manyNodes() fstest.MapFS {
	var b strings.Builder
	for i := range 12 {
		pool := ""
		if i < 8 {
			pool = ", labels: {karpenter.sh/nodepool: a, rack: r" + fmt.Sprint(i%2) + "}"
		}
		fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: Node, metadata: {name: n-%02d%s}, status: {allocatable: {pods: 10}, conditions: [{type: Ready, status: 'True'}]}}\n", i, pool)
		if i < 4 {
			app := []string{"web", "web", "db", "other"}[i]
			fmt.Fprintf(&b, `---
{apiVersion: v1, kind: Pod, metadata: {name: %[1]s-%[2]d, namespace: shop, labels: {app: %[1]s}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: %[1]s, uid: %[1]s, controller: true}]},
  spec: {nodeName: n-%02[2]d, containers: [{name: c, image: x}]}, status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}
`, app, i)
		}
	}
	for app, replicas := range map[string]int{"web": 2, "db": 1, "other": 1} {
		fmt.Fprintf(&b, "---\n{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: %[1]s, namespace: shop, uid: %[1]s}, spec: {replicas: %[2]d, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}}}}\n", app, replicas)
	}
	for _, app := range []string{"web", "db"} {
		fmt.Fprintf(&b, "---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %[1]s, namespace: shop}, spec: {maxUnavailable: 0, selector: {matchLabels: {app: %[1]s}}}}\n", app)
	}
	return fstest.MapFS{"many.yaml": {Data: []byte(b.String())}}
}

func drainMany(t *testing.T, files fstest.MapFS, args string) string {
	t.Helper()
	names := ""
	for i := range 12 {
		names += fmt.Sprintf(" n-%02d", i)
	}
	got := plan(t, files, "", strings.Fields("drain"+names+" -f many.yaml "+args)...)
	require.Equal(t, exitPlanned, got.status, got.stderr)
	return got.stdout
}

// Many nodes are counted by pool. -o wide leaves nothing out.
func TestPoolsOfManyNodes(t *testing.T) {
	text := drainMany(t, manyNodes(), "")
	require.Contains(t, text, `POOL                NODES  DRAIN
a                   8      5 now, 3 never
no label of a pool  4      4 now
Drains: 9 now, 3 never
`)
	require.NotContains(t, text, "n-07")
	text = drainMany(t, manyNodes(), "--pool rack")
	require.Contains(t, text, "r1             4      3 now, 1 never\nDrains")
	require.Contains(t, text, "no label rack  4      4 now\n")
	text = drainMany(t, manyNodes(), "-o wide")
	require.Contains(t, text, "NODE  DRAINS  PODS  EVICTED  SKIPPED  STAY  POOL\nn-00  never   1     0        0        1     a\n")
	require.Contains(t, text, "n-11  now     0     0        0        0     no label of a pool\n")
	require.Contains(t, text, "    round 1: evicts shop/other-3\n")
	require.NotContains(t, drainMany(t, manyNodes(), "-o json"), "nodepool")
	got := plan(t, nil, "", "drain", "all", "--demo", "--pool", "rack", "-o", "json")
	require.Equal(t, outcome{"", "purekube: --pool is for -o text and -o wide\n", exitInput}, got)
	require.Contains(t, plan(t, nil, "", "drain", "all", "--demo", "--pool", "rack").stdout, "no label rack")
}

// Of more than five causes, the others are counted, and -o wide prints them.
func TestWidePrintsEachCause(t *testing.T) {
	files := manyNodes()
	text := string(files["many.yaml"].Data)
	for i := range 8 {
		text += fmt.Sprintf(`---
{apiVersion: v1, kind: Pod, metadata: {name: bare-%[1]d, namespace: shop, labels: {app: bare-%[1]d}}, spec: {nodeName: n-%02[1]d, containers: [{name: c, image: x}]}, status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: bare-%[1]d, namespace: shop}, spec: {minAvailable: 1, selector: {matchLabels: {app: bare-%[1]d}}}}
`, i)
	}
	files["many.yaml"].Data = []byte(text)
	short := drainMany(t, files, "--force")
	require.Contains(t, short, "5 more causes: -o wide prints them")
	wide := drainMany(t, files, "--force -o wide")
	for i := range 8 {
		require.Contains(t, wide, fmt.Sprintf("budget shop/bare-%d (minAvailable 1)", i))
	}
	require.NotContains(t, wide, "more cause")
}
