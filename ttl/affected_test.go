package ttl

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
)

// keysOf are the keys of these names.
func keysOf(names ...string) (keys []purekube.Key) {
	for _, name := range names {
		keys = append(keys, Key(name))
	}
	return keys
}

// A node that comes, changes or goes affects itself, and every node if the step is another one then.
func TestAffected(t *testing.T) {
	all := func(n int, more ...string) []purekube.Key {
		var names []string
		for _, node := range fleet(n, absent) {
			names = append(names, node.Name)
		}
		return keysOf(append(names, more...)...)
	}
	one := func(nodes ...*corev1.Node) []*corev1.Node { return nodes }
	hundred, zone := fleet(100, "0"), node("zone", "15")
	for _, tc := range []struct {
		name, reason  string
		before        Snapshot
		changed, gone []*corev1.Node
		want          []purekube.Key
	}{
		{"added", "the node itself", Snapshot{Nodes: fleet(99, "0")}, one(zone), nil, keysOf("zone")},
		{"added, up", "the 101st node moves the step, which every node says", Snapshot{Nodes: hundred}, one(zone), nil, all(100, "zone")},
		{"added, up already", "each step change counts once", Snapshot{Step: 1, Nodes: hundred}, one(zone), nil, keysOf("zone")},
		{"updated", "no step moves when no node comes or goes", Snapshot{Nodes: hundred}, one(hundred[7]), nil, keysOf("node-00007")},
		{"deleted", "its own plan is empty now", Snapshot{Nodes: append(fleet(99, "0"), zone)}, nil, one(zone), keysOf("zone")},
		{"deleted, down", "89 nodes are too few for step 1", Snapshot{Step: 1, Nodes: append(fleet(89, "15"), zone)}, nil, one(zone), all(89, "zone")},
		{"deleted, within the overlap", "90 nodes are enough for step 1", Snapshot{Step: 1, Nodes: append(fleet(90, "15"), zone)}, nil, one(zone), keysOf("zone")},
		{"a step past the table", "stands for the last one, and is left downwards", Snapshot{Step: 9, Nodes: hundred[:1]}, hundred[1:2], nil, all(2)},
		{"two nodes of one name", "are one node: 100 of them", Snapshot{Nodes: hundred}, one(hundred[0], hundred[0]), nil, keysOf("node-00000")},
		{"nil and nameless nodes", "do not count, and have no plan", Snapshot{Nodes: hundred}, one(nil, node("", "0")), nil, nil},
		{"not there", "nothing is gone", Snapshot{Nodes: hundred}, nil, one(nil, node("", "0"), zone), nil},
		{"nothing", "no event", Snapshot{Nodes: hundred}, nil, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := NewIndex(tc.before, Options{})
			x, added := x.With(Snapshot{Nodes: tc.changed})
			_, removed := x.Without(Snapshot{Nodes: tc.gone})
			require.Equal(t, tc.want, append(added, removed...), tc.reason)
		})
	}
}

// A caller that plans what With and Without name, node event by node event, has every node right
// after each, with one write for a node that comes and one for each node when the step moves.
func TestAffectedIsEnough(t *testing.T) {
	x := NewIndex(Snapshot{}, Options{})
	nodes := map[purekube.Key]*corev1.Node{}
	writes := 0
	happens := func(next *Index, affected []purekube.Key) {
		t.Helper()
		if next.Step() == x.Step() {
			require.Len(t, affected, 1)
		}
		x = next
		for _, key := range affected {
			result, err := x.Plan(key)
			require.NoError(t, err)
			for _, a := range result.Actions {
				nodes[key] = a.(SetTTL).Apply(nodes[key])
				// The watch shows what was written, and moves no step.
				x, _ = x.With(Snapshot{Nodes: []*corev1.Node{nodes[key]}})
				writes++
			}
		}
		left, err := x.PlanAll()
		require.NoError(t, err)
		require.Empty(t, left, "%d nodes, step %d", len(nodes), x.Step())
	}
	all := fleet(110, absent)
	for _, n := range all {
		nodes[KeyOf(n)] = n
		happens(x.With(Snapshot{Nodes: []*corev1.Node{n}}))
	}
	require.Equal(t, 1, x.Step())
	require.Equal(t, 110+100, writes, "each node once, and the 100 others when the step moved")
	for _, n := range all[80:] {
		delete(nodes, KeyOf(n))
		happens(x.Without(Snapshot{Nodes: []*corev1.Node{n}}))
	}
	require.Equal(t, 0, x.Step())
	require.Equal(t, 110+100+89, writes, "89 nodes were left when the step moved back")
}

func TestKeyOf(t *testing.T) {
	require.Equal(t, purekube.Key{Kind: "Node", Name: "a"}, KeyOf(node("a", "0")))
	require.Equal(t, Key("a"), KeyOf(node("a", "0")))
	require.Empty(t, KeyOf(nil))
}

// A key that no node has is no node's, whatever its name.
func TestKeysOfOtherKinds(t *testing.T) {
	s := Snapshot{Nodes: []*corev1.Node{node("a", "7"), node("b", "7"), node("b", "7")}}
	for _, key := range []purekube.Key{{}, {Name: "a"}, {Kind: "Pod", Name: "a"}, {Kind: "Node", Namespace: "a", Name: "a"}, {Kind: "Pod", Name: "b"}} {
		result, err := Plan(s, key, Options{})
		require.NoError(t, err)
		require.Empty(t, result)
		explanation, err := NewIndex(s, Options{}).Explain(key)
		require.ErrorIs(t, err, purekube.ErrNotFound)
		require.Empty(t, explanation)
	}
}

// A namespace, which a node has not, makes no other node of it.
func TestNodesHaveNoNamespace(t *testing.T) {
	a, b := node("a", "7"), node("a", "15")
	a.Namespace = "x"
	s := Snapshot{Nodes: []*corev1.Node{a}}
	for _, plan := range []func(purekube.Key) (Result, error){
		func(key purekube.Key) (Result, error) { return Plan(s, key, Options{}) }, NewIndex(s, Options{}).Plan,
	} {
		result, err := plan(Key("a"))
		require.NoError(t, err)
		require.Len(t, result.Actions, 1)
	}
	x, affected := NewIndex(s, Options{}).With(Snapshot{Nodes: []*corev1.Node{a, b}})
	require.Equal(t, keysOf("a"), affected)
	require.ErrorIs(t, x.Err(), purekube.ErrDuplicate)
	require.EqualError(t, x.Err(), "Node a: several objects in the snapshot have this name")
}
