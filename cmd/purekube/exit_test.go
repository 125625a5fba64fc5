package main

import (
	stdjson "encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/manifests/lint"
)

// programOutput is what the JSON forms of all commands have that an exit status is about.
type programOutput struct {
	Errors []jsonProblem
	Cores  []struct {
		Objects []struct {
			Actions, Needs []any
			Explanation    struct{ Budget struct{ Never bool } }
		}
	}
	Drains, Blocked []drain.Drain
	Findings        []jsonFinding
}

// status is the exit status that this answer has, as the help text says it.
func (a programOutput) status(command, failOn string) int {
	if len(a.Errors) > 0 {
		return exitInput
	}
	never := len(a.Blocked) > 0 || slices.ContainsFunc(a.Drains, func(d drain.Drain) bool {
		return d.Outcome != drain.Now && d.Outcome != drain.InRounds
	})
	toDo := false
	for _, core := range a.Cores {
		for _, o := range core.Objects {
			never = never || o.Explanation.Budget.Never
			toDo = toDo || len(o.Actions)+len(o.Needs) > 0
		}
	}
	switch {
	case command == "lint" && failOn != failOnNone && slices.ContainsFunc(a.Findings, func(f jsonFinding) bool { return f.Severity.AtLeast(lint.Severity(failOn)) }):
		return exitFound
	case failOn == failOnNever && never:
		return exitNever
	case failOn == failOnAction && toDo:
		return exitToDo
	}
	return exitPlanned
}

// Every command ends with the status that its JSON calls for, whatever it prints: a table that leaves rows out is about as
// many nodes as the JSON is.
func TestExitStatusIsThatOfTheJSON(t *testing.T) {
	const node = `{"apiVersion":"v1","kind":"Node","metadata":{"name":%q}}` + "\n"
	nodes := func(names ...string) (text string) {
		for _, name := range names {
			text += fmt.Sprintf(node, name)
		}
		return text
	}
	pods := func(node string) string {
		return statefulSetOf("db", 2) + podOf("db-0", "db", "StatefulSet", node, "True") + podOf("db-1", "db", "StatefulSet", node, "True")
	}
	free := budgetOf("db", "db", `"maxUnavailable":1`, noStatus)
	blocked := budgetOf("db", "db", `"maxUnavailable":0`, noStatus)
	inputs := []struct{ name, input string }{
		{"nodes without pods", free + pods("node-a") + nodes("node-a", "node-b", "node-c")},
		{"nodes without pods, and one that is blocked", blocked + pods("node-a") + nodes("node-a", "node-b", "node-c")},
		{"one node", free + pods("node-a") + nodes("node-a")},
		{"one node that is blocked", blocked + pods("node-a") + nodes("node-a")},
		{"one node without pods", free + pods("") + nodes("node-a")},
		{"only nodes without pods", blocked + nodes("node-a", "node-b")},
		{"no nodes", free + pods("")},
		{"no nodes, and a budget that allows nothing", blocked + pods("")},
	}
	none := []string{"--none", "pods,sts"}
	commands := []struct {
		args            []string
		failOn, outputs []string
		// asJSON prints the same for programs.
		asJSON []string
	}{
		{args: []string{"plan"}, failOn: failOns, outputs: []string{"text", "requests"}, asJSON: []string{"plan", "--explain", "-o", "json"}},
		{args: []string{"explain", "pdb/shop/db"}, outputs: []string{"text"}},
		{args: []string{"drain", "all"}, failOn: failOnsOfDrain, outputs: []string{"text"}},
		{args: []string{"drain", "node-a"}, failOn: failOnsOfDrain, outputs: []string{"text"}},
		{args: []string{"drain", "--together", "all"}, failOn: failOnsOfDrain, outputs: []string{"text"}},
		{args: []string{"drain", "--waves"}, failOn: failOnsOfDrain, outputs: []string{"text"}},
		{args: []string{"lint"}, failOn: []string{"error", "warning", "info", "none"}, outputs: []string{"text", "sarif", "github"}},
		{args: []string{"report"}, failOn: failOns, outputs: []string{"html", "mermaid"}, asJSON: []string{"plan", "--explain", "-o", "json"}},
		{args: []string{"diff"}, outputs: []string{"text"}},
	}
	seen := map[int]bool{}
	for _, in := range inputs {
		for _, c := range commands {
			t.Run(in.name+"/"+strings.Join(c.args, " "), func(t *testing.T) {
				asJSON := c.asJSON
				if asJSON == nil {
					asJSON = append(slices.Clone(c.args), "-o", "json")
				}
				for _, failOn := range append([]string{""}, c.failOn...) {
					var flags []string
					if failOn != "" {
						flags = append(flags, "--fail-on", failOn)
					}
					if c.args[0] == "lint" && failOn == "" {
						failOn = "warning" // the default
					}
					if c.args[0] != "lint" {
						flags = append(flags, none...)
					}
					run := func(args []string) outcome {
						return plan(t, nil, in.input, slices.Concat(args, flags, []string{"-"})...)
					}
					programs := run(asJSON)
					var a programOutput
					require.NoError(t, stdjson.Unmarshal([]byte(programs.stdout), &a))
					want := a.status(c.args[0], failOn)
					if strings.Contains(programs.stderr, "not known whether it ever allows") {
						want = exitNever // for people only
					}
					require.Equal(t, want, programs.status, "-o json --fail-on %s", failOn)
					for _, output := range c.outputs {
						got := run(append(slices.Clone(c.args), "-o", output))
						require.Equal(t, want, got.status, "-o %s --fail-on %s: %s", output, failOn, got.stderr)
						seen[want] = true
					}
				}
			})
		}
	}
	for _, status := range []int{exitPlanned, exitInput, exitToDo, exitNever, exitFound} {
		require.True(t, seen[status], "no input ends with %d", status)
	}
}
