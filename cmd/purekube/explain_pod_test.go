package main

import (
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// purekube explain of a pod says whether it may be evicted. The plan alone is silent about a pod that it has nothing to do for.
func TestExplainPod(t *testing.T) {
	healthy, unready := podOf("db-0", "db", "StatefulSet", "node-a", "True"), podOf("db-1", "db", "StatefulSet", "node-b", "False")
	// The status that is there allows one. It is out of date wherever the plan writes another one.
	const allowsOne = `{"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,"expectedPods":2}`
	budget := func(name, spec string) string { return budgetOf(name, "db", spec, allowsOne) }
	pods := healthy + unready + statefulSetOf("db", 2)
	pending := strings.ReplaceAll(healthy, "Running", "Pending")
	for _, tc := range []struct {
		name, input string
		args        []string
		want        string
		needs       int
		verdict     string
	}{
		{"within the budget", pods + budget("web", `"minAvailable":0`), nil,
			"PodDisruptionBudget web selects the pod; it may be evicted: within the budget, which allows 0 more", 0, "AllowedWithinBudget"},
		{"refused by the status that the plan writes, not by the one that is there", pods + budget("web", `"maxUnavailable":1`), nil,
			"PodDisruptionBudget web selects the pod; it cannot be evicted now (429): Cannot evict pod as it would violate the pod's disruption budget. " +
				"The disruption budget web needs 1 healthy pods and has 1 currently", 0, "RefusedNow"},
		{"two budgets", pods + budget("a", `"maxUnavailable":1`) + budget("b", `"maxUnavailable":1`), nil,
			"2 PodDisruptionBudgets select the pod: it cannot be evicted; it cannot be evicted now (500): " +
				"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", 0, "RefusedConflictingBudgets"},
		{"the workload is missing", healthy + unready + budget("web", `"maxUnavailable":1`), nil,
			"PodDisruptionBudget web selects the pod; whether it may be evicted depends on a lookup", 1, ""},
		{"the cluster has no budget", pods, []string{"--none", "pdb"}, "it may be evicted: no PodDisruptionBudget selects the pod", 0, "AllowedNoBudget"},
		{"it has not started", pending + statefulSetOf("db", 2) + budget("web", `"maxUnavailable":0`), nil,
			"PodDisruptionBudget web selects the pod; it may be evicted: the pod has not started", 0, "AllowedNoBudget"},
		{"budgets that may be missing", pods, nil, "whether it may be evicted: not answered: the input has no PodDisruptionBudget", 0, ""},
		{"a budget that cannot be read", pods + strings.Replace(budget("web", `"minAvailable":0`), `"selector":{`, `"selector":7,"x":{`, 1) +
			budgetOf("other", "other", `"minAvailable":0`, allowsOne), nil,
			"whether it may be evicted: not answered: an object that is a PodDisruptionBudget, or may be one, could not be read", 0, ""},
		{"two pods of the name", pods + healthy + budget("web", `"minAvailable":0`), nil,
			"several objects in the snapshot have this name: nothing is planned for this name; whether it may be evicted is not known", 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, tc.input, append([]string{"explain", "po/shop/db-0", "-o", "json", "-"}, tc.args...)...)
			var report struct {
				Errors []jsonProblem
				Cores  []struct {
					Core    string
					Objects []struct {
						Name     string
						Lines    []string
						Needs    []any
						Eviction struct{ Verdict string }
					}
				}
			}
			require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &report), got.stderr)
			disruption := report.Cores[0]
			require.Equal(t, "disruption", disruption.Core)
			require.Len(t, disruption.Objects, 1, "no other pod, and no budget")
			object := disruption.Objects[0]
			require.Equal(t, "db-0", object.Name)
			lines := strings.Join(object.Lines, "; ")
			require.True(t, strings.HasPrefix(lines, tc.want), lines)
			if strings.Contains(tc.want, "not answered") {
				require.Equal(t, exitInput, got.status, "as for drain")
				require.Contains(t, fmt.Sprint(report.Errors), "not answered")
			}
			require.Len(t, object.Needs, tc.needs)
			require.Equal(t, tc.verdict, object.Eviction.Verdict)
		})
	}
}
