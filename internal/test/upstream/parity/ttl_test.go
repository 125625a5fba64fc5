package parity

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/kubernetes/pkg/controller/ttl"

	"github.com/purekube/purekube/ttl"
)

// ttlCore compares a start of the controller: it begins at step 0 and hears of one node
// after the other, so that it settles before it looks at the first.
var ttlCore = Core[ttl.Snapshot]{
	Name:     "ttl",
	Generate: generateNodes,
	Objects: func(s ttl.Snapshot) []runtime.Object {
		return asObjects(s.Nodes)
	},
	Start: func(ttl.Snapshot) Start { return startTTL },
	Ours: func(s ttl.Snapshot) Trace {
		outcomes, _ := ttl.PlanAll(s, ttl.Options{})
		var trace Trace
		var answers Answers
		for _, o := range outcomes {
			trace.Requests = append(trace.Requests, Planned(&answers, o.Result.Actions)...)
			trace.Events = append(trace.Events, EventsOf(o.Result.Events)...)
			if o.Err != nil {
				trace.Failed = append(trace.Failed, o.Key.Name)
			}
		}
		return trace
	},
	Kinds: []string{"nothing", "patch nodes", "step 0", "step 1", "step 2", "step 3", "step 4"},
	Marks: func(s ttl.Snapshot, _ Trace) []string {
		return []string{fmt.Sprintf("step %d", ttl.NewIndex(s, ttl.Options{}).Step())}
	},
	Smaller: func(s ttl.Snapshot) []ttl.Snapshot {
		var smaller []ttl.Snapshot
		for _, nodes := range Without(s.Nodes) {
			smaller = append(smaller, ttl.Snapshot{Nodes: nodes})
		}
		return smaller
	},
}

func startTTL(ctx context.Context, w *World) (func(context.Context), error) {
	c := upstream.NewTTLController(ctx, w.Informers.Core().V1().Nodes(), w.Client)
	return func(ctx context.Context) { c.Run(ctx, w.Workers) }, nil
}

func TestTTL(t *testing.T) { ttlCore.Test(t) }

// TestTTLWalk follows clusters that grow and shrink around each limit, one node event at a
// time: the step at a size depends on where the cluster came from.
func TestTTLWalk(t *testing.T) {
	run := Settings(t, 5000)
	limits := []struct{ low, high int }{{90, 100}, {450, 500}, {900, 1000}, {1800, 2000}}
	crossed := map[string]int{}
	for i := range max(1, run.Count/500) {
		for n, limit := range limits {
			walkTTL(t, run.Source(i*len(limits)+n), limit.low-5, limit.high+5, crossed)
		}
	}
	for _, crossing := range []string{"0 to 1", "1 to 2", "2 to 3", "3 to 4", "4 to 3", "3 to 2", "2 to 1", "1 to 0"} {
		require.NotZero(t, crossed[crossing], "no walk went from step %s", crossing)
	}
	t.Logf("steps crossed: %v", crossed)
}

// walkTTL walks from somewhere between two sizes to the upper one, down to the lower one and up
// again. The real controller hears of each event, and its patches are compared with the
// plan for the step that an Index of the same events has.
func walkTTL(t *testing.T, r *rand.Rand, low, high int, crossed map[string]int) {
	t.Helper()
	steps, x := ttl.Steps(), ttl.NewIndex(ttl.Snapshot{}, ttl.Options{})
	size := low + r.IntN(high-low+1)
	cluster := make([]*corev1.Node, 0, high+1)
	for n := range size {
		x, _ = x.With(ttl.Snapshot{Nodes: []*corev1.Node{node(n, noTTL)}})
	}
	step := x.Step()
	for n := range size {
		cluster = append(cluster, node(n, strconv.Itoa(int(steps[step].TTL.Seconds()))))
	}
	made := size

	// The controller keeps what it is given; the walk replaces nodes and never writes to one.
	Run(t, asObjects(cluster), startTTL, func(t *testing.T, w *World) {
		require.Empty(t, w.Settle(), "every node has the TTL of step %d", step)
		ways := []int{+1, -1, +1}
		for events := 0; len(ways) > 0; events++ {
			var planned *corev1.Node // the node that the event is about, if it is still there
			before := step
			var what string
			switch way := ways[0]; {
			case r.IntN(3) == 0 && len(cluster) > 0:
				i := r.IntN(len(cluster))
				planned = changed(r, cluster[i], steps[step].TTL.Seconds())
				cluster[i] = planned
				what = "update of " + planned.Name
				w.Update(planned)
			// One step back for four ahead, so that the way is not straight.
			case (way > 0) == (r.IntN(5) > 0):
				planned = node(made, someTTL(r))
				made++
				cluster = append(cluster, planned)
				x, _ = x.With(ttl.Snapshot{Nodes: []*corev1.Node{planned}})
				what = "new " + planned.Name
				w.Add(planned)
			default:
				i := r.IntN(len(cluster))
				gone := cluster[i]
				cluster[i] = cluster[len(cluster)-1]
				cluster = cluster[:len(cluster)-1]
				x, _ = x.Without(ttl.Snapshot{Nodes: []*corev1.Node{gone}})
				what = gone.Name + " is gone"
				w.Delete(gone, r.IntN(4) == 0)
			}

			step = x.Step()
			var ours Trace
			if planned != nil {
				result, err := ttl.Plan(ttl.Snapshot{Step: step, Nodes: cluster}, ttl.KeyOf(planned), ttl.Options{})
				require.NoError(t, err)
				ours.Requests = Planned(&Answers{}, result.Actions)
			}
			if diff := cmp.Diff(w.Settle().Lines(), ours.Lines()); diff != "" {
				t.Fatalf("event %d (%s), %d nodes, step %d after %d (- kube-controller-manager, + ours):\n%s",
					events, what, len(cluster), step, before, diff)
			}
			if step != before {
				crossed[fmt.Sprintf("%d to %d", before, step)]++
			}
			if ways[0] > 0 && len(cluster) >= high || ways[0] < 0 && len(cluster) <= low {
				ways = ways[1:]
			}
		}
	})
}

// generateNodes makes small clusters and, for the steps, some around the limits, most of
// whose nodes are right already.
func generateNodes(r *rand.Rand) ttl.Snapshot {
	size, wrong := r.IntN(8), 0.5
	if r.IntN(5) == 0 {
		around := [][2]int{{85, 110}, {440, 510}, {890, 1010}, {1995, 2010}}[r.IntN(4)]
		size, wrong = around[0]+r.IntN(around[1]-around[0]), 0.01
	}
	right := "0"
	for _, step := range []struct {
		above int
		ttl   string
	}{{100, "15"}, {500, "30"}, {1000, "60"}, {2000, "300"}} {
		if size > step.above {
			right = step.ttl
		}
	}
	s := ttl.Snapshot{Nodes: make([]*corev1.Node, 0, size)}
	for n := range size {
		value := right
		if r.Float64() < wrong {
			value = someTTL(r)
		}
		s.Nodes = append(s.Nodes, node(n, value))
	}
	r.Shuffle(len(s.Nodes), func(i, j int) { s.Nodes[i], s.Nodes[j] = s.Nodes[j], s.Nodes[i] })
	return s
}

const noTTL = "none"

// someTTL is what people, other programs and older versions leave in the annotation.
func someTTL(r *rand.Rand) string {
	values := []string{
		noTTL, "0", "15", "30", "60", "300", "1",
		"", " ", "x", "0x0", "15s", " 15", "15 ", "1e1", "0.0", "+0", "-0", "00", "+15", "015", "0015", "1_5", "٣٠",
		"-15", "9223372036854775807", "9223372036854775808", "99999999999999999999999",
	}
	return values[r.IntN(len(values))]
}

func node(number int, value string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("node-%04d", number), UID: types.UID(fmt.Sprintf("uid-%04d", number)), ResourceVersion: "1",
	}}
	switch {
	case value != noTTL:
		n.Annotations = map[string]string{ttl.Annotation: value}
	case number%3 == 0:
		n.Annotations = map[string]string{}
	}
	if number%2 == 0 && n.Annotations != nil {
		n.Annotations["volumes.kubernetes.io/controller-managed-attach-detach"] = "true"
	}
	return n
}

// changed is the node after an update: a heartbeat, the write that the controller asked for,
// or someone's hand.
func changed(r *rand.Rand, n *corev1.Node, seconds float64) *corev1.Node {
	c := n.DeepCopy()
	switch r.IntN(3) {
	case 0:
		c.ResourceVersion += "0"
	case 1:
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, ttl.Annotation, strconv.Itoa(int(seconds)))
	default:
		delete(c.Annotations, ttl.Annotation)
		if value := someTTL(r); value != noTTL {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, ttl.Annotation, value)
		}
	}
	return c
}
