package main

import (
	"bytes"
	"compress/gzip"
	stdjson "encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// dump is what kubectl get -o json prints of the objects.
func dump(objects ...string) string {
	return "{\"apiVersion\":\"v1\",\"items\":[" + strings.Join(objects, ",") + "],\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"\"}}\n"
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// The cluster of these tests: node-a drains unless its budget, which is the last object of the dump, is known.
func blockedNode() (pods, workload, budget string) {
	return podOf("db-0", "db", "StatefulSet", "node-a", "True"), statefulSetOf("db", 1), budgetOf("db", "db", `"maxUnavailable":0`, noStatus)
}

func TestDrainIsRefusedWhenBudgetsMayBeMissing(t *testing.T) {
	const unreadBudget = "purekube: drain: not answered for 1 node (node-a): a PodDisruptionBudget that may select pods there could not be read, in namespace shop\n"
	pod, workload, budget := blockedNode()
	whole := dump(pod, workload, budget)
	yamlList := func(items ...string) string {
		for i := range items {
			items[i] = oneLine(items[i]) + "\n"
		}
		return "apiVersion: v1\nitems:\n- " + strings.Join(items, "- ") + "kind: List\nmetadata:\n  resourceVersion: \"\"\n"
	}
	const getThem = `Get what the answer rests on with "kubectl get pdb,pods,rs,deploy,sts,rc,nodes -A -o json". If the cluster has none, add --none `
	const notToItsEnd = "purekube: drain: not answered: the input was not read to its end\n"
	wholeYAML := yamlList(pod, workload, budget)
	for _, tc := range []struct {
		name, reason, input string
		want                string // stderr
	}{
		{"without budgets", "kubectl get pods,sts: nothing says that there are none", dump(pod, workload),
			"purekube: drain: not answered: the input has no PodDisruptionBudget. " + getThem + "pdb\n"},
		{"without workloads", "the pod's controller is of a kind that is not there", dump(pod, budget),
			"purekube: drain: not answered: the input has no StatefulSet. " + getThem + "sts\n"},
		{"without pods", "each node would look empty", dump(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}}`, budget),
			"purekube: drain: not answered: the input has no Pod. " + getThem + "pods\n"},
		{"a JSON list that is cut off", "the budgets come last", whole[:strings.Index(whole, `{"apiVersion":"policy`)-1],
			"purekube: standard input: document 1: not JSON: unexpected EOF\n" + notToItsEnd},
		{"JSON values that are cut off", "the same", budget + pod + workload[:40],
			"purekube: standard input: document 3: not JSON: unexpected EOF\n" + notToItsEnd},
		{"gzip that is cut off", "the same", zipped(t, whole)[:len(zipped(t, whole))-20],
			"purekube: standard input: document 1: not JSON: unexpected EOF\n" + notToItsEnd},
		{"gzip without its checksum", "the same", zipped(t, whole)[:len(zipped(t, whole))-4],
			"purekube: standard input: document 2: not JSON: unexpected EOF\n" + notToItsEnd},
		{"a YAML list that is cut off between items", "kubectl writes its kind behind the items", wholeYAML[:strings.Index(wholeYAML, `- {"apiVersion":"policy`)],
			"purekube: standard input: document 1: kind: required\npurekube: drain: not answered: an object that is a Pod, or may be one, could not be read\n"},
		{"a YAML list that is cut off in a line", "its last line has no end", "apiVersion: v1\nkind: List\nitems:\n- " + oneLine(pod) + "\n- " + workload + "- apiVersion: v1\n  kind: Node\n  metadata:\n    name: node",
			"purekube: standard input: document 1: List: the last line of the list has no end: it may be cut off\n" +
				"purekube: drain: not answered: an object that is a Pod, or may be one, could not be read\n"},
		{"a budget that does not decode", "it may be the one that holds", dump(pod, workload, strings.Replace(budget, `"maxUnavailable":0`, `"maxUnavailable":true`, 1)),
			"purekube: standard input: document 1, item 3: PodDisruptionBudget shop/db: spec.maxUnavailable: is a bool, must be of type int32, or a percentage such as \"30%\"\n" +
				unreadBudget},
		{"a budget with a misspelt field", "without its selector it covers nothing", dump(pod, workload, strings.Replace(budget, `"selector"`, `"slector"`, 1)),
			"purekube: standard input: document 1, item 3: PodDisruptionBudget shop/db: spec.slector: unknown field\n" +
				unreadBudget},
		{"a budget of an old version", "it is not read", dump(pod, workload, strings.Replace(budget, "policy/v1", "policy/v1beta1", 1)),
			"purekube: standard input: document 1, item 3: PodDisruptionBudget shop/db: apiVersion: is policy/v1beta1: only policy/v1 is read, which every supported API server serves (with helm template, add --kube-version and --api-versions policy/v1/PodDisruptionBudget)\n" +
				unreadBudget},
		{"a budget of another group", "it is meant as one", dump(pod, workload, budget, strings.Replace(budget, "policy/v1", "apps/v1", 1)),
			"purekube: standard input: document 1, item 4: PodDisruptionBudget shop/db: apiVersion: is apps/v1, which has no PodDisruptionBudget: must be policy/v1\n" +
				unreadBudget},
		{"a page of a list", "a request with a limit returns the first items", strings.Replace(whole, `"resourceVersion":""`, `"continue":"abc"`, 1),
			"purekube: standard input: document 1: List: metadata.continue: the list is not complete: the API server has more items\n" +
				"purekube: drain: not answered: an object that is a Pod, or may be one, could not be read\n"},
		{"items that are given twice", "the budgets are in the others", strings.Replace(whole, `"kind":"List"`, `"kind":"List","items":[]`, 1),
			"purekube: standard input: document 1: not JSON: the key \"items\" is given twice\n" + notToItsEnd},
		{"empty input", "the pipe broke", "", "purekube: standard input: no Kubernetes object in it\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, tc.input, "-drain", "all", "-")
			require.Equal(t, outcome{status: exitInput, stderr: tc.want}, got, tc.reason)
		})
	}
	for _, whole := range []string{whole, wholeYAML, zipped(t, whole)} {
		got := plan(t, nil, whole, "-drain", "all", "-")
		require.Empty(t, got.stderr)
		require.Equal(t, exitPlanned, got.status)
		require.Contains(t, got.stdout, "node-a  never")
	}
}

// A file that is missing, or empty, leaves as much open as one that is cut off.
func TestDrainIsRefusedWhenAFileIsMissing(t *testing.T) {
	pod, workload, budget := blockedNode()
	files := fstest.MapFS{"all.json": {Data: []byte(dump(pod, workload, budget))}, "empty.json": {}, "folder/notes.txt": {}}
	for _, name := range []string{"gone.json", "empty.json", "folder"} {
		got := plan(t, files, "", "drain", "all", "-f", "all.json", "-f", name)
		require.Equal(t, exitInput, got.status, name)
		require.Empty(t, got.stdout, name)
		require.Contains(t, got.stderr, "drain: not answered: the input was not read to its end", name)
	}
}

// What the user says there is none of is not asked for. An empty list of one kind says so as well.
func TestKindsThatTheClusterHasNoneOf(t *testing.T) {
	pod, workload, _ := blockedNode()
	const empty = `{"apiVersion":"policy/v1","kind":"PodDisruptionBudgetList","items":%s}`
	for _, tc := range []struct {
		name, input string
		args        []string
	}{
		{"said", dump(pod, workload), []string{"--none", "pdb"}},
		{"said by its kind", dump(pod, workload), []string{"--none", "PodDisruptionBudget,replicationcontrollers,ip"}},
		{"an empty list", dump(pod, workload) + fmt.Sprintf(empty, "[]"), nil},
		{"a list that is null", dump(pod, workload) + fmt.Sprintf(empty, "null"), nil},
		{"an empty list in YAML", strings.Replace(pod, "\n", "", 1) + "\n---\n" + workload + "---\napiVersion: policy/v1\nitems: []\nkind: PodDisruptionBudgetList\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			input := tc.input
			if strings.Contains(input, "---") {
				input = "# YAML\n" + input
			}
			got := plan(t, nil, input, append(tc.args, "-drain", "all", "-")...)
			require.Empty(t, got.stderr)
			require.Contains(t, got.stdout, "node-a  now")
		})
	}
	got := plan(t, nil, dump(pod), "--none", "budgets", "-drain", "all", "-")
	require.Equal(t, exitInput, got.status)
	require.Contains(t, got.stderr, `unknown kind "budgets": known are clusterroles, deploy, `)
}

// Each core that could answer more permissively without some objects is refused without them; the others go on.
func TestPlansAreRefusedWhenObjectsMayBeMissing(t *testing.T) {
	leaving := serviceCIDR("x", "2026-11-21T11:00:00Z", "10.0.0.0/24")
	used := ipAddress("10.0.0.9", "IPv4", service("shop", "b"))
	role := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"team","labels":{"to-admin":"true"}},"rules":[{"verbs":["get"]}]}`
	admin := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"admin"},"rules":[{"verbs":["get"]}],
		"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"to-admin":"true"}}]}}`
	claim := `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"namespace":"ml","name":"c","finalizers":["resource.kubernetes.io/delete-protection"]},
		"status":{"allocation":{},"reservedFor":[{"resource":"pods","name":"p","uid":"u"}]}}`
	_, _, budget := blockedNode()
	pods := podOf("db-0", "db", "StatefulSet", "node-a", "True")
	const unread = "the input was not read to its end"
	cutOff := func(objects ...string) string {
		text := dump(objects...)
		return text[:len(text)-60]
	}
	for _, tc := range []struct {
		name, reason, input string
		args                []string
		core, want          string
	}{
		{name: "addresses missing", reason: "a range in use would lose its finalizer", input: dump(leaving), core: "servicecidr",
			want: `the input has no IPAddress. Get what the answer rests on with "kubectl get servicecidrs,ipaddresses -A -o json". If the cluster has none, add --none ipaddresses`},
		{name: "an address that does not decode", reason: "the same", input: dump(leaving, ipAddress("10.0.1.1", "IPv4", service("shop", "a")), strings.Replace(used, `"labels":{`, `"labels":{"n":1,`, 1)),
			core: "servicecidr", want: "an object that is an IPAddress, or may be one, could not be read"},
		{name: "addresses cut off", reason: "the same", input: cutOff(leaving, ipAddress("10.0.1.1", "IPv4", service("shop", "a")), used), core: "servicecidr", want: unread},
		{name: "pods missing", reason: "a claim in use would be released", input: dump(claim), args: []string{"--assume-complete"}, core: "resourceclaim",
			want: `the input has no Pod. Get what the answer rests on with "kubectl get resourceclaims,resourceclaimtemplates,pods -A -o json". If the cluster has none, add --none pods`},
		{name: "claims cut off", reason: "they would be created again", input: cutOff(claim, claim), core: "resourceclaim", want: unread},
		{name: "a role that does not decode", reason: "its rules would be taken out of admin", input: dump(admin, strings.Replace(role, `["get"]`, `"get"`, 1)),
			core: "rbacaggregate", want: "an object that is a ClusterRole, or may be one, could not be read"},
		{name: "a document that does not parse", reason: "it may be a role", input: "a: b: c\n---\n" + strings.ReplaceAll(admin, "\n\t\t", " "), core: "rbacaggregate",
			want: "an object that is a ClusterRole, or may be one, could not be read"},
		{name: "a pod that does not decode", reason: "a pod that is not ready would not count", input: dump(budget, pods, strings.Replace(pods, `"nodeName":"node-a"`, `"nodeName":7`, 1)),
			core: "disruption", want: "an object that is a Pod, or may be one, could not be read"},
		{name: "nodes cut off", reason: "fewer nodes are another step", input: cutOff(strings.ReplaceAll(nodeJSON, "%", "a"), strings.ReplaceAll(nodeJSON, "%", "b")), core: "ttl", want: unread},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, output := range []string{"text", "requests", "json", "html", "mermaid"} {
				got := plan(t, nil, tc.input, append(tc.args, "--core", tc.core, "-o", output, "-")...)
				require.Equal(t, exitInput, got.status, output)
				require.Contains(t, got.stderr, "purekube: "+tc.core+": not answered: "+tc.want+"\n", tc.reason)
				switch output {
				case "json":
					var report jsonReport
					require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &report))
					require.Empty(t, report.Cores)
				case "html":
					require.NotContains(t, got.stdout, `<section id="`+tc.core)
				default:
					require.Empty(t, got.stdout)
				}
			}
		})
	}
	// The core that has all of its kinds is planned.
	got := plan(t, nil, dump(leaving, strings.ReplaceAll(nodeJSON, "%", "a")), "-")
	require.Contains(t, got.stdout, "SetTTL of a")
	require.NotContains(t, got.stdout, "RemoveFinalizer")
	// Told that there are none, each answer is given.
	got = plan(t, nil, dump(leaving), "--none", "ip", "-")
	require.Empty(t, got.stderr)
	require.Contains(t, got.stdout, "RemoveFinalizer x")
}

const nodeJSON = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"%"}}`

// A manifest alone is planned: what the plan reads and the input lacks is said.
func TestKindsThatAPlanWouldRead(t *testing.T) {
	_, workload, budget := blockedNode()
	pod := podOf("db-0", "db", "StatefulSet", "node-a", "True")
	for _, tc := range []struct{ name, input, want string }{
		{"no pods", budget + workload, `disruption: the input has no Pod: "kubectl get pdb,pods,rs,deploy,sts,rc -A -o json" prints what the plan reads`},
		{"no workloads", strings.Replace(budget, `"maxUnavailable":0`, `"maxUnavailable":1`, 1) + pod,
			`disruption: the input has no StatefulSet: "kubectl get pdb,pods,rs,deploy,sts,rc -A -o json" prints what the plan reads`},
		{"all", budget + pod + workload, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, tc.input, "--core", "disruption", "-")
			require.Empty(t, got.stderr)
			require.Equal(t, exitPlanned, got.status)
			text := strings.Join(strings.Fields(got.stdout), " ")
			require.Equal(t, tc.want != "", strings.Contains(text, "the input has no"), text)
			require.Contains(t, text, tc.want)
			var report jsonReport
			require.NoError(t, stdjson.Unmarshal([]byte(plan(t, nil, tc.input, "--core", "disruption", "-o", "json", "-").stdout), &report))
			require.Equal(t, tc.want, strings.Join(report.Notes, ""))
		})
	}
}

// Without a pod nobody can say what a budget allows: manifests have none.
func TestFailOnNeverWithoutPods(t *testing.T) {
	pod, workload, budget := blockedNode()
	one := strings.Replace(budget, `"maxUnavailable":0`, `"maxUnavailable":1`, 1)
	all := strings.Replace(budget, `"maxUnavailable":0`, `"minAvailable":1`, 1) // of one replica
	const notKnown = "purekube: --fail-on never: PodDisruptionBudget shop/db: not known whether it ever allows a disruption: "
	const leaveOut = " (--ignore-budgets-without-pods leaves such budgets out)\n"
	for _, tc := range []struct {
		name, reason, input string
		args                []string
		status              int
		want                string // stderr
	}{
		{"manifests", "no pod is covered", all + workload, nil, exitNever, notKnown + "it selects no pod of the input" + leaveOut},
		{"manifests of a budget that allows none at any scale", "no pod is asked for", budget + workload, []string{"--ignore-budgets-without-pods"}, exitNever, ""},
		{"manifests of a budget that allows one", "the same", one + workload, nil, exitNever, notKnown + "it selects no pod of the input" + leaveOut},
		{"told to leave them out", "asked for", all + workload, []string{"--ignore-budgets-without-pods"}, exitPlanned, ""},
		{"a scale that is not known", "the budget may allow none at that scale", one + pod, nil, exitNever, notKnown + "the scale of its controllers is not in the input\n"},
		{"the same, told to leave others out", "it has a pod", one + pod, []string{"--ignore-budgets-without-pods"}, exitNever, notKnown + "the scale of its controllers is not in the input\n"},
		{"a budget that cannot be computed", "it allows nothing as it is", strings.Replace(budget, `"maxUnavailable":0`, `"maxUnavailable":"x"`, 1) + pod + workload, nil, exitNever, ""},
		{"a budget that allows one disruption", "with two pods", one + strings.ReplaceAll(workload, `"replicas":1`, `"replicas":2`) + pod + strings.ReplaceAll(pod, "db-0", "db-1"), nil, exitPlanned, ""},
		{"no budget", "a dump without them", pod + workload, nil, exitInput,
			"purekube: --fail-on never: not answered: the input has no PodDisruptionBudget. Get what the answer rests on with \"kubectl get pdb,pods,rs,deploy,sts,rc -A -o json\". If the cluster has none, add --none pdb\n"},
		{"no budget, said so", "there is none that holds", pod + workload, []string{"--none", "pdb"}, exitPlanned, ""},
		{"another core", "it would never fail", budget, []string{"--core", "ttl"}, exitInput, "purekube: --fail-on never is for drain and the core disruption\n"},
		{"a drain that is not known", "the node may never drain", one + podOf("db-0", "db", "Queue", "node-a", "True"), []string{"-drain", "all"}, exitNever, ""},
		{"a drain that does not start", "the node keeps its pods", one + podOf("db-0", "db", "DaemonSet", "node-a", "True"), []string{"-drain", "all"}, exitNever, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := append([]string{"--fail-on", "never", "-"}, tc.args...)
			got := plan(t, nil, tc.input, args...)
			require.Equal(t, tc.status, got.status, "%s\n%s%s", tc.reason, got.stdout, got.stderr)
			if tc.want != "" || tc.status == exitPlanned {
				require.Equal(t, tc.want, got.stderr)
			}
		})
	}
}

// A budget that could not be read, such as one with a field of a newer Kubernetes, concerns the pods of its namespace: drains of
// nodes without such pods are answered, unless they drain together with the others.
func TestUnreadBudgetConcernsItsNamespace(t *testing.T) {
	pod, workload, budget := blockedNode()
	newer := strings.NewReplacer(`"name":"db"`, `"name":"newer","uid":"u","resourceVersion":"1"`, `"namespace":"shop"`, `"namespace":"lab"`,
		`"maxUnavailable":0`, `"maxUnavailable":1,"newer":1`).Replace(budget)
	require.NotEqual(t, budget, newer)
	others := scaledPod("lab-0", "lab", "StatefulSet", "node-b") + scaledPod("mixed-0", "lab", "StatefulSet", "node-c")
	others = strings.ReplaceAll(others, `"namespace":"shop"`, `"namespace":"lab"`)
	require.Contains(t, others, `"namespace":"lab"`)
	input := pod + workload + budget + newer + others
	const named = "drain: not answered for 2 nodes (node-b, node-c): a PodDisruptionBudget that may select pods there could not be read, in namespace lab"
	for _, tc := range []struct {
		name, reason string
		args         []string
		answered     bool
	}{
		{"each alone", "the nodes have nothing to do with each other", []string{"drain", "all", "-"}, true},
		{"in waves", "the others are in none", []string{"drain", "--waves", "-"}, true},
		{"report", "its table is of each alone", []string{"report", "-"}, true},
		{"together", "what goes from the others counts for the answer", []string{"drain", "--together", "all", "-"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, input, tc.args...)
			require.Equal(t, exitInput, got.status)
			require.Contains(t, got.stderr, "PodDisruptionBudget lab/newer: spec.newer: unknown field")
			require.Contains(t, got.stderr, named)
			require.Equal(t, tc.answered, strings.Contains(got.stdout, "node-a"), tc.reason)
			if tc.name == "each alone" {
				require.NotContains(t, got.stdout, "node-b")
			}
		})
	}
	got := plan(t, nil, pod+workload+budget+strings.ReplaceAll(newer, "PodDisruptionBudget", "poddisruptionbudget"), "drain", "all", "-")
	require.Equal(t, exitInput, got.status)
}

// A field that this build could not read may change the decision about its object. That object has no plan, and the objects
// beside it have theirs.
func TestNothingIsPlannedForAnObjectReadInPart(t *testing.T) {
	const fromServer = `, "uid": "u", "resourceVersion": "7"}`
	budget := func(name, field string) string {
		return `{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "` + name + `", "namespace": "shop"` + fromServer +
			`, "spec": {"minAvailable": 1, ` + field + `"selector": {"matchLabels": {"app": "db"}}}}`
	}
	pod := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db-0", "namespace": "shop", "labels": {"app": "db"}` + fromServer + `, "spec": {"containers": []}}`
	text := dump(budget("newer", `"newer": 1, `), budget("known", ""), pod)
	got := plan(t, nil, text, "plan", "--core", "disruption", "--now", noon, "-")
	require.Equal(t, exitInput, got.status)
	require.Contains(t, got.stderr, "PodDisruptionBudget shop/newer: spec.newer: unknown field")
	require.Contains(t, got.stdout, "shop/known")
	require.NotContains(t, got.stdout, "shop/newer")
	got = plan(t, nil, text, "plan", "--core", "disruption", "--fail-on", "never", "--now", noon, "-")
	require.Contains(t, got.stderr, "PodDisruptionBudget shop/newer: not known whether it ever allows a disruption: a field of it could not be read")
	cidr := func(name, field string) string {
		return `{"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "` + name + `", "namespace": "none"` + fromServer +
			`, "spec": {` + field + `"cidrs": ["10.0.0.0/24"]}}`
	}
	address := `{"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": {"name": "10.0.0.5"` + fromServer +
		`, "spec": {"parentRef": {"resource": "services", "namespace": "shop", "name": "db"}}}`
	got = plan(t, nil, dump(budget("newer", `"newer": 1, `), budget("known", ""), pod, address, cidr("newer-range", `"newer": 1, `), cidr("known-range", "")), "report", "--now", noon, "-")
	require.Contains(t, got.stdout, `aria-label="shop/known: `)
	require.NotContains(t, got.stdout, `aria-label="shop/newer: `)
	require.Contains(t, got.stdout, "10.0.0.0/24 of known-range")
	require.NotContains(t, got.stdout, "10.0.0.0/24 of newer-range")
}
