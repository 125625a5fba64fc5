package drain_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/samplecluster"
	"github.com/purekube/purekube/internal/test/seed"
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

// Where a number would let a node drain that a budget alone stops, the blocker has such a number.
func TestNumbersThatHelp(t *testing.T) {
	helped := 0
	forEachCluster(t, func(r *rand.Rand, c samplecluster.Cluster) error {
		o := everything
		x := disruption.NewIndex(c.Snapshot, disruption.Options{})
		for _, name := range c.Nodes {
			d, _, _ := drain.Node(x, name, o)
			for _, b := range drain.Blockers(x, []drain.Drain{d}, o) {
				if b.Cause != drain.CauseBudget || len(b.Alone) == 0 {
					continue
				}
				var helps []string
				for _, kind := range []drain.FixKind{drain.FixMinAvailable, drain.FixMaxUnavailable} {
					for value := range len(c.Snapshot.Pods) + 1 {
						d, _ := withFix(c.Snapshot, drain.Fix{Kind: kind, Object: b.Object, Value: strconv.Itoa(value)}, name, o)
						if d.Outcome == drain.Now || d.Outcome == drain.InRounds {
							helps = append(helps, fmt.Sprint(kind, " ", value))
						}
					}
				}
				i := slices.IndexFunc(b.Fixes, func(fix drain.Fix) bool {
					return fix.Kind == drain.FixMinAvailable || fix.Kind == drain.FixMaxUnavailable
				})
				if len(helps) > 0 && (i < 0 || len(b.Fixes[i].Frees) == 0) {
					return fmt.Errorf("%s: %s: these help: %s, and the fixes are %v", name, b.Message, helps, b.Fixes)
				}
				if len(helps) > 0 {
					helped++
				}
			}
		}
		return nil
	})
	if helped == 0 && !seed.Single() {
		t.Error("no number helped")
	}
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
	case drain.FixNodeReady, drain.FixAnotherNode:
		o.Nodes = slices.Clone(o.Nodes)
		for i, n := range o.Nodes {
			switch {
			case n == nil:
			case fix.Kind == drain.FixNodeReady && n.Name == fix.Object.Name:
				n = n.DeepCopy()
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
				o.Nodes[i] = n
			case fix.Kind == drain.FixAnotherNode && n.Name == node:
				n = n.DeepCopy()
				n.Name = "one more"
				n.Spec.Unschedulable = false
				n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool {
					return strings.HasPrefix(t.Key, "node.kubernetes.io/")
				})
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
				if _, has := n.Labels[corev1.LabelHostname]; has {
					n.Labels[corev1.LabelHostname] = n.Name
				}
				o.Nodes = append(o.Nodes, n)
			}
		}
	default:
		return drain.Drain{}, false
	}
	d, _, _ := drain.Node(disruption.NewIndex(s, disruption.Options{}), node, o)
	return d, true
}
