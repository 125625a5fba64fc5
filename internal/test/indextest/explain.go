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

// Explained says what is wrong with ExplainAll; empty if nothing is. ExplainAll has to explain these keys in the order
// of PlanAll, each key as Explain does, and all keys that PlanAll names have to be among them.
func Explained[E any, A purekube.Action](x explained[E, A], keyOf func(E) purekube.Key, want []purekube.Key, o ...cmp.Option) string {
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
