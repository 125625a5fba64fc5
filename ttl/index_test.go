package ttl

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
)

// A controller that starts hears of one node after the other. Recover takes it to the step that the
// nodes were written for.
func TestIndexRecover(t *testing.T) {
	nodes := fleet(95, "15")
	x := NewIndex(Snapshot{}, Options{})
	for _, n := range nodes {
		x, _ = x.With(Snapshot{Nodes: []*corev1.Node{n}})
	}
	require.Equal(t, 0, x.Step(), "95 nodes are allowed in step 0")
	recovered, affected := x.Recover()
	require.Equal(t, 1, recovered.Step())
	require.Len(t, affected, 95)
	outcomes, err := recovered.PlanAll()
	require.NoError(t, err)
	require.Empty(t, outcomes, "nothing is rewritten")
	_, affected = recovered.Recover()
	require.Empty(t, affected, "the step is the same")
	require.Equal(t, 0, x.Step(), "the index itself does not change")
}

func TestIndexBadInput(t *testing.T) {
	s := Snapshot{Nodes: fleet(3, "0")}
	x := NewIndex(s, Options{})
	require.NoError(t, x.Err())
	_, affected := x.Without(Snapshot{Nodes: []*corev1.Node{nil, node("", "0"), node("not there", "0")}})
	require.Empty(t, affected)

	bad, affected := x.With(Snapshot{Nodes: []*corev1.Node{nil, node("", "0"), node("z", "0")}})
	require.Equal(t, []purekube.Key{Key("z")}, affected, "nil nodes and nodes without a name are no key's")
	require.EqualError(t, bad.Err(), "Node: nil object in the snapshot\nNode: metadata.name: required")

	twice, affected := x.With(Snapshot{Nodes: []*corev1.Node{node("z", "0"), node("z", "15")}})
	require.Equal(t, []purekube.Key{Key("z")}, affected)
	require.EqualError(t, twice.Err(), "Node z: several objects in the snapshot have this name")
	once, _ := twice.With(Snapshot{Nodes: []*corev1.Node{node("z", "0")}})
	require.NoError(t, once.Err(), "one node takes the place of both")
	none, _ := twice.Without(Snapshot{Nodes: []*corev1.Node{node("z", "0")}})
	require.NoError(t, none.Err())
}
