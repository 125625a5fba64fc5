package main

import (
	stdjson "encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
)

const selectiveChart = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 2, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {nodeSelector: {disk: ssd}, containers: [{name: c}]}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: a}}}
`

// What --at-full-health makes pods of is not ignored, and added nodes are no input objects.
func TestWhatFullHealthUses(t *testing.T) {
	others := `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {selector: {matchLabels: {app: b}}, template: {metadata: {labels: {app: b}}, spec: {containers: [{name: c}]}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec: {replicas: 1, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c}]}}}
---
`
	got := plan(t, nil, others+selectiveChart, "plan", "--core", "disruption", "-")
	require.Contains(t, got.stdout, "these kinds: 1 DaemonSet.apps, 1 argoproj.io/v1alpha1 Rollout")
	got = plan(t, nil, others+selectiveChart, "plan", "--core", "disruption", "--at-full-health", "--nodes", "2", "-")
	require.NotContains(t, got.stdout, "does not use these kinds")

	service := "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
	got = plan(t, nil, service, "plan", "--core", "disruption", "--at-full-health", "--nodes", "3", "-")
	require.Contains(t, got.stderr, "the input object is not of a kind")
}

// An answer about a dump is one about the time at which it was taken: a pod that was terminating then is not overdue an hour
// later. Manifests have no time, and a time ahead of the clock is wrong.
func TestTimeOfADump(t *testing.T) {
	// The clock of the tests is at 12:00.
	dump := func(at string) string {
		return strings.ReplaceAll(`apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: web-1, uid: u, resourceVersion: "1", creationTimestamp: "2026-11-20T10:00:00Z", deletionTimestamp: "2026-11-21TAT:30Z",
  deletionGracePeriodSeconds: 30, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: r, controller: true}]}
spec: {nodeName: n1, containers: [{name: c}]}
status: {phase: Running}
`, "AT", at)
	}
	const note = "the time is taken to be 2026-11-21T11:00:00Z, the newest in the input: --now sets another"
	for _, tc := range []struct {
		name, reason, input string
		args                []string
		now, from           string
		stuck, noted        bool
	}{
		{"a dump", "the pod had 30 seconds left", dump("11:00"), nil, "2026-11-21T11:00:00Z", "input", false, true},
		{"--now", "it overrides the input", dump("11:00"), []string{"--now", "2026-11-21T11:30:00Z"}, "2026-11-21T11:30:00Z", "flag", true, false},
		{"a dump of now", "that needs no note", dump("11:59"), nil, "2026-11-21T11:59:00Z", "input", false, false},
		{"ahead of the clock", "only the creation is a time that can be", dump("12:01"), nil, "2026-11-20T10:00:00Z", "input", false, false},
		{"a manifest", "nobody put a time into it", strings.ReplaceAll(dump("11:00"), `uid: u, resourceVersion: "1", `, ""), nil, "2026-11-21T12:00:00Z", "clock", true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := append([]string{"drain", "n1", "--none", "pdb,rc,rs,deploy,sts", "-o", "json", "-"}, tc.args...)
			got := plan(t, nil, tc.input, args...)
			var out jsonDrains
			require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &out), got.stderr)
			require.Equal(t, tc.now, out.Now.UTC().Format(time.RFC3339), tc.reason)
			require.Equal(t, tc.from, out.NowFrom)
			require.Len(t, out.Drains, 1)
			require.Equal(t, tc.stuck, len(out.Drains[0].Refused) > 0)
			if tc.noted {
				require.Contains(t, got.stderr, note)
				got = plan(t, nil, tc.input, "report", "-")
				require.Contains(t, got.stdout, "at 2026-11-21T11:00:00Z, the newest time that they have.")
			} else {
				require.NotContains(t, got.stderr, note)
			}
		})
	}
	require.NotContains(t, plan(t, nil, dump("11:00"), "lint", "-").stdout, "the time is", "no finding depends on it")
}

// What kubectl prints for a lookup, and nothing for names that nobody should copy into a shell.
func TestHowToAdd(t *testing.T) {
	for _, tc := range []struct {
		need purekube.Need
		want string
	}{
		{purekube.Need{APIVersion: "kafka.strimzi.io/v1", Kind: "Kafka", Namespace: "shop", Name: "k", Subresource: "scale"},
			" (kubectl get kafka.kafka.strimzi.io k -n shop -o json prints the object, whose spec.replicas is used)"},
		{purekube.Need{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "p"}, " (kubectl get pod p -n shop -o json prints it)"},
		{purekube.Need{APIVersion: "example.com/v1", Kind: "Thing", Name: "x"}, " (kubectl get thing.example.com x -o json prints it)"},
		{purekube.Need{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "p; reboot"}, ""},
		{purekube.Need{APIVersion: "$(reboot)/v1", Kind: "Pod", Namespace: "shop", Name: "p"}, ""},
		{purekube.Need{APIVersion: "v1", Kind: "Pod", Namespace: "-A", Name: "p"}, ""},
	} {
		require.Equal(t, tc.want, howToAdd(tc.need))
	}
}

// A dump of one namespace, as kubectl get prints it without -A, has a note where the answer is about nodes.
func TestPodsOfOneNamespace(t *testing.T) {
	pod := func(namespace, metadata string) string {
		return "---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: " + namespace + ", name: a" + metadata + "}\nspec: {nodeName: n1, containers: [{name: c}]}\n"
	}
	const returned, node = `, uid: u, resourceVersion: "1"`, "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
	const note = "Note: all pods of the input are in namespace shop: if kubectl get ran without -A, the other pods of the nodes are not in the answer"
	for _, tc := range []struct {
		name, reason, input string
		args                []string
		want                bool
	}{
		{"a drain", "it evicts pods of all namespaces", pod("shop", returned), []string{"drain", "n1", "--none", "pdb", "--force"}, true},
		{"nodes in the input", "they have pods of all namespaces", node + pod("shop", returned), []string{"plan"}, true},
		{"a plan of budgets", "budgets are of one namespace", pod("shop", returned), []string{"plan"}, false},
		{"two namespaces", "-A was there", node + pod("shop", returned) + pod("lab", returned), []string{"plan"}, false},
		{"manifests", "they are of one application", node + pod("shop", ""), []string{"plan"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, tc.input, append(tc.args, "-")...)
			require.Equal(t, tc.want, strings.Contains(got.stdout, note), tc.reason)
		})
	}
}

// An error about the scale of a Job names the budget to mend, once.
func TestScaleOfAJobNamesTheBudget(t *testing.T) {
	const job = "---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: shop, name: a, labels: {app: a}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: load, uid: u, controller: true}]}\n"
	const budget = "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {namespace: shop, name: web}\nspec: {maxUnavailable: 1, selector: {matchLabels: {app: a}}}\n"
	got := plan(t, nil, job+budget, "plan", "--core", "disruption", "-")
	require.Equal(t, "purekube: Job shop/load: scale: jobs.batch does not implement the scale subresource: PodDisruptionBudget shop/web allows no disruption "+
		"while it selects these pods. Use minAvailable with a number there, or another selector\n", got.stderr)
}
