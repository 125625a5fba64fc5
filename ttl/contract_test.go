package ttl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/contract"
)

// options are the default, and steps that a few nodes move between.
var options = []Options{{}, {steps: table{Boundary{0, 6, 0}, Boundary{4, 12, 15e9}, Boundary{10, math.MaxInt32, 30e9}}}}

// Contract is what holds for every Index, for this package.
var Contract = contract.Core[*Index, Snapshot, Action, Options, Explanation]{
	NewIndex: NewIndex, Plan: Plan, PlanAll: PlanAll,
	Options:       options,
	Draw:          draw,
	Words:         []string{"0", "15", "30", "-1", "+15", "015", "99999999999999999999", "1.5", Annotation},
	ClusterScoped: true,
	Ask: func(x *Index, _ Snapshot) []contract.Answer {
		why, err := x.ExplainStep()
		recovered, affected := x.Recover()
		return []contract.Answer{
			{Question: "Step", Value: []int{x.Step(), why.Step - x.Step()}},
			{Question: "ExplainStep", Value: why, Err: err},
			{Question: "Recover", Value: []any{recovered.Step(), affected}},
		}
	},
	// Plan is for the step of the snapshot, and PlanAll for the settled one.
	Settled: func(x *Index, s Snapshot) Snapshot { return Snapshot{Step: x.Step(), Nodes: s.Nodes} },
	// The nodes come or go one by one.
	Moved: func(before, after Snapshot, o Options) Snapshot {
		for n, to := countOf(before.Nodes), countOf(after.Nodes); n != to; {
			n += max(-1, min(1, to-n))
			after.Step = o.stepTable().next(after.Step, n)
		}
		return after
	},
	Also: func(t testing.TB, _ *Index, key purekube.Key, out Outcome, e Explanation) {
		code := e.Reasons[0].Code
		require.Equal(t, out.Result.Empty(), code == ReasonAnnotationMatches || code == ReasonDuplicate, "Explain and Plan agree on %s", key)
	},
	Most:    0.3,
	Actions: []string{"SetTTL"},
	Missing: options,
	Permits: func(s Snapshot, o Options) map[contract.Permit]int {
		return map[contract.Permit]int{{What: "the step"}: NewIndex(s, o).Step()}
	},
}

// draw makes up to 40 nodes, or around 100.
func draw(r *rand.Rand, bad bool) Snapshot {
	annotations := []string{absent, "0", "15", "015", "30", "60", "300", "x", "", "-1"}
	s := Snapshot{Step: r.IntN(9) - 2}
	count := r.IntN(16)
	if r.IntN(8) == 0 {
		count = 85 + r.IntN(20)
	}
	for i := range count {
		switch {
		case bad && r.IntN(20) == 0:
			s.Nodes = append(s.Nodes, nil, node("", "0"))
		case bad:
			i = r.IntN(count)
			fallthrough
		default:
			s.Nodes = append(s.Nodes, node(fmt.Sprintf("n%d", i), annotations[r.IntN(len(annotations))]))
		}
	}
	return s
}

// countOf is how many names there are.
func countOf(nodes []*corev1.Node) int {
	names := map[string]bool{}
	for _, n := range nodes {
		if n != nil && n.Name != "" {
			names[n.Name] = true
		}
	}
	return len(names)
}

func TestContract(t *testing.T)              { Contract.Test(t, 600) }
func TestIndexInManyGoroutines(t *testing.T) { Contract.TestGoroutines(t) }
func TestNeverMorePermissive(t *testing.T)   { Contract.TestMissing(t) }
func FuzzWholeSnapshot(f *testing.F)         { Contract.Fuzz(f) }

// errText is what an error says.
func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
