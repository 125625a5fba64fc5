package eviction

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/purekube/purekube/disruption"
	nodedrain "github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/parity"
	"github.com/purekube/purekube/internal/test/samplecluster"
	"github.com/purekube/purekube/internal/test/seed"
)

// TestViolations sorts victims of random clusters as kube-scheduler's preemption does, with the scheduler's own function.
func TestViolations(t *testing.T) {
	seed, cases := seed.FromVariable(t, "PARITY_SEED", 1), parity.Number[uint64](t, "PARITY_CASES", 5000)
	violations, allowed, same := 0, 0, 0
	for i := range cases {
		r := rand.New(rand.NewPCG(seed, i))
		c := samplecluster.New(r, parity.Epoch)
		for _, b := range c.Budgets {
			if r.IntN(10) == 0 {
				b.Spec.Selector = []*metav1.LabelSelector{nil, {MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}},
					{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "none", Operator: metav1.LabelSelectorOpDoesNotExist}}}}[r.IntN(3)]
			}
			if r.IntN(2) == 0 {
				b.Status.DisruptionsAllowed = int32(r.IntN(5) - 1)
			}
		}
		var victims []*corev1.Pod
		for _, p := range c.Pods {
			if r.IntN(8) == 0 {
				p.Labels = nil
			}
			if r.IntN(3) > 0 {
				victims = append(victims, p)
			}
		}
		r.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
		var infos []fwk.PodInfo
		var names []types.NamespacedName
		for _, p := range victims {
			info, err := framework.NewPodInfo(p)
			if err != nil {
				t.Fatal(err)
			}
			infos, names = append(infos, info), append(names, keyOf(p))
		}
		theirs, theirsAllowed := filterPodsWithPDBViolation(infos, c.Budgets)
		ours, oursAllowed := nodedrain.Violations(disruption.NewIndex(c.Snapshot, disruption.Options{}), names)
		if stopsAtFirstViolation { // it takes less off the budgets, so it may allow more
			for _, key := range keysOf(theirs) {
				if !slices.Contains(ours, key) {
					t.Fatalf("PARITY_SEED=%d PARITY_CASE=%d: %s violates for kube-scheduler, and does not here\n%s", seed, i, key, text(c))
				}
			}
			if len(ours) == len(theirs) {
				same++
			}
		} else if diff := cmp.Diff([][]types.NamespacedName{keysOf(theirs), keysOf(theirsAllowed)}, [][]types.NamespacedName{ours, oursAllowed}); diff != "" {
			t.Fatalf("PARITY_SEED=%d PARITY_CASE=%d (- kube-scheduler, + ours):\n%s\nfor\n%s", seed, i, diff, text(c))
		}
		violations += len(ours)
		allowed += len(oursAllowed)
	}
	t.Logf("%d victims violate, %d do not", violations, allowed)
	if stopsAtFirstViolation {
		t.Logf("the same victims in %d of %d clusters", same, cases)
	}
	if violations == 0 || allowed == 0 {
		t.Error("one of both kinds is missing")
	}
}

func keysOf(infos []fwk.PodInfo) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, i := range infos {
		keys = append(keys, keyOf(i.GetPod()))
	}
	return keys
}
