package ttl

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/aliasing"
	"github.com/purekube/purekube/internal/test/indextest"
	"github.com/purekube/purekube/internal/test/seed"
)

// put is what With makes of the nodes; remove what Without does.
func put(nodes, changed []*corev1.Node) []*corev1.Node {
	return append(remove(nodes, changed), changed...)
}

func remove(nodes, gone []*corev1.Node) []*corev1.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool {
		return n != nil && n.Name != "" && slices.ContainsFunc(gone, func(g *corev1.Node) bool { return g != nil && g.Name == n.Name })
	})
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

// sameAnswers holds every answer of the index to that of a new index of the snapshot.
func sameAnswers(t *testing.T, x *Index, s Snapshot, o Options, what string) {
	t.Helper()
	require.Equal(t, NewIndex(s, o).Step(), x.Step(), what)
	fresh := NewIndex(s, o)
	want, wantErr := PlanAll(s, o)
	got, err := x.PlanAll()
	require.Len(t, got, len(want), what)
	for i := range want {
		require.Equal(t, want[i].Key, got[i].Key, what)
		require.Equal(t, want[i].Result, got[i].Result, what)
		require.Equal(t, errText(want[i].Err), errText(got[i].Err), what)
	}
	require.Equal(t, errText(wantErr), errText(err), what)
	wantAll, wantErr := fresh.ExplainAll()
	gotAll, err := x.ExplainAll()
	require.Empty(t, cmp.Diff(wantAll, gotAll), what)
	require.Equal(t, errText(wantErr), errText(err), what)
	wantStepExplanation, wantErr := fresh.ExplainStep()
	gotStepExplanation, err := x.ExplainStep()
	require.Empty(t, cmp.Diff(wantStepExplanation, gotStepExplanation), what)
	require.Equal(t, errText(wantErr), errText(err), what)
	for _, name := range []string{"", "not there", "n0", "n1", "n2", "n3", "n9"} {
		want, wantErr := Plan(s, Key(name), o)
		got, err := x.Plan(Key(name))
		require.Equal(t, want, got, "%s: %s", what, name)
		require.Equal(t, errText(wantErr), errText(err), "%s: %s", what, name)
		wantExplanation, wantErr := fresh.Explain(Key(name))
		gotExplanation, err := x.Explain(Key(name))
		require.Empty(t, cmp.Diff(wantExplanation, gotExplanation), "%s: %s", what, name)
		require.Equal(t, errText(wantErr), errText(err), "%s: %s", what, name)
	}
}

// After any sequence of With and Without, an index answers what a new one answers for the nodes that
// the sequence comes to, at the step that Next gives, node by node; and so do the indexes on the way,
// still, at the end. The names that they return hold every one whose plan is another one now.
func TestIndexAnswersAsTheFunctions(t *testing.T) {
	steps := table{Boundary{0, 6, 0}, Boundary{4, 12, 15e9}, Boundary{10, math.MaxInt32, 30e9}}
	o := Options{steps: steps}
	annotations := []string{absent, "0", "15", "30", "x"}
	moved, named, all := 0, 0, 0
	for seed := range seed.Each(t, 400) {
		r := rand.New(rand.NewPCG(seed, 19))
		some := func(n int) (nodes []*corev1.Node) {
			for range n {
				nodes = append(nodes, node(fmt.Sprintf("n%d", r.IntN(16)), annotations[r.IntN(len(annotations))]))
			}
			if seed%4 == 0 && r.IntN(8) == 0 {
				nodes = append(nodes, nil)
			}
			if seed%4 == 0 && r.IntN(8) == 0 {
				nodes = append(nodes, node("", "0"))
			}
			return nodes
		}
		type version struct {
			x *Index
			s Snapshot
		}
		first := Snapshot{Nodes: some(r.IntN(12)), Step: r.IntN(3)}
		if seed%2 == 0 {
			first.Step = steps.settle(first.Step, countOf(first.Nodes))
		}
		versions := []version{{NewIndex(first, o), first}}
		for range 10 {
			from := versions[r.IntN(len(versions))]
			changed := some(1 + r.IntN(3))
			next := version{s: Snapshot{Step: from.s.Step}}
			var affected []purekube.Key
			way := 1
			if r.IntN(2) == 0 {
				way = -1
				next.x, affected = from.x.Without(Snapshot{Nodes: changed, Step: 7})
				next.s.Nodes = remove(from.s.Nodes, changed)
			} else {
				next.x, affected = from.x.With(Snapshot{Nodes: changed, Step: 7})
				next.s.Nodes = put(from.s.Nodes, changed)
			}
			for n := countOf(from.s.Nodes); n != countOf(next.s.Nodes); {
				n += way
				next.s.Step = steps.next(next.s.Step, n)
			}
			what := fmt.Sprintf("seed %d", seed)
			sameAnswers(t, next.x, next.s, o, what)
			require.True(t, slices.IsSortedFunc(affected, purekube.Key.Compare), what)
			require.Len(t, slices.Compact(slices.Clone(affected)), len(affected), what)
			names, want := map[string]bool{}, map[purekube.Key]bool{}
			steps := next.s.Step != from.s.Step || NewIndex(next.s, o).Step() != NewIndex(from.s, o).Step()
			for _, n := range slices.Concat(from.s.Nodes, next.s.Nodes) {
				if n != nil && n.Name != "" {
					names[n.Name] = true
					if slices.ContainsFunc(changed, func(c *corev1.Node) bool { return c != nil && c.Name == n.Name }) {
						want[KeyOf(n)] = true
					}
				}
			}
			for _, n := range next.s.Nodes {
				if steps && n != nil && n.Name != "" {
					want[KeyOf(n)] = true
				}
			}
			require.Equal(t, slices.SortedFunc(maps.Keys(want), purekube.Key.Compare), affected, what)
			before, _ := from.x.PlanAll()
			after, _ := next.x.PlanAll()
			require.Empty(t, indextest.Unnamed(before, after, affected), what)
			if next.s.Step != from.s.Step {
				moved++
			} else {
				named, all = named+len(affected), all+len(names)
			}
			versions = append(versions, next)
		}
		for i, v := range versions {
			sameAnswers(t, v.x, v.s, o, fmt.Sprintf("seed %d, version %d again", seed, i))
		}
	}
	require.Greater(t, moved, 200)
	require.Less(t, named, all/2, "as long as the step stays, not every name is affected")
}

// A step that moves affects every node, once; the node after it only itself.
func TestIndexAStepAffectsEveryNodeOnce(t *testing.T) {
	x := NewIndex(Snapshot{Nodes: fleet(100, "0")}, Options{})
	up, affected := x.With(Snapshot{Nodes: []*corev1.Node{node("z1", absent)}})
	require.Equal(t, 1, up.Step())
	require.Len(t, affected, 101)
	_, affected = up.With(Snapshot{Nodes: []*corev1.Node{node("z2", absent)}})
	require.Equal(t, []purekube.Key{Key("z2")}, affected)
	require.Equal(t, 0, x.Step(), "the index itself does not change")

	back, affected := up.Without(Snapshot{Nodes: []*corev1.Node{node("z1", absent)}})
	require.Equal(t, 1, back.Step(), "100 nodes are allowed in step 1 as well (BR-19-06)")
	require.Equal(t, []purekube.Key{Key("z1")}, affected)

	many, affected := x.With(Snapshot{Nodes: fleet(2001, "300")})
	require.Equal(t, 4, many.Step(), "one step for each node that comes: 2,001 nodes are settled in step 4")
	require.Len(t, affected, 2001)
	outcomes, err := many.PlanAll()
	require.NoError(t, err)
	require.Empty(t, outcomes)
}

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
	same, affected := x.Without(Snapshot{Nodes: []*corev1.Node{nil, node("", "0"), node("not there", "0")}})
	require.Empty(t, affected)
	sameAnswers(t, same, s, Options{}, "what is not there changes nothing")

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
	sameAnswers(t, none, s, Options{}, "both are gone")
}

// With and Without from many goroutines on one index, and questions to it meanwhile, are no race
// (go test -race), and nothing of an input is shared or written to.
func TestIndexInManyGoroutines(t *testing.T) {
	s := Snapshot{Nodes: fleet(95, "0")}
	var before []*corev1.Node
	for _, n := range s.Nodes {
		before = append(before, n.DeepCopy())
	}
	x := NewIndex(s, Options{})
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			own := x
			for i := range 50 {
				own, _ = own.With(Snapshot{Nodes: []*corev1.Node{node(fmt.Sprintf("own-%d-%d", g, i), absent)}})
				if r, err := x.Plan(Key("node-00007")); err != nil || !r.Empty() {
					t.Errorf("goroutine %d: %v, %v", g, r, err)
				}
			}
			if e, _ := own.ExplainStep(); e.Nodes != 145 || e.Step != 1 {
				t.Errorf("goroutine %d: %+v", g, e)
			}
		}()
	}
	wait.Wait()
	require.Zero(t, x.Step())
	outcomes, err := x.PlanAll()
	require.NoError(t, err)
	require.Empty(t, outcomes)
	require.Equal(t, before, s.Nodes)
	all, err := x.ExplainAll()
	require.NoError(t, err)
	require.Empty(t, aliasing.Shared(s, all))
}
