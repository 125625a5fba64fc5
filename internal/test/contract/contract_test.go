package contract

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/ttl"
)

// fault is a mistake that an Index can make. The zero value makes none.
type fault string

const (
	writes         fault = "Plan writes to an object"
	shares         fault = "an answer is memory of an object"
	ownShares      fault = "an answer is memory of the Index"
	keepsSlice     fault = "the Index keeps the caller's slice"
	followsOrder   fault = "an answer depends on the order of the snapshot"
	emptyOutcomes  fault = "PlanAll names keys that have nothing to say"
	unsorted       fault = "PlanAll is not sorted"
	planAlone      fault = "Plan says something else than PlanAll"
	functionAlone  fault = "the function Plan says something else than the Index"
	allAlone       fault = "the function PlanAll says something else than the Index"
	unexplained    fault = "ExplainAll leaves a key out"
	explainAlone   fault = "Explain says something else than ExplainAll"
	silentErr      fault = "Err forgets what is wrong"
	silentPlan     fault = "Plan forgets what is wrong with the object"
	wrongType      fault = "an action has the type of another one"
	sharedRequest  fault = "a request is memory of its action"
	forgetsChange  fault = "With forgets the objects"
	forgetsKeys    fault = "With names no key"
	namesTwice     fault = "With names keys twice"
	changesOld     fault = "With changes the Index that it is asked of"
	affectsAll     fault = "With names all keys"
	permitsMissing fault = "fewer objects permit more"
	neverEnds      fault = "an action is planned again after it was sent"
)

// faulty is the Index of package ttl, with a fault.
type faulty struct {
	*ttl.Index
	nodes []*corev1.Node
	fault fault
}

func newFaulty(s ttl.Snapshot, f fault) *faulty {
	x := &faulty{Index: ttl.NewIndex(s, ttl.Options{}), nodes: slices.Clone(s.Nodes), fault: f}
	if f == keepsSlice {
		x.nodes = s.Nodes
	}
	return x
}

func (x *faulty) Err() error {
	if x.fault == silentErr {
		return nil
	}
	return x.Index.Err()
}

func (x *faulty) Plan(key purekube.Key) (ttl.Result, error) {
	result, err := x.Index.Plan(key)
	x.spoil(result)
	switch x.fault {
	case writes:
		for _, n := range x.nodes {
			if n != nil {
				n.Labels = map[string]string{"planned": "yes"}
			}
		}
	case planAlone:
		result.Actions = nil
	case silentPlan:
		err = nil
	}
	return result, err
}

func (x *faulty) PlanAll() ([]ttl.Outcome, error) {
	outcomes, err := x.Index.PlanAll()
	for _, out := range outcomes {
		x.spoil(out.Result)
	}
	switch x.fault {
	case unsorted:
		slices.Reverse(outcomes)
	case emptyOutcomes:
		if len(outcomes) > 0 {
			outcomes[0].Result, outcomes[0].Err = ttl.Result{}, nil
		}
	case neverEnds:
		explanations, _ := x.Index.ExplainAll()
		outcomes = nil
		for _, e := range explanations {
			outcomes = append(outcomes, ttl.Outcome{Key: e.Key, Result: ttl.Result{Actions: []ttl.Action{ttl.SetTTL{}}}})
		}
	}
	return outcomes, err
}

// spoil replaces the actions of a plan by wrong ones.
func (x *faulty) spoil(result ttl.Result) {
	for i, a := range result.Actions {
		switch x.fault {
		case wrongType:
			result.Actions[i] = misnamed{a}
		case sharedRequest:
			result.Actions[i] = sharing{a, &corev1.Node{}}
		}
	}
}

func (x *faulty) ExplainAll() ([]ttl.Explanation, error) {
	explanations, err := x.Index.ExplainAll()
	if x.fault == unexplained && len(explanations) > 0 {
		explanations = explanations[1:]
	}
	return explanations, err
}

func (x *faulty) Explain(key purekube.Key) (ttl.Explanation, error) {
	e, err := x.Index.Explain(key)
	if x.fault == explainAlone {
		e.Want++
	}
	return e, err
}

func (x *faulty) With(changed ttl.Snapshot) (*faulty, []purekube.Key) {
	inner, keys := x.Index.With(changed)
	next := &faulty{inner, slices.Concat(x.nodes, changed.Nodes), x.fault}
	switch x.fault {
	case forgetsChange:
		return x, keys
	case forgetsKeys:
		return next, nil
	case namesTwice:
		return next, slices.Concat(keys, keys)
	case changesOld:
		x.Index = inner
	case affectsAll:
		explanations, _ := next.ExplainAll()
		keys = nil
		for _, e := range explanations {
			keys = append(keys, e.Key)
		}
	}
	return next, keys
}

func (x *faulty) Without(gone ttl.Snapshot) (*faulty, []purekube.Key) {
	next, keys := x.Index.Without(gone)
	return &faulty{next, x.nodes, x.fault}, keys
}

// misnamed is an action that does not say its own type.
type misnamed struct{ ttl.Action }

func (misnamed) Type() string { return "SetTTL" }

// sharing is an action whose requests all have the same object.
type sharing struct {
	ttl.Action
	Object *corev1.Node
}

func (sharing) Type() string     { return "sharing" }
func (s sharing) String() string { return "sharing " + s.Action.String() }
func (s sharing) Request(done []apiruntime.Object) purekube.Request {
	r := s.Action.Request(done)
	r.Object = s.Object
	return r
}

var toy = Core[*faulty, ttl.Snapshot, ttl.Action, fault, ttl.Explanation]{
	NewIndex: newFaulty,
	Plan: func(s ttl.Snapshot, key purekube.Key, f fault) (ttl.Result, error) {
		if f == functionAlone {
			return ttl.Result{}, nil
		}
		return newFaulty(s, f).Plan(key)
	},
	PlanAll: func(s ttl.Snapshot, f fault) ([]ttl.Outcome, error) {
		if f == allAlone {
			return nil, nil
		}
		return newFaulty(s, f).PlanAll()
	},
	Options:       []fault{""},
	Draw:          drawNodes,
	Words:         []string{"0", "15", "x"},
	ClusterScoped: true,
	Ask: func(x *faulty, s ttl.Snapshot) []Answer {
		var value any
		switch first := slices.IndexFunc(x.nodes, func(n *corev1.Node) bool { return n != nil }); {
		case x.fault == keepsSlice:
			value = first
		case first < 0:
		case x.fault == followsOrder:
			value = x.nodes[first].Name
		case x.fault == shares:
			value = x.nodes[first].Annotations
		case x.fault == ownShares:
			value = x.nodes
		}
		return []Answer{{Question: "first", Value: value}}
	},
	Most: 0.6,
	Permits: func(s ttl.Snapshot, f fault) map[Permit]int {
		permits := map[Permit]int{{What: "nodes"}: len(s.Nodes)}
		if f == permitsMissing {
			permits[Permit{What: "nodes"}] = 100 - len(s.Nodes)
		}
		return permits
	},
	Statement: func(_ ttl.Snapshot, how Damage, _ string, _ apiruntime.Object) bool { return how == Twice },
	Actions:   []string{"SetTTL"},
}

// drawNodes makes up to six nodes: so few are at step 0.
func drawNodes(r *rand.Rand, bad bool) (s ttl.Snapshot) {
	for i := range r.IntN(7) {
		if bad && r.IntN(4) == 0 {
			s.Nodes = append(s.Nodes, nil)
			i = r.IntN(i + 1)
		}
		s.Nodes = append(s.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i), UID: "u",
			Annotations: map[string]string{ttl.Annotation: []string{"0", "15", "x"}[r.IntN(3)]}}})
	}
	return s
}

// recorder is a test whose failure is recorded, and is none of the test that makes it.
type recorder struct {
	testing.TB
	failures []string
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// failures returns what a check says.
func failures(t *testing.T, check func(testing.TB)) []string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		check(r)
	}()
	<-done
	return r.failures
}

// TestFindsFaults runs the checks on an Index that makes one mistake, for each mistake that they promise to find, and
// on one that makes none.
func TestFindsFaults(t *testing.T) {
	check := func(t testing.TB, f fault) {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := toy.Draw(r, seed%2 == 0)
			toy.Check(t, s, f, r)
		}
	}
	changes := func(t testing.TB, f fault) {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 1))
			toy.CheckChanges(t, toy.Draw(r, seed%2 == 0), f, seed%2 == 0, 8, r)
		}
	}
	converges := func(t testing.TB, f fault) {
		for seed := range uint64(20) {
			toy.CheckConverges(t, toy.Draw(rand.New(rand.NewPCG(seed, 1)), false), f)
		}
	}
	missing := func(t testing.TB, f fault) {
		for seed := range uint64(20) {
			toy.CheckMissing(t, toy.Draw(rand.New(rand.NewPCG(seed, 1)), false), f)
		}
	}
	whole := func(t testing.TB, f fault) {
		c := toy
		c.Options = []fault{f}
		c.Test(t, 40)
	}
	for _, c := range []struct {
		fault fault
		by    func(testing.TB, fault)
		says  string
	}{
		{writes, check, "writes to the snapshot"},
		{shares, check, "first: the answer shares memory"},
		{ownShares, check, "first: the answer shares memory"},
		{keepsSlice, check, "after the slices of the snapshot were used again"},
		{followsOrder, check, "with the slices in another order"},
		{emptyOutcomes, check, "has nothing to say"},
		{unsorted, check, "PlanAll: Node/n"},
		{planAlone, check, "-PlanAll +Plan"},
		{functionAlone, check, "-Index +function"},
		{allAlone, check, "PlanAll (-Index +function)"},
		{unexplained, check, "ExplainAll has Node/n"},
		{explainAlone, check, "-ExplainAll +Explain"},
		{silentErr, check, "and Err says <nil>"},
		{silentPlan, check, "PlanAll has an error that Plan"},
		{wrongType, check, `of type "SetTTL" has the request`},
		{sharedRequest, check, "the request shares memory"},
		{forgetsChange, changes, "after With and Without"},
		{forgetsKeys, changes, "is not among []"},
		{namesTwice, changes, "there twice"},
		{changesOld, changes, "the answer is another one after"},
		{affectsAll, whole, "changes of one object affect"},
		{permitsMissing, missing, "left out: /: \"nodes\""},
		{neverEnds, converges, "there is no end of it"},
	} {
		t.Run(strings.ReplaceAll(string(c.fault), " ", "_"), func(t *testing.T) {
			require.Empty(t, failures(t, func(t testing.TB) { c.by(t, "") }), "without the fault")
			found := failures(t, func(t testing.TB) { c.by(t, c.fault) })
			require.NotEmpty(t, found)
			require.Contains(t, found[0], c.says)
		})
	}
}

// TestNoActions: a generator that never leads to an action of the package is a mistake of the test.
func TestNoActions(t *testing.T) {
	c := toy
	c.Actions = append(c.Actions, "Other")
	found := failures(t, func(t testing.TB) { c.Test(t, 40) })
	require.Len(t, found, 1)
	require.Contains(t, found[0], "no plan has the action Other")
}
