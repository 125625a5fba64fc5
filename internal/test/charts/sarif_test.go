package charts

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/manifests/lint"
)

// gosec has OASIS' schema of SARIF 2.1.0, and golangci-lint, which .ci/run builds, needs this version of gosec.
var gosec = source{
	name: "gosec", module: "github.com/securego/gosec/v2", version: "v2.29.0", sum: "h1:pF2HSLcnY5voqpxQumEe0O5YAAbvF4Syu4qeIewpLyc=",
	paths: []string{"report/sarif/testdata/sarif-schema-2.1.0.json"},
}

func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir := gosec.download(t)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat() // URIs are URIs
	schema, err := compiler.Compile(filepath.Join(dir, gosec.inputs(t, dir)[0]))
	require.NoError(t, err)
	return schema
}

// sarifLog is what the schema does not compare: results with rules, and problems with the success of the invocation.
type sarifLog struct {
	Runs []struct {
		Tool struct {
			Driver struct {
				Rules []struct{ ID lint.Code }
			}
		}
		Invocations []struct {
			ExecutionSuccessful        bool
			ToolExecutionNotifications []any
		}
		Results []struct {
			RuleID       lint.Code
			RuleIndex    int
			Locations    []any
			Suppressions []any
		}
	}
}

// sarif checks what lint prints with the schema.
type sarif struct {
	command string
	schema  *jsonschema.Schema
}

// lint returns the document, and the codes of its findings and of its suppressed findings. It lints in the folder dir.
func (s sarif) lint(t *testing.T, dir, stdin string, status int, args ...string) (document []byte, found, suppressed []lint.Code) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), s.command, append([]string{"lint", "-o", "sarif"}, args...)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader(stdin), &stdout, &stderr
	_ = cmd.Run() // a status other than 0 is an error
	require.NotNil(t, cmd.ProcessState)

	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(stdout.Bytes()))
	require.NoError(t, err, "%s%s", stdout.Bytes(), stderr.Bytes())
	require.NoError(t, s.schema.Validate(instance))

	var log sarifLog
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &log))
	require.Len(t, log.Runs, 1)
	r := log.Runs[0]
	var codes []lint.Code
	for _, rule := range lint.Rules() {
		codes = append(codes, rule.Code)
	}
	require.Len(t, r.Tool.Driver.Rules, len(codes))
	for _, result := range r.Results {
		require.Equal(t, result.RuleID, r.Tool.Driver.Rules[result.RuleIndex].ID)
		require.Contains(t, codes, result.RuleID)
		require.NotEmpty(t, result.Locations)
		if len(result.Suppressions) == 0 {
			found = append(found, result.RuleID)
		} else {
			suppressed = append(suppressed, result.RuleID)
		}
	}
	require.Equal(t, status, cmd.ProcessState.ExitCode(), "found %v, suppressed %v\n%s", found, suppressed, stderr.Bytes())
	require.Len(t, r.Invocations, 1)
	require.Equal(t, status != 1, r.Invocations[0].ExecutionSuccessful)
	require.Equal(t, status == 1, len(r.Invocations[0].ToolExecutionNotifications) > 0)
	return stdout.Bytes(), found, suppressed
}

// lintFile is lint for a file of that text.
func (s sarif) lintFile(t *testing.T, text string, status int) (document []byte, found, suppressed []lint.Code) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o644))
	return s.lint(t, dir, "", status, "--fail-on", "info", "a.yaml")
}

var (
	badExample = regexp.MustCompile("(?s)\n## Bad\n.*?```yaml\n(.*?)```\n")
	annotated  = regexp.MustCompile(`(purekube\.io/lint-ignore: )(\w+)`)
	metadata   = regexp.MustCompile(`(?m)^metadata: \{`)
)

// example is the bad example on the page of the code.
func example(t *testing.T, code lint.Code) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "lint", string(code)+".md"))
	require.NoError(t, err)
	bad := badExample.FindSubmatch(page)
	require.NotNil(t, bad)
	return string(bad[1])
}

// suppressing adds the annotation that suppresses the code to every object.
func suppressing(text string, code lint.Code) string {
	if annotated.MatchString(text) {
		return annotated.ReplaceAllString(text, `$1"$2, `+string(code)+`"`)
	}
	return metadata.ReplaceAllString(text, "metadata: {annotations: {purekube.io/lint-ignore: "+string(code)+"}, ")
}

// `purekube lint -o sarif` prints what the schema of SARIF 2.1.0 allows.
func TestSARIF(t *testing.T) {
	s := sarif{build(t), sarifSchema(t)}

	for _, rule := range lint.Rules() {
		t.Run(string(rule.Code), func(t *testing.T) {
			_, found, suppressed := s.lintFile(t, example(t, rule.Code), 5)
			require.Contains(t, found, rule.Code)
			require.Empty(t, suppressed)
			if rule.Code == lint.APIVersionWrong {
				return // purekube does not read the annotations of such an object
			}
			_, found, suppressed = s.lintFile(t, suppressing(example(t, rule.Code), rule.Code), 0)
			require.Empty(t, found)
			require.Contains(t, suppressed, rule.Code)
		})
	}

	bad := example(t, lint.BudgetRoundsToZero)
	good := strings.Replace(bad, "80%", "50%", 1)
	t.Run("no finding", func(t *testing.T) {
		document, found, suppressed := s.lintFile(t, good, 0)
		require.Empty(t, found)
		require.Empty(t, suppressed)
		require.Contains(t, string(document), `"results": []`, "null means that lint did not run")
	})

	for _, tc := range []struct {
		name, input string
		found       bool
	}{
		{"cut off", good[:len(good)-20], false},
		{"cut off after a finding", bad + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: ", true},
		{"an unknown field", strings.Replace(bad, "minAvailable:", "minAvailabel: 1\n  minAvailable:", 1), true},
		{"an object twice", good + "---\n" + good, false},
		{"no object that purekube reads", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", false},
		{"no object", "", false},
		{"no kind", "a: b\n", false},
		{"not YAML", "\x00\xff{{ .Values.name }}\n", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, found, _ := s.lintFile(t, tc.input, 1)
			if tc.found {
				require.NotEmpty(t, found)
			}
		})
	}

	t.Run("a name with quotes and control characters", func(t *testing.T) {
		_, found, _ := s.lintFile(t, strings.ReplaceAll(bad, "name: web", `name: "\"\e[1m\u2028\n"`), 5)
		require.Contains(t, found, lint.BudgetRoundsToZero)
	})
	t.Run("no such file", func(t *testing.T) { s.lint(t, t.TempDir(), "", 1, "no such file.yaml") })
	t.Run("standard input", func(t *testing.T) {
		_, found, _ := s.lint(t, t.TempDir(), bad, 5, "-")
		require.Contains(t, found, lint.BudgetRoundsToZero)
		s.lint(t, t.TempDir(), bad[:len(bad)-20], 1, "-")
	})
	// URIs are made of the names of files.
	for _, name := range []string{"a b.yaml", "a:b.yaml", "100%.yaml", "a#b?c.yaml", "a\\b.yaml", "[ä]|^`{}\"<>.yaml", "\x1b\n\u2028.yaml", "\xff.yaml"} {
		t.Run("file "+name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			for text, status := range map[string]int{bad: 5, good + "---\n" + good: 1} {
				require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
				s.lint(t, dir, "", status, name)
				s.lint(t, dir, "", status, ".")
				s.lint(t, dir, "", status, path)
			}
		})
	}
}

// The schema rejects a document of lint with one mistake in it.
func TestSARIFMistakes(t *testing.T) {
	s := sarif{build(t), sarifSchema(t)}
	document, _, _ := s.lintFile(t, suppressing(example(t, lint.BudgetRoundsToZero), lint.BudgetRoundsToZero), 0)
	for _, tc := range []struct{ name, from, to string }{
		{"a field of the log", `"runs":`, `"run":`},
		{"a field of the driver", `"informationUri":`, `"informationURI":`},
		{"a field of a rule", `"helpUri":`, `"helpURI":`},
		{"a field of a result", `"ruleId":`, `"ruleID":`},
		{"a field of a region", `"startLine":`, `"line":`},
		{"a version", `"version": "2.1.0"`, `"version": "2.2"`},
		{"a level", `"level": "error"`, `"level": "fatal"`},
		{"a kind of suppression", `"kind": "inSource"`, `"kind": "annotation"`},
		{"a line", `"startLine": `, `"startLine": -`},
		{"a URI of an artifact", `"uri": "a.yaml"`, `"uri": "a b%.yaml"`},
		{"a URI of a page", `"helpUri": "https://`, `"helpUri": "`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			broken := strings.Replace(string(document), tc.from, tc.to, 1)
			require.NotEqual(t, string(document), broken)
			instance, err := jsonschema.UnmarshalJSON(strings.NewReader(broken))
			require.NoError(t, err)
			require.Error(t, s.schema.Validate(instance))
		})
	}
}
