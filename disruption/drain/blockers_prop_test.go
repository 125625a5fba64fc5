package drain_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/samplecluster"
)

// The blockers name each node that does not drain, and no other. What a fix frees drains in a cluster that is made with the
// change, and not only on a branch. The order of the drains makes no difference.
func TestBlockersOfRandomClusters(t *testing.T) {
	played := map[drain.FixKind]int{}
	forEachCluster(t, func(r *rand.Rand, c samplecluster.Cluster) error {
		o := randomOptions(r, c)
		if r.IntN(4) == 0 {
			o.Force, o.IgnoreDaemonSets, o.DeleteEmptyDirData = false, false, false
		}
		x := disruption.NewIndex(c.Snapshot, disruption.Options{})
		drains, _ := drain.Each(x, c.Nodes, o)
		if r.IntN(2) == 0 {
			drains, _, _ = drain.Nodes(x, c.Nodes, o)
		}
		blockers := drain.Blockers(x, drains, o)
		stopped := map[string]bool{}
		for _, b := range blockers {
			for _, n := range b.Nodes {
				stopped[n] = true
			}
			for _, fix := range b.Fixes {
				played[fix.Kind]++
				for _, n := range fix.Frees {
					if d, ok := withFix(c.Snapshot, fix, n, o); ok && d.Outcome != drain.Now && d.Outcome != drain.InRounds {
						return fmt.Errorf("%s: %s: %s is %s", b.Message, fix, n, d.Outcome)
					}
				}
			}
		}
		for _, d := range drains {
			drained := d.Outcome == drain.Now || d.Outcome == drain.InRounds
			// MaxRounds ends a drain without anything in the way.
			if stopped[d.Node] == drained && d.Outcome != drain.RoundsExhausted {
				return fmt.Errorf("%s is %s, and stopped: %v", d.Node, d.Outcome, stopped[d.Node])
			}
		}
		r.Shuffle(len(drains), func(i, j int) { drains[i], drains[j] = drains[j], drains[i] })
		if diff := cmp.Diff(blockers, drain.Blockers(x, drains, o)); diff != "" {
			return fmt.Errorf("in another order (-first +second):\n%s", diff)
		}
		return nil
	})
	for _, kind := range []drain.FixKind{
		drain.FixOneAtATime, drain.FixFlag, drain.FixMaxUnavailable, drain.FixMinAvailable, drain.FixAlwaysAllow, drain.FixReplicas,
		drain.FixHealthyPods, drain.FixPodEnds, drain.FixNodeReady, drain.FixAnotherNode,
	} {
		if played[kind] == 0 {
			t.Errorf("no fix %s", kind)
		}
	}
	t.Log(played)
}

// withFix drains the node in a cluster that is made with the change. It reports false for changes that are not made here.
func withFix(s disruption.Snapshot, fix drain.Fix, node string, o drain.Options) (drain.Drain, bool) {
	switch fix.Kind {
	case drain.FixMaxUnavailable, drain.FixMinAvailable, drain.FixAlwaysAllow:
		s.Budgets = slices.Clone(s.Budgets)
		for i, b := range s.Budgets {
			if b == nil || disruption.BudgetKey(b.Namespace, b.Name) != fix.Object {
				continue
			}
			b = b.DeepCopy()
			s.Budgets[i] = b
			switch fix.Kind {
			case drain.FixMaxUnavailable:
				b.Spec.MaxUnavailable, b.Spec.MinAvailable = ptr.To(intstr.Parse(fix.Value)), nil
			case drain.FixMinAvailable:
				b.Spec.MinAvailable, b.Spec.MaxUnavailable = ptr.To(intstr.Parse(fix.Value)), nil
			default:
				b.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
			}
		}
	case drain.FixHealthyPods, drain.FixPodEnds:
		s.Pods = slices.Clone(s.Pods)
		for i := len(s.Pods) - 1; i >= 0; i-- {
			p := s.Pods[i]
			if p == nil {
				continue
			}
			if fix.Kind == drain.FixPodEnds && disruption.PodKey(p.Namespace, p.Name) == fix.Object {
				s.Pods = slices.Delete(s.Pods, i, i+1)
			} else if slices.Contains(fix.Pods, nameOf(p)) {
				p = p.DeepCopy()
				p.Status.Phase = corev1.PodRunning
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				s.Pods[i] = p
			}
		}
	case drain.FixFlag:
		o.IgnoreDaemonSets = o.IgnoreDaemonSets || fix.Value == "--ignore-daemonsets"
		o.DeleteEmptyDirData = o.DeleteEmptyDirData || fix.Value == "--delete-emptydir-data"
		o.Force = o.Force || fix.Value == "--force"
	default:
		return drain.Drain{}, false
	}
	d, _, _ := drain.Node(disruption.NewIndex(s, disruption.Options{}), node, o)
	return d, true
}
