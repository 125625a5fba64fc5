package scenario_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/scenario"
)

const whole = `format: 1
title: a title
package: disruption
objects:
- {kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}
- {kind: Pod, repeat: 2, metadata: {name: web-$i, labels: {app: web}}}
plan: all
want:
- update poddisruptionbudgets/status default/web: {status: {disruptionsAllowed: 1}}
`

func TestParseIsStrict(t *testing.T) {
	for name, c := range map[string]struct{ replace, by, want string }{
		"no format":                 {"format: 1\n", "", "x.yaml: format: is 0, want 1"},
		"another format":            {"format: 1", "format: 2", "x.yaml: format: is 2, want 1"},
		"unknown key":               {"title:", "titel:", `unknown field "titel"`},
		"a key twice":               {"plan: all", "plan: all\nplan: all", `key "plan" already set`},
		"no title":                  {"title: a title\n", "", "x.yaml: title: required"},
		"unknown package":           {"package: disruption", "package: eviction", `x.yaml: package: is "eviction"`},
		"no question":               {"plan: all\n", "", "x.yaml: want one of plan"},
		"two questions":             {"plan: all", "plan: all\ndrain: node-1", "x.yaml: want one of plan"},
		"a key that is none":        {"plan: all", "plan: web", `x.yaml: plan[0]: key "web"`},
		"nothing wanted":            {"want:\n- update poddisruptionbudgets/status default/web: {status: {disruptionsAllowed: 1}}\n", "", "x.yaml: want: required"},
		"a line of an unknown sort": {"- update pod", "- write pod", `x.yaml: want[0]: "write poddisruptionbudgets/status default/web" begins with none of`},
		"two texts in a line":       {"disruptionsAllowed: 1}}", "disruptionsAllowed: 1}}\n  x: {}", "x.yaml: want[0]: has 2 texts, want 1"},
		"field of no object":        {"minAvailable", "minAvailible", `spec.minAvailible`},
		"a kind that nobody reads":  {"kind: Pod,", "kind: Secret, apiVersion: v1,", "x.yaml: objects: Secret is of no kind that a package reads"},
		"a kind for lint alone": {"- {kind: Pod, ", "- {apiVersion: keda.sh/v1alpha1, kind: ScaledObject, spec: {scaleTargetRef: {name: x}}, ",
			"x.yaml: objects: ScaledObject is of no kind that a package reads"},
		"repeat is no number":        {"repeat: 2", "repeat: all", "x.yaml: objects[1]: repeat: is all"},
		"all have one name":          {"name: web-$i", "name: web", "Pod default/web"},
		"a second document":          {"title: a title", "title: a title\n---\ntitle: another", "x.yaml: has more than one YAML document"},
		"a document behind dots":     {"title: a title", "title: a title\n...\ntitle: another", "x.yaml: has more than one YAML document"},
		"an unknown option":          {"plan: all", "plan: all\noptions: {round: 1}", `x.yaml: options: `},
		"another package's option":   {"plan: all", "plan: all\noptions: {step: 1}", "x.yaml: options: step: this question to package disruption does not read it"},
		"another question's option":  {"plan: all", "plan: all\noptions: {budgets: AsWritten}", "x.yaml: options: budgets: this question"},
		"an absent object":           {"plan: all", "plan: PodDisruptionBudget/default/wep", "x.yaml: plan: PodDisruptionBudget/default/wep is not one of the objects"},
		"an absent victim":           {"plan: all", "preempt: [web-0, web-2]", "x.yaml: preempt: default/web-2 is not one of the objects"},
		"an absent node":             {"plan: all", "drain: node-1", "x.yaml: node node-1 is not one of the objects, and no pod is on it"},
		"an absent node of waves":    {"plan: all", "waves: [node-1]", "x.yaml: node node-1 is not one of the objects, and no pod is on it"},
		"an object that is not gone": {"plan: all", "delete: Pod/default/x", "x.yaml: delete: Pod/default/x is not one of the objects"},
		"a time that is none":        {"plan: all", "now: yesterday\nplan: all", "x.yaml: now:"},
		"an unknown release":         {"plan: all", "kube-controller-manager: {v1.20: []}\nplan: all", "x.yaml: kube-controller-manager.v1.20"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, 1, strings.Count(whole, c.replace))
			_, err := scenario.Parse("x.yaml", []byte(strings.Replace(whole, c.replace, c.by, 1)))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestDiff(t *testing.T) {
	got := `
- update pods/status default/a: {metadata: {generation: 1}, status: {phase: Running, conditions: [{type: A, status: "True"}, {type: B, status: "False"}]}}
- update pods default/a: {metadata: {finalizers: [a, b]}}
- event Warning Failed Pod/default/a: {message: wrong}
`
	for name, c := range map[string]struct{ want, diff string }{
		"the same": {got, ""},
		"only what matters, objects and conditions in another order": {`
- event Warning Failed Pod/default/a
- update pods/status default/a: {status: {conditions: [{type: B}, {type: A, status: "True"}]}}
- update pods default/a: {metadata: {labels: null}}`, ""},
		"a line too many": {`
- update pods/status default/a
- update pods default/a`, "unexpected: event Warning Failed Pod/default/a: {message: wrong}"},
		"a line too few": {got + "- delete pods default/a", "missing:    delete pods default/a"},
		"another order of writes to one object": {`
- event Warning Failed Pod/default/a
- update pods default/a
- update pods/status default/a: {status: {phase: Running}}`, "missing:    update pods default/a\nunexpected: update pods/status default/a: "},
		"another value": {strings.Replace(got, "phase: Running", "phase: Failed", 1),
			"update pods/status default/a: status.phase: is Running, want Failed"},
		"a number as text": {strings.Replace(got, "generation: 1", `generation: "1"`, 1),
			`update pods/status default/a: metadata.generation: is 1, want "1"`},
		"a field that is there": {strings.Replace(got, "phase: Running", "phase: null", 1),
			"update pods/status default/a: status.phase: is Running, want none"},
		"a field that is missing": {strings.Replace(got, "phase: Running", "reason: Evicted", 1),
			"update pods/status default/a: status.reason: is missing, want Evicted"},
		"one condition of two": {strings.Replace(got, `, {type: B, status: "False"}`, "", 1),
			`update pods/status default/a: status.conditions: is [{status: "True", type: A}, {status: "False", type: B}], want [{status: "True", type: A}]`},
		"another order of a list": {strings.Replace(got, "[a, b]", "[b, a]", 1),
			`update pods default/a: metadata.finalizers[0]: is a, want b`},
		"an empty list is not an absent one": {strings.Replace(got, "generation: 1", "finalizers: []", 1),
			"update pods/status default/a: metadata.finalizers: is missing, want []"},
		"fields of a text": {strings.Replace(got, "phase: Running", "phase: {a: 1}", 1),
			"update pods/status default/a: status.phase: is Running, want {a: 1}"},
	} {
		t.Run(name, func(t *testing.T) {
			diff := scenario.Diff(lines(t, c.want), lines(t, got))
			if strings.HasSuffix(c.diff, ": ") { // and what else the line has
				require.Contains(t, diff, c.diff)
				return
			}
			require.Equal(t, c.diff, diff)
		})
	}
}

// lines are what a file wants.
func lines(t *testing.T, text string) []scenario.Line {
	t.Helper()
	before, _, _ := strings.Cut(whole, "- update poddisruptionbudgets")
	s, err := scenario.Parse("x.yaml", []byte(before+strings.TrimPrefix(text, "\n")))
	require.NoError(t, err)
	return s.Want
}

// A scenario that tells the answer to a lookup or a write that nobody makes tests something else than it says.
func TestUnusedAnswer(t *testing.T) {
	for text, want := range map[string]string{
		"answers: {get deployments/scale default/web: {spec: {replicas: 1}}}\n":                   "answers: get deployments/scale default/web: nothing looks this up",
		"options: {matchUpstream: v1.36}\nanswers: {get pods default/web: null}\n":                "answers: get pods default/web: nothing looks this up",
		"reject: {update nodes web: 403}\n":                                                       "reject: update nodes web: nothing sends this",
		"reject: {update nodes web: 403}\nkube-controller-manager: {v1.36: [update nodes web]}\n": "",
	} {
		s, err := scenario.Parse("x.yaml", []byte(whole+text))
		require.NoError(t, err)
		if _, err = s.Ask(""); want == "" {
			require.NoError(t, err, "only kube-controller-manager sends it")
			continue
		}
		require.ErrorContains(t, err, want)
	}
}

// The lines of an answer can be written into a file as they are printed.
func TestLinesAreYAML(t *testing.T) {
	s, err := scenario.Parse("x.yaml", []byte(whole))
	require.NoError(t, err)
	got, err := s.Ask("")
	require.NoError(t, err)
	require.NotEmpty(t, got)
	var text strings.Builder
	for _, l := range got {
		text.WriteString("- " + l.String() + "\n")
	}
	require.Empty(t, scenario.Diff(lines(t, text.String()), got))
}
