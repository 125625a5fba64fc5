package main

import (
	stdjson "encoding/json"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// hostile clears a terminal, forges a line, is three commands of CI systems, and turns the direction of the text.
const hostile = "a\x1b[2J\x9b1m\u009bb\n::error::forged\r\n  ::warning::forged ::notice::w ##[error]e ##vso[task.x]y\u202e\u2028\x00\x7f\u200b\U000e0041"

// A cluster in which everything that a tenant chooses is hostile: names, labels, annotations, owners, parents, rules.
func hostileCluster(t *testing.T) string {
	t.Helper()
	raw, err := stdjson.Marshal(hostile)
	require.NoError(t, err)
	var out strings.Builder
	for _, manifest := range []string{
		`{"apiVersion":"v1","kind":"Node","metadata":{"name":H,"annotations":{"node.alpha.kubernetes.io/ttl":H}}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":H,"name":H,"uid":"u","labels":{"app":"x"},
			"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":H,"uid":H,"controller":true}]},
			"spec":{"nodeName":H,"resourceClaims":[{"name":H,"resourceClaimTemplateName":H},{"name":"own","resourceClaimName":H}]},
			"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":H,"name":"other","labels":{"app":H},
			"ownerReferences":[{"apiVersion":"example.com/v1","kind":H,"name":H,"uid":"q","controller":true}]},"spec":{"nodeName":"n"},
			"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`,
		`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"namespace":H,"name":H,"uid":H},"spec":{"replicas":1}}`,
		`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"namespace":H,"name":H},"spec":{"maxUnavailable":0,"selector":{"matchLabels":{"app":"x"}}}}`,
		`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"namespace":H,"name":"two"},"spec":{"maxUnavailable":H,"selector":{"matchLabels":{"app":H}}}}`,
		`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"namespace":H,"name":"three"},"spec":{"minAvailable":1,"selector":{"matchExpressions":[{"key":H,"operator":H}]}}}`,
		`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"namespace":H,"name":H},"status":{"allocation":{},
			"reservedFor":[{"resource":"pods","name":H,"uid":"old"},{"apiGroup":H,"resource":H,"name":H,"uid":"z"}]}}`,
		`{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":H,"deletionTimestamp":"2026-11-21T11:00:00Z"},"spec":{"cidrs":["::/112",H]}}`,
		`{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":"::7","labels":{"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io",
			"ipaddress.kubernetes.io/ip-family":"IPv6"}},"spec":{"parentRef":{"resource":"services","namespace":H,"name":H}}}`,
		`{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":H}}`,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":H,"labels":{"to":"admin"}},"rules":[{"verbs":[H],"apiGroups":[H],"resources":[H],"resourceNames":[H]}]}`,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"admin"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"to":"admin"}}]}}`,
		`{"apiVersion":H,"kind":H,"metadata":{"name":H}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":H}}`,
	} {
		out.WriteString(strings.ReplaceAll(manifest, "H", string(raw)) + "\n")
	}
	return out.String()
}

// Nothing that the input says moves the cursor, makes a line of its own, or is a command of a CI system.
func TestOutputShowsWhatTheInputHides(t *testing.T) {
	input := hostileCluster(t)
	wrong := input + strings.ReplaceAll(`{"apiVersion":"v1","kind":"Node","metadata":{"name":H},"spec":{H:1}}
		{"apiVersion":"v1","kind":"Node","metadata":{"name":H},"spec":{"unschedulable":H}} {"apiVersion":H} {"kind":H}`, "H", strconv.QuoteToASCII("a\n::error::e")) + "{\"\x1b"
	file := strings.ToValidUTF8(hostile, "")
	for name, files := range map[string]fstest.MapFS{
		"input": {file: {Data: []byte(input)}}, "wrong input": {file: {Data: []byte(wrong)}},
		"YAML": {file: {Data: []byte("a: \x1b\n---\n? \"a\\n::error::e\"\n: 1\n---\n!<\x9b> x\n")}},
	} {
		for _, args := range [][]string{
			nil, {"--explain"}, {"--explain", "--assume-complete"}, {"-o", "json", "--explain"}, {"-o", "requests"}, {"-o", "html"}, {"-o", "mermaid"},
			{"-o", "yaml", "--explain"}, {"drain", "all", "-f"}, {"drain", "all", "--force", "-f"}, {"drain", "all", "--together", "--force", "-f"},
			{"drain", "all", "--waves", "--force", "-f"}, {"drain", "all", "--waves", "--by", hostile, "-f"}, {"drain", hostile, "--force", "-f"},
			{"drain", "all", "--force", "-o", "json", "-f"}, {"drain", "all", "--force", "-o", "yaml", "-f"}, {"drain", "all", "--waves", "--force", "-o", "yaml", "-f"},
			{"lint"}, {"lint", "-o", "json"}, {"lint", "-o", "yaml"}, {"lint", "-o", "sarif"}, {"diff"}, {"diff", "-o", "json"}, {"diff", "-o", "yaml"}, {"report"},
			{"--fail-on", "never"}, {"--core", hostile}, {"-o", hostile}, {"-" + hostile},
		} {
			t.Run(name+" "+strings.Join(args, " "), func(t *testing.T) {
				got := plan(t, files, "", append(args, file)...)
				for line := range strings.Lines(got.stdout + got.stderr) {
					line = strings.TrimSuffix(line, "\n")
					for _, r := range line {
						require.True(t, strconv.IsPrint(r), "%q in %q", r, line)
					}
					require.NotRegexp(t, `^\s*::.*::`, line)
					require.NotContains(t, line, "##[")
					require.NotContains(t, line, "##vso")
				}
				if len(args) > 1 && args[1] == "json" {
					var report jsonReport
					require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &report))
					if name == "input" {
						// Escaped, not changed: a program reads the names as they are.
						require.Contains(t, got.stdout, `\u009b`)
						require.Equal(t, strings.ToValidUTF8(hostile, "\ufffd"), report.Cores[len(report.Cores)-1].Objects[0].Name)
					}
				}
			})
		}
	}
}

func TestVisible(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"names", "Pod shop/web-0", "Pod shop/web-0"},
		{"letters", "Straße 東京", "Straße 東京"},
		{"an escape sequence", "\x1b[2J", `\u001b[2J`},
		{"a line end", "a\r\nb", `a\u000d\u000ab`},
		{"one byte that is no text", "a\x9bb", `a\u009bb`},
		{"a direction", "a\u202eb", `a\u202eb`},
		{"beyond 16 bits", "\U000e0041", `\udb40\udc41`},
		{"a command", "##[error]", `#\u0023[error]`},
		{"a heading", "## Roles", "## Roles"},
		{"the replacement character", "\ufffd", "\ufffd"},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, visible(tc.in)) })
	}
	require.Equal(t, `  \u003a:error::x`, visibleLine("  ::error::x"))
	require.Equal(t, "::/112: 1 address", visibleLine("::/112: 1 address"), "no command")
}
