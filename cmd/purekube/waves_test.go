package main

import (
	"bytes"
	stdjson "encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/disruption/drain"
)

const (
	fleetFile = "testdata/fleet.yaml"
	zoneLabel = "topology.kubernetes.io/zone"
)

// The expected tables follow from the budgets of the file: two pods of web, one of db, and none of queue that is healthy.
func TestDrainOfSeveralNodes(t *testing.T) {
	const inNoWave = `In no wave, each node alone after the last wave:
In the way:
    budget shop/queue (maxUnavailable 1) is short of 1 healthy pod
        pods: shop/queue-0
        with maxUnavailable 2: drains now
        with 1 more pod healthy (shop/queue-1): drains now
NODE    DRAINS  PODS  EVICTED  SKIPPED  STAY
`
	const blocked = inNoWave + "east-3  never   1     0        0        1\n"
	const blockedAfterWaves = inNoWave + "east-3  never   3     2        0        1\n"
	for _, tc := range []struct {
		name, reason string
		args         []string
		want         string
		status       int
	}{
		{name: "each alone", reason: "sorted, each once, on the cluster as it is", args: []string{"west-3", "east-2", "west-3"}, want: `kubectl drain, each node alone
NODE    DRAINS  PODS  EVICTED  SKIPPED  STAY
east-2  now     2     2        0        0
    round 1: evicts shop/db-1, shop/web-c
west-3  now     1     1        0        0
    round 1: evicts shop/queue-1
Drains: 2 now
`},
		{name: "together", reason: "db lets one pod go in a round, on whichever node", args: []string{"--together", "east-2", "east-1"}, want: `kubectl drain, all nodes at the same time
NODE    DRAINS       PODS  EVICTED  SKIPPED  STAY
east-1  now          2     2        0        0
    round 1: evicts shop/db-0, shop/web-b
east-2  in 2 rounds  2     2        0        0
    round 1: evicts shop/web-c
    round 2: evicts shop/db-1
    budget shop/db: of 1 pod on this node, 0 can be evicted in the first round
Drains: 1 now, 1 in rounds
`},
		{name: "waves", reason: "one round, any size, every node: no two nodes with a pod of db; pods of wave 1 move to the nodes of later ones", args: []string{"--waves"}, want: `kubectl drain, in waves, each in 1 round
WAVE  NODES  EVICTED  ROUNDS
1     3      4        1
    east-1, west-2, west-3
2     1      3        1
    east-2
3     1      3        1
    west-1
` + blockedAfterWaves + `Waves: 3 waves with 5 nodes; in no wave: 1 node (1 never)
`},
		{name: "waves by zone", reason: "zone after zone, two nodes in two rounds",
			args: []string{"--waves", "all", "--max", "2", "--rounds", "2", "--by", zoneLabel, "--force"}, want: `kubectl drain --force, in waves of at most 2 nodes with the same topology.kubernetes.io/zone, each
    in at most 2 rounds
WAVE  NODES  EVICTED  ROUNDS  GROUP
1     2      4        2       east
    east-1, east-2
2     2      4        2       west
    west-1, west-2
3     1      2        1       west
    west-3
` + blockedAfterWaves + `Waves: 3 waves with 5 nodes; in no wave: 1 node (1 never)
`},
		{name: "waves of some nodes", reason: "the others are not in the plan; -1 rounds are any number",
			args: []string{"--waves", "east-1", "east-2", "west-1", "--rounds", "-1"}, want: `kubectl drain, in waves, each in any number of rounds
WAVE  NODES  EVICTED  ROUNDS
1     3      6        3
    east-1, east-2, west-1
Waves: 1 wave with 3 nodes
`},
		{name: "blocked", reason: "a node in no wave is for --fail-on never", args: []string{"--waves", "east-3", "--fail-on", "never"}, status: exitNever,
			want: "kubectl drain, in waves, each in 1 round\n" + blocked + "Waves: 0 waves with 0 nodes; in no wave: 1 node (1 never)\n"},
		{name: "not blocked", reason: "all nodes are in waves", args: []string{"--waves", "east-1", "--fail-on", "never"},
			want: "kubectl drain, in waves, each in 1 round\nWAVE  NODES  EVICTED  ROUNDS\n1     1      2        1\n    east-1\nWaves: 1 wave with 1 node\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, "", append(append([]string{"drain"}, tc.args...), fleetFile)...)
			require.Empty(t, got.stderr)
			require.Equal(t, tc.status, got.status, tc.reason)
			if diff := cmp.Diff(tc.want, got.stdout); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Without arguments, the waves are of what is piped.
func TestWavesOfPipedInput(t *testing.T) {
	data, err := os.ReadFile(fleetFile)
	require.NoError(t, err)
	var out, errs bytes.Buffer
	status := run([]string{"drain", "--waves"}, system{stdin: bytes.NewReader(data), stdout: &out, stderr: &errs, now: noonClock, piped: true})
	require.Equal(t, exitPlanned, status)
	require.Empty(t, errs.String())
	require.Contains(t, out.String(), "Waves: 3 waves with 5 nodes")
}

// -o json has the drains and the plan of the library.
func TestDrainOfSeveralNodesJSON(t *testing.T) {
	var together jsonDrains
	got := plan(t, nil, "", "drain", "--together", "east-1", "east-2", "-o", "json", "--now", noon, fleetFile)
	require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &together))
	require.Equal(t, formatVersion, together.FormatVersion)
	require.True(t, together.Together)
	require.Equal(t, drain.Now, together.Drains[0].Outcome)
	require.Equal(t, drain.InRounds, together.Drains[1].Outcome)

	var waves jsonWaves
	got = plan(t, nil, "", "drain", "--waves", "--by", zoneLabel, "-o", "json", "--now", noon, fleetFile)
	require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &waves))
	require.Equal(t, formatVersion, waves.FormatVersion)
	var groups []string
	for _, w := range waves.Waves {
		groups = append(groups, w.Group+": "+strings.Join(w.Nodes, " "))
	}
	require.Equal(t, []string{"east: east-1", "east: east-2", "west: west-1 west-3", "west: west-2"}, groups, "web-b went to west-2, and web allows two")
	require.Len(t, waves.Blocked, 1)
	require.Equal(t, drain.Never, waves.Blocked[0].Outcome)

	got = plan(t, nil, "", "drain", "--waves", "east-1", "nowhere", "-o", "json", "--now", noon, fleetFile)
	require.Equal(t, exitInput, got.status)
	require.Contains(t, got.stdout, `"waves": [],`, "a list, also without waves")
	require.Contains(t, got.stdout, "no Node nowhere in the input")
}

// An answer about fewer nodes than were asked for, or with nodes of two groups in a wave, would be too permissive.
func TestDrainOfSeveralNodesIsRefused(t *testing.T) {
	pod, workload, budget := blockedNode()
	const unlabelled = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}}`
	whole := dump(pod, workload, budget, unlabelled)
	labelled := func(zone string) string {
		return `{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-b","labels":{"zone":"` + zone + `"}}}`
	}
	for _, tc := range []struct {
		name, reason, input string
		args                []string
		stdout, stderr      string
	}{
		{"a misspelt name", "the other drain alone would look like the answer", whole, []string{"--together", "node-a", "node-x"}, "",
			"purekube: no Node node-x in the input, and no pod on it\n"},
		{"no label", "the group of the node is not known", dump(pod, workload, budget, unlabelled, labelled("east")), []string{"--waves", "--by", "zone"}, "    node-b\n",
			"purekube: no label zone, or two values of it, on 1 node of the input (node-a): in no wave, since the group is not known\n"},
		{"two labels", "which of the objects is right is not known", dump(pod, workload, budget, labelled("east"), labelled("west")), []string{"--waves", "node-b", "--by", "zone"}, "",
			"purekube: no label zone, or two values of it, on 1 node of the input (node-b): in no wave, since the group is not known\n"},
		{"no nodes", "groups are labels of nodes", dump(pod, workload, budget), []string{"--waves", "--by", "zone"}, "",
			"purekube: drain: not answered: the input has no Node. "},
		{"no budgets", "as for one node", dump(pod, workload, unlabelled), []string{"--waves"}, "",
			"purekube: drain: not answered: the input has no PodDisruptionBudget. "},
		{"all and a name", "all is every node", whole, []string{"all", "node-x"}, "",
			"purekube: drain all takes no other node (-f reads files)\n"},
		{"together in waves", "they are two questions", whole, []string{"--together", "--waves"}, "", "purekube: --together and --waves: only one of them\n"},
		{"flags of waves", "they would be ignored", whole, []string{"all", "--max", "2"}, "", "purekube: --max, --rounds and --by are for --waves\n"},
		{"a negative maximum", "no wave has fewer nodes than none", whole, []string{"--waves", "--max", "-1"}, "", "purekube: --max -1: must be a number of nodes, or 0 for any number\n"},
		{"negative rounds", "only -1 is any number", whole, []string{"--waves", "--rounds", "-2"}, "", "purekube: --rounds -2: must be a number of rounds, or -1 for any number\n"},
		{"no rounds", "0 are one round to drain.WaveOptions, so neither reading is certain", whole, []string{"--waves", "--rounds", "0"}, "", "purekube: --rounds 0: must be a number of rounds, or -1 for any number\n"},
		{"no key", "no node has such a label", whole, []string{"--waves", "--by", "a b"}, "", "purekube: --by \"a b\": not the key of a label: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, tc.input, append(append([]string{"drain"}, tc.args...), "-")...)
			require.Equal(t, exitInput, got.status, tc.reason)
			require.Contains(t, got.stderr, tc.stderr, tc.reason)
			if tc.stdout == "" {
				require.Empty(t, got.stdout, tc.reason)
			}
			require.Contains(t, got.stdout, tc.stdout, tc.reason)
		})
	}
}
