package karpenter

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/karpenter/pkg/events"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/purekube/purekube/disruption"
)

// Limits has the methods of karpenter's pdb.Limits.
type Limits struct{ *disruption.Index }

// CanEvictPods reports whether each of the pods could be evicted alone. If not, it returns the budgets in the way.
func (l Limits) CanEvictPods(pods []*corev1.Pod, clk clock.Clock, r events.Recorder) ([]client.ObjectKey, bool) {
	for _, pod := range pods {
		if !podutil.IsEvictable(pod, clk, r) {
			continue // karpenter's own rules: it sends no eviction for such a pod
		}
		e, _ := l.CheckEviction(client.ObjectKeyFromObject(pod), disruption.AsWritten)
		if !e.Verdict.Allowed() {
			return e.Blocking, false
		}
	}
	return []client.ObjectKey{}, true
}

// IsCurrentlyReschedulable reports whether the pod may ever leave its node.
func (l Limits) IsCurrentlyReschedulable(pod *corev1.Pod, clk clock.Clock, r events.Recorder) bool {
	if !podutil.IsReschedulable(pod) || !podutil.IsDisruptable(pod, clk, r) {
		return false
	}
	if _, now := l.CanEvictPods([]*corev1.Pod{pod}, clk, r); now {
		return true
	}
	budgets, _ := l.BudgetsFor(pod)
	if len(budgets) != 1 {
		return false
	}
	x, err := l.Explain(disruption.KeyOf(budgets[0]))
	return err == nil && x.Budget != nil && !x.Budget.Never
}
