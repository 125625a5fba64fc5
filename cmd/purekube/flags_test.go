package main

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// Before v0.1.0, flags had one dash. Their letters must not be taken for flags of one letter: -force is not -f orce.
func TestFlagsHaveTwoDashes(t *testing.T) {
	for _, args := range []string{
		"drain all -force --demo", "plan -core ttl --demo", "plan -fail-on=error --demo", "lint -fail-on none --demo",
		"drain all -now 2026-11-21T12:00:00Z --demo", "plan -filename x --demo", "drain -help",
	} {
		t.Run(args, func(t *testing.T) {
			got := plan(t, nil, "", strings.Fields(args)...)
			require.Equal(t, exitInput, got.status)
			require.Empty(t, got.stdout)
			require.Regexp(t, `^purekube: -[a-z-]+: flags have two dashes: --[a-z-]+\n$`, got.stderr)
		})
	}
	for _, args := range []string{"plan --demo -ojson", "drain all --demo -o json", "explain node/worker-1 --demo -o=json"} {
		require.Equal(t, exitPlanned, plan(t, nil, "", strings.Fields(args)...).status, args)
	}
}

// setting is a flag with a value that changes an answer, or is refused. args are the command line without the flag, if it is
// not the one of defaultArgs.
type setting struct{ args, set string }

// settingsOf are by the flag, or by the command and the flag.
var settingsOf = map[string]setting{
	"output":                      {"", "-o json"},
	"output-file":                 {"", "--output-file FOLDER/out"},
	"filename":                    {"", "-f gone.json"},
	"drain demo":                  {"drain all -f gone.json", "--demo"},
	"explain demo":                {"explain node/worker-1 -f gone.json", "--demo"},
	"demo":                        {"COMMAND -f gone.json", "--demo"},
	"kubeconfig":                  {"COMMAND", "--kubeconfig /nonexistent/other"},
	"context":                     {"COMMAND", "--context other"},
	"as":                          {"COMMAND --demo", "--as jane"},
	"namespace":                   {"COMMAND --demo", "-n shop"},
	"request-timeout":             {"COMMAND --demo", "--request-timeout 1s"},
	"drain kubeconfig":            {"drain all", "--kubeconfig /nonexistent/other"},
	"drain context":               {"drain all", "--context other"},
	"drain as":                    {"drain all --demo", "--as jane"},
	"drain request-timeout":       {"drain all --demo", "--request-timeout 1s"},
	"explain kubeconfig":          {"explain node/a", "--kubeconfig /nonexistent/other"},
	"explain context":             {"explain node/a", "--context other"},
	"explain as":                  {"explain node/a --demo", "--as jane"},
	"explain namespace":           {"explain node/a --demo", "-n shop"},
	"explain request-timeout":     {"explain node/a --demo", "--request-timeout 1s"},
	"lint kubeconfig":             {"lint --live", "--kubeconfig /nonexistent/other"},
	"lint context":                {"lint --live", "--context other"},
	"live":                        {"lint", "--live"},
	"watch":                       {"", "--watch"},
	"max-unzipped":                {"", "--max-unzipped 0"},
	"now":                         {"", "--now yesterday"},
	"none":                        {"", "--none nothing"},
	"at-full-health":              {"COMMAND -f chart.yaml", "--at-full-health"},
	"explain at-full-health":      {"explain pdb/default/web -f chart.yaml", "--at-full-health"},
	"drain at-full-health":        {"drain all -f chart.yaml", "--at-full-health"},
	"nodes":                       {"COMMAND --at-full-health -f chart.yaml", "--nodes 3"},
	"explain nodes":               {"explain node/node-1 --at-full-health -f chart.yaml", "--nodes 3"},
	"drain nodes":                 {"drain all --at-full-health -f chart.yaml", "--nodes 3"},
	"builtin-roles":               {"COMMAND -f role.yaml", "--builtin-roles"},
	"explain builtin-roles":       {"explain clusterrole/admin -f role.yaml", "--builtin-roles"},
	"match-upstream":              {"", "--match-upstream v0.1"},
	"upstream":                    {"", "--upstream v0.1"},
	"core":                        {"", "--core ttl"},
	"ttl-step":                    {"", "--ttl-step x"},
	"assume-complete":             {"COMMAND -f claim.json", "--assume-complete"},
	"explain assume-complete":     {"explain resourceclaim/ns/claim -f claim.json", "--assume-complete"},
	"fail-on":                     {"", "--fail-on never"},
	"explain":                     {"", "--explain"},
	"ignore-budgets-without-pods": {"", "--ignore-budgets-without-pods"},
	"detailed-exitcode":           {"", "--detailed-exitcode"},
	"ignore-daemonsets":           {"", "--ignore-daemonsets"},
	"delete-emptydir-data":        {"", "--delete-emptydir-data"},
	"force":                       {"", "--force"},
	"selector":                    {"drain --waves --demo", "-l pool=a"},
	"together":                    {"", "--together"},
	"waves":                       {"", "--waves"},
	"drain max":                   {"drain --waves --demo", "--max 1"},
	"max":                         {"COMMAND --waves --demo", "--max -1"},
	"rounds":                      {"COMMAND --waves --demo", "--rounds -1"},
	"by":                          {"COMMAND --waves --demo", "--by zone"},
	"pool":                        {"", "--pool zone"},
}

var defaultArgs = map[string]string{"explain": "explain pod/shop/checkout-6d4b75cb6d-4zlqb --demo", "drain": "drain all --demo"}

// No flag is accepted and ignored: each flag of each command changes the output, the messages or the exit status.
func TestEachFlagMatters(t *testing.T) {
	files := fstest.MapFS{
		"chart.yaml": {Data: []byte(chart)}, "claim.json": {Data: []byte(claimManifest("claim", "", consumers("x")))},
		"role.yaml": {Data: []byte(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole,
			metadata: {name: team, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}},
			rules: [{verbs: [get], apiGroups: [example.com], resources: [widgets]}]}`)},
	}
	t.Setenv("KUBECONFIG", "/nonexistent/config")
	for _, c := range commands() {
		inv := &invocation{command: c}
		flags := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
		inv.register(flags)
		flags.VisitAll(func(f *pflag.Flag) {
			t.Run(c.name+" --"+f.Name, func(t *testing.T) {
				s, known := settingsOf[c.name+" "+f.Name]
				if !known {
					s, known = settingsOf[f.Name]
				}
				require.True(t, known, "settingsOf has no value for this flag")
				args := strings.ReplaceAll(cmp.Or(s.args, defaultArgs[c.name], "COMMAND --demo"), "COMMAND", c.name)
				before := plan(t, files, "", strings.Fields(args)...)
				after := plan(t, files, "", strings.Fields(args+" "+strings.ReplaceAll(s.set, "FOLDER", t.TempDir()))...)
				require.NotEqual(t, before, after)
			})
		})
	}
}

// -o yaml is -o json in another notation, whatever the names are.
func TestYAMLIsTheJSON(t *testing.T) {
	input := fstest.MapFS{"input.json": {Data: []byte(hostileCluster(t))}}
	for _, args := range []string{
		"plan --demo", "explain node/worker-1 --demo", "drain all --demo", "lint --demo", "diff --demo",
		"plan --explain -f input.json", "drain all --force -f input.json", "lint -f input.json", "diff -f input.json",
	} {
		t.Run(args, func(t *testing.T) {
			asJSON := plan(t, input, "", append(strings.Fields(args), "-o", "json")...)
			asYAML := plan(t, input, "", append(strings.Fields(args), "-o", "yaml")...)
			require.NotEmpty(t, asJSON.stdout)
			require.Equal(t, asJSON.status, asYAML.status)
			require.Equal(t, asJSON.stderr, asYAML.stderr)
			back, err := yaml.YAMLToJSON([]byte(asYAML.stdout))
			require.NoError(t, err)
			require.JSONEq(t, asJSON.stdout, string(back))
		})
	}
}

func TestOutputFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "drains")
	want := plan(t, nil, "", "drain", "all", "--demo", "-o", "yaml")
	got := plan(t, nil, "", "drain", "all", "--demo", "-o", "yaml", "--output-file="+file)
	require.Empty(t, got.stdout)
	require.Equal(t, want.stderr, got.stderr)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want.stdout, string(text))

	got = plan(t, nil, "", "drain", "all", "--demo", "--output-file", filepath.Join(file, "below"))
	require.Equal(t, exitInput, got.status)
	require.Contains(t, got.stderr, "not a directory")
}

// As a plugin, the program is called by kubectl.
func TestPlugin(t *testing.T) {
	for name, want := range map[string]string{"purekube": "purekube drain", "kubectl-purekube": "kubectl purekube drain",
		"kubectl-purekube.exe": "kubectl purekube drain", "another": "purekube drain"} {
		var out bytes.Buffer
		require.Equal(t, exitPlanned, run([]string{"drain", "--help"}, system{name: name, stdout: &out, now: noonClock}))
		require.Contains(t, out.String(), "Usage:\n  "+want+" ", name)
		require.Contains(t, out.String(), "\n  "+want+" worker-1", name)
	}
}

// The shell completes nodes and objects of the files that the command line names, and the values of flags.
func TestCompletion(t *testing.T) {
	complete := func(args ...string) string {
		var out bytes.Buffer
		run(append([]string{"__complete"}, args...), system{stdout: &out, stderr: io.Discard, stdin: strings.NewReader(""), now: noonClock})
		return out.String()
	}
	require.Contains(t, complete("drain", "--demo", ""), "worker-1\nworker-2\n")
	require.Contains(t, complete("drain", "-f", fleetFile, ""), "east-1\n")
	require.Contains(t, complete("explain", "--demo", ""), "node/worker-1\n")
	require.Contains(t, complete("explain", "--demo", ""), "pdb/shop/basket\n")
	require.NotContains(t, complete("drain", ""), "worker", "nothing is read")
	require.Contains(t, complete("plan", "--core", ""), "disruption\n")
	require.Contains(t, complete("plan", "-o", ""), "requests\n")
	require.NotContains(t, complete("drain", "-o", ""), "requests\n")
	for _, shell := range []string{"bash", "zsh", "fish"} {
		var out bytes.Buffer
		require.Equal(t, exitPlanned, run([]string{"completion", shell}, system{stdout: &out, now: noonClock}))
		require.Contains(t, out.String(), "purekube")
	}
}
