package disruption

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/internal/snapshot"
)

// Whatever is wrong with the objects: a drain does not panic, does not depend on their order, and
// writes to none of them.
func TestPropDrainOfBadInput(t *testing.T) {
	forEachSnapshot(t, 150, true, func(_ generator, s Snapshot, o Options) error {
		s = deepCopy(s)
		for i, p := range s.Pods {
			if p != nil && i%3 > 0 {
				p.Spec.NodeName = "n"
			}
		}
		before := deepCopy(s)
		flags := DrainOptions{IgnoreDaemonSets: true, DeleteEmptyDirData: true, Force: true}
		d, after := NewIndex(s, o).DrainNode("n", flags)
		after.DrainNode("n", flags)
		if diff := cmp.Diff(before, s); diff != "" {
			return fmt.Errorf("the snapshot was written to: %s", diff)
		}
		reversed := s
		reversed.Pods, reversed.Budgets = slices.Clone(s.Pods), slices.Clone(s.Budgets)
		slices.Reverse(reversed.Pods)
		slices.Reverse(reversed.Budgets)
		other, _ := NewIndex(reversed, o).DrainNode("n", flags)
		if diff := cmp.Diff(d, other); diff != "" {
			return fmt.Errorf("the order matters: %s", diff)
		}
		return nil
	})
}

// A pod whose name another has is not evicted on a guess.
func TestDrainOfDuplicatePods(t *testing.T) {
	one := &corev1.Pod{}
	one.Namespace, one.Name, one.Spec.NodeName = "ns", "p", "n"
	other := one.DeepCopy()
	other.Spec.NodeName = "m"
	d, _ := NewIndex(Snapshot{Pods: []*corev1.Pod{one, other}}, Options{}).DrainNode("n", DrainOptions{Force: true})
	if d.Outcome != DrainsNever || len(d.Refused) != 1 || d.Refused[0].Code != DrainDuplicatePod || d.Refused[0].Pod != snapshot.KeyOf(one) {
		t.Errorf("%+v", d)
	}
}
