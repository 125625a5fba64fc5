package admission

import (
	"cmp"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/purekube/purekube/disruption"
)

// BudgetOptions are the options of [BudgetWrite].
type BudgetOptions struct {
	// Refuse a budget that can never let a pod be evicted. By default its writer gets a warning.
	Refuse bool
	// AllowUnknown, with Refuse, allows a budget that cannot be computed. By default it is refused.
	AllowUnknown bool
}

// BudgetWrite warns the writer of a PodDisruptionBudget that can never let a pod be evicted, even with all of its pods
// healthy, or refuses it with 403: see [BudgetOptions].Refuse.
//
// It protects against nodes that cannot be drained. The answer is the same for stock kube-controller-manager and
// disruption: both compute the budget alike.
//
// A budget that has no pods yet is judged by its spec alone. With Refuse, a budget that cannot be computed is refused with
// 403, unless AllowUnknown is set: one that needs a scale which the Index does not have, for example. Whether the object is
// valid is for the API server to say.
//
// It cannot see:
//   - other budgets. Two budgets that select the same pod make it impossible to evict;
//   - pods and scales of later: a budget that allows a disruption now may allow none after a scale-down.
//
// It decides CREATE and UPDATE of poddisruptionbudgets in policy/v1, not of their status. A budget with generateName and
// without a name yet is judged as a new one. The package comment says what every decision answers, a nil Index for example.
func BudgetWrite(x *disruption.Index, r *admissionv1.AdmissionRequest, o BudgetOptions) *admissionv1.AdmissionResponse {
	if response := budgetWrites.refusal(r, x != nil); response != nil {
		return response
	}
	budget, err := read[policyv1.PodDisruptionBudget](r, "object", r.Object, "PodDisruptionBudget", "policy/v1")
	if err != nil {
		return refused(r, badRequest, "%v", err)
	}
	if budget.Namespace == "" {
		return refused(r, badRequest, "request.namespace: required")
	}
	budget.Name = cmp.Or(budget.Name, unnamed(budget))
	index, _ := x.With(disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{budget}})
	explanation, err := index.Explain(disruption.KeyOf(budget))
	name := budget.Namespace + "/" + budget.Name
	const before, after = "PodDisruptionBudget ", " never allows a disruption: nodes with its pods cannot be drained"
	switch e := explanation.Budget; {
	case e != nil && e.Never && o.Refuse:
		return refused(r, forbidden, "%s%s%s", before, name, after)
	case e != nil && e.Never:
		return allowed(r, warning(before, name, after))
	case !o.Refuse || o.AllowUnknown:
		return allowed(r)
	case err == nil && e != nil && len(e.Needs) == 0:
		return allowed(r)
	case err == nil && e != nil:
		err = fmt.Errorf("unknown: %v", e.Needs)
	}
	return refused(r, forbidden, "%s%s: the write is refused because the budget cannot be computed: %v", before, name, err)
}
