package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// drained runs the core over manifests with --explain, without the closing lines.
func drained(t *testing.T, manifests string, args ...string) outcome {
	t.Helper()
	got := plan(t, nil, manifests, append([]string{"--core", "disruption", "--explain", "-"}, args...)...)
	got.stdout, _, _ = strings.Cut(got.stdout, "\n\nPlan: ")
	return got
}

func budgetOf(name, app, spec, status string) string {
	return fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"namespace":"shop","name":%q},
		"spec":{"selector":{"matchLabels":{"app":%q}},%s},"status":%s}`, name, app, spec, status) + "\n"
}

// podOf is a running pod that is controlled by an object of its app's name.
func podOf(name, app, kind, node, ready string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":%q,"labels":{"app":%q},
		"ownerReferences":[{"apiVersion":"apps/v1","kind":%q,"name":%q,"uid":%q,"controller":true}]},"spec":{"nodeName":%q},
		"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q}]}}`, name, app, kind, app, kind+app, node, ready) + "\n"
}

func statefulSetOf(app string, replicas int) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"namespace":"shop","name":%q,"uid":%q},"spec":{"replicas":%d}}`,
		app, "StatefulSet"+app, replicas) + "\n"
}

const noStatus = `{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}`

// Why can the node not be drained? The budget, its figures, each controller and what it wants, each pod and
// whether it counts. The status that is written is out of date, and is not believed.
func TestWhyANodeCannotBeDrained(t *testing.T) {
	got := drained(t, statefulSetOf("db", 3)+
		budgetOf("db", "db", `"maxUnavailable":1`, `{"disruptionsAllowed":1,"currentHealthy":3,"desiredHealthy":2,"expectedPods":3,
			"disruptedPods":{"db-2":"2026-11-21T11:59:00Z"}}`)+
		podOf("db-0", "db", "StatefulSet", "node-a", "True")+
		podOf("db-1", "db", "StatefulSet", "node-b", "True")+
		podOf("db-2", "db", "StatefulSet", "node-c", "True"))
	require.Empty(t, got.stderr)
	require.Empty(t, cmp.Diff(`disruption: 1 PodDisruptionBudget for 3 pods
  node-a cannot be drained now: 1 pod cannot be evicted: shop/db-0 (budget db)
  node-b cannot be drained now: 1 pod cannot be evicted: shop/db-1 (budget db)
  node-c cannot be drained now: 1 pod cannot be evicted: shop/db-2 (budget db)
  PodDisruptionBudget shop/db
    UpdateStatus shop/db: 0 allowed, 2 healthy, 2 desired, 3 expected
      # its status says 1 allowed, 3 healthy, 2 desired, 3 expected
    plan again at 2026-11-21T12:01:00Z
    nothing may be disrupted: 2 healthy, 2 desired
    it sets maxUnavailable 1 for pods with app=db
      StatefulSet db expects 3 pods
      pod db-0 on node-a: healthy
      pod db-1 on node-b: healthy
      pod db-2 on node-c: evicted, and must be deleted by 2026-11-21T12:01:00Z`, got.stdout))
}

func TestExplainDisruption(t *testing.T) {
	for _, tc := range []struct {
		name, reason, input string
		want                []string
		stderr              string
	}{
		{name: "demands every pod", reason: "nothing but another budget helps",
			input: statefulSetOf("db", 1) + budgetOf("db", "db", `"minAvailable":"100%"`, noStatus) + podOf("db-0", "db", "StatefulSet", "n", "True"),
			want: []string{"n cannot be drained now: 1 pod cannot be evicted: shop/db-0 (budget db)",
				"nothing may ever be disrupted: 1 pod expected, and 1 must stay healthy"}},
		{name: "unready pods hold nothing up", reason: "they may go when enough are healthy",
			input: statefulSetOf("db", 2) + budgetOf("db", "db", `"maxUnavailable":1`, noStatus) +
				podOf("db-0", "db", "StatefulSet", "n", "True") + podOf("db-1", "db", "StatefulSet", "m", "False"),
			want: []string{"n cannot be drained now: 1 pod cannot be evicted: shop/db-0 (budget db)", "pod db-1 on m: not ready"}},
		{name: "two budgets", reason: "the eviction API supports one",
			input: statefulSetOf("db", 2) + budgetOf("db", "db", `"maxUnavailable":1`, noStatus) + budgetOf("db-too", "db", `"maxUnavailable":1`, noStatus) +
				podOf("db-0", "db", "StatefulSet", "n", "True") + podOf("db-1", "db", "StatefulSet", "m", "True"),
			want: []string{"n cannot be drained now: 1 pod cannot be evicted: shop/db-0 (more than one budget selects it)",
				"Pod shop/db-0 2 PodDisruptionBudgets select the pod: it cannot be evicted"}},
		{name: "a controller that is not in the input", reason: "nothing is guessed",
			input: budgetOf("db", "db", `"maxUnavailable":1`, noStatus) + podOf("db-0", "db", "StatefulSet", "n", "True"),
			want: []string{"needs the scale of StatefulSet shop/db (apps/v1), which is not in the input",
				"not computed: you must look up the scale of 1 controller first", "StatefulSet db: its scale is not in the snapshot"}},
		{name: "neither", reason: "says so",
			input: strings.Replace(budgetOf("db", "db", "", noStatus), "},},", "}},", 1),
			want:  []string{"it sets neither minAvailable nor maxUnavailable for pods with app=db", "nothing may be disrupted: the budget selects no pod"}},
		{name: "a percentage that does not parse", reason: "the fail-safe, and where it is",
			input:  statefulSetOf("db", 1) + budgetOf("db", "db", `"maxUnavailable":"many"`, noStatus) + podOf("db-0", "db", "StatefulSet", "n", "True"),
			stderr: "purekube: standard input: document 2: PodDisruptionBudget shop/db: spec.maxUnavailable: invalid value for IntOrString: invalid type: string is not a percentage: must be a number, or a percentage such as \"30%\"\n",
			want: []string{"n cannot be drained now: 1 pod cannot be evicted: shop/db-0 (budget db)",
				"UpdateStatus shop/db: 0 allowed, sync failed: invalid value for IntOrString",
				"nothing may be disrupted: the budget cannot be computed: invalid value for IntOrString"}},
		{name: "a stale condition", reason: "the pod was to be deleted and was not",
			input: strings.Replace(podOf("p", "x", "StatefulSet", "n", "True"), `"conditions":[`, `"conditions":[{"type":"DisruptionTarget","status":"True","lastTransitionTime":"2026-11-21T11:00:00Z"},`, 1),
			want:  []string{"ClearDisruptionTarget shop/p # it was evicted and not deleted in time"}},
		{name: "the figures are right", reason: "it was changed since",
			input: strings.Replace(budgetOf("db", "db", `"minAvailable":0`, noStatus), `"name":"db"`, `"name":"db","generation":2`, 1),
			want:  []string{"# the status counts are correct, but its conditions or disrupted pods are out of date"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := drained(t, tc.input)
			require.Equal(t, tc.stderr, got.stderr)
			text := strings.Join(strings.Fields(got.stdout), " ")
			for _, want := range tc.want {
				require.Contains(t, text, want, tc.reason)
			}
		})
	}
}
