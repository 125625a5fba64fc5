package eviction

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/purekube/purekube/disruption"
	nodedrain "github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/samplecluster"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// TestViolations sorts victims of random clusters as kube-scheduler's preemption does, with the scheduler's own function.
// With MatchUpstream it gets the victims and budgets as they are. By default it gets them without what D-40 is about.
func TestViolations(t *testing.T) {
	cases := parity.Settings(t, 5000)
	violations, allowed, matched, more := 0, 0, 0, 0
	for i := range cases.Numbers() {
		r := cases.Source(i)
		c := samplecluster.New(r, parity.Epoch)
		for _, b := range c.Budgets {
			if r.IntN(6) == 0 {
				b.Spec.Selector = []*metav1.LabelSelector{
					nil, {}, {MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}},
					{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "none", Operator: metav1.LabelSelectorOpDoesNotExist}}},
				}[r.IntN(4)]
			}
			if r.IntN(2) == 0 {
				b.Status.DisruptionsAllowed = int32(r.IntN(5) - 1)
			}
		}
		var victims []*corev1.Pod
		var names []types.NamespacedName
		for _, p := range c.Pods {
			if r.IntN(8) == 0 {
				p.Labels = nil
			}
			if r.IntN(3) > 0 {
				victims = append(victims, p)
			}
		}
		r.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
		for _, p := range victims {
			names = append(names, KeyOf(p))
		}
		// v1.37 depends on the order of the budgets, which is random in its cache.
		budgets := slices.SortedFunc(slices.Values(c.Budgets), func(a, b *policyv1.PodDisruptionBudget) int {
			return cmp.Compare(a.Name, b.Name)
		})

		theirs, theirsAllowed := kubeScheduler(t, victims, budgets)
		ours, oursAllowed := nodedrain.Violations(disruption.NewIndex(c.Snapshot, disruption.Options{MatchUpstream: parity.Release}), names)
		if diff := gocmp.Diff([][]types.NamespacedName{theirs, theirsAllowed}, [][]types.NamespacedName{ours, oursAllowed}); diff != "" {
			t.Fatalf("MatchUpstream (- kube-scheduler, + ours):\n%s\nfor\n%s\n%s", diff, text(c), cases.Again(t, i))
		}
		matched += len(ours)

		theirs, _ = kubeScheduler(t, labelled(victims), demanding(budgets))
		ours, oursAllowed = nodedrain.Violations(disruption.NewIndex(c.Snapshot, disruption.Options{}), names)
		for _, key := range theirs {
			if !slices.Contains(ours, key) {
				t.Fatalf("%s violates for kube-scheduler, and does not here\n%s\n%s", key, text(c), cases.Again(t, i))
			}
		}
		more += len(ours) - len(theirs)
		violations += len(ours)
		allowed += len(oursAllowed)
	}
	t.Logf("%d victims violate, %d do not; %d violate with MatchUpstream", violations, allowed, matched)
	// v1.37 takes less off the budgets, so it may find fewer violations.
	if stopsAtFirstViolation {
		t.Logf("%d of them do not violate for kube-scheduler", more)
	} else if more > 0 {
		t.Errorf("%d of them do not violate for kube-scheduler", more)
	}
	if cases.AtLeast(100) && (violations == 0 || allowed == 0 || matched == 0 || matched >= violations) {
		t.Error("a kind is missing")
	}
}

// kubeScheduler asks the scheduler's own function.
func kubeScheduler(t *testing.T, victims []*corev1.Pod, budgets []*policyv1.PodDisruptionBudget) (violating, allowed []types.NamespacedName) {
	t.Helper()
	var infos []fwk.PodInfo
	for _, p := range victims {
		info, err := framework.NewPodInfo(p)
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, info)
	}
	v, a := filterPodsWithPDBViolation(infos, budgets)
	return keysOf(v), keysOf(a)
}

// unused is a label that no pod and no selector of a sample has.
const unused = "example.com/unused"

// labelled are pods with one label more each, so that none has no labels.
func labelled(pods []*corev1.Pod) []*corev1.Pod {
	var all []*corev1.Pod
	for _, p := range pods {
		p = p.DeepCopy()
		metav1.SetMetaDataLabel(&p.ObjectMeta, unused, "")
		all = append(all, p)
	}
	return all
}

// demanding are budgets that select what they select, none of which has an empty selector.
func demanding(budgets []*policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget {
	var all []*policyv1.PodDisruptionBudget
	for _, b := range budgets {
		if b.Spec.Selector != nil {
			b = b.DeepCopy()
			b.Spec.Selector.MatchExpressions = append(b.Spec.Selector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: unused, Operator: metav1.LabelSelectorOpExists})
		}
		all = append(all, b)
	}
	return all
}

func keysOf(infos []fwk.PodInfo) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, i := range infos {
		keys = append(keys, KeyOf(i.GetPod()))
	}
	return keys
}
