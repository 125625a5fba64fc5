package ttl

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestAffectedByNode(t *testing.T) {
	all := func(n int) (names []string) {
		for _, node := range fleet(n, absent) {
			names = append(names, node.Name)
		}
		return names
	}
	few, many := fleet(100, "0"), fleet(101, "0")
	for _, tc := range []struct {
		name, reason   string
		s              Snapshot
		oldObj, newObj *corev1.Node
		want           []string
	}{
		{"added", "the node itself", Snapshot{Nodes: few}, nil, few[3], []string{"node-00003"}},
		{"added, up", "the 101st node moves the step, which every node says", Snapshot{Nodes: many}, nil, many[100], all(101)},
		{"added, up already", "each step change counts once", Snapshot{Step: 1, Nodes: many}, nil, many[100], []string{"node-00100"}},
		{"updated", "no step moves when no node comes or goes", Snapshot{Nodes: many}, many[7], many[7], []string{"node-00007"}},
		{"deleted", "its own plan is empty now", Snapshot{Nodes: few}, node("gone", "0"), nil, []string{"gone"}},
		{"deleted, down", "89 nodes are too few for step 1", Snapshot{Step: 1, Nodes: fleet(89, "15")}, node("zone", "15"), nil, append(all(89), "zone")},
		{"deleted, within the overlap", "90 nodes are enough for step 1", Snapshot{Step: 1, Nodes: fleet(90, "15")}, node("zone", "15"), nil, []string{"zone"}},
		{"a step past the table", "stands for the last one, and is left downwards", Snapshot{Step: 9, Nodes: few[:2]}, nil, few[1], all(2)},
		{"two nodes of one name", "are one node: 100 of them", Snapshot{Nodes: append(fleet(100, "0"), few[0])}, nil, few[0], []string{"node-00000"}},
		{"nil and nameless nodes", "do not count, and have no plan", Snapshot{Nodes: append(fleet(100, "0"), nil, node("", "0"))}, nil, node("", "0"), nil},
		{"nothing", "no event", Snapshot{Nodes: many}, nil, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := AffectedByNode(tc.s, tc.oldObj, tc.newObj, Options{})
			if len(tc.want) == 0 {
				require.Empty(t, got, tc.reason)
				return
			}
			require.Equal(t, tc.want, got, tc.reason)
		})
	}
}

// A caller that plans what AffectedByNode names, node event by node event, has every node right
// after each, with one write for a node that comes and one for each node when the step moves.
func TestAffectedByNodeIsEnough(t *testing.T) {
	s := Snapshot{}
	writes := 0
	happens := func(oldObj, newObj *corev1.Node) {
		t.Helper()
		names := AffectedByNode(s, oldObj, newObj, Options{})
		before := s.Step
		s.Step = Table{}.Settle(s.Step, len(s.Nodes))
		if s.Step == before {
			require.Len(t, names, 1)
		}
		byName := map[string]int{}
		for i, n := range s.Nodes {
			byName[n.Name] = i
		}
		for _, name := range names {
			i, there := byName[name]
			if !there {
				continue
			}
			result, err := Plan(s, name, Options{})
			require.NoError(t, err)
			for _, a := range result.Actions {
				s.Nodes[i] = a.(SetTTL).Apply(s.Nodes[i])
				writes++
			}
		}
		step, left, err := PlanAll(s, Options{})
		require.NoError(t, err)
		require.Equal(t, s.Step, step)
		require.Empty(t, left, "%d nodes, step %d", len(s.Nodes), s.Step)
	}
	for _, n := range fleet(110, absent) {
		s.Nodes = append(s.Nodes, n)
		happens(nil, n)
	}
	require.Equal(t, 1, s.Step)
	require.Equal(t, 110+100, writes, "each node once, and the 100 others when the step moved")
	for len(s.Nodes) > 80 {
		gone := s.Nodes[len(s.Nodes)-1]
		s.Nodes = s.Nodes[:len(s.Nodes)-1]
		happens(gone, nil)
	}
	require.Equal(t, 0, s.Step)
	require.Equal(t, 110+100+89, writes, "89 nodes were left when the step moved back")
}

func TestKeyOf(t *testing.T) {
	require.Equal(t, "a", KeyOf(node("a", "0")))
	require.Empty(t, KeyOf(nil))
}
