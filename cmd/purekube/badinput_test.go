package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/badinput"
)

// Each command answers each input of the corpus with one of its exit statuses, without a panic and without a control character of the
// input. The README of internal/test/badinput has the statuses.
func TestCorpusOfBadInput(t *testing.T) {
	commands := [][]string{
		{"plan", "--explain"}, {"plan", "-o", "json"}, {"plan", "-o", "requests"}, {"plan", "--at-full-health", "--nodes", "3"},
		{"explain", "PodDisruptionBudget/shop/db"}, {"explain", "Pod/shop/db-0"}, {"drain", "all"}, {"drain", "--together", "all"}, {"drain", "--waves", "--force"},
		{"lint"}, {"lint", "-o", "sarif"}, {"report"}, {"report", "-o", "mermaid"}, {"diff", "--upstream", "v1.36"},
	}
	var table strings.Builder
	table.WriteString("| input |")
	for _, args := range commands {
		fmt.Fprintf(&table, " %s |", strings.Join(args, " "))
	}
	table.WriteString("\n|---|" + strings.Repeat("---:|", len(commands)) + "\n")
	for _, in := range badinput.Texts(t) {
		fmt.Fprintf(&table, "| %s |", in.Name)
		for _, args := range commands {
			got := plan(t, nil, in.Text, append(args, "-")...)
			require.Contains(t, []int{exitPlanned, exitInput, exitToDo, exitPlan, exitNever, exitFound}, got.status)
			if got.status == exitInput {
				require.NotEmpty(t, got.stderr, "%s: %s", in.Name, args)
			}
			require.NotContains(t, got.stderr, "goroutine ")
			require.False(t, strings.ContainsFunc(got.stdout+got.stderr, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }),
				"%s: %s prints a control character", in.Name, args)
			fmt.Fprintf(&table, " %d |", got.status)
		}
		table.WriteString("\n")
	}
	badinput.Section(t, "../../internal/test/badinput/README.md", "commands", table.String(), *update)
}
