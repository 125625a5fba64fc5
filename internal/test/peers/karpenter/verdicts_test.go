package karpenter

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/karpenter/pkg/utils/pdb"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/peers/verdicts"
)

var update = flag.Bool("update", false, "write the tables in ../README.md anew")

func TestVerdicts(t *testing.T) {
	pods, nodes := verdicts.Rows{}, verdicts.Rows{}
	outcomes := map[string]*[2]int{} // of drain.Node, by what karpenter says
	for i := range uint64(verdicts.Clusters) {
		c := verdicts.Sample(t, i)
		l := limits(t, c.Budgets)
		x := disruption.NewIndex(c.Snapshot, disruption.Options{})
		for _, pod := range c.Pods {
			e, _ := x.CheckEviction(verdicts.KeyOf(pod), disruption.AsWritten)
			allowed := verdicts.Allowed(t, pod, c.Budgets)
			if e.Verdict.Allowed() != allowed {
				t.Fatalf("cluster %d, %v: %v, and the API server allows it: %t", i, verdicts.KeyOf(pod), e.Verdict, allowed)
			}
			pods.Add(verdicts.KindOf(pod, c.Budgets), e.Verdict.Allowed(), canEvict(l, pod), allowed)
			if _, adapter := (Limits{x}).CanEvictPods([]*corev1.Pod{pod}, clock.RealClock{}, silent{}); adapter != allowed {
				t.Fatalf("cluster %d, %v: the adapter says %t", i, verdicts.KeyOf(pod), adapter)
			}
		}
		for _, node := range c.Nodes {
			on := c.On(node)
			if len(on) == 0 {
				continue
			}
			// Whether a pod that is being deleted ever ends is no question for the handler, or for karpenter.
			d, _, _ := drain.Node(x, node, drain.Options{Force: true, DeleteEmptyDirData: true, Stuck: 1000 * time.Hour})
			if d.Outcome == drain.NotStarted {
				continue // DaemonSets, which karpenter leaves to its caller
			}
			if len(d.Skipped) > 0 {
				continue // mirror pods, likewise
			}
			nodes.Add("all pods of a node at once", d.Outcome == drain.Now, canEvict(l, on...),
				verdicts.AllAtOnce(t, on, c.Budgets))
			n := outcomes[string(d.Outcome)]
			if n == nil {
				n = &[2]int{}
				outcomes[string(d.Outcome)] = n
			}
			if canEvict(l, on...) {
				n[0]++
			} else {
				n[1]++
			}
		}
	}
	var b strings.Builder
	b.WriteString(verdicts.Table(t, "karpenter", pods, nodes))
	b.WriteString("\n| drain.Node | karpenter: can be evicted | karpenter: cannot |\n|---|---:|---:|\n")
	for _, outcome := range slices.Sorted(maps.Keys(outcomes)) {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", outcome, outcomes[outcome][0], outcomes[outcome][1])
	}
	verdicts.Check(t, "karpenter", b.String(), *update)
}

// TestOneBrokenBudget: a selector that does not compile covers no pod, and is no reason to decide
// nothing about the others. karpenter decides nothing.
func TestOneBrokenBudget(t *testing.T) {
	broken := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "broken"}}
	broken.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app",
		Operator: "Like"}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "p"}}
	if _, err := pdb.NewLimits(context.Background(),
		lister{budgets: []*policyv1.PodDisruptionBudget{broken}}); err == nil {
		t.Error("karpenter takes a broken selector now: fix README.md")
	}
	x := disruption.NewIndex(disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{broken},
		Pods: []*corev1.Pod{pod}}, disruption.Options{})
	e, err := x.CheckEviction(verdicts.KeyOf(pod), disruption.AsWritten)
	if err != nil || !e.Verdict.Allowed() {
		t.Errorf("%v, %v: the broken budget is of another namespace", e.Verdict, err)
	}
}
