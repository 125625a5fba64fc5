package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// large are inputs of n objects of which each was compared with all others once, or could be.
var large = []struct {
	name  string
	args  []string
	input func(n int) string
}{
	{"pods whose template is missing", []string{"--core", "resourceclaim"}, func(n int) string {
		return repeated(n, func(i int) string { return strings.Replace(oneLine(lostTemplateJSON), "%", fmt.Sprint(i), 2) })
	}},
	{"budgets that hold a pod each", []string{"--core", "disruption", "--explain"}, func(n int) string {
		return repeated(n, func(i int) string {
			app := fmt.Sprint("a", i)
			return budgetOf(app, app, `"maxUnavailable":0`, noStatus) + podOf(app, app, "StatefulSet", "n", "True") + statefulSetOf(app, 1)
		})
	}},
	{"pods without a controller", []string{"--core", "disruption", "--explain"}, func(n int) string {
		return budgetOf("db", "db", `"minAvailable":1`, noStatus) + repeated(n, func(i int) string {
			return oneLine(fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"db-%d","labels":{"app":"db"}},"spec":{"nodeName":"n"},
				"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`, i)) + "\n"
		})
	}},
	{"entries of spec.cidrs", []string{"--core", "servicecidr", "--explain", "--none", "ip"}, func(n int) string {
		cidrs := make([]string, n)
		for i := range cidrs {
			cidrs[i] = fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)
		}
		return serviceCIDR("x", "", cidrs...)
	}},
	{"a claim with many consumers, as a page", []string{"--core", "resourceclaim", "-o", "html"}, func(n int) string {
		consumers := make([]string, n)
		for i := range consumers {
			consumers[i] = fmt.Sprintf(`{"resource":"pods","name":"p%d","uid":"u"}`, i)
		}
		return `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"namespace":"ml","name":"c"},"status":{"allocation":{},
			"reservedFor":[` + strings.Join(consumers, ",") + `]}}`
	}},
	{"a drain that one budget stops", []string{"-drain", "n"}, func(n int) string {
		return budgetOf("db", "db", `"maxUnavailable":0`, noStatus) + statefulSetOf("db", n) +
			repeated(n, func(i int) string { return podOf(fmt.Sprint("db-", i), "db", "StatefulSet", "n", "True") })
	}},
	{"a drain of all nodes", []string{"-drain", "all"}, func(n int) string {
		return budgetOf("db", "db", `"maxUnavailable":0`, noStatus) + statefulSetOf("db", n) +
			repeated(n, func(i int) string {
				return podOf(fmt.Sprint("db-", i), "db", "StatefulSet", fmt.Sprint("n", i), "True")
			})
	}},
	{"a drain of all nodes that a budget is short for", []string{"-drain", "all", "--force"}, shortEverywhere},
	{"a page of all nodes that a budget is short for", []string{"-o", "html", "--core", "disruption", "--force"}, shortEverywhere},
	{"ranges, as a page", []string{"--core", "servicecidr", "-o", "html"}, func(n int) string {
		return repeated(n, func(i int) string {
			return serviceCIDR(fmt.Sprint("x", i), "", fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)) +
				ipAddress(fmt.Sprintf("10.%d.%d.1", i/256, i%256), "IPv4", service("shop", "a"))
		})
	}},
}

const lostTemplateJSON = `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ml","name":"p%","uid":"u%"},"spec":{"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"none"}]}}
`

func repeated(n int, object func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(object(i))
	}
	return b.String()
}

// Four times as many objects take about four times as many allocations. An error that is compared with all others, as
// text, took sixteen times as many.
func TestCostIsLinear(t *testing.T) {
	for _, tc := range large {
		t.Run(tc.name, func(t *testing.T) {
			const n = 150
			allocations := func(n int) float64 {
				input := tc.input(n)
				return testing.AllocsPerRun(1, func() { run(withCommand(append(tc.args, "-")), quiet(input)) })
			}
			ratio := allocations(4*n) / allocations(n)
			require.Less(t, ratio, 6.0)
			require.Less(t, memory(t, tc.args, tc.input(4*n))/memory(t, tc.args, tc.input(n)), 6.0, "bytes")
		})
	}
}

// memory is how many bytes a run allocates: a list of all pods for each node is few allocations.
func memory(t *testing.T, args []string, input string) float64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run(withCommand(append(slices.Clone(args), "-")), quiet(input))
	runtime.ReadMemStats(&after)
	t.Logf("%d bytes", after.TotalAlloc-before.TotalAlloc)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// quiet is a system whose output is not looked at.
func quiet(input string) system {
	return system{stdin: strings.NewReader(input), stdout: io.Discard, stderr: io.Discard, now: noonClock}
}

func BenchmarkLarge(b *testing.B) {
	for _, tc := range large {
		for _, n := range []int{1000, 2000, 4000, 8000} {
			b.Run(fmt.Sprintf("%s/n=%d", strings.ReplaceAll(tc.name, " ", "_"), n), func(b *testing.B) {
				input := tc.input(n)
				b.ReportAllocs()
				for b.Loop() {
					run(withCommand(append(tc.args, "-")), quiet(input))
				}
			})
		}
	}
}

// shortEverywhere are n nodes with a pod of a budget that is short of a healthy pod, and one that is evicted in the first
// round: the cluster after each drain is another one.
func shortEverywhere(n int) string {
	return budgetOf("db", "db", `"maxUnavailable":1`, noStatus) + statefulSetOf("db", n) +
		podOf("db-late", "db", "StatefulSet", "late", "False") +
		repeated(n-1, func(i int) string {
			node, web := fmt.Sprint("n", i), fmt.Sprint("web-", i)
			return podOf(fmt.Sprint("db-", i), "db", "StatefulSet", node, "True") + podOf(web, web, "StatefulSet", node, "True") + statefulSetOf(web, 1)
		})
}
