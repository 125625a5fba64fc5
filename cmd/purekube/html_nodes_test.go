package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/seed"
)

// poolsOf are the pools of fleetOf, each with its share of the nodes in percent.
var poolsOf = []struct {
	label, name string
	share       int
}{
	{"karpenter.sh/nodepool", "general", 60}, {"eks.amazonaws.com/nodegroup", "memory", 25}, {"node.kubernetes.io/instance-type", "g5.xlarge", 10}, {"", "", 5},
}

// fleetOf is a cluster of so many nodes in four pools, with ten pods on a node. Of 60 budgets, each over 20 pods, one
// never lets a pod go, one is short of healthy pods, one needs the scale of its Rollout, one has its pods on few nodes, and
// four pods of one find no other node. Every 40th node has a pod without a controller.
func fleetOf(nodes int) string {
	var b strings.Builder
	name := func(i int) string { return fmt.Sprintf("ip-10-%d-%d.eu-west-1.compute.internal", i/250, i%250) }
	ttl := "300"
	if nodes <= 500 {
		ttl = "15"
	}
	for i := range nodes {
		labels, upTo := "", 0
		for _, pool := range poolsOf {
			if upTo += pool.share; i*100 < upTo*nodes {
				if pool.label != "" {
					labels = fmt.Sprintf(`,%q:%q`, pool.label, pool.name)
				}
				break
			}
		}
		fmt.Fprintf(&b, `{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"annotations":{"node.alpha.kubernetes.io/ttl":%q},"labels":{"topology.kubernetes.io/zone":"eu-west-1%c"%s}},
			"status":{"allocatable":{"pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}}`+"\n", name(i), ttl, 'a'+i%3, labels)
		if i%40 == 11 {
			fmt.Fprintf(&b, `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"debug","name":"shell-%d"},"spec":{"nodeName":%q},
				"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`+"\n", i, name(i))
		}
	}
	const each = 20
	for s := range max(2, nodes/2) {
		app, rule, kind, healthy, desired, step := fmt.Sprintf("service-%04d", s), `"maxUnavailable":2`, "StatefulSet", each, each-2, 7
		switch s % 60 {
		case 1:
			rule, desired = `"minAvailable":"100%"`, each
		case 33:
			rule, healthy, desired = `"maxUnavailable":1`, each-2, each-1
		case 51:
			kind = "Rollout"
		case 20:
			step = 0
		}
		reason, status := "SufficientPods", "True"
		if healthy <= desired {
			reason, status = "InsufficientPods", "False"
		}
		b.WriteString(budgetOf(app, app, rule, fmt.Sprintf(`{"disruptionsAllowed":%d,"currentHealthy":%d,"desiredHealthy":%d,"expectedPods":%d,
			"conditions":[{"type":"DisruptionAllowed","status":%q,"reason":%q,"lastTransitionTime":"2026-11-21T10:00:00Z"}]}`,
			max(0, healthy-desired), healthy, desired, each, status, reason)))
		if kind == "StatefulSet" {
			b.WriteString(statefulSetOf(app, each))
		}
		for j := range each {
			pod := podOf(fmt.Sprintf("%s-%d", app, j), app, kind, name((s*17+j*step+(1-min(step, 1))*j/3)%nodes), map[bool]string{true: "True", false: "False"}[j < healthy])
			if s%60 == 44 && j < 4 {
				pod = strings.Replace(pod, `"spec":{`, `"spec":{"nodeSelector":{"disk":"ssd"},`, 1)
			}
			b.WriteString(pod)
		}
	}
	return b.String()
}

func fleetPage(t *testing.T, nodes int, args ...string) string {
	t.Helper()
	return plan(t, nil, fleetOf(nodes), append([]string{"report", "--now", noon}, append(args, "-")...)...).stdout
}

// The first screen has the sentence, the numbers, the five worst causes with the best change of each, and every node.
func TestFirstScreen(t *testing.T) {
	page := fleetPage(t, 300)
	first, plan, _ := strings.Cut(page[strings.Index(page, "<h1>"):], `<section id="plan"`)
	require.False(t, strings.Contains(plan, `name="node"`))
	holds(t, first, "<h1>78 of 300 nodes do not drain, 20 of them because budget shop/service-0121 (minAvailable 100%) never allows a disruption.</h1>")
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(first, " ")
	text = strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"184 drain 175 now, 9 in rounds 78 are stopped 66 never, 4 leave pods pending, 8 not started 38 are unknown",
		"stops 20 nodes with minAvailable 19: 20 of 20 nodes drain in at most 2 rounds Budget shop/service-0121 Nodes: ip-10-0-13.eu-west-1.compute.internal ",
	} {
		holds(t, text, want)
	}
	for class, n := range map[string]int{"drains": 184, "stopped": 78, "unknown": 38} {
		cells := strings.Count(first, `<details class="cell row `+class+`" name="node">`)
		require.Equal(t, n, cells, "the cells are those that the numbers count")
	}
	worst, _, _ := strings.Cut(first, "more causes</summary>")
	require.Equal(t, 5, strings.Count(worst, `<li class="cause row">`))
	require.Equal(t, 5, strings.Count(worst, `class="alone"`))
	for _, id := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		holds(t, page, `id="`+id[1]+`"`)
	}
}

// A node is in the pool of its provider, or else of its machine type, or of the label that the user names.
func TestPools(t *testing.T) {
	heads := func(page string) (all []string) {
		for _, h := range regexp.MustCompile(`<div class="pool group"><h3>(.*?) <span class="faint">(.*?)</span>`).FindAllStringSubmatch(page, -1) {
			all = append(all, h[1]+": "+h[2])
		}
		return all
	}
	require.Equal(t, []string{
		"general: 180 nodes, 49 stopped, by karpenter.sh/nodepool", "memory: 75 nodes, 12 stopped, by eks.amazonaws.com/nodegroup",
		"g5.xlarge: 30 nodes, 11 stopped, by node.kubernetes.io/instance-type", "no label of a pool: 15 nodes, 6 stopped",
	}, heads(fleetPage(t, 300)))
	small := repeated(3, func(i int) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n-%d","labels":{"pool":"%c"}}}`+"\n", i, 'a'+min(i, 1))
	}) + budgetOf("db", "db", `"maxUnavailable":0`, noStatus) + statefulSetOf("db", 1) + podOf("db-0", "db", "StatefulSet", "n-0", "True")
	require.Equal(t, []string{"a: 1 node, 1 stopped", "b: 2 nodes"},
		heads(plan(t, nil, small, "report", "--pool", "pool", "--now", noon, "-").stdout), "the pool with most stopped nodes first")
	zones := fleetPage(t, 300, "--pool", "topology.kubernetes.io/zone")
	require.Len(t, heads(zones), 3)
	holds(t, zones, "of each node alone, by topology.kubernetes.io/zone</p>")
	holds(t, heads(fleetPage(t, 300, "--pool", "karpenter.sh/nodepool"))[1], "no label karpenter.sh/nodepool: 120 nodes")
	require.Empty(t, heads(plan(t, nil, scaleInput(10, 4), "report", "--now", noon, "-").stdout), "no node has a label")
}

// A page about 3,000 nodes stays one that a browser shows at once: its size is bounded.
func TestPageOf3000Nodes(t *testing.T) {
	if seed.Short() {
		t.Skip("renders a large page")
	}
	page := fleetPage(t, 3000)
	require.Less(t, len(page), 5<<19, "bytes")
	require.Less(t, strings.Count(page, "</")+strings.Count(page, "/>"), 46_000, "elements")
	require.Equal(t, 3000, strings.Count(page, `name="node"`))
}

// Nodes in whose namespaces a budget could not be read are on the page, and nobody takes them for nodes that drain.
func TestNodesWithoutAnAnswer(t *testing.T) {
	input := strings.Replace(scaleInput(4, 4), `"maxUnavailable":2`, `"maxUnavailable":2,"newer":1`, 1)
	page := plan(t, nil, input, "report", "--now", noon, "-").stdout
	holds(t, page, "<h1>It is not known whether 4 of 4 nodes drain.</h1>")
	require.Equal(t, 4, strings.Count(page, `<details class="cell row unknown" name="node">`))
	require.Equal(t, 4, strings.Count(page, "<li>not answered: see the errors</li>"))
	holds(t, page, `<a href="#errors">`)

	refused := plan(t, nil, podOf("db-0", "db", "StatefulSet", "n", "True"), "report", "--now", noon, "-").stdout
	holds(t, refused, "<h1>Whether nodes drain is not answered: see the errors.</h1>")
}

// What a person on call reads first is about the worst cause, and true of the nodes that it counts.
func TestSentence(t *testing.T) {
	of := func(node string, o drain.Outcome) nodeDrain {
		return nodeDrain{node: node, pods: 1, Drain: drain.Drain{Node: node, Outcome: o}}
	}
	budget := drain.Blocker{Cause: drain.CauseBudget, Message: "budget shop/db (maxUnavailable 0) never allows a disruption", Nodes: []string{"a", "b"}}
	flag := drain.Blocker{Cause: drain.CauseFlag, Message: "cannot delete Pods that declare no controller (use --force to override)", Nodes: []string{"a"}}
	for _, tc := range []struct {
		want     string
		drains   []nodeDrain
		blockers []drain.Blocker
	}{
		{"Nothing stops the drain of a node.", []nodeDrain{of("a", drain.Now)}, nil},
		{"Nothing stops the drain of a node: 1 of 2 nodes drains in rounds.", []nodeDrain{of("a", drain.Now), of("b", drain.InRounds)}, nil},
		{
			"1 of 1 node does not drain, because kubectl drain cannot delete Pods that declare no controller (use --force to override).",
			[]nodeDrain{of("a", drain.NotStarted)}, []drain.Blocker{flag},
		},
		{
			"2 of 3 nodes do not drain, because budget shop/db (maxUnavailable 0) never allows a disruption.",
			[]nodeDrain{of("a", drain.Never), of("b", drain.Never), of("c", drain.Now)}, []drain.Blocker{budget},
		},
		{
			"3 of 3 nodes do not drain, 2 of them because budget shop/db (maxUnavailable 0) never allows a disruption.",
			[]nodeDrain{of("a", drain.Never), of("b", drain.Never), of("c", drain.NotStarted)}, []drain.Blocker{budget, flag},
		},
		{"It is not known whether 1 of 2 nodes drains.", []nodeDrain{of("a", drain.Now), of("b", drain.NoOutcome)}, nil},
	} {
		require.Equal(t, tc.want, sentence(tc.drains, tc.blockers))
	}
}

// holds is require.Contains, without all of the page in the message.
func holds(t *testing.T, page, part string) {
	t.Helper()
	require.True(t, strings.Contains(page, part), "not on the page: %s", part)
}
