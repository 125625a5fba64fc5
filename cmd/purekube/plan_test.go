package main

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	status := run(withCommand(args), system{
		stdin:  strings.NewReader(stdin),
		stdout: &stdout,
		stderr: &stderr,
		files:  overlay{files},
		now:    noonClock,
	})
	return outcome{stdout.String(), lineNumber.ReplaceAllString(stderr.String(), "$1: document "), status}
}

// lineNumber is in front of each place. The tests of package manifests are about it.
var lineNumber = regexp.MustCompile(`(?m)([^ ]):[0-9]+: document `)

// withCommand puts the command in front: drain for -drain NODE, report for its outputs, and plan for all else. It puts -f in
// front of the files of a drain.
func withCommand(args []string) []string {
	for i, arg := range args {
		switch next := strings.Join(args[min(i+1, len(args)):min(i+2, len(args))], ""); {
		case args[0] == "drain":
			var all []string
			for n, a := range args {
				if (a == "-" || filepath.Ext(a) == ".yaml" || filepath.Ext(a) == ".json") && args[n-1] != "-f" {
					all = append(all, "-f")
				}
				all = append(all, a)
			}
			return all
		case slices.ContainsFunc(commands(), func(c command) bool { return c.name == args[0] }):
			return args
		case arg == "-drain":
			return withCommand(slices.Concat([]string{"drain", next}, args[:i], args[i+2:]))
		case arg == "-o" && (next == "html" || next == "mermaid"):
			return append([]string{"report"}, args...)
		}
	}
	return append([]string{"plan"}, args...)
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
		return os.Open(name)
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
	got := plan(t, nil, "", "--demo", "--now", noon)
	require.Empty(t, got.stderr)
	require.Equal(t, exitPlanned, got.status)
	golden(t, "embedded.txt", got.stdout)

	var report jsonReport
	asJSON := plan(t, nil, "", "--demo", "--now", noon, "-o", "json")
	golden(t, "embedded.json", asJSON.stdout)
	golden(t, "embedded.requests.jsonl", plan(t, nil, "", "--demo", "--now", noon, "-o", "requests").stdout)
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
			text = plan(t, nil, "", "--demo", "--explain").stdout
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
		return "purekube: testdata/" + file + ": document 1, item " + item +
			": Pod ml/broken: spec.resourceClaims[0].resourceClaimTemplateName: template not found: no-such\n"
	}
	for _, mode := range [][]string{nil, {"--match-upstream", "v1.36"}} {
		converged := plan(t, nil, "", append(mode, "--now", "2026-11-21T01:10:30Z", "testdata/cluster-converged.yaml")...)
		require.Equal(t, broken("cluster-converged.yaml", "127"), converged.stderr)
		events := "1 event" // that of the error
		if mode != nil {
			events = "3 events" // upstream's come on every pass (D-29)
		}
		require.Contains(t, converged.stdout, "Plan: 0 actions, "+events+", 0 lookups, 1 error\n")

		drift := plan(t, nil, "", append(mode, "--now", "2026-11-21T01:11:07Z", "-o", "json", "testdata/cluster-drift.yaml")...)
		require.Equal(t, broken("cluster-drift.yaml", "115"), drift.stderr)
		var report jsonReport
		require.NoError(t, stdjson.Unmarshal([]byte(drift.stdout), &report))
		require.Len(t, report.Cores, 5)
		for _, c := range report.Cores {
			require.NotEmpty(t, c.Objects, "%s has something to do", c.Core)
		}
	}
}

// What the five controllers write after those changes: the dump is of a real API server, so the input is as users have
// it.
func TestRealClusterThatDrifted(t *testing.T) {
	upstream := []string{"--match-upstream", "v1.36"}
	for _, tc := range []struct {
		reason, core, now, action string
		mode, want                []string
	}{
		{"two pods became unready, and two were evicted", "disruption", "01:11:07", "UpdateStatus", nil, []string{
			"UpdateStatus shop/db: 1 allowed, 4 healthy, 3 desired, 4 expected", "UpdateStatus shop/web: 0 allowed, 3 healthy, 4 desired, 7 expected"}},
		{"the grace period of the deleted ranges is not over", "servicecidr", "01:11:16", "RemoveFinalizer", nil, nil},
		{"of two equal ranges in use one goes, and one inside another", "servicecidr", "01:11:17", "RemoveFinalizer", nil, []string{
			"RemoveFinalizer narrow", "RemoveFinalizer twin-a"}},
		{"D-1", "servicecidr", "01:11:17", "RemoveFinalizer", upstream, []string{
			"RemoveFinalizer narrow", "RemoveFinalizer twin-a", "RemoveFinalizer twin-b"}},
		{"a ClusterRole with one rule was added", "rbacaggregate", "01:11:17", "SetRules", nil, []string{
			"SetRules admin: 30 rules, +1", "SetRules edit: 28 rules, +1", "SetRules view: 13 rules, +1"}},
		{"upstream goes one level a round", "rbacaggregate", "01:11:17", "SetRules", upstream, []string{"SetRules view: 13 rules, +1"}},
		{"two pods finished", "resourceclaim", "01:11:17", "Release", nil, []string{
			"Release ml/shared: infer, deallocate", "Release ml/train-1-gpu-sqg6p: train-1, deallocate"}},
		{"the claim was made for one of them", "resourceclaim", "01:11:17", "DeleteClaim", nil, []string{"DeleteClaim ml/train-1-gpu-sqg6p"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			var report jsonReport
			got := plan(t, nil, "", append(tc.mode, "--core", tc.core, "-o", "json", "--now", "2026-11-21T"+tc.now+"Z", "testdata/cluster-drift.yaml")...)
			require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &report), got.stderr)
			var written []string
			for _, o := range report.Cores[0].Objects {
				for _, a := range o.Actions {
					if a.Type == tc.action {
						written = append(written, a.Text)
					}
				}
			}
			require.Equal(t, tc.want, written)
		})
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
		{"something to do", "nothing else is asked for", named(nodeWithout, "a"), nil, exitPlanned},
		{"a plan that fails", "the input is as a cluster has it, so this is no error of the input", lostTemplate, nil, exitPlan},
		{"a plan that fails, not asked for", "the caller does not want to know", lostTemplate, []string{"--fail-on", "none"}, exitPlanned},
		{"wrong input, and no failing plan counts", "the input goes first", lostTemplate + "---\n" + lostTemplate, nil, exitInput},
		{"a budget that allows no disruption", "asked for", neverBudget, []string{"--fail-on", "never"}, exitNever},
		{"a budget that allows no disruption of a Job's pod", "a Job has no scale, and none would help",
			budgetOf("db", "db", `"maxUnavailable":0`, noStatus) + strings.Replace(podOf("db-0", "db", "Job", "node-a", "True"), "apps/v1", "batch/v1", 1), []string{"--core", "disruption", "--fail-on", "never"}, exitNever},
		{"a budget that allows no disruption, not asked for", "it is a finding and no error", neverBudget, nil, exitPlanned},
		{"something to do, asked for in a list", "each value counts", named(nodeWithout, "a"), []string{"--fail-on", "error,action"}, exitToDo},
		{"unknown value of --fail-on", "a wrong command line", "", []string{"--fail-on", "never,ever"}, exitInput},
		{"empty input", "kubectl found nothing, or the pipe broke", "", nil, exitInput},
		{"an empty list", "the same", "apiVersion: v1\nkind: List\nitems: []\n", nil, exitInput},
		{"nothing to plan with", "a report without a word on the input would look like success", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", nil, exitInput},
		{"nothing for the core", "the same", named(nodeWithout, "a"), []string{"--core", "disruption"}, exitInput},
		{"a list that is null", "as Go writes an empty one", `{"apiVersion":"v1","kind":"NodeList","items":null}`, nil, exitInput},
		{"an API version that is not served", "it would be left out of the plan without a word", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n", nil, exitInput},
		{"something to do, detailed", "as terraform plan does", named(nodeWithout, "a"), []string{"--detailed-exitcode"}, exitToDo},
		{"nothing to do, detailed", "all is as it should be", named(nodeAt0, "a"), []string{"--detailed-exitcode"}, exitPlanned},
		{"an error, detailed", "an error goes before what there is to do", named(nodeWithout, "a") + "---\nkind: Node\n", []string{"--detailed-exitcode"}, exitInput},
		{"detailed, switched off", "the value counts", named(nodeWithout, "a"), []string{"--detailed-exitcode=false"}, exitPlanned},
		{"detailed, and a list", "it is added to the list, whatever comes first", named(nodeWithout, "a"), []string{"--detailed-exitcode", "--fail-on", "error"}, exitToDo},
		{"unknown flag", "a wrong command line is an error, not 2", "", []string{"-no-such-flag"}, exitInput},
		{"unknown core", "the same", "", []string{"--core", "nope"}, exitInput},
		{"unknown output", "the same", "", []string{"-o", "xml"}, exitInput},
		{"a release without divergences", "its defaults would look like that release", "", []string{"--match-upstream", "v1.35"}, exitInput},
		{"no time", "the same", "", []string{"--now", "noon"}, exitInput},
		{"step below the table", "the same", "", []string{"--ttl-step", "-1"}, exitInput},
		{"step past the table", "the same", "", []string{"--ttl-step", "5"}, exitInput},
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

// An error is one line with the place, and what is right is planned all the same.
func TestBadInput(t *testing.T) {
	files := fstest.MapFS{"in.yaml": {Data: []byte("hello\n---\n" + named(nodeWithout, "good"))}}
	got := plan(t, files, "", "--core", "ttl", "in.yaml")
	require.Equal(t, "purekube: in.yaml: document 1: not a Kubernetes object\n", got.stderr)
	require.Equal(t, exitInput, got.status)
	require.Contains(t, got.stdout, "SetTTL good: 0s", "the rest of the input is planned")
	require.Contains(t, got.stdout, "1 error")

	var report jsonReport
	asJSON := plan(t, files, "", "--core", "ttl", "-o", "json", "in.yaml")
	require.NoError(t, stdjson.Unmarshal([]byte(asJSON.stdout), &report))
	require.Equal(t, []jsonProblem{{File: "in.yaml", Document: 1, Line: 1, Message: "not a Kubernetes object"}}, report.Errors)
}

// Kinds that no core plans with are counted, not reported as wrong: unknown ones, and known
// ones in a version that the library does not read.
func TestSkippedKinds(t *testing.T) {
	got := plan(t, nil, `{"apiVersion":"example.com/v1","kind":"Widget"} {"apiVersion":"v1","kind":"Service","metadata":{"name":"s"}}
		{"apiVersion":"v1","kind":"Service","metadata":{"name":"t"}} {"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`, "-")
	require.Empty(t, got.stderr)
	require.Equal(t, exitPlanned, got.status)
	require.Contains(t, strings.Join(strings.Fields(got.stdout), " ")+" ",
		"Ignored, since purekube does not use these kinds: 1 example.com/v1 Widget, 2 v1 Service ")
}

// A ScaledObject says which pods there are at full health. Otherwise nothing uses it.
func TestScaledObjectIsSkipped(t *testing.T) {
	const scaled = "---\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\nspec: {scaleTargetRef: {name: web}}\n"
	require.Contains(t, plan(t, nil, named(nodeAt0, "a")+scaled, "-").stdout, "1 keda.sh/v1alpha1 ScaledObject")
	require.NotContains(t, plan(t, nil, named(nodeAt0, "a")+scaled, "-", "--at-full-health").stdout, "ScaledObject")
}

// A core without an object of its kinds has found nothing in order: it is told apart from one that has.
func TestCoresWithoutObjects(t *testing.T) {
	got := plan(t, nil, named(nodeAt0, "a")+"---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n", "-")
	require.Empty(t, got.stderr)
	text := strings.Join(strings.Fields(got.stdout), " ")
	require.Contains(t, text, "Nothing to do: disruption (0 PodDisruptionBudgets for 1 pod); resourceclaim (0 ResourceClaims, 0 of them allocated, and 0 pods that use claims); ttl (1 node,")
	require.Contains(t, text, "Nothing in the input for: rbacaggregate, servicecidr "+
		`disruption: the input has no PodDisruptionBudget: "kubectl get pdb,pods,rs,deploy,sts,rc -A -o json" prints what the plan reads Plan: 0 actions`)
}

// The step comes from the nodes, unless it is given.
func TestTTLStep(t *testing.T) {
	node := "apiVersion: v1\nkind: Node\nmetadata:\n  name: %\n  annotations:\n    node.alpha.kubernetes.io/ttl: '15'\n---\n"
	var nodes strings.Builder
	for i := range 95 {
		nodes.WriteString(named(node, "n"+string(rune('a'+i/26))+string(rune('a'+i%26))))
	}
	recovered := plan(t, nil, nodes.String(), "--core", "ttl", "--detailed-exitcode", "-")
	require.Equal(t, exitPlanned, recovered.status, "95 nodes that say 15 are at step 1")
	given := plan(t, nil, nodes.String(), "--core", "ttl", "--detailed-exitcode", "--ttl-step", "0", "-")
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

// One node is no nodes.
func TestTTLOfOneNode(t *testing.T) {
	got := plan(t, nil, named(nodeWithout, "a"), "--core", "ttl", "--explain", "-")
	require.Contains(t, got.stdout, "; 1 node makes it step 0\n")
	require.Contains(t, got.stdout, "1 of 1 node needs a new annotation")
}
