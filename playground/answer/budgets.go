package answer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/manifests"
)

// Budget is what plan says of a PodDisruptionBudget.
type Budget struct {
	Name string `json:"name"`
	// Rule is what it demands, and Selector the pods that it is about.
	Rule     string `json:"rule"`
	Selector string `json:"selector"`
	// State is how it looks: "allows", "blocks", "never" or "unknown".
	State string `json:"state"`
	// Says is one sentence.
	Says string `json:"says"`
	// Counts are the numbers of the status that is right. Nil: they are not known.
	Counts *disruption.Counts `json:"counts"`
	// Writes is what kube-controller-manager would write now. Empty: the status is right, or not known.
	Writes string `json:"writes"`
	// Pods are the pods that do not count as healthy.
	Pods []string `json:"pods"`
}

// budgets adds what plan says of each budget, and what is wrong with them.
func (in *input) budgets() {
	if len(in.Budgets) == 0 || in.refuses(planQuestion, whole, nil) {
		return
	}
	explained, err := in.index.ExplainAll()
	for _, e := range explained {
		if e.Key.Kind != manifests.PodDisruptionBudget.Kind {
			continue
		}
		result, planned := in.index.Plan(e.Key)
		in.problems(planned)
		in.answer.Budgets = append(in.answer.Budgets, in.budget(e, result, planned))
	}
	in.problems(err)
	// The worst come first. What several budgets have in common is in no list of another.
	order := []string{never, blocks, unknown, allows}
	slices.SortStableFunc(in.answer.Budgets, func(a, b Budget) int {
		return cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State))
	})
	if more := len(in.answer.Budgets) - mostLines; more > 0 {
		in.answer.Budgets = in.answer.Budgets[:mostLines]
		in.note("%s more: purekube plan prints all of them.", count(more, "budget"))
	}
}

// The states of a budget.
const (
	allows  = "allows"
	blocks  = "blocks"
	never   = "never"
	unknown = "unknown"
)

// budget is one budget.
func (in *input) budget(e disruption.Explanation, result disruption.Result, err error) Budget {
	x := e.Budget
	b := Budget{Name: e.Key.Namespace + "/" + e.Key.Name, State: unknown}
	if x != nil {
		b.Rule, b.Selector = x.Rule, x.Selector
	}
	switch {
	case in.ReadInPart(e.Key):
		b.Says = "A field of it could not be read, so nothing is decided about it."
		return b
	case x == nil || err != nil && x.Failure == "":
		b.Says = "It cannot be computed: see what is wrong with the input."
		return b
	case len(x.Needs) > 0 && !x.Never:
		b.Says = "Not known without " + needText(x.Needs[0]) + "."
		return b
	case x.Failure != "":
		b.State, b.Says = blocks, "Its status cannot be computed, so it allows no disruption: "+x.Failure
	case x.Never:
		b.State, b.Says = never, "Never allows a disruption, even with all of its pods healthy."
	case len(x.Pods) == 0:
		b.Says = "Selects no pod of the input."
	case x.Computed.DisruptionsAllowed > 0:
		b.State, b.Says = allows, fmt.Sprintf("Allows %s.", count(int(x.Computed.DisruptionsAllowed), "disruption"))
	default:
		b.State, b.Says = blocks, "Allows no disruption now."
		if x.Shortfall > 0 {
			b.Says = fmt.Sprintf("Allows no disruption now: it is short of %s.", count(int(x.Shortfall), "healthy pod"))
		}
	}
	if len(x.Needs) == 0 {
		b.Counts = &x.Computed
	}
	for _, p := range x.Pods {
		if p.Health != disruption.Healthy && len(b.Pods) < 10 {
			b.Pods = append(b.Pods, p.Name+": "+healthText[p.Health])
		}
	}
	if !in.answer.AtFullHealth { // manifests have no status that could be out of date
		for _, a := range result.Actions {
			b.Writes = a.String()
		}
	}
	return b
}

var healthText = map[disruption.Health]string{
	disruption.NotReady: "not ready", disruption.BeingDeleted: "being deleted", disruption.BeingEvicted: "being evicted",
}

// needText is what is not in the input.
func needText(n purekube.Need) string {
	name := n.Name
	if n.Namespace != "" {
		name = n.Namespace + "/" + name
	}
	if n.Subresource != "" {
		return fmt.Sprintf("the %s of %s %s (%s), which is not in the input", n.Subresource, n.Kind, name, n.APIVersion)
	}
	return fmt.Sprintf("%s %s (%s), which is not in the input", n.Kind, name, n.APIVersion)
}
