package karpenter

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/karpenter/pkg/utils/pdb"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/eviction"
	"github.com/purekube/purekube/internal/test/samplecluster"
)

var update = flag.Bool("update", false, "write the tables in README.md anew")

const clusters = 5000

// now is when the clusters are looked at.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// sample is a random cluster whose budgets have the status that the disruption controller gives
// them: karpenter decides by it.
func sample(tb testing.TB, i uint64) samplecluster.Cluster {
	tb.Helper()
	c := samplecluster.New(rand.New(rand.NewPCG(1, i)), now)
	for _, p := range c.Pods {
		if p.Status.Phase != corev1.PodRunning {
			// A pod that is ready and does not run counts for its budget until the controller hears that it
			// goes, and the handler alone does not say when that is.
			p.Status.Conditions[0].Status = corev1.ConditionFalse
		}
	}
	outcomes, err := disruption.PlanAll(c.Snapshot, disruption.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	for _, o := range outcomes {
		for _, a := range o.Result.Actions {
			if update, ok := a.(disruption.UpdateStatus); ok {
				at := slices.IndexFunc(c.Budgets, func(c *policyv1.PodDisruptionBudget) bool { return keyOf(c) == keyOf(update.Budget) })
				c.Budgets[at] = update.Budget
			}
		}
	}
	return c
}

func keyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// row counts the questions that were answered alike, and those that only one of the two answered as
// the eviction handler does.
type row struct{ asked, same, purekube, karpenter int }

func (r *row) add(purekube, karpenter, handler bool) {
	r.asked++
	switch {
	case purekube == karpenter:
		r.same++
	case purekube == handler:
		r.purekube++
	default:
		r.karpenter++
	}
}

func TestVerdicts(t *testing.T) {
	pods, nodes := map[string]*row{}, map[string]*row{}
	outcomes := map[string]*[2]int{} // of drain.Node, by what karpenter says
	for i := range uint64(clusters) {
		c := sample(t, i)
		l := limits(t, c.Budgets)
		x := disruption.NewIndex(c.Snapshot, disruption.Options{})
		for _, pod := range c.Pods {
			e, _ := x.CheckEviction(keyOf(pod), disruption.AsWritten)
			answer, err := eviction.Evict(pod, c.Budgets)
			if err != nil {
				t.Fatal(err)
			}
			if e.Verdict.Allowed() != (answer.Code == 201) {
				t.Fatalf("cluster %d, %v: %v, and the API server answers %d %s", i, keyOf(pod), e.Verdict, answer.Code, answer.Text)
			}
			count(pods, kindOfPod(pod, c.Budgets)).add(e.Verdict.Allowed(), canEvict(l, pod), answer.Code == 201)
		}
		for _, node := range c.Nodes {
			on := c.On(node)
			if len(on) == 0 {
				continue
			}
			d, _, _ := drain.Node(x, node, drain.Options{Force: true, DeleteEmptyDirData: true, SkipPod: func(*corev1.Pod) bool { return false }})
			if d.Outcome == drain.NotStarted {
				continue // DaemonSets, which karpenter leaves to its caller
			}
			if len(d.Skipped) > 0 {
				continue // mirror pods, likewise
			}
			atOnce := allAtOnce(t, on, c.Budgets)
			count(nodes, "all pods of a node at once").add(d.Outcome == drain.Now, canEvict(l, on...), atOnce)
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
	b.WriteString("| question | asked | same answer | only purekube is right | only karpenter is right |\n|---|---:|---:|---:|---:|\n")
	for _, m := range []map[string]*row{pods, nodes} {
		for _, kind := range slices.Sorted(maps.Keys(m)) {
			r := m[kind]
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", kind, r.asked, r.same, r.purekube, r.karpenter)
			if r.karpenter > 0 {
				t.Errorf("%s: karpenter is right %d times where purekube is not", kind, r.karpenter)
			}
		}
	}
	b.WriteString("\n| drain.Node | karpenter: can be evicted | karpenter: cannot |\n|---|---:|---:|\n")
	for _, outcome := range slices.Sorted(maps.Keys(outcomes)) {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", outcome, outcomes[outcome][0], outcomes[outcome][1])
	}
	check(t, b.String())
}

func count(m map[string]*row, kind string) *row {
	if m[kind] == nil {
		m[kind] = &row{}
	}
	return m[kind]
}

// kindOfPod is what an eviction of the pod depends on.
func kindOfPod(pod *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) string {
	covering, _ := disruption.NewIndex(disruption.Snapshot{Budgets: budgets}, disruption.Options{}).BudgetsFor(pod)
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	switch {
	case pod.Status.Phase == corev1.PodPending:
		return "one pod: pending"
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil:
		return "one pod: ended, or being deleted"
	case len(covering) == 0:
		return "one pod: no budget"
	case len(covering) > 1:
		return "one pod: several budgets"
	case covering[0].Status.ObservedGeneration < covering[0].Generation:
		return "one pod: the budget's status is of an older generation"
	case ready:
		return "one pod: ready"
	case covering[0].Spec.UnhealthyPodEvictionPolicy != nil && *covering[0].Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow:
		return "one pod: not ready, AlwaysAllow"
	}
	return "one pod: not ready, IfHealthyBudget"
}

// allAtOnce evicts the pods one after the other, each against the budgets as the handler wrote them
// for the one before, and reports whether all of them go.
func allAtOnce(t *testing.T, pods []*corev1.Pod, budgets []*policyv1.PodDisruptionBudget) bool {
	t.Helper()
	budgets = slices.Clone(budgets)
	for _, pod := range pods {
		a, err := eviction.Evict(pod, budgets)
		if err != nil {
			t.Fatal(err)
		}
		if a.Code != 201 {
			return false
		}
		if a.Update != nil {
			budgets[slices.IndexFunc(budgets, func(b *policyv1.PodDisruptionBudget) bool { return keyOf(b) == keyOf(a.Update) })] = a.Update
		}
	}
	return true
}

// TestOneBrokenBudget: a selector that does not compile covers no pod, and is no reason to decide
// nothing about the others. karpenter decides nothing.
func TestOneBrokenBudget(t *testing.T) {
	broken := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "broken"}}
	broken.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "p"}}
	if _, err := pdb.NewLimits(context.Background(), lister{budgets: []*policyv1.PodDisruptionBudget{broken}}); err == nil {
		t.Error("karpenter takes a broken selector now: mend README.md")
	}
	e, err := disruption.NewIndex(disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{broken}, Pods: []*corev1.Pod{pod}}, disruption.Options{}).CheckEviction(keyOf(pod), disruption.AsWritten)
	if err != nil || !e.Verdict.Allowed() {
		t.Errorf("%v, %v: the broken budget is of another namespace", e.Verdict, err)
	}
}

const begin, end = "<!-- verdicts:begin -->\n\n", "\n<!-- verdicts:end -->"

// check holds README.md to the table.
func check(t *testing.T, table string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := bytes.Cut(text, []byte(begin))
	got, after, found := bytes.Cut(rest, []byte(end))
	if !found {
		t.Fatal("README.md has no place for the table")
	}
	if cmp.Compare(string(got), table) == 0 {
		return
	}
	if !*update {
		t.Errorf("README.md is out of date (go test . -update):\n%s", table)
		return
	}
	if err := os.WriteFile("README.md", slices.Concat(before, []byte(begin), []byte(table), []byte(end), after), 0o600); err != nil {
		t.Fatal(err)
	}
}
