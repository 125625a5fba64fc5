package main

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the files in testdata anew; read them before you commit")

// noon is the time that the tests plan for, unless a file was dumped at another.
const noon = "2026-11-21T12:00:00Z"

// outcome is what a run printed.
type outcome struct {
	stdout, stderr string
	status         int
}

// plan runs the program over files that exist in memory only, and over those of the machine.
func plan(t *testing.T, files fstest.MapFS, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run(args, system{
		stdin:  strings.NewReader(stdin),
		stdout: &stdout,
		stderr: &stderr,
		files:  overlay{files},
		now:    noonClock,
	})
	return outcome{stdout.String(), stderr.String(), status}
}

func noonClock() time.Time {
	now, err := time.Parse(time.RFC3339, noon)
	if err != nil {
		panic(err)
	}
	return now
}

// overlay finds a file in memory before it looks at the machine's.
type overlay struct{ memory fstest.MapFS }

func (o overlay) Open(name string) (fs.File, error) {
	file, err := o.memory.Open(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return hostFiles{}.Open(name)
	}
	return file, err
}

// golden compares with a file in testdata that was read and found right by a person.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// The embedded cluster has something to do in each core, says so in 100 columns, and has no
// error in it.
func TestEmbeddedCluster(t *testing.T) {
	got := plan(t, nil, "", "-now", noon)
	require.Empty(t, got.stderr)
	require.Equal(t, exitPlanned, got.status)
	golden(t, "embedded.txt", got.stdout)

	var report jsonReport
	asJSON := plan(t, nil, "", "-now", noon, "-o", "json")
	golden(t, "embedded.json", asJSON.stdout)
	golden(t, "embedded.requests.jsonl", plan(t, nil, "", "-now", noon, "-o", "requests").stdout)
	require.NoError(t, stdjson.Unmarshal([]byte(asJSON.stdout), &report))
	for i, c := range report.Cores {
		require.Equal(t, cores[i].name, c.Core)
		actions := 0
		for _, o := range c.Objects {
			actions += len(o.Actions)
		}
		require.NotZero(t, actions, "%s has nothing to do in the embedded cluster", c.Core)
	}
	for _, explain := range []bool{false, true} {
		text := got.stdout
		if explain {
			text = plan(t, nil, "", "-explain").stdout
		}
		for line := range strings.Lines(text) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, line)
		}
		require.NotContains(t, text, "\x1b", "colour without a terminal")
	}
}

// A real cluster: with its controllers at rest nothing is written, and one pod has an error; after
// changes made while they were stopped each of them has something to do.
func TestRealCluster(t *testing.T) {
	broken := func(file, item string) string {
		return "plan: testdata/" + file + ": document 1, item " + item +
			": Pod ml/broken: spec.resourceClaims[0].resourceClaimTemplateName: template not found: no-such\n"
	}
	for _, mode := range [][]string{nil, {"-match-upstream", "v1.36"}} {
		converged := plan(t, nil, "", append(mode, "-now", "2026-11-21T01:10:30Z", "testdata/cluster-converged.yaml")...)
		require.Equal(t, broken("cluster-converged.yaml", "127"), converged.stderr)
		events := "1 event" // that of the error
		if mode != nil {
			events = "3 events" // upstream's come on every pass (D-29)
		}
		require.Contains(t, converged.stdout, "Plan: 0 actions, "+events+", 0 lookups, 1 error\n")

		drift := plan(t, nil, "", append(mode, "-now", "2026-11-21T01:11:07Z", "-o", "json", "testdata/cluster-drift.yaml")...)
		require.Equal(t, broken("cluster-drift.yaml", "115"), drift.stderr)
		var report jsonReport
		require.NoError(t, stdjson.Unmarshal([]byte(drift.stdout), &report))
		require.Len(t, report.Cores, 5)
		for _, c := range report.Cores {
			require.NotEmpty(t, c.Objects, "%s has something to do", c.Core)
		}
	}
}

const (
	nodeWithout = "apiVersion: v1\nkind: Node\nmetadata:\n  name: %\n"
	nodeAt0     = "apiVersion: v1\nkind: Node\nmetadata:\n  name: %\n  annotations:\n    node.alpha.kubernetes.io/ttl: '0'\n"
)

// lostTemplate is a pod whose plan ends with an error; neverBudget allows no disruption, whatever happens.
const (
	lostTemplate = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, uid: u}\nspec: {resourceClaims: [{name: gpu, resourceClaimTemplateName: none}]}\n"
	neverBudget  = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {maxUnavailable: 0, selector: {}}\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a, uid: u}\nstatus: {phase: Running, conditions: [{type: Ready, status: 'True'}]}\n"
)

func named(manifest, name string) string { return strings.ReplaceAll(manifest, "%", name) }

func TestExitStatus(t *testing.T) {
	for _, tc := range []struct {
		name, reason, input string
		args                []string
		want                int
	}{
		{"something to do", "planning worked", named(nodeWithout, "a"), nil, exitPlanned},
		{"a plan that fails", "the input is as a cluster has it, so this is no error of the input", lostTemplate, nil, exitPlan},
		{"a plan that fails, not asked for", "the caller does not want to know", lostTemplate, []string{"-fail-on", "none"}, exitPlanned},
		{"wrong input, and no failing plan counts", "the input goes first", lostTemplate + "---\n" + lostTemplate, nil, exitInput},
		{"a budget that lets no pod go", "asked for", neverBudget, []string{"-fail-on", "never"}, exitNever},
		{"a budget that lets no pod go, not asked for", "it is a finding and no error", neverBudget, nil, exitPlanned},
		{"something to do, asked for in a list", "each value counts", named(nodeWithout, "a"), []string{"-fail-on", "error,action"}, exitToDo},
		{"unknown value of -fail-on", "a wrong command line", "", []string{"-fail-on", "never,ever"}, exitInput},
		{"empty input", "kubectl found nothing, or the pipe broke", "", nil, exitInput},
		{"an empty list", "the same", "apiVersion: v1\nkind: List\nitems: []\n", nil, exitInput},
		{"nothing to plan with", "a report without a word on the input would look like success", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", nil, exitInput},
		{"nothing for the core", "the same", named(nodeWithout, "a"), []string{"-core", "disruption"}, exitInput},
		{"a list that is null", "as Go writes an empty one", `{"apiVersion":"v1","kind":"NodeList","items":null}`, nil, exitInput},
		{"an API version that is not served", "it would be left out of the plan without a word", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n", nil, exitInput},
		{"something to do, detailed", "as terraform plan does", named(nodeWithout, "a"), []string{"-detailed-exitcode"}, exitToDo},
		{"nothing to do, detailed", "all is as it should be", named(nodeAt0, "a"), []string{"-detailed-exitcode"}, exitPlanned},
		{"an error, detailed", "an error goes before what there is to do", named(nodeWithout, "a") + "---\nkind: Node\n", []string{"-detailed-exitcode"}, exitInput},
		{"unknown flag", "a wrong command line is an error, not 2", "", []string{"-no-such-flag"}, exitInput},
		{"unknown core", "the same", "", []string{"-core", "nope"}, exitInput},
		{"unknown output", "the same", "", []string{"-o", "xml"}, exitInput},
		{"a release without divergences", "its defaults would look like that release", "", []string{"-match-upstream", "v1.35"}, exitInput},
		{"no time", "the same", "", []string{"-now", "noon"}, exitInput},
		{"step below the table", "the same", "", []string{"-ttl-step", "-1"}, exitInput},
		{"step past the table", "the same", "", []string{"-ttl-step", "5"}, exitInput},
		{"missing file", "a file that is not there", "", []string{"no-such-file.yaml"}, exitInput},
		{"help", "asked for, so no error", "", []string{"-h"}, exitPlanned},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := tc.args
			if tc.input != "" || len(args) == 0 {
				args = append(args, "-")
			}
			got := plan(t, nil, tc.input, args...)
			require.Equal(t, tc.want, got.status, "%s\n%s", tc.reason, got.stderr)
			if tc.want == exitInput || tc.want == exitPlan {
				require.Equal(t, 1, strings.Count(got.stderr, "\n"), "one line for one error: %s", got.stderr)
			}
		})
	}
}

// Whatever is wrong gets one line with the place, and what is right is planned all the same.
func TestBadInput(t *testing.T) {
	good := named(nodeWithout, "good")
	for _, tc := range []struct{ name, reason, input, want string }{
		{"broken YAML", "a document that does not parse", "a: b: c\n---\n" + good,
			"plan: in.yaml: document 1: not YAML: yaml: mapping values are not allowed in this context\n"},
		{"a key twice", "nobody can say which one counts", good + "---\nkind: Node\nkind: Pod\n",
			"plan: in.yaml: document 2: not YAML: yaml: unmarshal errors: line 2: key \"kind\" already set in map\n"},
		{"a scalar", "YAML, but no object", "hello\n---\n" + good,
			"plan: in.yaml: document 1: not a Kubernetes object\n"},
		{"no kind", "what it is cannot be told", "apiVersion: v1\n---\n" + good,
			"plan: in.yaml: document 1: kind: missing\n"},
		{"no version", "the same kind may mean two things", "kind: Node\nmetadata: {name: x}\n---\n" + good,
			"plan: in.yaml: document 1: Node x: apiVersion: missing\n"},
		{"no name", "nothing to plan for", "apiVersion: v1\nkind: Node\n---\n" + good,
			"plan: in.yaml: document 1: Node: metadata.name: missing\n"},
		{"wrong type", "the field is named", "apiVersion: v1\nkind: Node\nmetadata: {name: x}\nspec: {unschedulable: maybe}\n---\n" + good,
			"plan: in.yaml: document 1: Node x: spec.unschedulable: is a string, must be of type bool\n"},
		{"number and percentage", "the other form is named", "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: x}\nspec: {maxUnavailable: true}\n---\n" + good,
			"plan: in.yaml: document 1: PodDisruptionBudget x: spec.maxUnavailable: is a bool, must be of type int32, or a percentage such as \"30%\"\n"},
		{"a word that YAML reads as bool", "the way out is named", "apiVersion: v1\nkind: Node\nmetadata: {name: no}\n---\n" + good,
			"plan: in.yaml: document 1: metadata.name: is a bool, must be of type string, so put it in quotes: YAML reads y, n, yes, no, on, off, true and false as bool\n"},
		{"a number as a label", "the way out is named", "apiVersion: v1\nkind: Node\nmetadata: {name: x, labels: {a: 1}}\n---\n" + good,
			"plan: in.yaml: document 1: Node x: metadata.labels: is a number, must be of type string, so put it in quotes\n"},
		{"a list", "the grammar of it", "apiVersion: v1\nkind: Node\nmetadata: {name: x}\nspec: {unschedulable: []}\n---\n" + good,
			"plan: in.yaml: document 1: Node x: spec.unschedulable: is an array, must be of type bool\n"},
		{"items that are no list", "one of a kind that is called a list", "apiVersion: v1\nkind: List\nitems: 7\n---\n" + good,
			"plan: in.yaml: document 1: items: is a number, must be a list\n"},
		{"a kind in lower case", "it would be left out of the plan without a word", "apiVersion: policy/v1\nkind: poddisruptionbudget\nmetadata: {name: x}\n---\n" + good,
			"plan: in.yaml: document 1: poddisruptionbudget x: kind: is poddisruptionbudget: must be PodDisruptionBudget\n"},
		{"a kind in the plural", "the same", "apiVersion: v1\nkind: Nodes\nmetadata: {name: x}\n---\n" + good,
			"plan: in.yaml: document 1: Nodes x: kind: is Nodes: must be Node\n"},
		{"unknown field", "a field that is misspelt would count as absent", "apiVersion: v1\nkind: Node\nmetadata: {name: good}\nspec: {unschedulabel: true}\n",
			"plan: in.yaml: document 1: Node good: spec.unschedulabel: unknown field\n"},
		{"old version", "no core reads it, and it may be what matters", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: x}\n---\n" + good,
			"plan: in.yaml: document 1: PodDisruptionBudget x: apiVersion: is policy/v1beta1: only policy/v1 is planned with, which every supported API server serves\n"},
		{"wrong item", "the item of the list is named", "apiVersion: v1\nkind: List\nitems:\n- 17\n- {apiVersion: v1, kind: Node, metadata: {name: good}}\n",
			"plan: in.yaml: document 1, item 1: not a Kubernetes object\n"},
		{"two of one name", "both places are named", good + "---\n" + named(nodeAt0, "twin") + "---\n" + named(nodeAt0, "twin"),
			"plan: in.yaml: document 2 and in.yaml: document 3: Node twin: more than one object of this name in the snapshot\n"},
	} {
		bothWays(t, tc.name, func(t *testing.T) {
			files := fstest.MapFS{"in.yaml": {Data: []byte(tc.input)}}
			got := plan(t, files, "", "-core", "ttl", "in.yaml")
			if diff := cmp.Diff(tc.want, got.stderr); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			require.Equal(t, exitInput, got.status)
			require.Contains(t, got.stdout, "SetTTL good: 0s", "the rest of the input is planned")
			require.Contains(t, got.stdout, "1 error")

			var report jsonReport
			asJSON := plan(t, files, "", "-core", "ttl", "-o", "json", "in.yaml")
			require.NoError(t, stdjson.Unmarshal([]byte(asJSON.stdout), &report))
			require.Len(t, report.Errors, 1)
			require.Equal(t, "in.yaml", report.Errors[0].File)
			require.NotZero(t, report.Errors[0].Document)
		})
	}
}

// Every form in which kubectl prints objects is read.
func TestForms(t *testing.T) {
	node := func(name string) string {
		return `{"apiVersion":"v1","kind":"Node","metadata":{"name":"` + name + `"}}`
	}
	for _, tc := range []struct {
		name, reason string
		files        fstest.MapFS
		stdin        string
		args         []string
		want         []string // the nodes
	}{
		{name: "one document", reason: "kubectl get node a -o yaml",
			stdin: named(nodeWithout, "a"), args: []string{"-"}, want: []string{"a"}},
		{name: "documents", reason: "several joined by ---, with comments only between",
			stdin: "---\n" + named(nodeWithout, "a") + "---\n# nothing\n---\n" + named(nodeWithout, "b"), args: []string{"-"}, want: []string{"a", "b"}},
		{name: "windows", reason: "line ends with a carriage return",
			stdin: strings.ReplaceAll(named(nodeWithout, "a")+"---\n"+named(nodeWithout, "b"), "\n", "\r\n"), args: []string{"-"}, want: []string{"a", "b"}},
		{name: "list", reason: "kubectl get nodes -o yaml",
			stdin: "apiVersion: v1\nkind: List\nitems:\n- " + node("a") + "\n- " + node("b") + "\n", args: []string{"-"}, want: []string{"a", "b"}},
		{name: "typed list", reason: "kubectl get --raw /api/v1/nodes: the items have no kind",
			stdin: `{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"a"}}]}`, args: []string{"-"}, want: []string{"a"}},
		{name: "JSON", reason: "kubectl get nodes -o json",
			stdin: "\n {\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" + node("a") + "]}", args: []string{"-"}, want: []string{"a"}},
		{name: "JSON values", reason: "several kubectl calls in one pipe",
			stdin: node("a") + "\n" + node("b"), args: []string{"-"}, want: []string{"a", "b"}},
		{name: "folder", reason: "its manifests, also those in folders below, no other files and nothing hidden",
			files: fstest.MapFS{
				"in/a.yaml":          {Data: []byte(named(nodeWithout, "a"))},
				"in/deep/b.yml":      {Data: []byte(named(nodeWithout, "b"))},
				"in/c.json":          {Data: []byte(node("c"))},
				"in/notes.txt":       {Data: []byte("not a manifest")},
				"in/.hidden/d.yaml":  {Data: []byte(named(nodeWithout, "d"))},
				"in/.hidden-e.yaml":  {Data: []byte(named(nodeWithout, "e"))},
				"elsewhere/f.yaml":   {Data: []byte(named(nodeWithout, "f"))},
				"in/g.yaml/nope.txt": {Data: []byte("a folder may be called so")},
			}, args: []string{"in"}, want: []string{"a", "b", "c"}},
		{name: "a file of any name", reason: "who names it means it",
			files: fstest.MapFS{"dump": {Data: []byte(named(nodeWithout, "a"))}}, args: []string{"dump"}, want: []string{"a"}},
		{name: "several", reason: "files and standard input together",
			files: fstest.MapFS{"one.yaml": {Data: []byte(named(nodeWithout, "a"))}},
			stdin: named(nodeWithout, "b"), args: []string{"one.yaml", "-"}, want: []string{"a", "b"}},
		{name: "flags behind", reason: "kubectl allows it",
			stdin: named(nodeWithout, "a"), args: []string{"-", "-explain"}, want: []string{"a"}},
	} {
		bothWays(t, tc.name, func(t *testing.T) {
			got := plan(t, tc.files, tc.stdin, append([]string{"-o", "json", "-core", "ttl"}, tc.args...)...)
			require.Empty(t, got.stderr, tc.reason)
			var report jsonReport
			require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &report))
			var nodes []string
			for _, o := range report.Cores[0].Objects {
				nodes = append(nodes, o.Name)
			}
			if diff := cmp.Diff(tc.want, nodes); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Kinds that no core plans with are counted, not reported as wrong: unknown ones, and known
// ones in a version that the library does not read.
func TestSkippedKinds(t *testing.T) {
	got := plan(t, nil, `{"apiVersion":"example.com/v1","kind":"Widget"} {"apiVersion":"v1","kind":"Service","metadata":{"name":"s"}}
		{"apiVersion":"v1","kind":"Service","metadata":{"name":"t"}} {"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`, "-")
	require.Empty(t, got.stderr)
	require.Equal(t, exitPlanned, got.status)
	require.Contains(t, strings.Join(strings.Fields(got.stdout), " ")+" ",
		"Skipped, since no core plans with them: 1 example.com/v1 Widget, 2 v1 Service ")
}

// A core without an object of its kinds has found nothing in order: it is told apart from one that has.
func TestCoresWithoutObjects(t *testing.T) {
	got := plan(t, nil, named(nodeAt0, "a")+"---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n", "-")
	require.Empty(t, got.stderr)
	text := strings.Join(strings.Fields(got.stdout), " ")
	require.Contains(t, text, "Nothing to do: resourceclaim (0 ResourceClaims, 0 of them allocated, and 0 pods that use claims); ttl (1 node,")
	require.Contains(t, text, "disruption (0 PodDisruptionBudgets for 1 pod) Nothing in the input for: servicecidr, rbacaggregate Plan: 0 actions")
}

func TestEmptyFolder(t *testing.T) {
	got := plan(t, fstest.MapFS{"in/readme.txt": {}}, "", "in")
	require.Equal(t, "plan: in: no file that ends in .yaml, .yml or .json, or one of these with .gz\n", got.stderr)
	require.Equal(t, exitInput, got.status)
}

// The step comes from the nodes, unless it is given.
func TestTTLStep(t *testing.T) {
	node := "apiVersion: v1\nkind: Node\nmetadata:\n  name: %\n  annotations:\n    node.alpha.kubernetes.io/ttl: '15'\n---\n"
	var nodes strings.Builder
	for i := range 95 {
		nodes.WriteString(named(node, "n"+string(rune('a'+i/26))+string(rune('a'+i%26))))
	}
	recovered := plan(t, nil, nodes.String(), "-core", "ttl", "-detailed-exitcode", "-")
	require.Equal(t, exitPlanned, recovered.status, "95 nodes that say 15 are at step 1")
	given := plan(t, nil, nodes.String(), "-core", "ttl", "-detailed-exitcode", "-ttl-step", "0", "-")
	require.Equal(t, exitToDo, given.status)
	require.Contains(t, given.stdout, "95 ttl.SetTTL")
}

func TestColour(t *testing.T) {
	terminal, err := os.Open("/dev/null") // a character device, as a terminal is
	require.NoError(t, err)
	defer terminal.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	for _, tc := range []struct {
		name string
		out  *os.File
		env  map[string]string
		want bool
	}{
		{"terminal", terminal, map[string]string{"TERM": "xterm"}, true},
		{"file", file, map[string]string{"TERM": "xterm"}, false},
		{"dumb terminal", terminal, map[string]string{"TERM": "dumb"}, false},
		{"NO_COLOR", terminal, map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, false},
		{"NO_COLOR empty", terminal, map[string]string{"TERM": "xterm", "NO_COLOR": ""}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := wantsColour(tc.out, func(name string) (string, bool) { v, ok := tc.env[name]; return v, ok })
			require.Equal(t, tc.want, got)
		})
	}
	require.Equal(t, "\x1b[32mSetTTL\x1b[0m", palette(true).action("SetTTL"))
	require.Equal(t, "SetTTL", palette(false).action("SetTTL"))
}
