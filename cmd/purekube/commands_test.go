package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/manifests"
)

// A command of a page that hands objects of a cluster to this program, over one line or two.
var pageCommand = regexp.MustCompile(`kubectl get (\S+) [^|\n]*\|\s*(?:go run )?\S*purekube ([^\n>` + "`" + `]*)`)

// The commands of the pages have flags that exist, and hand in all kinds that the answer rests on. Those that drain pass the
// flags without which most nodes of a real cluster do not drain.
func TestCommandsOfThePages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	examples, err := filepath.Glob("../*/*.md")
	require.NoError(t, err)
	found := map[string]int{}
	for _, path := range slices.Concat([]string{"../../README.md"}, pages, examples) {
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, command := range pageCommand.FindAllSubmatch(page, -1) {
			text := string(bytes.Join(bytes.Fields(command[0]), []byte(" ")))
			t.Run(filepath.Base(path)+": "+text, func(t *testing.T) {
				found[filepath.Base(path)]++
				inv, err := parse(strings.Fields(string(command[2])), system{now: noonClock, piped: true})
				require.NoError(t, err)
				kinds, err := parseKinds(string(command[1]))
				require.NoError(t, err)
				require.Empty(t, inv.paths, "it reads what is piped into it")
				if slices.ContainsFunc(kinds, func(kind string) bool { return manifests.Namespaced(kindNamed(kind)) }) {
					require.Contains(t, text, " -A ", "it is about all namespaces")
				}
				require.Empty(t, missingKinds(*inv, kinds), "kinds that the answer rests on")
				if inv.command.name == "drain" || inv.output == outputHTML {
					require.True(t, inv.drain.flags.IgnoreDaemonSets && inv.drain.flags.DeleteEmptyDirData, "--ignore-daemonsets --delete-emptydir-data")
				}
			})
		}
	}
	for _, page := range []string{"README.md", "drain.md", "policy-tests.md"} {
		require.NotZero(t, found[page], "%s has no command that this test finds", page)
	}
}

// missingKinds are the kinds that a question of the command reads and kubectl does not print. A core is asked if it is named, or
// if what it plans is there; a page has all of them.
func missingKinds(inv invocation, kinds []string) (missing []string) {
	var reads []string
	if inv.command.name == "drain" || inv.output == outputHTML {
		reads = drainQuestion("", &cluster{Set: &manifests.Set{}}).dump
	}
	if inv.command.name != "drain" {
		for _, c := range inv.cores {
			if inv.output == outputHTML || len(inv.cores) < len(cores) || slices.Contains(kinds, c.reads[0]) {
				reads = append(reads, c.reads...)
			}
		}
	}
	for _, kind := range reads {
		if !slices.Contains(kinds, kind) {
			missing = append(missing, kind)
		}
	}
	return missing
}

// The table finds what the commands of the pages once left out.
func TestMissingKinds(t *testing.T) {
	for _, tc := range []struct {
		kinds, args string
		want        []string
	}{
		{"pdb,pods,nodes,clusterroles,servicecidrs,ipaddresses", "-o html -",
			[]string{"ReplicaSet", "Deployment", "StatefulSet", "ReplicationController", "ResourceClaim", "ResourceClaimTemplate"}},
		{"pods,nodes", "-drain all -", []string{"PodDisruptionBudget", "ReplicaSet", "Deployment", "StatefulSet", "ReplicationController"}},
		{"servicecidrs", "-", []string{"IPAddress"}},
		{"clusterroles,nodes", "--explain -", nil},
	} {
		inv, err := parse(withCommand(strings.Fields(tc.args)), system{now: noonClock, piped: true})
		require.NoError(t, err)
		kinds, err := parseKinds(tc.kinds)
		require.NoError(t, err)
		missing := missingKinds(*inv, kinds)
		slices.Sort(missing)
		slices.Sort(tc.want)
		require.Equal(t, tc.want, slices.Compact(missing))
	}
}
