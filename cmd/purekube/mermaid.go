package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/purekube/purekube/internal/message"
)

// writeMermaid prints the graphs as Markdown with a Mermaid block each, for people's own documents. It reports whether
// there is a graph.
func (r *report) writeMermaid(w io.Writer, c *cluster, inv invocation) (drawn bool, err error) {
	out := bufio.NewWriter(w)
	for _, s := range r.Sections {
		switch s.Core {
		case "rbacaggregate":
			graph := newRoleGraph(c, inv.settings)
			drawn = drawn || len(graph.nodes) > 0
			graph.mermaid(out)
		case "resourceclaim":
			graph := newClaimGraph(c, inv.settings)
			drawn = drawn || len(graph) > 0
			graph.mermaid(out)
		}
	}
	return drawn, out.Flush()
}

// mermaid draws an arrow from each ClusterRole to the ClusterRoles that receive its rules. A graph without edges prints
// nothing.
func (g roleGraph) mermaid(w io.Writer) {
	if len(g.nodes) == 0 {
		return
	}
	fmt.Fprint(w, "## ClusterRoles and what they aggregate\n\n```mermaid\nflowchart LR\n")
	for i, n := range g.nodes {
		open, end := "[", "]"
		if n.aggregated {
			open, end = "([", "])"
		}
		fmt.Fprintf(w, "  role%d%s%s%s\n", i, open, mermaidText(n.name), end)
	}
	for _, e := range g.edges {
		fmt.Fprintf(w, "  role%d -->|%s| role%d\n", e.from, mermaidText(e.label()), e.to)
	}
	for i, n := range g.nodes {
		switch {
		case n.wrong:
			fmt.Fprintf(w, "  style role%d stroke:#c62828,stroke-width:3px\n", i)
		case n.changes:
			fmt.Fprintf(w, "  style role%d stroke:#b26a00,stroke-width:3px\n", i)
		}
	}
	fmt.Fprint(w,
		"```\n\nRules go along the arrows. +1: one of the rules is not in the ClusterRole at the arrow's head yet. A thick "+
			"frame: the plan rewrites the rules (orange) or ended with an error (red).\n\n")
}

// label is "3 rules, +1".
func (e roleEdge) label() string {
	text := message.Count(len(e.rules), "rule")
	if n := e.fresh(); n > 0 {
		text += fmt.Sprintf(", +%d", n)
	}
	return text
}

// mermaid draws an arrow from each claim to its consumers, a dotted one to pods that wait for it.
func (g claimGraph) mermaid(w io.Writer) {
	if len(g) == 0 {
		return
	}
	fmt.Fprint(w, "## ResourceClaims and their consumers\n\n```mermaid\nflowchart LR\n")
	users := map[string]int{}
	for i, claim := range g {
		state := "not allocated"
		if claim.allocated {
			state = "allocated"
		}
		if claim.deleting {
			state += ", being deleted"
		}
		fmt.Fprintf(w, "  claim%d[%s]\n", i, mermaidText(claim.name.String()+" ("+state+")"))
		for _, u := range claim.consumers {
			label := u.kind + " " + claim.name.Namespace + "/" + u.name
			n, known := users[label]
			if !known {
				n = len(users)
				users[label] = n
				fmt.Fprintf(w, "  user%d([%s])\n", n, mermaidText(label))
			}
			if u.reserved {
				fmt.Fprintf(w, "  claim%d -->|%s| user%d\n", i, mermaidText(cmp.Or(u.code, "reserved")), n)
			} else {
				fmt.Fprintf(w, "  claim%d -.->|waits| user%d\n", i, n)
			}
		}
	}
	fmt.Fprint(w,
		"```\n\nAn arrow leads to each consumer in the claim's status, with what the plan makes of it. Dotted: a pod that "+
			"names the claim and has no reservation.\n\n")
}

// mermaidText is a quoted label. All but letters, digits and what never has a meaning in Mermaid stands as a
// character code, since names may hold quotes, brackets and markup.
func mermaidText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(" -_./:,()+", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
