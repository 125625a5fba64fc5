package disruption

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sameKeys has 2^k pods and budgets that select by the same k labels, one for each combination of two values: no label
// tells many of them apart, and each budget covers one pod.
func sameKeys(k int) Snapshot {
	s := Snapshot{Now: now}
	for i := range 1 << k {
		set := map[string]string{}
		for j := range k {
			set[fmt.Sprint("label-", j)] = fmt.Sprint(i >> j & 1)
		}
		s.add(i, set, set)
	}
	return s
}

// ownKeys has n pods and budgets in one namespace, the worst that we know: each budget demands the value 0 of some
// labels of its own choice out of 64, and each pod has all 64 with one of two values.
func ownKeys(n int) Snapshot {
	r := rand.New(rand.NewPCG(1, 2))
	s := Snapshot{Now: now}
	for i := range n {
		selects, has := map[string]string{}, map[string]string{}
		for range 16 {
			selects[fmt.Sprint("label-", r.IntN(64))] = "0"
		}
		for j := range 64 {
			has[fmt.Sprint("label-", j)] = fmt.Sprint(r.IntN(2))
		}
		s.add(i, selects, has)
	}
	return s
}

// noDemands has n pods and budgets in one namespace. Each budget selects the pods without a label that all of them have, so
// that no label tells which budgets may select a pod.
func noDemands(n int) Snapshot {
	s := Snapshot{Now: now}
	for i := range n {
		s.add(i, nil, map[string]string{"app": "web"})
		s.Budgets[i].Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist}}
	}
	return s
}

func (s *Snapshot) add(i int, selects, has map[string]string) {
	s.Budgets = append(s.Budgets, budget(named(fmt.Sprint("budget-", i)), minAvailable("1"), selecting(&metav1.LabelSelector{MatchLabels: selects})))
	s.Pods = append(s.Pods, pod(fmt.Sprint("pod-", i), labelled(has)))
}

// BenchmarkConjunctions reports how the time grows from one size to the next: 2 is linear, 4 is quadratic.
func BenchmarkConjunctions(b *testing.B) {
	withPods := func(s Snapshot) {
		x := NewIndex(Snapshot{Budgets: s.Budgets}, Options{})
		for _, p := range s.Pods {
			x, _ = x.With(Snapshot{Pods: []*corev1.Pod{p}})
		}
	}
	withBudgets := func(s Snapshot) {
		x := NewIndex(Snapshot{Pods: s.Pods}, Options{})
		for _, p := range s.Budgets {
			x, _ = x.With(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{p}})
		}
	}
	for _, bc := range []struct {
		name  string
		make  func(k int) Snapshot
		ask   func(Snapshot)
		sizes []int // as powers of two
	}{
		{"same-keys/PlanAll", sameKeys, func(s Snapshot) { _, _ = PlanAll(s, Options{}) }, []int{9, 10, 11, 12, 13}},
		{"same-keys/NewIndex", sameKeys, func(s Snapshot) { NewIndex(s, Options{}) }, []int{9, 10, 11, 12, 13}},
		{"same-keys/WithPods", sameKeys, withPods, []int{9, 10, 11, 12}},
		{"same-keys/WithBudgets", sameKeys, withBudgets, []int{9, 10, 11}},
		{"own-keys/PlanAll", func(k int) Snapshot { return ownKeys(1 << k) }, func(s Snapshot) { _, _ = PlanAll(s, Options{}) }, []int{9, 10, 11}},
		{"no-demands/PlanAll", func(k int) Snapshot { return noDemands(1 << k) }, func(s Snapshot) { _, _ = PlanAll(s, Options{}) }, []int{9, 10, 11}},
	} {
		before := time.Duration(0)
		for _, k := range bc.sizes {
			s := bc.make(k)
			b.Run(fmt.Sprintf("%s/%d", bc.name, 1<<k), func(b *testing.B) {
				best := time.Hour
				for b.Loop() {
					start := time.Now()
					bc.ask(s)
					best = min(best, time.Since(start))
				}
				b.ReportMetric(float64(best.Nanoseconds()), "best-ns/op")
				if before > 0 {
					b.ReportMetric(float64(best)/float64(before), "x-size-before")
				}
				before = best
			})
		}
	}
}
