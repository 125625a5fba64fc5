package ttl_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
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
	small, err := ttl.NewTable(ttl.Boundary{SizeMin: 0, SizeMax: 2, TTL: 0}, ttl.Boundary{SizeMin: 2, SizeMax: 4, TTL: 15 * time.Second},
		ttl.Boundary{SizeMin: 3, SizeMax: math.MaxInt32, TTL: 30 * time.Second})
	if err != nil {
		panic(err)
	}
	return []ttl.Options{{}, {Table: small}}
}

// wholeQuestions are the exported functions for one snapshot.
type wholeQuestions struct {
	step        func() int
	planAll     func() ([]ttl.Outcome, error)
	plan        func(key purekube.Key) (ttl.Result, error)
	explainAll  func() ([]ttl.Explanation, error)
	explain     func(key purekube.Key) (ttl.Explanation, error)
	explainStep func() (ttl.StepExplanation, error)
}

func byFunctions(s ttl.Snapshot, o ttl.Options) wholeQuestions {
	return wholeQuestions{
		func() int { return ttl.StepOf(s, o) },
		func() ([]ttl.Outcome, error) { return ttl.PlanAll(s, o) },
		func(key purekube.Key) (ttl.Result, error) { return ttl.Plan(s, key, o) },
		func() ([]ttl.Explanation, error) { return ttl.ExplainAll(s, o) },
		func(key purekube.Key) (ttl.Explanation, error) { return ttl.Explain(s, key, o) },
		func() (ttl.StepExplanation, error) { return ttl.ExplainStep(s, o) },
	}
}

func byIndex(x *ttl.Index) wholeQuestions {
	return wholeQuestions{x.Step, x.PlanAll, x.Plan, x.ExplainAll, x.Explain, x.ExplainStep}
}

func askAll(s ttl.Snapshot, o ttl.Options, q wholeQuestions) []snapshotfuzz.Answer {
	var answers []snapshotfuzz.Answer
	add := func(question string, value any, err error) {
		answers = append(answers, snapshotfuzz.Answer{Question: question, Value: value, Err: err})
	}
	add("Step", q.step(), nil)
	all, err := q.planAll()
	add("PlanAll", all, err)
	explained, err := q.explainAll()
	add("ExplainAll", explained, err)
	why, err := q.explainStep()
	add("ExplainStep", why, err)
	add("Recover", o.Table.Recover(s.Nodes), nil)
	for _, n := range snapshotfuzz.Names(s.Nodes) {
		plan, err := q.plan(ttl.Key(n.Name))
		add("Plan "+n.Name, plan, err)
		for i, a := range plan.Actions {
			add(fmt.Sprintf("Request %s %d", n.Name, i), []any{a.Request(make([]runtime.Object, i)), a.String()}, nil)
		}
		explanation, err := q.explain(ttl.Key(n.Name))
		add("Explain "+n.Name, explanation, err)
	}
	x := ttl.NewIndex(s, o)
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
			var again func(s ttl.Snapshot) []snapshotfuzz.Answer
			// An Index settles its step at once; asked for that step, the functions answer alike.
			settled := s
			settled.Step = ttl.StepOf(s, o)
			again = func(s ttl.Snapshot) []snapshotfuzz.Answer { return askAll(s, o, byIndex(ttl.NewIndex(s, o))) }
			snapshotfuzz.Check(t, settled, random, func(s ttl.Snapshot) []snapshotfuzz.Answer { return askAll(s, o, byFunctions(s, o)) }, again)
			snapshotfuzz.Check(t, s, random, func(s ttl.Snapshot) []snapshotfuzz.Answer { return askAll(s, o, byFunctions(s, o)) }, nil)
		}
		neverLonger(t, s)
	})
}

// neverLonger: nodes that are missing or of no use make no TTL longer.
func neverLonger(t *testing.T, s ttl.Snapshot) {
	t.Helper()
	for _, o := range options() {
		before := ttl.StepOf(s, o)
		snapshotfuzz.Spoiled(s, func(how snapshotfuzz.Spoiling, _ string, object runtime.Object, spoiled ttl.Snapshot) {
			if after := ttl.StepOf(spoiled, o); after > before {
				t.Fatalf("with node %s %s, step %d becomes %d", object.(*corev1.Node).Name, how, before, after)
			}
		})
	}
}

// TestNeverMorePermissive is neverLonger for many random changes of the seeds.
func TestNeverMorePermissive(t *testing.T) {
	snapshotfuzz.Random(t, snapshotSeeds, snapshotWords, func(t *testing.T, d snapshotDocument) { neverLonger(t, d.snapshot()) })
}
