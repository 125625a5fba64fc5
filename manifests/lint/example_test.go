package lint_test

import (
	"fmt"
	"strings"

	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/manifests/lint"
)

const shop = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 3, selector: {matchLabels: {app: web}}}
`

// A test of your own manifests. UnhealthyPodEvictionPolicy is only info, and is not printed.
func ExampleCheck() {
	set, err := manifests.Load(manifests.Options{Stdin: strings.NewReader(shop)}, "-") // or files and directories
	for _, e := range manifests.Errors(err) {
		if !lint.Finds(e.Refs) { // otherwise a finding says it
			fmt.Println(e)
		}
	}
	for _, f := range lint.Check(set).Findings {
		if f.Severity.AtLeast(lint.Warning) {
			fmt.Printf("%s:%d: %s %s\n%s: %s %s\n", f.At.File, f.At.Line, f.Severity, f.Code, f.Object, f.Field, f.Message)
		}
	}
	// Output:
	// standard input:6: error BudgetNeverAllows
	// PodDisruptionBudget/shop/web: spec.minAvailable is 3, and at full health there are 3 pods (Deployment web: 3): no pod may be evicted. Nodes with these pods cannot be drained
}

// A kind in the wrong API group is an error of the input and a finding: print one of them.
func ExampleFinds() {
	wrong := strings.Replace(shop, "policy/v1", "apps/v1", 1) + "---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: shop}\n"
	set, err := manifests.Load(manifests.Options{Stdin: strings.NewReader(wrong)}, "-")
	for _, e := range manifests.Errors(err) {
		fmt.Println(lint.Finds(e.Refs), e.Refs[0].Kind, e.Field)
	}
	for _, f := range lint.Check(set).Findings {
		fmt.Println(f.Code, f.Object, f.Field)
	}
	// Output:
	// true PodDisruptionBudget apiVersion
	// false Pod metadata.name
	// APIVersionWrong PodDisruptionBudget/shop/web apiVersion
}

// The codes that stop a merge.
func ExampleRules() {
	errors := 0
	for _, rule := range lint.Rules() {
		if rule.Severity == lint.Error {
			errors++
		}
	}
	first := lint.Rules()[0]
	fmt.Println(errors > 0, first.Code, first.Severity)
	fmt.Println(first.Summary)
	// Output:
	// true BudgetNeverAllows error
	// a PodDisruptionBudget allows no disruption even when all its pods are healthy
}
