package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The size of a cluster whose page is still for people.
const (
	scaleBudgets = 300
	scalePods    = 6000
	scaleNodes   = 200
)

// scaleInput is a dump of a cluster with so many budgets, 20 pods of a StatefulSet for each, and so many nodes. Of 30 budgets, one never
// lets a pod go, one is short of a healthy pod, one has a status that is out of date; the others are as the controller leaves them.
func scaleInput(budgets, nodes int) string {
	const each = scalePods / scaleBudgets
	var b strings.Builder
	for i := range nodes {
		ttl := "15"
		if i < 3 {
			ttl = "0"
		}
		fmt.Fprintf(&b, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-%03d.eu-west-1.compute.internal","annotations":{"node.alpha.kubernetes.io/ttl":%q}},
			"status":{"allocatable":{"pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}}`+"\n", i, ttl)
	}
	for i := range budgets {
		app := fmt.Sprintf("service-%03d", i)
		rule, allowed, healthy, desired := `"maxUnavailable":2`, 2, each, each-2
		switch i % 30 {
		case 7:
			rule, allowed, desired = `"minAvailable":"100%"`, 0, each
		case 13:
			rule, allowed, healthy, desired = `"maxUnavailable":1`, 0, each-2, each-1
		case 20:
			allowed = 1
		}
		reason, status := "SufficientPods", "True"
		if allowed == 0 {
			reason, status = "InsufficientPods", "False"
		}
		if i%30 == 20 {
			allowed = 1 // the controller would say 2
		}
		b.WriteString(budgetOf(app, app, rule, fmt.Sprintf(`{"disruptionsAllowed":%d,"currentHealthy":%d,"desiredHealthy":%d,"expectedPods":%d,
			"conditions":[{"type":"DisruptionAllowed","status":%q,"reason":%q,"lastTransitionTime":"2026-11-21T10:00:00Z"}]}`, allowed, healthy, desired, each, status, reason)))
		b.WriteString(statefulSetOf(app, each))
		for j := range each {
			ready := "True"
			if j >= healthy {
				ready = "False"
			}
			b.WriteString(podOf(fmt.Sprintf("%s-%d", app, j), app, "StatefulSet", fmt.Sprintf("node-%03d.eu-west-1.compute.internal", (i*each+j*7)%nodes), ready))
		}
	}
	return b.String()
}

// The page of a large cluster is bounded: nothing that is as it should be takes more than a row, and the worst comes first.
func TestPageAtScale(t *testing.T) {
	const bad = 2 * scaleBudgets / 30 // never, or short of a pod
	got := plan(t, nil, scaleInput(scaleBudgets, scaleNodes), "-o", "html", "--now", noon, "-")
	require.Empty(t, got.stderr)
	p := parsePage(t, got.stdout)
	require.Less(t, len(got.stdout), 540<<10, "bytes")
	body, _, _ := strings.Cut(got.stdout, "<script>")
	rows := strings.Count(body, `class="row"`) + strings.Count(body, ` row"`) + strings.Count(body, ` row drains"`) + strings.Count(body, ` row stopped"`)
	// A node is a cell, a budget a bar or a line, a cause is a bar, and the objects are those with something to do: 3 nodes, 10 statuses, 10
	// budgets that never allow a disruption.
	require.Equal(t, scaleNodes+scaleBudgets+bad+3+scaleBudgets/30+scaleBudgets/30, rows)
	require.Equal(t, bad, strings.Count(got.stdout, `aria-label="shop/service-`), "budgets with a bar: those that let no pod go")
	for _, folded := range []string{
		"<summary>15 more causes</summary>", "<summary>280 more budgets that let a pod go</summary>", "Nothing in the input for: ",
	} {
		require.True(t, strings.Contains(got.stdout, folded), folded)
	}
	for _, core := range coreNames() {
		require.Equal(t, 1, p.ids[core])
	}
	inOrder := []string{
		"40 of 200 nodes do not drain", `<strong>160</strong> drain`, `id="causes"`, `id="nodes"`, ": never drains", ": drains now", `id="disruption"`, "never allows a disruption", "allows no disruption now", "2 pods may be evicted",
		"Objects with actions, events or warnings", "never allows a disruption", "1 action", `id="ttl"`, "Nothing to do",
	}
	rest := got.stdout[strings.Index(got.stdout, "<header>"):]
	for _, part := range inOrder {
		_, after, found := strings.Cut(rest, part)
		require.True(t, found, "%s is not behind what is worse", part)
		rest = after
	}

	// Ten times as many budgets and pods take about ten times as many bytes.
	small := plan(t, nil, scaleInput(scaleBudgets/10, scaleNodes/10), "-o", "html", "--now", noon, "-")
	require.Less(t, len(got.stdout), 10*len(small.stdout))
}

// Words of the page agree with their numbers, and one action is one action everywhere.
func TestNumbersOfThePage(t *testing.T) {
	one := plan(t, nil, scaleInput(21, 10), "-o", "html", "--now", noon, "-").stdout
	require.Empty(t, regexp.MustCompile(`\b1 (actions|events|lookups|pods|nodes|budgets|addresses|rules)\b|to do</span>`).FindAllString(one, -1))
	require.True(t, strings.Contains(one, `<a href="#disruption">disruption</a> <span class="badge bad">1 action</span>`))
	require.True(t, strings.Contains(one, `<span class="badge note">1 action</span>`))
}

func BenchmarkReport(b *testing.B) {
	for _, budgets := range []int{scaleBudgets / 4, scaleBudgets, 4 * scaleBudgets} {
		b.Run(fmt.Sprintf("budgets=%d,pods=%d,nodes=%d", budgets, budgets*scalePods/scaleBudgets, budgets*scaleNodes/scaleBudgets), func(b *testing.B) {
			input := scaleInput(budgets, budgets*scaleNodes/scaleBudgets)
			b.ReportAllocs()
			for b.Loop() {
				run([]string{"report", "-"}, quiet(input))
			}
		})
	}
}
