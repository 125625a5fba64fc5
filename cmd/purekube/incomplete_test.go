package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Input that ends early, or lacks a kind that the answer rests on, is never answered as if it were whole: each command refuses, or says which kind is
// missing and how kubectl prints it.
func TestIncompleteInput(t *testing.T) {
	pod, workload, budget := blockedNode()
	whole := dump(workload, budget, pod)
	yamlText := "apiVersion: v1\nkind: List\nitems:\n- " + oneLine(workload) + "\n- " + oneLine(budget) + "\n- " + oneLine(pod)[:60]
	// A question without any object of its own in what was read is not asked.
	const notRead = `not answered: (the input was not read to its end|an object that is a Pod, or may be one, could not be read)|not JSON|not YAML|unexpected EOF`
	inputs := []struct{ name, text string }{
		{"JSON cut off", whole[:len(whole)-90]},
		{"JSON cut off in the first object", whole[:60]},
		{"YAML cut off", yamlText},
		{"gzip cut off", zipped(t, whole)[:100]},
		{"no budgets", dump(workload, pod)},
		{"no workloads", dump(budget, pod)},
	}
	for _, tc := range []struct {
		name, reason string
		args         []string
		// What is said of input that was cut off, without budgets and without workloads. Empty: the input is enough.
		cut, budgets, workloads string
	}{
		{"plan", "a plan without budgets writes nothing, and says so", []string{"plan", "--core", "disruption"}, notRead,
			"disruption: the input has no PodDisruptionBudget", "needs the scale of StatefulSet shop/db"},
		{"explain", "about an object that may be missing", []string{"explain", "pdb/shop/db"}, notRead,
			"no PodDisruptionBudget shop/db in the input, and no other PodDisruptionBudget", "needs the scale of StatefulSet shop/db"},
		{"explain a pod", "a budget that is missing would refuse its eviction", []string{"explain", "pod/shop/db-0"}, notRead,
			"whether it may be evicted: not answered: the input has no PodDisruptionBudget", "whether it may be evicted depends on a lookup"},
		{"drain", "a budget or a workload can be in the way", []string{"drain", "node-a"}, notRead, "the input has no PodDisruptionBudget", "the input has no StatefulSet"},
		{"drain --together", "the same", []string{"drain", "--together", "all"}, notRead, "the input has no PodDisruptionBudget", "the input has no StatefulSet"},
		{"drain --waves", "the same", []string{"drain", "--waves"}, notRead, "the input has no PodDisruptionBudget", "the input has no StatefulSet"},
		{"report", "its drains are refused", []string{"report", "--core", "disruption"}, notRead, "the input has no PodDisruptionBudget", "the input has no StatefulSet"},
		{"diff", "nothing differs where nothing is known", []string{"diff", "--core", "disruption"}, notRead,
			"disruption: the input has no PodDisruptionBudget", "disruption: the input has no StatefulSet"},
		{"lint", "a chart may have no budgets; what it has is judged", []string{"lint"}, "", "", ""},
	} {
		for _, in := range inputs {
			t.Run(tc.name+"/"+in.name, func(t *testing.T) {
				got := plan(t, nil, in.text, append(tc.args, "--now", noon, "-")...)
				if tc.name == "lint" {
					got = plan(t, nil, in.text, "lint", "-")
				}
				said := strings.Join(strings.Fields(got.stdout+got.stderr), " ")
				want := map[string]string{"no budgets": tc.budgets, "no workloads": tc.workloads}
				if missing, kinds := want[in.name]; kinds {
					require.Contains(t, said, missing, tc.reason)
					if missing != "" {
						require.Contains(t, said, "kubectl get pdb,pods,", tc.reason)
					}
					return
				}
				require.Equal(t, exitInput, got.status)
				require.Contains(t, got.stderr, "purekube: standard input: ", "where it ends")
				require.Regexp(t, tc.cut, got.stderr, tc.reason)
				for _, answer := range []string{"Drains: ", "Waves: ", "UpdateStatus", `id="drains"`, "may be evicted"} {
					require.NotContains(t, got.stdout, answer, tc.reason)
				}
			})
		}
	}
}

// A Node with a field that could not be read may have a taint that keeps the evicted pods away, and then the drain is
// not answered.
func TestNodeThatWasReadInPart(t *testing.T) {
	node := func(name, spec string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q},"spec":{%s},
			"status":{"allocatable":{"pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}}`+"\n", name, spec)
	}
	pod, workload, budget := blockedNode()
	rest := dump(workload, strings.Replace(budget, `"maxUnavailable":0`, `"maxUnavailable":1`, 1), pod) + node("node-a", "")
	for spec, wants := range map[string]string{
		``: " now ",
		`"taints":[{"key":"gpu","effect":"NoSchedule"}]`: " leaves pods pending ",
		`"taintz":[{"key":"gpu","effect":"NoSchedule"}]`: "",
		`"taints":{"key":"gpu","effect":"NoSchedule"}`:   "",
	} {
		got := plan(t, nil, rest+node("node-b", spec), "drain", "node-a", "-")
		if wants != "" {
			require.Contains(t, got.stdout, wants, spec)
			continue
		}
		require.Empty(t, got.stdout, spec)
		require.Contains(t, got.stderr, "drain: not answered: an object that is a Node, or may be one, could not be read", spec)
		require.Equal(t, exitInput, got.status)
	}
}
