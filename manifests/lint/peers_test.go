package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/manifests/lint"
)

// The objects of the cases. An empty text leaves the field out.
func deployment(replicas string) string {
	if replicas != "" {
		replicas = "replicas: " + replicas + ", "
	}
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {%sselector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}\n", replicas)
}

func autoscaler(target, least, most string) string {
	if least != "" {
		least = "minReplicas: " + least + ", "
	}
	return fmt.Sprintf("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {%smaxReplicas: %s, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %s}}\n", least, most, target)
}

func scaledObject(least string) string {
	return fmt.Sprintf("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\nspec: {%sscaleTargetRef: {name: web}}\n", least)
}

const web = "selector: {matchLabels: {app: web}}"

// budget has these fields in its spec, and a policy for unhealthy pods.
func budget(fields ...string) string {
	return bareBudget(append([]string{"unhealthyPodEvictionPolicy: AlwaysAllow"}, fields...)...)
}

// bareBudget has these fields in its spec and no others.
func bareBudget(fields ...string) string {
	return "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {" + strings.Join(fields, ", ") + "}\n"
}

// The test cases of programs for the same task, as facts: what is in the manifests, and whether that program finds something.
// What it finds is found here too. Where this package says something else, the reason says why; docs/lint/README.md has a table.
// The versions are kube-linter 35de568 of 2026-08-19 and polaris c0e23a2 of 2026-08-21; the policies of Gatekeeper and Kyverno are
// k8spoddisruptionbudget and pdb-minavailable. Selectors that other programs leave out of Deployments are there.
func TestPeers(t *testing.T) {
	type codes = []lint.Code
	const (
		never, rounds, idle = lint.BudgetNeverAllows, lint.BudgetRoundsToZero, lint.BudgetBlocksAtMinReplicas
		nothing, invalid    = lint.BudgetSelectsNothing, lint.BudgetValueInvalid
		policy              = lint.UnhealthyPodEvictionPolicy
	)
	for _, tc := range []struct {
		name, reason string
		objects      []string
		peerFinds    bool
		want         codes
	}{
		{"kube-linter: minAvailable 0", "it allows everything", []string{deployment("1"), budget("minAvailable: 0", web)}, false, nil},
		{"kube-linter: equal", "1 of 1", []string{deployment("1"), budget("minAvailable: 1", web)}, true, codes{never}},
		{"kube-linter: expression", "the selector matches the labels", []string{deployment("1"),
			budget("minAvailable: 1", "selector: {matchExpressions: [{key: app, operator: In, values: [api, web, db]}]}")}, true, codes{never}},
		{"kube-linter: 50% of 2", "1 must stay", []string{deployment("2"), budget("minAvailable: 50%", web)}, false, nil},
		{"kube-linter: 100%", "at any scale", []string{budget("minAvailable: 100%")}, true, codes{never, nothing}},
		{"kube-linter: autoscaler", "50% of 1 is 1; at maxReplicas a pod may go", []string{deployment(""), autoscaler("web", "", "10"), budget("minAvailable: 50%", web)}, true, codes{idle}},
		{"kube-linter: KEDA", "50% of 1 is 1; at load a pod may go", []string{deployment(""), scaledObject(""), budget("minAvailable: 50%", web)}, true, codes{idle}},
		{"kube-linter: KEDA at 4", "2 of 4 may go", []string{deployment(""), scaledObject("minReplicaCount: 4, "), budget("minAvailable: 50%", web)}, false, nil},
		{"kube-linter: no selector", "it selects nothing", []string{budget("minAvailable: 40%")}, true, codes{nothing}},
		{"kube-linter: no rule", "a budget without a rule allows nothing", []string{deployment("3"), budget(web)}, false, codes{never}},
		{"kube-linter: text", "not a percentage", []string{deployment("3"), budget("maxUnavailable: invalid", web)}, true, codes{invalid}},
		{"kube-linter: 0", "at any scale", []string{deployment("3"), budget("maxUnavailable: 0", web)}, true, codes{never}},
		{"kube-linter: 0%", "at any scale", []string{deployment("3"), budget("maxUnavailable: 0%", web)}, true, codes{never}},
		{"kube-linter: 0 in quotes", "not a percentage", []string{deployment("3"), budget(`maxUnavailable: "0"`, web)}, true, codes{invalid}},
		{"kube-linter: 1", "one may go", []string{deployment("3"), budget("maxUnavailable: 1", web)}, false, nil},
		{"kube-linter: 1%", "rounded up to 1", []string{deployment("3"), budget("maxUnavailable: 1%", web)}, false, nil},
		{"kube-linter: no template", "the API server rejects the Deployment, so that it has no pods",
			[]string{"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1, selector: {matchLabels: {app: web}}}\n", budget("minAvailable: 1", web)}, true, codes{lint.WorkloadInvalid}},
		{"kube-linter: KEDA at 1", "1 of 1; at load a pod may go", []string{deployment("1"), scaledObject("minReplicaCount: 1, "), budget("minAvailable: 1", web)}, true, codes{idle}},
		{"kube-linter: no policy", "the default is IfHealthyBudget", []string{deployment("3"), bareBudget("maxUnavailable: 1", web)}, true, codes{policy}},
		{"kube-linter: IfHealthyBudget", "it was chosen", []string{deployment("3"), bareBudget("maxUnavailable: 1", "unhealthyPodEvictionPolicy: IfHealthyBudget", web)}, false, nil},

		{"polaris: either", "both are set: the API server rejects it", []string{deployment("9"), budget("minAvailable: 100%", "maxUnavailable: 5", web)}, true, codes{invalid}},
		{"polaris: max", "at any scale", []string{deployment("9"), budget("maxUnavailable: 0", web)}, true, codes{never}},
		{"polaris: min", "at any scale", []string{deployment("9"), budget("minAvailable: 100%", web)}, true, codes{never}},
		{"polaris: as it is", "the files have apiVersion v1", []string{strings.Replace(budget("maxUnavailable: 0"), "policy/v1", "v1", 1)}, true, codes{lint.APIVersionWrong}},
		{"polaris: both", "the API server rejects it", []string{deployment("9"), budget("minAvailable: 5", "maxUnavailable: 10%", web)}, false, codes{invalid}},
		{"polaris: 5%", "rounded up to 1", []string{deployment("9"), budget("maxUnavailable: 5%", web)}, false, nil},
		{"polaris: 5", "5 of 9", []string{deployment("9"), budget("minAvailable: 5", web)}, false, nil},
		{"polaris: none", "a budget without a rule allows nothing", []string{deployment("9"), budget(web)}, false, codes{never}},
		{"polaris: 150%", "the API server rejects it", []string{deployment("10"), autoscaler("web", "10", "15"), budget("minAvailable: 150%", web)}, true, codes{invalid}},
		{"polaris: 10 of 5 to 7", "never enough", []string{deployment(""), autoscaler("web", "5", "7"), budget("minAvailable: 10", web)}, true, codes{never}},
		{"polaris: 50% of 10", "5 may go", []string{deployment("10"), autoscaler("web", "10", "15"), budget("minAvailable: 50%", web)}, false, nil},
		{"polaris: maxUnavailable", "5 may go", []string{deployment(""), autoscaler("web", "5", "7"), budget("maxUnavailable: 5", web)}, false, nil},
		{"polaris: equal", "at minReplicas nothing may go", []string{deployment(""), autoscaler("web", "5", "7"), budget("minAvailable: 5", web)}, false, codes{idle}},
		{"polaris: other target", "replicas is 1", []string{deployment(""), autoscaler("other", "5", "7"), budget("minAvailable: 5", web)}, false, codes{never}},
		{"polaris: less", "3 may go", []string{deployment(""), autoscaler("web", "5", "7"), budget("minAvailable: 2", web)}, false, nil},
		{"polaris: no autoscaler", "replicas is 1", []string{deployment(""), budget("minAvailable: 5", web)}, false, codes{never}},
		{"polaris: other pods", "it selects nothing", []string{deployment(""), autoscaler("other", "5", "7"), budget("minAvailable: 5", "selector: {matchLabels: {app: other}}")}, false, codes{nothing}},
		{"polaris: no minReplicas", "minReplicas is 1", []string{deployment(""), autoscaler("web", "", "5"), budget("minAvailable: 2", web)}, false, codes{idle}},
		{"polaris: 50%, no replicas", "2 of 5 may go", []string{deployment(""), autoscaler("web", "5", "7"), budget("minAvailable: 50%", web)}, false, nil},

		{"Gatekeeper: minAvailable", "3 of 3", []string{deployment("3"), budget("minAvailable: 3", web)}, true, codes{never}},
		{"Gatekeeper: maxUnavailable", "at any scale", []string{deployment("3"), budget("maxUnavailable: 0", web)}, true, codes{never}},
		{"Kyverno: StatefulSet", "1 of 1", []string{strings.Replace(deployment("1"), "Deployment", "StatefulSet", 1), budget("minAvailable: 1", web)}, true, codes{never}},

		{"several workloads", "the budget counts 4 pods; each alone has no more than minAvailable",
			[]string{deployment("2"), strings.Replace(deployment("2"), "name: web", "name: canary", 1), budget("minAvailable: 2", web)}, true, nil},
		{"raised by hand", "replicas is 10, but the autoscaler may take it down to 2", []string{deployment("10"), autoscaler("web", "2", "10"), budget("minAvailable: 2", web)}, false, codes{idle}},
		{"two budgets", "no pod with two budgets is evicted", []string{deployment("3"), budget("maxUnavailable: 1", web), strings.Replace(budget("maxUnavailable: 2", web), "name: web", "name: more", 1)},
			false, codes{lint.BudgetsOverlap}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found := lint.Check(read(t, strings.Join(tc.objects, "---\n"))).Findings
			require.ElementsMatch(t, tc.want, codesOf(found), "%s: %v", tc.reason, found)
			if tc.name != "several workloads" {
				require.False(t, tc.peerFinds && len(found) == 0, "what they find is found here")
			}
		})
	}
}
