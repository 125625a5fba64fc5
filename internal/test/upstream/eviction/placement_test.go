package eviction

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	nodedrain "github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/shop"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// drainedNode comes after all others by name.
const drainedNode = "zz-drained"

// TestPlacement asks for random pods and nodes where the pods go: kube-scheduler's own filters, and drain.Node, which
// drains the node of the pods. First, one pod and one node at a time: drain.Node says whether the node takes the pod, and
// why not. Then all pods and nodes: each pod goes to the node with the fewest pods, of those that take it, and takes room
// there.
func TestPlacement(t *testing.T) {
	cases := parity.Settings(t, 5000)
	c := placementTest{Filters: KubeSchedulerFilters(t), seen: map[string]int{}}
	for i := range cases.Numbers() {
		draw := newDraw(cases.Source(i))
		c.again = func() string { return cases.Again(t, i) + "\n" + draw.text() }
		for _, n := range draw.nodes {
			c.oneNode(t, draw, n)
		}
		if len(draw.strict) == 0 {
			c.allNodes(t, draw)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(c.seen)) {
		t.Logf("%6d  %s", c.seen[kind], kind)
	}
	for _, kind := range []string{
		accepted, leftOut, "a pod of several takes room",
		"node(s) were unschedulable", "node(s) had untolerated taint(s)", "node(s) didn't match Pod's node affinity/selector",
		"node(s) didn't have free ports for the requested pod ports", "Too many pods", "Insufficient cpu", "Insufficient memory",
		"Insufficient ephemeral-storage", "Insufficient example.com/gpu", "Insufficient hugepages-2Mi",
	} {
		if cases.AtLeast(1000) && c.seen[kind] < cases.Count/100 {
			t.Errorf("%q is in %d of %d cases only", kind, c.seen[kind], cases.Count)
		}
	}
	for why, releases := range strictIn {
		if cases.AtLeast(5000) && slices.Contains(releases, parity.Release) && c.seen["stricter: "+why] == 0 {
			t.Errorf("no node is refused because of this alone: %s", why)
		}
	}
}

const (
	accepted = "all filters accept the pod"
	leftOut  = "PreFilter leaves the node out"
)

type placementTest struct {
	Filters
	seen  map[string]int
	again func() string
}

// oneNode compares what is said of the first pod and one node.
func (c placementTest) oneNode(t *testing.T, draw *draw, node *corev1.Node) {
	t.Helper()
	info := NodeInfos([]*corev1.Node{node}, draw.there)[0]
	a := c.Attempt(t, recreated(draw.evicted[0]), []fwk.NodeInfo{info})
	theirs := a.Refuses(t, info)
	if a.leavesOut(info) {
		c.seen[leftOut]++
	}
	for _, reason := range theirs {
		c.seen[reason]++
	}
	if theirs == nil {
		c.seen[accepted]++
	}
	landed, pending := draw.drain(t, 1, node)
	ours := histogram{}
	if theirs != nil {
		ours.count(theirs)
		ours["node(s) were unschedulable"]++ // the drained node
	}
	want := placements{{Node: node.Name}}
	if theirs != nil {
		want = placements{{Message: ours.message(2)}}
	}
	got := placements{{Node: landed[0], Message: pending[0]}}
	if gocmp.Equal(want, got) {
		return
	}
	// The node may be refused, for more reasons than the filters give, or by an earlier filter.
	if why := draw.strict.of(node.Name); why != "" && landed[0] == "" && (why == otherField || containsAll(pending[0], theirs)) {
		if theirs == nil {
			c.seen["stricter: "+why]++
		}
		return
	}
	t.Fatalf("node %s (- kube-scheduler, + ours):\n%s\n%s", node.Name, gocmp.Diff(want, got), c.again())
}

// allNodes compares where all pods go.
func (c placementTest) allNodes(t *testing.T, draw *draw) {
	t.Helper()
	there := slices.Clone(draw.there)
	var want, got placements
	for _, pod := range draw.evicted {
		pod = recreated(pod)
		infos := NodeInfos(draw.nodes, there)
		a := c.Attempt(t, pod, infos)
		reasons := histogram{}
		reasons["node(s) were unschedulable"]++ // the drained node
		var emptiest fwk.NodeInfo
		for _, info := range infos {
			refused := a.Refuses(t, info)
			reasons.count(refused)
			if refused == nil && (emptiest == nil || len(info.GetPods()) < len(emptiest.GetPods())) {
				emptiest = info
			}
		}
		if emptiest == nil {
			want = append(want, placement{Message: reasons.message(len(infos) + 1)})
			continue
		}
		if len(want) > 0 {
			c.seen["a pod of several takes room"]++
		}
		pod.Spec.NodeName = emptiest.Node().Name
		want = append(want, placement{Node: pod.Spec.NodeName})
		there = append(there, pod)
	}
	landed, pending := draw.drain(t, len(draw.evicted), draw.nodes...)
	for i := range landed {
		got = append(got, placement{landed[i], pending[i]})
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("(- kube-scheduler, + ours):\n%s\n%s", diff, c.again())
	}
}

// placement is where a pod goes, or why it goes nowhere.
type placement struct{ Node, Message string }

type placements []placement

// histogram counts nodes by reason.
type histogram map[string]int

func (h histogram) count(reasons []string) {
	for _, r := range reasons {
		h[r]++
	}
}

// message is kube-scheduler's, which sorts the reasons with their numbers.
func (h histogram) message(nodes int) string {
	var texts []string
	for reason, n := range h {
		texts = append(texts, fmt.Sprint(n, " ", reason))
	}
	slices.Sort(texts)
	return fmt.Sprintf("0/%d nodes are available: %s.", nodes, strings.Join(texts, ", "))
}

func containsAll(message string, reasons []string) bool {
	return !slices.ContainsFunc(reasons, func(r string) bool { return !strings.Contains(message, r) })
}

// recreated is the pod that a controller makes in the place of one that is gone.
func recreated(gone *corev1.Pod) *corev1.Pod {
	pod := gone.DeepCopy()
	pod.Spec.NodeName, pod.Status = "", corev1.PodStatus{}
	return pod
}

// drain drains the first of the evicted pods from their node, and says for each where it goes, or why nowhere.
func (d *draw) drain(t *testing.T, n int, nodes ...*corev1.Node) (landed, pending []string) {
	t.Helper()
	s := disruption.Snapshot{Now: shop.Now, Pods: append(slices.Clone(d.there), d.evicted[:n]...),
		ReplicaSets: []*appsv1.ReplicaSet{shop.ReplicaSet("rs", "", ptr.To(int32(n)))}}
	o := nodedrain.Options{Nodes: append(slices.Clone(nodes), readyNode(drainedNode))}
	drained, after, err := nodedrain.Node(disruption.NewIndex(s, disruption.Options{}), drainedNode, o)
	if err != nil || len(drained.Refused) > 0 || !drained.NodesChecked {
		t.Fatal(err, drained, d.text())
	}
	messages := map[string]string{}
	for _, p := range drained.Pending {
		messages[p.Pod.Name] = p.Message
	}
	for _, p := range d.evicted[:n] {
		landed = append(landed, after.Pod(KeyOf(p)).Spec.NodeName)
		pending = append(pending, messages[p.Name])
	}
	return landed, pending
}

// text is what a failing test prints.
func (d *draw) text() string {
	text, err := json.MarshalIndent(map[string]any{"evicted": d.evicted, "nodes": d.nodes, "there": d.there, "strict": d.strict}, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}
