package indextest

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/purekube/purekube"
)

// explained is an Index whose plans can be explained; E is the Explanation.
type explained[E any, A purekube.Action] interface {
	PlanAll() ([]purekube.Outcome[A], error)
	Explain(key purekube.Key) (E, error)
	ExplainAll() ([]E, error)
}

// Explained returns what is wrong with ExplainAll, or "". ExplainAll must explain these keys in this order, which is
// the order of PlanAll, each as Explain does, and must include all keys that PlanAll names.
func Explained[E any, A purekube.Action](
	x explained[E, A], keyOf func(E) purekube.Key, want []purekube.Key, o ...cmp.Option,
) string {
	outcomes, err := x.PlanAll()
	all, explainErr := x.ExplainAll()
	if diff := cmp.Diff(err, explainErr, errorText); diff != "" {
		return "errors (-PlanAll +ExplainAll): " + diff
	}
	var keys []purekube.Key
	for _, e := range all {
		one, _ := x.Explain(keyOf(e))
		if diff := cmp.Diff(one, e, o...); diff != "" {
			return fmt.Sprintf("%v (-Explain +ExplainAll): %s", keyOf(e), diff)
		}
		keys = append(keys, keyOf(e))
	}
	for _, out := range outcomes {
		if !slices.Contains(keys, out.Key) {
			return fmt.Sprintf("PlanAll names %v, which ExplainAll does not explain: %v", out.Key, keys)
		}
	}
	if !slices.IsSortedFunc(keys, purekube.Key.Compare) {
		return fmt.Sprintf("not in the order of PlanAll: %v", keys)
	}
	return cmp.Diff(want, keys)
}
