// Package verdicts asks projects and purekube the same questions about random clusters, and counts who answers as the
// API server's eviction handler does.
package verdicts

import (
	"bytes"
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
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/samplecluster"
	"github.com/purekube/purekube/internal/test/upstream/eviction"
)

// Clusters is how many clusters the questions are about.
const Clusters = 5000

// Now is when the clusters are looked at.
var Now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Sample is a random cluster whose budgets have the status that the disruption controller gives them: the projects
// decide by it.
func Sample(tb testing.TB, i uint64) samplecluster.Cluster {
	tb.Helper()
	c := samplecluster.New(rand.New(rand.NewPCG(1, i)), Now)
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
				replace(c.Budgets, update.Budget)
			}
		}
	}
	return c
}

// replace puts the budget into the place of the budget with its name.
func replace(budgets []*policyv1.PodDisruptionBudget, by *policyv1.PodDisruptionBudget) {
	for i, b := range budgets {
		if KeyOf(b) == KeyOf(by) {
			budgets[i] = by
		}
	}
}

// KeyOf is the name of an object.
func KeyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Allowed reports whether the API server's own handler lets the pod go.
func Allowed(tb testing.TB, pod *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) bool {
	tb.Helper()
	a, err := eviction.Evict(pod, budgets)
	if err != nil {
		tb.Fatal(err)
	}
	return a.Code == 201
}

// AllAtOnce evicts the pods one after the other, each against the budgets as the handler left them, and reports
// whether all of them go.
func AllAtOnce(tb testing.TB, pods []*corev1.Pod, budgets []*policyv1.PodDisruptionBudget) bool {
	tb.Helper()
	budgets = slices.Clone(budgets)
	for _, pod := range pods {
		a, err := eviction.Evict(pod, budgets)
		if err != nil {
			tb.Fatal(err)
		}
		if a.Code != 201 {
			return false
		}
		if a.Update != nil {
			replace(budgets, a.Update)
		}
	}
	return true
}

// KindOf is what an eviction of the pod depends on.
func KindOf(pod *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) string {
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
	case ptr.Deref(covering[0].Spec.UnhealthyPodEvictionPolicy, "") == policyv1.AlwaysAllow:
		return "one pod: not ready, AlwaysAllow"
	}
	return "one pod: not ready, IfHealthyBudget"
}

// Rows count the answers to each kind of question.
type Rows map[string]*row

// row counts the questions that were answered alike, and questions that only one of the two answered as the eviction
// handler does.
type row struct{ asked, same, ours, theirs int }

// Add counts a question.
func (all Rows) Add(kind string, ours, theirs, handler bool) {
	r := all[kind]
	if r == nil {
		r = &row{}
		all[kind] = r
	}
	r.asked++
	switch {
	case ours == theirs:
		r.same++
	case ours == handler:
		r.ours++
	default:
		r.theirs++
	}
}

// Table is a Markdown table with a line for each kind of question, about pods first. It fails the test if the project
// is right anywhere and purekube is not.
func Table(tb testing.TB, project string, pods, nodes Rows) string {
	tb.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "| question | asked | same answer | only purekube is right | only %s is right |\n", project)
	b.WriteString("|---|---:|---:|---:|---:|\n")
	for _, m := range []Rows{pods, nodes} {
		for _, kind := range slices.Sorted(maps.Keys(m)) {
			r := m[kind]
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", kind, r.asked, r.same, r.ours, r.theirs)
			if r.theirs > 0 {
				tb.Errorf("%s: %s is right %d times where purekube is not", kind, project, r.theirs)
			}
		}
	}
	return b.String()
}

// Check holds the place of the README to the table, and writes it there if update is set.
func Check(tb testing.TB, place, table string, update bool) {
	tb.Helper()
	const path = "../README.md"
	begin, end := "<!-- "+place+":begin -->\n\n", "\n<!-- "+place+":end -->"
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	before, rest, _ := bytes.Cut(text, []byte(begin))
	got, after, found := bytes.Cut(rest, []byte(end))
	switch {
	case !found:
		tb.Fatalf("README.md has no place %s", place)
	case string(got) == table:
	case !update:
		tb.Errorf("README.md is out of date (go test . -update):\n%s", table)
	default:
		if err := os.WriteFile(path, slices.Concat(before, []byte(begin), []byte(table), []byte(end), after),
			0o600); err != nil {
			tb.Fatal(err)
		}
	}
}
