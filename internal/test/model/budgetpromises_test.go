package model

import (
	"cmp"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// workloadsKeepWhatIsTheirs: the controller writes nothing but the status of budgets and a pod's conditions.
func workloadsKeepWhatIsTheirs(s *Step) string {
	if s.Request == nil {
		return ""
	}
	return cmp.Or(
		writtenBeyond(s, "PodDisruptionBudget", "its status", func(b *policyv1.PodDisruptionBudget) { b.Status = policyv1.PodDisruptionBudgetStatus{} }),
		writtenBeyond(s, "pod", "its conditions", func(p *corev1.Pod) { p.Status.Conditions = nil }),
		writtenBeyond(s, "Deployment", "what its users write", func(*appsv1.Deployment) {}),
		writtenBeyond(s, "ReplicaSet", "what its users write", func(*appsv1.ReplicaSet) {}),
		writtenBeyond(s, "StatefulSet", "what its users write", func(*appsv1.StatefulSet) {}))
}

// workload is what a budget covers, counted by hand.
type workload struct{ expected, desired, healthy int }

func workloadOf(v *View, b *policyv1.PodDisruptionBudget) workload {
	var w workload
	if s := Get[*appsv1.StatefulSet](v, "ns", b.Name); s != nil {
		w.expected = int(*s.Spec.Replicas)
	} else {
		w.expected = int(*Get[*appsv1.Deployment](v, "ns", b.Name).Spec.Replicas)
	}
	if b.Spec.MaxUnavailable != nil {
		w.desired = w.expected - b.Spec.MaxUnavailable.IntValue()
	} else { // of 50 %
		w.desired = (w.expected + 1) / 2
	}
	for _, p := range All[*corev1.Pod](v) {
		if p.Labels["app"] == b.Name && p.DeletionTimestamp == nil && isReady(p) {
			w.healthy++
		}
	}
	return w
}

// evictionsLeaveEnough: after an eviction is granted there are as many healthy pods as the budget
// wants, those not counted whose eviction is under way. In this world pods go by evictions only.
func evictionsLeaveEnough(s *Step) string {
	if s.Event != "eviction" {
		return ""
	}
	for _, b := range All[*policyv1.PodDisruptionBudget](s.After) {
		if Get[*policyv1.PodDisruptionBudget](s.Before, "ns", b.Name).ResourceVersion == b.ResourceVersion {
			continue
		}
		w := workloadOf(s.After, b)
		for _, e := range strings.Fields(s.Ghost) {
			if p, _ := evicted(s.After, e); p != nil && p.Labels["app"] == b.Name && isReady(p) && p.DeletionTimestamp == nil {
				w.healthy--
			}
		}
		if w.healthy < w.desired {
			return fmt.Sprintf("budget %s wants %d healthy pods, and %d are left", b.Name, w.desired, w.healthy)
		}
	}
	return ""
}

func budgetsAreExact(v *View) string {
	for _, b := range All[*policyv1.PodDisruptionBudget](v) {
		w := workloadOf(v, b)
		allowed := max(0, w.healthy-w.desired)
		st := b.Status
		if int(st.ExpectedPods) != w.expected || int(st.DesiredHealthy) != w.desired || int(st.CurrentHealthy) != w.healthy || int(st.DisruptionsAllowed) != allowed || len(st.DisruptedPods) > 0 {
			return fmt.Sprintf("at rest, a budget's status is what its pods say: %s, counted by hand %+v, %d allowed", describeWorkload(b), w, allowed)
		}
	}
	for _, p := range All[*corev1.Pod](v) {
		if c := condition(p, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil {
			return "at rest, no pod carries DisruptionTarget for nothing: " + p.Name
		}
	}
	return ""
}
