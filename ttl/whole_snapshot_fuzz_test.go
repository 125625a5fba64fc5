package ttl_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/internal/test/snapshotfuzz"
	"github.com/purekube/purekube/ttl"
)

// snapshotDocument is a snapshot as JSON.
type snapshotDocument struct {
	Step  int            `json:"step"`
	Nodes []*corev1.Node `json:"nodes"`
}

func (d snapshotDocument) snapshot() ttl.Snapshot { return ttl.Snapshot{Step: d.Step, Nodes: d.Nodes} }

var snapshotSeeds = []string{
	`{"step":0,"nodes":[null,{"metadata":{"name":"a","uid":"1"}},{"metadata":{"name":"b","uid":"2","annotations":{"node.alpha.kubernetes.io/ttl":"0"}}},
	{"metadata":{"name":"c","uid":"3","annotations":{"node.alpha.kubernetes.io/ttl":"15"}}},{"metadata":{"name":"d","annotations":{"node.alpha.kubernetes.io/ttl":"x"}}},{"metadata":{}}]}`,
	`{"step":1,"nodes":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}},{"metadata":{"name":"c"}}]}`,
}

var snapshotWords = []string{"", "a", "b", "c", "0", "15", "30", "-1", "+15", "015", "99999999999999999999", "1.5", "node.alpha.kubernetes.io/ttl"}

// options are the default and a table whose steps a few nodes move between.
func options() []ttl.Options {
	return []ttl.Options{{}, ttl.WithSteps(
		ttl.Boundary{SizeMin: 0, SizeMax: 2, TTL: 0}, ttl.Boundary{SizeMin: 2, SizeMax: 4, TTL: 15 * time.Second},
		ttl.Boundary{SizeMin: 3, SizeMax: math.MaxInt32, TTL: 30 * time.Second})}
}

func askAll(s ttl.Snapshot, o ttl.Options) []snapshotfuzz.Answer {
	var answers []snapshotfuzz.Answer
	add := func(question string, value any, err error) {
		answers = append(answers, snapshotfuzz.Answer{Question: question, Value: value, Err: err})
	}
	x := ttl.NewIndex(s, o)
	add("Step", x.Step(), nil)
	all, err := x.PlanAll()
	add("PlanAll", all, err)
	explained, err := x.ExplainAll()
	add("ExplainAll", explained, err)
	why, err := x.ExplainStep()
	add("ExplainStep", why, err)
	recovered, affected := x.Recover()
	add("Recover", []any{recovered.Step(), affected}, nil)
	for _, n := range snapshotfuzz.Names(s.Nodes) {
		plan, err := x.Plan(ttl.Key(n.Name))
		add("Plan "+n.Name, plan, err)
		for i, a := range plan.Actions {
			add(fmt.Sprintf("Request %s %d", n.Name, i), []any{a.Request(make([]runtime.Object, i)), a.String()}, nil)
		}
		explanation, err := x.Explain(ttl.Key(n.Name))
		add("Explain "+n.Name, explanation, err)
	}
	for i, n := range snapshotfuzz.Sorted(s.Nodes) {
		without, affected := x.Without(ttl.Snapshot{Nodes: []*corev1.Node{n}})
		all, err := without.PlanAll()
		add(fmt.Sprintf("Without %d", i), []any{without.Step(), all, affected}, err)
		with, affected := without.With(ttl.Snapshot{Nodes: []*corev1.Node{n}})
		all, err = with.PlanAll()
		add(fmt.Sprintf("With %d", i), []any{with.Step(), all, affected}, err)
	}
	return answers
}

// FuzzWholeSnapshot: whatever a snapshot holds, no question panics, writes to it, shares memory with it or depends on the
// order of its slices, and the Index gives the same answers; and fewer nodes never make a TTL longer.
func FuzzWholeSnapshot(f *testing.F) {
	snapshotfuzz.Fuzz(f, snapshotSeeds, snapshotWords, func(t *testing.T, d snapshotDocument, choice []byte) {
		s := d.snapshot()
		if len(s.Nodes) > 30 {
			return
		}
		random := rand.New(rand.NewPCG(1, uint64(len(choice))))
		for _, o := range options() {
			ask := func(s ttl.Snapshot) []snapshotfuzz.Answer { return askAll(s, o) }
			// Asked for the settled step, plans of one node and of all answer alike.
			settled := s
			settled.Step = ttl.NewIndex(s, o).Step()
			snapshotfuzz.Check(t, settled, random, ask, nil)
			snapshotfuzz.Check(t, s, random, ask, nil)
		}
		neverLonger(t, s)
	})
}

// neverLonger: nodes that are missing or of no use make no TTL longer.
func neverLonger(t *testing.T, s ttl.Snapshot) {
	t.Helper()
	for _, o := range options() {
		before := ttl.NewIndex(s, o).Step()
		snapshotfuzz.Spoiled(s, func(how snapshotfuzz.Spoiling, _ string, object runtime.Object, spoiled ttl.Snapshot) {
			if after := ttl.NewIndex(spoiled, o).Step(); after > before {
				t.Fatalf("with node %s %s, step %d becomes %d", object.(*corev1.Node).Name, how, before, after)
			}
		})
	}
}

// TestNeverMorePermissive is neverLonger for many random changes of the seeds.
func TestNeverMorePermissive(t *testing.T) {
	snapshotfuzz.Random(t, snapshotSeeds, snapshotWords, func(t *testing.T, d snapshotDocument) { neverLonger(t, d.snapshot()) })
}
