package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/message"
)

func planDisruption(c *cluster, set settings) section {
	d := newDrains(c, set)
	s := section{Headline: fmt.Sprintf("%s for %s", message.Count(len(c.Budgets), "PodDisruptionBudget"),
		message.Count(len(c.Pods), "pod"))}

	outcomes, err := d.index.PlanAll()
	s.Err = err
	plans := map[purekube.Key]disruption.Outcome{}
	for _, o := range outcomes {
		plans[o.Key] = o
	}
	// The error is the error of PlanAll.
	explained, _ := d.index.ExplainAll()
	explanations := map[purekube.Key]disruption.Explanation{}
	for _, e := range explained {
		explanations[e.Key] = e
		if plans[e.Key].Key != e.Key {
			plans[e.Key] = disruption.Outcome{Key: e.Key}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(plans), compareDisruptionKeys) {
		o, e := plans[key], explanations[key]
		if key.Kind == "Pod" {
			f := findingOf(purekube.Key{Kind: "Pod", Namespace: key.Namespace, Name: key.Name}, o.Result, o.Err,
				func(disruption.Action) (more, why string) {
					return "", "it was evicted and not deleted in time"
				})
			f.Reasons = reasonsOf(e.Reasons)
			several := e.Pod != nil && len(e.Pod.Budgets) > 1
			if set.explain && e.Key == key {
				f.Explained = e
			}
			if set.explain && several {
				f.Explanation = []string{e.Reasons[1].Message}
			}
			s.Findings = append(s.Findings, f)
			if several {
				d.suspects[types.NamespacedName{Namespace: key.Namespace, Name: key.Name}] = true
			}
			continue
		}
		b := cmp.Or(e.Budget, &disruption.BudgetExplanation{}) // nil for a name that several budgets have
		f := findingOf(purekube.Key{Kind: "PodDisruptionBudget", Namespace: key.Namespace, Name: key.Name}, o.Result, o.Err,
			func(disruption.Action) (more, why string) {
				return "", whyStatus(b)
			})
		f.Never, f.Reasons = b.Never, reasonsOf(e.Reasons)
		if f.NotKnown, f.NoPods = neverNotKnown(b, o.Err); f.NoPods && set.passEmptyBudgets {
			f.NotKnown = ""
		}
		if set.explain && e.Key == key {
			f.Explanation, f.Explained = explainBudget(e), e
			d.add(e.Key.Namespace, b)
		}
		s.Findings = append(s.Findings, f)
		for _, a := range o.Result.Actions {
			d.written(a.(disruption.UpdateStatus))
		}
	}
	if set.explain {
		s.Explanation = d.blocked(c)
	}
	return s
}

// neverNotKnown is why it is not known whether the budget ever allows a disruption; empty if it is known. Manifests
// have no pods: that nothing forbids their eviction does not say that the budget allows it.
func neverNotKnown(e *disruption.BudgetExplanation, err error) (why string, noPods bool) {
	switch {
	case e.Never:
		return "", false
	case err != nil || e.Failure != "":
		return "it cannot be computed", false
	case len(e.Needs) > 0:
		return "the scale of its controllers is not in the input", false
	case len(e.Pods) == 0:
		return "it selects no pod of the input", true
	}
	return "", false
}

// whyStatus says what is wrong with the status that is there.
func whyStatus(e *disruption.BudgetExplanation) string {
	switch {
	case e.Failure != "":
		return e.Failure
	case e.Reported == e.Computed:
		return "the status counts are correct, but its conditions or disrupted pods are out of date"
	}
	return "its status says " + e.Reported.String()
}

// explainBudget answers "why can this not be drained": what the budget demands, each controller and
// what it wants, each pod and how it counts.
func explainBudget(e disruption.Explanation) []string {
	demand := e.Budget.Rule
	if demand == "" {
		demand = "neither minAvailable nor maxUnavailable"
	}
	lines := []string{
		e.Reasons[0].Message,
		fmt.Sprintf("it sets %s for pods with %s", demand, e.Budget.Selector),
	}
	for _, c := range e.Budget.Controllers {
		text := strings.TrimSpace(c.Kind + " " + c.Name)
		if through := strings.Join(c.Through, ", "); through != text {
			text += " (through " + through + ")"
		}
		if c.Problem != "" {
			lines = append(lines, "  "+text+": "+c.Problem)
		} else {
			lines = append(lines, fmt.Sprintf("  %s expects %s", text, message.Count(int(c.Scale), "pod")))
		}
	}
	unmanaged := setOf(e.Budget.Unmanaged)
	for _, p := range e.Budget.Pods {
		text := "  pod " + p.Name
		if p.Node != "" {
			text += " on " + p.Node
		}
		switch p.Health {
		case disruption.Healthy:
			text += ": healthy"
		case disruption.BeingEvicted:
			text += fmt.Sprintf(": evicted, and must be deleted by %s", p.Until.UTC().Format(time.RFC3339))
		default:
			text += fmt.Sprintf(": %s", healthText(p.Health))
		}
		if unmanaged[p.Name] {
			text += "; it has no controller, so it is not expected"
		}
		lines = append(lines, text)
	}
	return lines
}

// healthText is how a pod counts, for people.
func healthText(h disruption.Health) string {
	return map[disruption.Health]string{
		disruption.Healthy: "healthy", disruption.NotReady: "not ready", disruption.BeingDeleted: "being deleted",
		disruption.BeingEvicted: "being evicted",
	}[h]
}

// drains finds the nodes that cannot be drained at the moment.
type drains struct {
	snapshot disruption.Snapshot
	index    *disruption.Index
	// right are the budgets whose status in the input is out of date, with the right one.
	right []*policyv1.PodDisruptionBudget
	// suspects are the pods whose eviction may be refused.
	suspects map[types.NamespacedName]bool
}

func newDrains(c *cluster, set settings) *drains {
	snapshot := c.Disruption(set.now)
	return &drains{
		snapshot: snapshot,
		index:    disruption.NewIndex(snapshot, disruption.Options{MatchUpstream: set.matchUpstream}),
		suspects: map[types.NamespacedName]bool{},
	}
}

// add takes note of the pods of a budget that allows nothing.
func (d *drains) add(namespace string, e *disruption.BudgetExplanation) {
	if !e.Blocks() {
		return
	}
	for _, p := range e.Pods {
		d.suspects[types.NamespacedName{Namespace: namespace, Name: p.Name}] = true
	}
}

// written takes note of a status that is about to be written.
func (d *drains) written(a disruption.UpdateStatus) { d.right = append(d.right, a.Budget) }

// upToDate is the snapshot with the statuses that the plan writes: an eviction goes by these.
func (d *drains) upToDate() *disruption.Index {
	x, _ := d.index.With(disruption.Snapshot{Budgets: d.right})
	return x
}

// blocked has a paragraph for each node that holds pods whose eviction would be refused now.
func (d *drains) blocked(c *cluster) []string {
	held := map[string][]string{}
	nodes := map[types.NamespacedName]*corev1.Pod{}
	for _, p := range d.snapshot.Pods {
		nodes[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p
	}
	if c.hides("PodDisruptionBudget") {
		return []string{"nodes that cannot be drained are not listed: a PodDisruptionBudget could not be read"}
	}
	index := d.upToDate()
	for _, key := range slices.SortedFunc(maps.Keys(d.suspects), compareKeys) {
		pod := nodes[key]
		if pod == nil || pod.Spec.NodeName == "" {
			continue
		}
		// Errors are about the budgets.
		e, _ := index.CheckEviction(key, disruption.AsWritten)
		if e.Verdict == disruption.NoVerdict || e.Verdict.Allowed() {
			continue
		}
		by := "more than one budget selects it"
		if len(e.Blocking) == 1 {
			by = "budget " + e.Blocking[0].Name
		}
		held[pod.Spec.NodeName] = append(held[pod.Spec.NodeName], fmt.Sprintf("%s (%s)", key, by))
	}
	var lines []string
	for _, node := range slices.Sorted(maps.Keys(held)) {
		lines = append(lines, fmt.Sprintf("%s cannot be drained now: %s cannot be evicted: %s",
			node, message.Count(len(held[node]), "pod"), list(held[node], 10)))
	}
	return lines
}

// compareDisruptionKeys puts budgets before pods.
func compareDisruptionKeys(a, b purekube.Key) int {
	return cmp.Or(-cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
