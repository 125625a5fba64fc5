package disruption_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
)

// Whatever is wrong with the objects: a drain does not panic, does not depend on their order, and
// writes to none of them.
func TestPropDrainOfBadInput(t *testing.T) {
	disruption.ForEachSnapshot(t, 150, true, func(s disruption.Snapshot, o disruption.Options) error {
		for i, p := range s.Pods {
			if p != nil && i%3 > 0 {
				p.Spec.NodeName = "n"
			}
		}
		before := disruption.DeepCopy(s)
		flags := drain.Options{IgnoreDaemonSets: true, DeleteEmptyDirData: true, Force: true}
		d, after, _ := drain.Node(disruption.NewIndex(s, o), "n", flags)
		_, _, _ = drain.Node(after, "n", flags)
		if diff := cmp.Diff(before, s, cmpopts.EquateErrors()); diff != "" {
			return fmt.Errorf("the snapshot was written to: %s", diff)
		}
		reversed := s
		reversed.Pods, reversed.Budgets = slices.Clone(s.Pods), slices.Clone(s.Budgets)
		slices.Reverse(reversed.Pods)
		slices.Reverse(reversed.Budgets)
		other, _, _ := drain.Node(disruption.NewIndex(reversed, o), "n", flags)
		if diff := cmp.Diff(d, other); diff != "" {
			return fmt.Errorf("the order matters: %s", diff)
		}
		return nil
	})
}
