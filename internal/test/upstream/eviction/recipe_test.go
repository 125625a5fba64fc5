package eviction

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/test/samplecluster"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// TestRecipe evicts pods of random clusters one after the other, as a caller of the eviction check
// does who plays a drain through by himself; see recipe. Each verdict is the one of the real handler, between whose evictions the real
// disruption controller does all that it can.
func TestRecipe(t *testing.T) {
	cases := parity.Settings(t, 5000)
	for name, o := range map[string]disruption.Options{
		"default":       {},
		"MatchUpstream": {MatchUpstream: purekube.V1_36},
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]int{}
			for i := range cases.Numbers() {
				r := cases.Source(i)
				sample := samplecluster.New(r, parity.Epoch)
				if o.MatchUpstream == "" && hasDivergence(sample) {
					seen["divergence D-13"]++
					continue
				}
				play(t, sample, func(c *cluster) {
					if err := evictAll(c, r, o, seen); err != nil {
						t.Fatalf("%v\nfor\n%s\n%s", err, text(sample), cases.Again(t, i))
					}
				})
			}
			for _, kind := range slices.Sorted(maps.Keys(seen)) {
				t.Logf("%6d  %s", seen[kind], kind)
			}
			for _, kind := range []string{
				"AllowedNoBudget", "AllowedNoBudget with a precondition", "AllowedUnhealthy", "AllowedWithinBudget", "AllowedWithinBudget, the last",
				"failed sync", "healthy pods and has", "more than one", "after a wait",
			} {
				if cases.AtLeast(1000) && seen[kind] < cases.Count/50 {
					t.Errorf("%q is in %d of %d cases only", kind, seen[kind], cases.Count)
				}
			}
		})
	}
}

// hasDivergence: with maxUnavailable 0 and a controller without a scale the default decides without
// the scale (D-13).
func hasDivergence(sample samplecluster.Cluster) bool {
	scaleless := func(p *corev1.Pod) bool {
		ref := metav1.GetControllerOf(p)
		return ref != nil && (ref.Kind == "Job" || ref.Kind == "DaemonSet" && ref.APIVersion == "apps/v1")
	}
	return (slices.ContainsFunc(slices.Collect(maps.Values(sample.Answers)), func(a purekube.Answer) bool { return a.Err != nil }) ||
		slices.ContainsFunc(sample.Pods, scaleless)) &&
		slices.ContainsFunc(sample.Budgets, func(b *policyv1.PodDisruptionBudget) bool {
			m := b.Spec.MaxUnavailable
			return m != nil && (m.String() == "0" || m.String() == "0%")
		})
}

// evictAll evicts every pod once, in any order and with all that goes on around it now and then.
func evictAll(c *cluster, r *rand.Rand, o disruption.Options, seen map[string]int) error {
	s := c.sample.Snapshot
	s.Now = time.Now()
	s.Pods = slices.Clone(s.Pods)
	s.Budgets = slices.Clone(s.Budgets)
	keys := slices.SortedFunc(maps.Keys(c.pods), persistent.CompareNames)
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	settleBudgets(&s, slices.Clone(s.Budgets), o)
	waited := false
	var so []string // what happened so far
	for _, key := range keys {
		switch r.IntN(8) {
		case 0:
			c.finish()
			so = append(so, "terminating pods go and come back")
			s.Pods = c.current()
		case 1:
			if c.sleepToRecheck() {
				s.Now = time.Now()
				so = append(so, "it is "+s.Now.String())
				waited = true
			}
		}
		if c.pods[key] == nil {
			continue // it was terminating and is gone
		}
		// The error says why a status cannot be computed, which the verdict says as well.
		e, _ := disruption.NewIndex(s, o).CheckEviction(key, disruption.Recomputed)
		if diff := cmp.Diff(oneFailure(c.evict(key)), oneFailure(ours(e))); diff != "" {
			return fmt.Errorf("evicting %v (- kube-apiserver, + ours):\n%s\nafter\n%s", key, diff, strings.Join(so, "\n"))
		}
		so = append(so, fmt.Sprintf("%v: %v", key, e.Verdict))
		seen[kindOf(e)]++
		if waited {
			seen["after a wait"]++
		}
		if e.Verdict.Allowed() {
			recipe(&s, key, e, o)
		}
	}
	return nil
}

// recipe is what to do after an eviction that is allowed: the budget as the handler wrote it, the pod
// terminating, and then the budgets of the pod as the disruption controller writes them.
func recipe(s *disruption.Snapshot, key types.NamespacedName, e disruption.Eviction, o disruption.Options) {
	if e.Update != nil {
		at := slices.IndexFunc(s.Budgets, func(b *policyv1.PodDisruptionBudget) bool { return KeyOf(b) == KeyOf(e.Update) })
		s.Budgets[at] = e.Update
	}
	at := slices.IndexFunc(s.Pods, func(p *corev1.Pod) bool { return KeyOf(p) == key })
	pod := s.Pods[at].DeepCopy()
	pod.DeletionTimestamp = &metav1.Time{Time: s.Now}
	s.Pods[at] = pod
	// The errors are about a status that cannot be computed, which says so itself.
	budgets, _ := disruption.NewIndex(disruption.Snapshot{Budgets: s.Budgets}, disruption.Options{}).BudgetsFor(pod)
	settleBudgets(s, budgets, o)
}

// settleBudgets writes the statuses that the disruption controller comes to.
func settleBudgets(s *disruption.Snapshot, budgets []*policyv1.PodDisruptionBudget, o disruption.Options) {
	for _, b := range budgets {
		planned, _ := disruption.Plan(*s, disruption.KeyOf(b), o)
		for _, a := range planned.Actions {
			s.Budgets[slices.IndexFunc(s.Budgets, func(c *policyv1.PodDisruptionBudget) bool { return KeyOf(c) == KeyOf(b) })] =
				a.(disruption.UpdateStatus).Budget
		}
	}
}

// current are the pods as the API server has them.
func (c *cluster) current() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, key := range slices.SortedFunc(maps.Keys(c.pods), persistent.CompareNames) {
		pods = append(pods, c.pods[key])
	}
	return pods
}

// oneFailure leaves out what two right answers may differ in: versions, the time in the budget that is
// written, and which of several failures a status names.
func oneFailure(a Answer) Answer {
	a.ResourceVersion, a.Update, a.Pod = "", nil, nil
	a.Text, _, _ = strings.Cut(a.Text, "because it failed sync")
	return a
}

// text is the sample as YAML that purekube reads.
func text(sample samplecluster.Cluster) string {
	return parity.Manifests(slices.Concat(copies(sample.Budgets), copies(sample.ReplicationControllers), copies(sample.ReplicaSets),
		copies(sample.Deployments), copies(sample.StatefulSets), copies(sample.DaemonSets), copies(sample.Pods)))
}
