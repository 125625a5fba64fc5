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

// Where n objects have n lines each, the page does not: it has the first lines, and says how many others there are.
func TestPageOfManyLines(t *testing.T) {
	role := func(name, labels, aggregates string, rules int) string {
		return fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":%q,"labels":{%s}},%s"rules":[%s]}`+"\n",
			name, labels, aggregates, strings.TrimSuffix(repeated(rules, func(i int) string {
				return fmt.Sprintf(`{"verbs":["get"],"apiGroups":[""],"resources":["%s-%d"]},`, name, i)
			}), ","))
	}
	const allOf = `"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"all":"x"}}]},`
	for _, tc := range []struct {
		name string
		n    int
		// bytes are in the page at most, without its style and script.
		bytes int
		input func(n int) string
	}{
		{"budgets over a pod of each node", 400, 1_500_000, func(n int) string {
			return statefulSetOf("db", n) + repeated(n, func(i int) string {
				return budgetOf(fmt.Sprint("db-", i), "db", `"maxUnavailable":0`, noStatus) +
					podOf(fmt.Sprint("db-", i), "db", "StatefulSet", fmt.Sprint("n", i), "True")
			})
		}},
		{"consumers of a claim", 10_000, 100_000, large[4].input},
		{"pods of a budget", 5000, 300_000, func(n int) string {
			return budgetOf("db", "db", `"maxUnavailable":1`, noStatus) + statefulSetOf("db", n) + repeated(n, func(i int) string {
				return podOf(fmt.Sprint("db-", i), "db", "StatefulSet", "", "True")
			})
		}},
		{"rules of aggregated roles", 5000, 300_000, func(n int) string {
			return role("source", `"all":"x"`, "", n) + repeated(20, func(i int) string { return role(fmt.Sprint("all-", i), "", allOf, 0) })
		}},
		{"pairs of roles", 80, 1_500_000, func(n int) string {
			return repeated(n, func(i int) string {
				return role(fmt.Sprint("source-", i), `"all":"x"`, "", 1) + role(fmt.Sprint("all-", i), "", allOf, 0)
			})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, tc.input(tc.n), "-o", "html", "--now", noon, "-")
			parsePage(t, got.stdout)
			require.Less(t, len(got.stdout)-len(pageStyle)-len(pageScript), tc.bytes, "bytes")
			require.True(t, strings.Contains(got.stdout, " more"), "the rest is counted")
		})
	}
}

// An object with a finding in two controllers has one anchor.
func TestAnchorOfAnObjectInTwoControllers(t *testing.T) {
	got := plan(t, nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ml","name":"p","uid":"u","labels":{"app":"db"}},
		"spec":{"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"none"}]},
		"status":{"phase":"Running","conditions":[{"type":"DisruptionTarget","status":"True","lastTransitionTime":"2026-11-21T10:00:00Z"}]}}`,
		"-o", "html", "--now", noon, "-")
	p := parsePage(t, got.stdout)
	require.Equal(t, 2, strings.Count(got.stdout, `<span class="name">ml/p</span>`), got.stderr)
	for id, times := range p.ids {
		require.Equal(t, 1, times, id)
	}
}
