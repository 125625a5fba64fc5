package ttl

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestExplain(t *testing.T) {
	nodes := fleet(95, "15")
	nodes[3] = node("node-00003", absent)
	nodes[2] = node("node-00002", "15s")
	nodes[1] = node("node-00001", "0")
	nodes = append([]*corev1.Node{nodes[94], nil}, nodes...) // node-00094 twice, once first
	want := Explanation{
		From: 2, Step: 1,
		Boundary: Boundary{90, 500, 15 * time.Second},
		Nodes:    95, UpAt: 501, DownAt: 89,
		Differ: []Difference{
			{Node: "node-00001", UID: "uid-node-00001", Cause: OtherTTL, Annotation: "0", Want: 15 * time.Second},
			{Node: "node-00002", UID: "uid-node-00002", Cause: NotInteger, Annotation: "15s", Want: 15 * time.Second},
			{Node: "node-00003", UID: "uid-node-00003", Cause: Missing, Want: 15 * time.Second},
		},
		Ambiguous: []string{"node-00094"},
	}
	require.Empty(t, cmp.Diff(want, Explain(Snapshot{Step: 2, Nodes: nodes}, Options{})))
}

func TestExplainEnds(t *testing.T) {
	first := Explain(Snapshot{Step: -3}, Options{})
	require.Equal(t, Explanation{Boundary: Boundary{0, 100, 0}, UpAt: 101, DownAt: -1}, first, "no step below the first")
	last := Explain(Snapshot{Step: 9, Nodes: fleet(1800, "300")}, Options{})
	require.Equal(t, Explanation{
		From: 4, Step: 4, Boundary: Boundary{1800, 2147483647, 300 * time.Second}, Nodes: 1800, DownAt: 1799,
	}, last, "no step above the last")
}
