package fleet

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/purekube/purekube/disruption"
	nodedrain "github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/upstream/eviction"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// ways are how nodes are drained.
var ways = []string{"alone", "one after the other", "together"}

// TestDrains drains nodes of each cluster: one alone, some one after the other, and some at the same time. A recreated pod
// finds a node.
func TestDrains(t *testing.T) { drainAll(t, false) }

// TestDrainsWithNodes does the same on nodes that take a pod only if kube-scheduler's filters accept it.
func TestDrainsWithNodes(t *testing.T) { drainAll(t, true) }

func drainAll(t *testing.T, tight bool) {
	cases := parity.Settings(t, 200)
	for n, way := range ways {
		t.Run(way, func(t *testing.T) {
			seen := map[string]int{}
			for i := range cases.Numbers() {
				failed := ""
				r := cases.Source(n<<32 | i)
				play(t, r, func(c *cluster) {
					if diff := compare(&maker{cluster: c, r: r, tight: tight}, way, seen); diff != "" {
						failed = cases.Again(t, i) + "\n" + diff
					}
				})
				if failed != "" {
					t.Fatal(failed)
				}
			}
			for _, kind := range slices.Sorted(maps.Keys(seen)) {
				t.Logf("%6d  %s", seen[kind], kind)
			}
			for _, outcome := range []nodedrain.Outcome{nodedrain.Now, nodedrain.InRounds, nodedrain.Never, nodedrain.NotStarted} {
				if kind := "outcome " + string(outcome); cases.AtLeast(200) && seen[kind] < cases.Count/100 {
					t.Errorf("%s is in %d of %d clusters only", kind, seen[kind], cases.Count)
				}
			}
		})
	}
}

// compare drains nodes of a random cluster. It returns the difference, unless ours goes in the same way, or in a
// stricter one for a reason that is known.
func compare(m *maker, way string, seen map[string]int) string {
	m.fill()
	nodes := m.nodes[:1]
	switch {
	case way != "alone":
		nodes = m.nodes[:1+m.r.IntN(min(len(m.nodes)-1, 8))]
	case m.oneIn(4):
		nodes = []string{pick(m.r, m.nodes...)}
	}
	for _, node := range nodes {
		m.cordoned[node] = true
	}
	flags := nodedrain.Options{IgnoreDaemonSets: !m.oneIn(8), DeleteEmptyDirData: !m.oneIn(8), Force: !m.oneIn(8)}
	// Pods that end by themselves leave room, and their successors take some: drain.Node does not look at them.
	s := m.last(way != "one after the other" && !m.tight)
	asked := fmt.Sprintf("%+v", flags)
	flags.Nodes = m.machinesNow()
	x := disruption.NewIndex(s, disruption.Options{MatchUpstream: parity.Release})
	var ours []nodedrain.Drain
	var err error
	var really []played
	switch way {
	case "alone":
		ours = make([]nodedrain.Drain, 1)
		ours[0], _, err = nodedrain.Node(x, nodes[0], flags)
		really = m.drain(nodes, flags)
	case "together":
		ours, _, err = nodedrain.Nodes(x, nodes, flags)
		really = m.drain(nodes, flags)
	default:
		ours = make([]nodedrain.Drain, len(nodes))
		for i, node := range nodes {
			var failed error
			ours[i], x, failed = nodedrain.Node(x, node, flags)
			err = errors.Join(err, failed)
			really = append(really, m.drain([]string{node}, flags)...)
		}
	}
	if err != nil {
		return err.Error()
	}
	seen["clusters"]++
	for i, node := range nodes {
		got, want := asPlayed(ours[i]), really[i]
		seen["outcome "+string(want.Outcome)]++
		seen[fmt.Sprintf("rounds  %2d", len(want.Rounds))]++
		diff := cmp.Diff(want, got, cmpopts.EquateEmpty())
		if diff == "" {
			continue
		}
		why := stricter(s, want, got)
		if why == "" && m.failedJobCounted(s, want, got) {
			seen["less strict: a budget counts pods of a Job that fails"]++
			return "" // the nodes after it meet other clusters
		}
		if why == "" {
			return fmt.Sprintf("draining %s of %v with %s (- Kubernetes, + ours):\n%s\nfor\n%s%s",
				node, nodes, asked, diff, text(s), textOfNodes(flags.Nodes))
		}
		seen["stricter: "+why]++
		return "" // the nodes after it meet other clusters
	}
	if !m.tight {
		return ""
	}
	want, got := m.foundNone(s), foundNone(s, ours)
	switch diff, why := cmp.Diff(want, got), stricterRoom(s); {
	case diff == "":
		seen[fmt.Sprintf("pods that find no node %2d", total(want))]++
		return ""
	case why != "" && total(got) >= total(want):
		seen["stricter: "+why]++
		return ""
	default:
		return fmt.Sprintf("pods that find no node when %v are drained (- Kubernetes, + ours):\n%s\nfor\n%s%s",
			nodes, diff, text(s), textOfNodes(m.machines))
	}
}

// foundNone counts the pods that wait for a node since the snapshot, by what they take the place of.
func (m *maker) foundNone(s disruption.Snapshot) map[string]int {
	waiting := map[string]int{}
	for _, pod := range m.unscheduled() {
		waiting[placeOf(pod)]++
	}
	for _, pod := range s.Pods {
		// It waited before. A ReplicaSet has replaced a pod that is being deleted already.
		again := pod.DeletionTimestamp == nil || strings.Contains(placeOf(pod), "/")
		if pod.Spec.NodeName == "" && !terminal(pod) && again && waiting[placeOf(pod)] > 0 {
			waiting[placeOf(pod)]--
		}
	}
	maps.DeleteFunc(waiting, func(_ string, n int) bool { return n == 0 })
	return waiting
}

// foundNone counts the pods that find no node in the drains.
func foundNone(s disruption.Snapshot, drains []nodedrain.Drain) map[string]int {
	waiting := map[string]int{}
	for _, d := range drains {
		for _, p := range d.Pending {
			i := slices.IndexFunc(s.Pods, func(pod *corev1.Pod) bool { return eviction.KeyOf(pod) == p.Pod })
			waiting[placeOf(s.Pods[i])]++
		}
	}
	return waiting
}

func total(waiting map[string]int) (n int) {
	for _, pods := range waiting {
		n += pods
	}
	return n
}
