package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// complete completes the names of nodes and objects in the files that the command line has so far. Where it has none,
// there is nothing to read: nobody waits for a pipe when they press the tab key.
func (inv *invocation) complete(sys system) ([]cobra.Completion, cobra.ShellCompDirective) {
	if inv.command.name != "drain" && inv.command.name != "explain" {
		return nil, cobra.ShellCompDirectiveDefault // files
	}
	if len(inv.paths) == 0 && !inv.demo || slices.Contains(inv.paths, "-") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	quiet := sys
	quiet.stdout, quiet.stderr, quiet.watched = io.Discard, io.Discard, false
	inv.now = sys.now()
	c := inv.load(quiet)
	var names []cobra.Completion
	for _, n := range c.Nodes {
		names = append(names, n.Name)
	}
	if inv.command.name == "explain" {
		for i := range names {
			names[i] = "node/" + names[i]
		}
		for _, b := range c.Budgets {
			names = append(names, strings.Join([]string{"pdb", b.Namespace, b.Name}, "/"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}
