package main

import (
	"bytes"
	stdjson "encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const chart = `apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 4, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {nodeSelector: {kubernetes.io/os: linux}}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
`

// The README shows a command of the session in docs/command.md, which is run on a real API server (internal/test/e2e).
func TestReadmeShowsTheSession(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	session, err := os.ReadFile("../../docs/command.md")
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(readme), "```console\n")
	require.True(t, found)
	shown, _, _ = strings.Cut(shown, "```")
	require.Contains(t, string(session), "```console\n"+shown+"```\n")
}

// Without arguments the embedded cluster is planned, and the first line says so. What is piped is read without a path.
func TestInputWithoutPaths(t *testing.T) {
	start := func(piped bool, stdin string, args ...string) (stdout, stderr string) {
		var out, errs bytes.Buffer
		run(args, system{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, now: noonClock, piped: piped})
		return out.String(), errs.String()
	}
	const first = "The cluster embedded in purekube."
	stdout, stderr := start(false, "")
	require.True(t, strings.HasPrefix(stdout, first), stdout)
	require.Empty(t, stderr)
	stdout, stderr = start(false, "", "plan", "--demo", "-o", "json")
	require.True(t, stdjson.Valid([]byte(stdout)))
	require.True(t, strings.HasPrefix(stderr, first), "beside output for programs")
	asked, _ := start(true, "", "plan", "--demo")
	bare, _ := start(false, "")
	require.Equal(t, bare, asked)

	stdout, stderr = start(true, named(nodeWithout, "mine"), "plan")
	require.Empty(t, stderr)
	require.Contains(t, stdout, "SetTTL of mine")
	require.NotContains(t, stdout, first)
	stdout, stderr = start(true, named(nodeWithout, "mine"))
	require.Empty(t, stderr)
	require.Contains(t, stdout, "SetTTL of mine", "what is piped comes before the demo")
	for _, args := range [][]string{{"drain", "all"}, nil} {
		stdout, stderr = start(true, "", args...)
		require.Empty(t, stdout)
		require.Equal(t, "purekube: standard input: no Kubernetes object in it\n", stderr, "the pipe broke")
	}
}

// Whoever asks about objects of their own and hands none in, such as lint $FILES with an empty variable, gets an error and
// no answer about the embedded cluster.
func TestNoInputIsNotTheDemo(t *testing.T) {
	const first = "The cluster embedded in purekube."
	t.Setenv("KUBECONFIG", "/nonexistent/config")
	for _, args := range [][]string{
		{"plan"}, {"explain", "pdb/shop/checkout"}, {"drain", "all"}, {"drain", "worker-1"}, {"drain", "--waves"}, {"lint"}, {"report"}, {"diff"},
		{"plan", "-o", "json"}, {"lint", "--fail-on", "none"}, {"drain", "all", "--at-full-health", "--nodes", "3"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			got := plan(t, nil, "", args...)
			require.Equal(t, exitInput, got.status)
			require.Contains(t, got.stderr, "nothing to read: ")
			require.NotContains(t, got.stdout, first)
			demo := plan(t, nil, "", append(slices.Clone(args), "--demo")...)
			require.Contains(t, demo.stdout+demo.stderr, first)
			both := plan(t, nil, "", append(slices.Clone(args), "--demo", "-f", "mine.yaml")...)
			require.Equal(t, exitInput, both.status)
			require.Contains(t, both.stderr, "--demo reads the embedded cluster: it cannot be combined with mine.yaml")
			empty := plan(t, nil, "", append(slices.Clone(args), "")...)
			require.Equal(t, outcome{status: exitInput,
				stderr: "purekube: an argument of " + args[0] + " is empty, such as a shell variable without a value\n"}, empty)
		})
	}
}

// A flag without a value is no flag that is not there: waves would be of all zones, and objects of all namespaces.
func TestEmptyFlags(t *testing.T) {
	for flag, args := range map[string]string{
		"by": "drain --waves --demo --by=", "pool": "drain all --demo --pool=", "selector": "drain worker-1 --demo --selector=",
		"namespace": "plan --namespace=", "context": "plan --context=", "now": "plan --demo --now=", "output-file": "plan --demo --output-file=",
	} {
		command, _, _ := strings.Cut(args, " ")
		require.Equal(t, outcome{status: exitInput, stderr: "purekube: --" + flag + " of " + command + " is empty, such as a shell variable without a value\n"},
			plan(t, nil, "", strings.Fields(args)...), args)
	}
}

// A node may be written as kubectl get -o name prints it. A file where a node must be is told where to go.
func TestDrainSaysHowNodesAreNamed(t *testing.T) {
	files := fstest.MapFS{"dump": {Data: []byte(named(nodeWithout, "worker-1"))}}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"dump.yaml"}, "purekube: drain dump.yaml: not the name of a node (-f reads files)\n"},
		{[]string{"./dump"}, "purekube: drain ./dump: not the name of a node (-f reads files)\n"},
		{[]string{"all", "dump"}, "purekube: drain all takes no other node (-f reads files)\n"},
		{[]string{"pod/worker-1", "-f", "dump"}, "purekube: drain pod/worker-1: not the name of a node (-f reads files)\n"},
		{[]string{"worker-1", "-l", "pool=a", "-f", "dump"}, "purekube: drain takes either the names of nodes or --selector\n"},
	} {
		got := run(append([]string{"drain"}, tc.args...), system{files: overlay{files}, now: noonClock, stdout: io.Discard, stderr: &bytes.Buffer{}})
		require.Equal(t, exitInput, got, tc.args)
		var errs bytes.Buffer
		run(append([]string{"drain"}, tc.args...), system{files: overlay{files}, now: noonClock, stdout: io.Discard, stderr: &errs})
		require.Equal(t, tc.want, errs.String(), tc.args)
	}
	for _, name := range []string{"node/worker-1", "nodes/worker-1", "no/worker-1", "worker-1"} {
		got := plan(t, files, "", "drain", name, "--none", "pods,pdb", "-f", "dump")
		require.Empty(t, got.stderr, name)
		require.Contains(t, got.stdout, "worker-1", name)
		require.Equal(t, exitPlanned, got.status)
	}
}

// --selector drains the nodes with these labels.
func TestDrainOfNodesWithLabels(t *testing.T) {
	labelled := func(name, pool string) string {
		return `{"apiVersion":"v1","kind":"Node","metadata":{"name":"` + name + `","labels":{"pool":"` + pool + `"}}}`
	}
	input := labelled("a-1", "a") + labelled("a-2", "a") + labelled("b-1", "b")
	got := plan(t, nil, input, "drain", "-l", "pool=a", "--none", "pods,pdb", "-o", "json", "-")
	require.Empty(t, got.stderr)
	require.Contains(t, got.stdout, `"a-1"`)
	require.Contains(t, got.stdout, `"a-2"`)
	require.NotContains(t, got.stdout, `"b-1"`)
	for selector, want := range map[string]string{
		"pool=c": "purekube: no Node in the input has the labels pool=c\n",
		"pool=(": "purekube: --selector \"pool=(\": ",
	} {
		got = plan(t, nil, input, "drain", "-l", selector, "--none", "pods,pdb", "-")
		require.Equal(t, exitInput, got.status)
		require.Contains(t, got.stderr, want)
		require.Empty(t, got.stdout)
	}
}

// A chart has no pods: drains and budgets are refused or not known, until they are added.
func TestAtFullHealth(t *testing.T) {
	got := plan(t, nil, chart, "drain", "all", "-")
	require.Equal(t, exitInput, got.status)
	require.Contains(t, got.stderr, "the input has no Pod")

	got = plan(t, nil, chart, "drain", "all", "--at-full-health", "--nodes", "2", "--fail-on", "never", "-")
	require.Empty(t, got.stderr)
	require.Equal(t, exitPlanned, got.status)
	require.Contains(t, got.stdout, "node-1  in 2 rounds  2")
	require.Contains(t, got.stdout, "The room of the nodes that --nodes adds is not known: evicted pods are assumed to find a node.")

	got = plan(t, nil, chart, "plan", "--at-full-health", "--fail-on", "never", "-")
	require.Equal(t, exitPlanned, got.status, got.stderr)
	require.Contains(t, got.stdout, "1 allowed, 4 healthy, 3 desired, 4 expected")

	for _, tc := range []struct{ old, broken, want string }{
		{"selector: {matchLabels: {app: web}}, template", "template", "document 2: Deployment default/web: spec.selector: required"},
		{"replicas: 4", `replicas: "four"`, "document 2: Deployment default/web: spec.replicas: "},
	} {
		got = plan(t, nil, strings.Replace(chart, tc.old, tc.broken, 1), "drain", "all", "--at-full-health", "--nodes", "2", "--none", "pods,rs", "-")
		require.Equal(t, exitInput, got.status)
		require.Contains(t, got.stderr, tc.want)
		require.Contains(t, got.stderr, "drain: not answered: an object that is a Pod, or may be one, could not be read")
	}
}

// A dump that a program wrote has the same mistake in every object: Go objects do not know their kind. The lines are few,
// and tell how many there are.
func TestOneMistakeInManyPlaces(t *testing.T) {
	item := `{"metadata": {"name": "a", "namespace": "shop"}}`
	list := func(items int) string {
		return `{"apiVersion": "v1", "kind": "List", "items": [` + strings.Repeat(item+",", items-1) + item + `]}`
	}
	for items, last := range map[int]string{
		20:  "item 20: shop/a: kind: required\n",
		21:  "item 21: shop/a: kind: required\n",
		500: "purekube: 480 more places: kind: required\n",
	} {
		got := plan(t, nil, list(items), "lint", "-")
		require.Equal(t, exitInput, got.status)
		require.LessOrEqual(t, strings.Count(got.stderr, "\n"), 21)
		require.True(t, strings.HasSuffix(got.stderr, last), got.stderr)
	}
}

// explain is about one object. It knows kinds as kubectl does, and an object that is not there is an error.
func TestExplain(t *testing.T) {
	got := plan(t, nil, chart, "explain", "pdb/web", "--at-full-health", "-")
	require.Empty(t, got.stderr)
	require.Contains(t, got.stdout, "it sets maxUnavailable 1 for pods with app=web")
	require.NotContains(t, got.stdout, "ttl")

	var report jsonReport
	got = plan(t, nil, chart, "explain", "PodDisruptionBudget/default/web", "-o", "json", "--at-full-health", "-")
	require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &report))
	require.Len(t, report.Cores[0].Objects, 1)
	explanation := report.Cores[0].Objects[0].Explanation.(map[string]any)
	require.Equal(t, "maxUnavailable 1", explanation["budget"].(map[string]any)["rule"], "the library's type")

	for _, tc := range []struct{ about, want string }{
		{"pdb/other", "no PodDisruptionBudget default/other in the input: write PodDisruptionBudget/NAMESPACE/other for another namespace"},
		{"pdb/shop/other", "no PodDisruptionBudget shop/other in the input\n"},
		{"web", "want Kind/name or Kind/namespace/name"},
		{"deploy/web", "no controller plans a Deployment"},
		{"widget/web", `unknown kind "widget": known are clusterroles, `},
	} {
		got := plan(t, nil, chart, "explain", tc.about, "-")
		require.Equal(t, exitInput, got.status, tc.about)
		require.Contains(t, got.stderr, tc.want)
		require.Empty(t, got.stdout, "nothing is said of an object that is not there")
	}
}

// Two equal ServiceCIDRs in use are deleted together: kube-controller-manager lets both go.
func TestDiff(t *testing.T) {
	const eleven = "2026-11-21T11:00:00Z"
	input := strings.Replace(serviceCIDR("a", eleven, "10.0.0.0/24"), `"name":"a"`, `"name":"a","uid":"u"`, 1) + serviceCIDR("b", eleven, "10.0.0.0/24") + ipAddress("10.0.0.1", "IPv4", service("n", "s"))
	got := plan(t, nil, input, "diff", "--upstream", "v1.36", "-")
	require.Empty(t, got.stderr)
	text := strings.Join(strings.Fields(got.stdout), " ")
	require.Contains(t, text, "servicecidr: ServiceCIDR b differs (D-1) purekube: SetCondition b: Ready=False Terminating kube-controller-manager v1.36: RemoveFinalizer b")
	require.Contains(t, text, "servicecidr: ServiceCIDR a differs (D-3) the same writes, sent with other preconditions: RemoveFinalizer a")

	var report struct{ Differences []difference }
	asJSON := plan(t, nil, input, "diff", "-o", "json", "-")
	require.NoError(t, stdjson.Unmarshal([]byte(asJSON.stdout), &report))
	require.Len(t, report.Differences, 2)

	got = plan(t, nil, strings.Replace(named(nodeWithout, "mine"), "name: mine", "name: mine\n  uid: u", 1), "diff", "-")
	require.Contains(t, got.stdout, "does something else for 0 objects")
	got = plan(t, nil, "", "diff", "--upstream", "v1.2")
	require.Equal(t, exitInput, got.status)
}

// A role that a chart labels reaches admin, once the roles that every cluster has are there.
func TestBuiltinRoles(t *testing.T) {
	role := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: team, labels: {rbac.authorization.k8s.io/aggregate-to-view: \"true\"}}\nrules: [{verbs: [get], apiGroups: [example.com], resources: [widgets]}]\n"
	require.NotContains(t, plan(t, nil, role, "plan", "-").stdout, "SetRules")
	require.Contains(t, plan(t, nil, role, "plan", "--builtin-roles", "-").stdout, "3 rbacaggregate.SetRules")
}

func TestVersionAndHelp(t *testing.T) {
	got := plan(t, nil, "", "version")
	require.Contains(t, got.stdout, "kube-controller-manager: v1.36, v1.37")
	var out bytes.Buffer
	require.Equal(t, exitPlanned, run([]string{"-h"}, system{stdout: &out, now: noonClock}))
	for _, c := range commands() {
		require.Contains(t, out.String(), c.name+" ")
		got := plan(t, nil, "", c.name, "-h")
		require.Equal(t, exitPlanned, got.status)
		require.Contains(t, got.stdout, "Usage:\n  purekube "+c.name)
		for _, example := range c.example {
			require.Contains(t, got.stdout, example)
		}
	}
}
