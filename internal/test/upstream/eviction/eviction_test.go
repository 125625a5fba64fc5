package eviction

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// kinds are the answers that the comparison has to see, each in at least one of a thousand cases.
var kinds = []string{
	"AllowedNoBudget", "AllowedNoBudget with a precondition", "AllowedUnhealthy", "AllowedWithinBudget", "AllowedWithinBudget, the last",
	"still being processed", "is negative", "map too big", "failed sync", "healthy pods and has", "currently (", "evicting pods currently", "more than one",
}

func TestCheckEviction(t *testing.T) {
	cases := parity.Settings(t, 5000)
	seen := map[string]int{}
	// The bubble's clock stands still: what the handler writes has the time of the snapshot.
	synctest.Test(t, func(t *testing.T) {
		for i := range cases.Numbers() {
			s := generate(cases.Source(i))
			e, err := disruption.NewIndex(s, disruption.Options{}).CheckEviction(types.NamespacedName{Namespace: "ns", Name: "p"}, disruption.AsWritten)
			if err != nil && !strings.Contains(err.Error(), "spec.selector") {
				t.Fatal(err)
			}
			theirs, err := Evict(s.Pods[0], s.Budgets)
			if err != nil {
				t.Fatal(err)
			}
			theirs.Pod = nil // the same for every eviction that is allowed
			if diff := cmp.Diff(theirs, ours(e)); diff != "" {
				text, _ := json.MarshalIndent([]any{s.Pods, s.Budgets}, "", "  ")
				t.Fatalf("(- kube-apiserver, + ours):\n%s\nfor %s\n%s", diff, text, cases.Again(t, i))
			}
			seen[kindOf(e)]++
		}
	})
	for _, kind := range kinds {
		t.Logf("%6d  %s", seen[kind], kind)
		if cases.AtLeast(5000) && seen[kind] < cases.Count/1000 {
			t.Errorf("%q is in %d of %d cases only", kind, seen[kind], cases.Count)
		}
	}
	for kind := range seen {
		if !slices.Contains(kinds, kind) {
			t.Errorf("%q is not among the kinds", kind)
		}
	}
}

func ours(e disruption.Eviction) Answer {
	a := Answer{Code: int32(e.Verdict.StatusCode()), ResourceVersion: e.ResourceVersion, Update: e.Update}
	if !e.Verdict.Allowed() {
		a.Text = e.Reason
	}
	return a
}

func kindOf(e disruption.Eviction) string {
	switch {
	case e.Verdict == disruption.AllowedNoBudget && e.ResourceVersion != "":
		return "AllowedNoBudget with a precondition"
	case e.Update != nil && e.Update.Status.DisruptionsAllowed == 0:
		return "AllowedWithinBudget, the last"
	case e.Verdict.Allowed():
		return string(e.Verdict)
	}
	for _, kind := range kinds {
		if strings.Contains(e.Reason, kind) {
			return kind
		}
	}
	return e.Reason
}

// generate makes a pod and a few budgets, most of which cover it.
func generate(r *rand.Rand) disruption.Snapshot {
	now := time.Now()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", ResourceVersion: "77", Labels: map[string]string{"app": "a"}}}
	pod.Status.Phase = []corev1.PodPhase{"Running", "Running", "Running", "Running", "Pending", "Succeeded", "Failed", "Unknown", ""}[r.IntN(9)]
	if r.IntN(8) == 0 {
		pod.DeletionTimestamp = &metav1.Time{Time: now}
	}
	if r.IntN(6) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: []corev1.ConditionStatus{"True", "True", "False", "Unknown"}[r.IntN(4)]}}
	}
	s := disruption.Snapshot{Now: now, Pods: []*corev1.Pod{pod}}
	for n := range []int{0, 1, 1, 1, 1, 1, 1, 2}[r.IntN(8)] {
		s.Budgets = append(s.Budgets, someBudget(r, fmt.Sprint("b", n), now))
	}
	return s
}

func someBudget(r *rand.Rand, name string, now time.Time) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: "5", Generation: int64(r.IntN(2))}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	switch r.IntN(10) {
	case 0:
		b.Spec.Selector = nil
	case 1:
		b.Spec.Selector = &metav1.LabelSelector{}
	case 2:
		b.Spec.Selector.MatchLabels["app"] = "b"
	case 3:
		b.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}
	}
	if r.IntN(2) == 0 {
		b.Spec.UnhealthyPodEvictionPolicy = ptr.To([]policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow, policyv1.IfHealthyBudget, "Sometimes"}[r.IntN(3)])
	}
	st := &b.Status
	st.ObservedGeneration = int64(r.IntN(3))
	st.DisruptionsAllowed = int32(r.IntN(4) - 1)
	st.CurrentHealthy, st.DesiredHealthy = int32(r.IntN(4)), int32(r.IntN(4))
	if r.IntN(2) == 0 {
		st.DisruptedPods = map[string]metav1.Time{"q": {Time: now}}
	}
	if r.IntN(40) == 0 {
		st.DisruptedPods = map[string]metav1.Time{}
		for k := range disruption.MaxDisruptedPods + r.IntN(2) {
			st.DisruptedPods[fmt.Sprint(k)] = metav1.Time{Time: now}
		}
	}
	if r.IntN(2) == 0 {
		st.Conditions = []metav1.Condition{{
			Type: policyv1.DisruptionAllowedCondition, Status: []metav1.ConditionStatus{"True", "False", "False"}[r.IntN(3)],
			Reason: []string{"SyncFailed", "InsufficientPods", "Frozen"}[r.IntN(3)], Message: []string{"", "text"}[r.IntN(2)],
			LastTransitionTime: metav1.Time{Time: now.Add(-time.Hour)},
		}}
	}
	return b
}
