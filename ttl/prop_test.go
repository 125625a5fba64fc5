package ttl

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/internal/test/aliasing"
	"github.com/purekube/purekube/internal/test/seed"
)

func randomSnapshot(r *rand.Rand) Snapshot {
	annotations := []string{absent, "0", "15", "015", "30", "60", "300", "x", "", "-1"}
	s := Snapshot{Step: r.IntN(9) - 2}
	for range r.IntN(160) {
		switch r.IntN(40) {
		case 0:
			s.Nodes = append(s.Nodes, nil)
		case 1:
			s.Nodes = append(s.Nodes, node("", "0"))
		default:
			s.Nodes = append(s.Nodes, node(fmt.Sprintf("n%d", r.IntN(1000)), annotations[r.IntN(len(annotations))]))
		}
	}
	return s
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestContract(t *testing.T) {
	first := seed.First(t, 1936)
	r := rand.New(rand.NewPCG(first, 0))
	rounds := 300
	if seed.Short() {
		rounds = 100
	}
	for round := range rounds {
		s := randomSnapshot(r)
		var before []*corev1.Node
		for _, n := range s.Nodes {
			before = append(before, n.DeepCopy())
		}
		step := NewIndex(s, Options{}).Step()
		outcomes, whole := PlanAll(s, Options{})
		at := fmt.Sprintf("seed %d, round %d", first, round)

		require.Empty(t, cmp.Diff(before, s.Nodes), "%s: an input was written to", at)
		require.Empty(t, aliasing.Shared(s, outcomes), at)
		explanations, explainErr := NewIndex(s, Options{}).ExplainAll()
		require.Empty(t, aliasing.Shared(s, explanations), at)
		require.Equal(t, errText(whole), errText(explainErr), at)
		e, stepErr := NewIndex(s, Options{}).ExplainStep()
		require.Equal(t, step, e.Step, at)
		require.Equal(t, errText(whole), errText(stepErr), at)

		// Plan at the settled step says the same for each key.
		settled := Snapshot{Step: step, Nodes: s.Nodes}
		outcome := map[string]Outcome{}
		for i, o := range outcomes {
			if i > 0 {
				require.Negative(t, outcomes[i-1].Key.Compare(o.Key), "%s: sorted, each key once", at)
			}
			outcome[o.Key.Name] = o
		}
		explained := map[string]Explanation{}
		for i, x := range explanations {
			if i > 0 {
				require.Negative(t, explanations[i-1].Key.Compare(x.Key), "%s: sorted, each key once", at)
			}
			explained[x.Key.Name] = x
		}
		for _, n := range s.Nodes {
			if n == nil || n.Name == "" {
				continue
			}
			got, err := Plan(settled, Key(n.Name), Options{})
			require.Equal(t, outcome[n.Name].Result, got, at)
			x, _ := NewIndex(settled, Options{}).Explain(Key(n.Name))
			require.Empty(t, cmp.Diff(explained[n.Name], x), at)
			code := x.Reasons[0].Code
			require.Equal(t, got.Empty(), code == ReasonAnnotationMatches || code == ReasonDuplicate, "%s: Explain and Plan agree on %s", at, n.Name)
			if own := outcome[n.Name].Err; own != nil {
				require.Contains(t, errText(err), own.Error(), at)
			}
		}

		// Order does not matter.
		shuffled := Snapshot{Step: s.Step, Nodes: append([]*corev1.Node(nil), s.Nodes...)}
		r.Shuffle(len(shuffled.Nodes), func(i, j int) {
			shuffled.Nodes[i], shuffled.Nodes[j] = shuffled.Nodes[j], shuffled.Nodes[i]
		})
		require.Equal(t, step, NewIndex(shuffled, Options{}).Step(), at)
		other, _ := PlanAll(shuffled, Options{})
		require.Len(t, other, len(outcomes), at)
		for i := range other {
			require.Equal(t, outcomes[i].Result, other[i].Result, at)
			require.Equal(t, errText(outcomes[i].Err), errText(other[i].Err), at)
		}
		otherExplanations, _ := NewIndex(shuffled, Options{}).ExplainAll()
		require.Empty(t, cmp.Diff(explanations, otherExplanations), at)

		// Carried out, nothing is left to do.
		after := Snapshot{Step: step, Nodes: apply(t, s.Nodes, outcomes)}
		left, _ := PlanAll(after, Options{})
		for _, o := range left {
			require.True(t, o.Result.Empty(), "%s: %s is written again", at, o.Key)
		}
	}
}

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
