package main

import (
	stdjson "encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const blocked = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
---
# Why: the budget is new.


apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {unhealthyPodEvictionPolicy: AlwaysAllow, minAvailable: 3, selector: {matchLabels: {app: web}}}
`

var allowing = strings.Replace(blocked, "minAvailable: 3", "minAvailable: 2", 1)

// lintFiles lints files that exist in memory only.
func lintFiles(t *testing.T, files map[string]string, args ...string) outcome {
	t.Helper()
	memory := fstest.MapFS{}
	for name, text := range files {
		memory[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return plan(t, memory, "", append([]string{"lint"}, args...)...)
}

// The exit status tells CI whether there is a finding that is bad enough.
func TestLintExitStatus(t *testing.T) {
	unused := strings.Replace(allowing, "minAvailable: 2, selector: {matchLabels: {app: web}", "minAvailable: 2, selector: {matchLabels: {app: other}", 1)
	for _, tc := range []struct {
		name, reason, input, failOn string
		want                        int
	}{
		{"nothing", "there is no finding", allowing, "info", exitPlanned},
		{"error", "an error is worse than a warning", blocked, "warning", exitFound},
		{"error of the default", "warnings fail by default, so errors do", blocked, "", exitFound},
		{"error is not a warning", "an error fails where errors do", blocked, "error", exitFound},
		{"none", "nothing fails", blocked, "none", exitPlanned},
		{"warning", "the budget selects nothing", unused, "", exitFound},
		{"warning is no error", "only errors fail", unused, "error", exitPlanned},
		{"cut off", "an object that is not read may be one with a finding", blocked[:len(blocked)-20], "none", exitInput},
		{"strict", "a field that does not exist", strings.Replace(allowing, "replicas", "replica", 1), "none", exitInput},
		{"no apiVersion", "no finding says it", strings.Replace(blocked, "apiVersion: policy/v1\n", "", 1), "none", exitInput},
		{"not an apiVersion", "no finding says it", strings.Replace(blocked, "policy/v1", "a/b/c", 1), "none", exitInput},
		{"wrong group", "a finding says it", strings.Replace(blocked, "policy/v1", "apps/v1", 1), "error", exitFound},
		{"twice", "nothing says which of them counts", allowing + "---\n" + allowing, "none", exitInput},
		{"nothing to judge", "an empty answer looks as if all were well", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", "none", exitInput},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := []string{"a.yaml"}
			if tc.failOn != "" {
				args = append(args, "--fail-on", tc.failOn)
			}
			got := lintFiles(t, map[string]string{"a.yaml": tc.input}, args...)
			require.Equal(t, tc.want, got.status, "%s: %s%s", tc.reason, got.stdout, got.stderr)
			require.Equal(t, tc.want == exitInput, got.stderr != "")
		})
	}
	require.Equal(t, exitInput, lintFiles(t, nil, "missing.yaml").status)
	require.Equal(t, exitInput, lintFiles(t, map[string]string{"a.yaml": blocked}, "--fail-on", "all", "a.yaml").status)
}

// The text has a line for each finding, with file and line, and counts at the end.
func TestLintText(t *testing.T) {
	got := lintFiles(t, map[string]string{"chart/web.yaml": blocked}, "chart")
	lines := strings.Split(got.stdout, "\n")
	require.Equal(t, "chart/web.yaml:9: error BudgetNeverAllows: PodDisruptionBudget shop/web: spec.minAvailable: is 3, and at full health there are 3 pods (Deployment web: 3): "+
		"no pod may be evicted. Nodes with these pods cannot be drained", lines[0])
	require.Equal(t, "Lint: 2 objects, 1 error, 0 warnings, 0 info", lines[1])
}

// JSON has what the text has, and what was suppressed.
func TestLintJSON(t *testing.T) {
	ignored := strings.Replace(blocked, "{name: web, namespace: shop}\nspec: {unh", "{name: web, namespace: shop, annotations: {purekube.io/lint-ignore: BudgetNeverAllows}}\nspec: {unh", 1)
	for _, tc := range []struct {
		input                string
		findings, suppressed int
	}{{blocked, 1, 0}, {ignored, 0, 1}, {allowing, 0, 0}} {
		var report struct {
			FormatVersion        string
			Findings, Suppressed []jsonFinding
		}
		got := lintFiles(t, map[string]string{"a.yaml": tc.input}, "-o", "json", "a.yaml")
		require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &report))
		require.Equal(t, formatVersion, report.FormatVersion)
		require.Len(t, report.Findings, tc.findings)
		require.Len(t, report.Suppressed, tc.suppressed)
		require.Contains(t, got.stdout, `"findings": [`, "a list, also if it is empty")
		for _, f := range append(report.Findings, report.Suppressed...) {
			require.Equal(t, "a.yaml PodDisruptionBudget shop web spec.minAvailable error", strings.Join([]string{f.File, f.Kind, f.Namespace, f.Name, f.Field, string(f.Severity)}, " "))
			require.Equal(t, 2, f.Document)
			require.Equal(t, 9, f.Line)
		}
	}
}

// SARIF has a rule for each code, the place of each finding, and an invocation that fails for input with errors.
func TestLintSARIF(t *testing.T) {
	sarif := func(text string) (log sarifLog) {
		got := lintFiles(t, map[string]string{"a chart/a.yaml": text}, "-o", "sarif", "a chart/a.yaml")
		require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &log))
		require.Equal(t, "2.1.0", log.Version)
		require.Len(t, log.Runs, 1)
		return log
	}
	run := sarif(blocked).Runs[0]
	require.True(t, run.Invocations[0].ExecutionSuccessful)
	require.Len(t, run.Results, 1)
	found := run.Results[0]
	require.Equal(t, "BudgetNeverAllows", found.RuleID)
	require.Equal(t, found.RuleID, run.Tool.Driver.Rules[found.RuleIndex].ID)
	require.Equal(t, "error", found.Level)
	require.Equal(t, "a%20chart/a.yaml", found.Locations[0].Physical.Artifact.URI, "a URI, not a path")
	require.Equal(t, 9, found.Locations[0].Physical.Region.StartLine)
	require.Empty(t, found.Suppressions)

	run = sarif(blocked[:len(blocked)-20]).Runs[0]
	require.False(t, run.Invocations[0].ExecutionSuccessful, "not everything was read")
	require.Equal(t, "a%20chart/a.yaml", run.Invocations[0].Notifications[0].Locations[0].Physical.Artifact.URI)
	require.Contains(t, lintFiles(t, map[string]string{"a.yaml": allowing}, "-o", "sarif", "a.yaml").stdout, `"results": []`)
}

// A name cannot end the command of an annotation, or begin another one.
func TestLintGitHub(t *testing.T) {
	got := lintFiles(t, map[string]string{"a,b.yaml": blocked}, "-o", "github", "a,b.yaml")
	require.True(t, strings.HasPrefix(got.stdout, "::error file=a%2Cb.yaml,line=9,title=BudgetNeverAllows::PodDisruptionBudget shop/web: spec.minAvailable: is 3,"), got.stdout)
	require.Equal(t, 1, strings.Count(got.stdout, "\n"))
	require.Equal(t, exitFound, got.status)

	evil := strings.ReplaceAll(blocked, "name: web, namespace", `name: "web\n::stop-commands::x 100%", namespace`)
	got = lintFiles(t, map[string]string{"a.yaml": evil}, "-o", "github", "a.yaml")
	for line := range strings.Lines(got.stdout) {
		require.True(t, strings.HasPrefix(line, "::error ") || strings.HasPrefix(line, "::warning "), line)
	}
	require.Contains(t, got.stdout, "100%25")
	require.NotContains(t, lintFiles(t, map[string]string{"a.yaml": evil}, "a.yaml").stdout, "\n::")

	cut := lintFiles(t, map[string]string{"a.yaml": blocked[:len(blocked)-20]}, "-o", "github", "a.yaml")
	require.Contains(t, cut.stdout, "::error file=a.yaml,line=9,title=purekube::")
	require.Equal(t, exitInput, cut.status)
}
