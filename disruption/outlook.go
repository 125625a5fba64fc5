package disruption

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// NeverAllowed returns the budgets whose explanation says Never, sorted by namespace and name: see [BudgetExplanation].
// It costs what the plans of all budgets cost, and does not visit their pods. A name that several budgets have is left
// out. The error is for an unknown option.
func (x *Index) NeverAllowed() ([]types.NamespacedName, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	var names []types.NamespacedName
	for st := range x.states.All() {
		if never, _ := x.outlook(st, x.decide(st, nil)); never {
			names = append(names, snapshot.KeyOf(st))
		}
	}
	slices.SortFunc(names, persistent.CompareNames)
	return names, nil
}

// outlook returns whether no healthy pod can ever be evicted, and how many more healthy pods are needed until one can
// be evicted (see [BudgetExplanation]).
//
// never is a claim about the configuration, so it must be certain: "minAvailable 3" over a StatefulSet of 3 is never
// drained, while the same budget over 4 pods of which one crashes only has a shortfall of 1.
func (x *Index) outlook(st *budgetState, v verdict) (never bool, shortfall int32) {
	spec, o := &st.Spec, x.options
	if v.budget != nil && v.budget.Status.DisruptionsAllowed > 0 {
		return false, 0
	}
	hopeless := st.broken == nil && o.forbidsAtAnyScale(spec)
	neither := spec.MaxUnavailable == nil && spec.MinAvailable == nil
	// The counts say nothing here: they are unknown, or no number of healthy pods would be enough.
	if v.budget == nil || v.failure != nil || neither {
		return hopeless, 0
	}
	c := countsOf(v.budget.Status)
	if scaleDecides(spec) && c.ExpectedPods <= 0 {
		// A controller may be scaled up. Pods without a controller are never expected.
		return hopeless || st.pods > 0 && st.refs.namings.Len() == 0, 0
	}
	// Either all wanted pods exist and are healthy, or more exist than are wanted, for example during a rollout with
	// maxSurge. The larger number must exceed desiredHealthy. Pods that have ended are not among them: kubelet's own
	// evictions leave Failed pods in every cluster, and no such pod is ever healthy again.
	if st.pods > 0 {
		e := x.expect(st, nil)
		// Pods of a kind without a scale, such as Jobs, are counted as they are (D-13): their scale stays unknown.
		known := e.problem == nil && len(e.needs) == 0
		never = known && max(e.sum+int64(st.added), int64(st.lasting)) <= int64(c.DesiredHealthy) || !known && hopeless
	}
	if hopeless && never {
		return true, 0
	}
	return never, o.fit(int64(c.DesiredHealthy) + 1 - int64(c.CurrentHealthy))
}
