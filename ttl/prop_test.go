package ttl

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// A cluster grows to 2,500 nodes and shrinks to none, one node at a time, and is written after
// each. Only a new step rewrites nodes that were right.
func TestConverges(t *testing.T) {
	var c cluster
	step := 0
	nodes := []*corev1.Node{}
	spare := fleet(largest, absent)
	visit := func(moved bool, fresh int) {
		t.Helper()
		s := Snapshot{Step: step, Nodes: nodes}
		outcomes, _ := PlanAll(s, Options{})
		step = NewIndex(s, Options{}).Step()
		if step != c.step {
			t.Fatalf("%d nodes: step %d, one event at a time %d", c.nodes, step, c.step)
		}
		want := fresh
		if moved {
			want = len(nodes)
		}
		if len(outcomes) != want {
			t.Fatalf("%d nodes, step %d: %d writes, want %d", c.nodes, step, len(outcomes), want)
		}
		nodes = apply(t, nodes, outcomes)
	}
	for c.nodes < largest {
		was := c.step
		nodes = append(nodes, spare[c.nodes])
		c.add()
		visit(c.step != was, 1)
	}
	require.Equal(t, 4, step)
	for c.nodes > 0 {
		was := c.step
		nodes = nodes[:len(nodes)-1]
		c.remove()
		visit(c.step != was, 0)
	}
	require.Equal(t, 0, step)
}
