package eviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// afterExpiry is longer than the disruption controller waits after an entry has expired, before it looks at the budget:
// its queue is rate-limited (upstream: processNextRecheckWorkItem). At the very moment it counts the pod and keeps the
// entry.
const afterExpiry = 10 * time.Millisecond

// SleepToRecheck lets time pass until the disruption controller has looked at the first entry of status.disruptedPods
// that expires, of a pod that exists. It reports whether there is such an entry.
func SleepToRecheck(
	w *parity.World, budgets map[types.NamespacedName]*policyv1.PodDisruptionBudget,
	pods map[types.NamespacedName]*corev1.Pod,
) bool {
	var first time.Time
	for _, b := range budgets {
		for name, at := range b.Status.DisruptedPods {
			until := at.Add(disruption.DefaultDeletionTimeout)
			if pods[types.NamespacedName{Namespace: b.Namespace, Name: name}] != nil &&
				until.After(time.Now()) && (first.IsZero() || until.Before(first)) {
				first = until
			}
		}
	}
	if first.IsZero() {
		return false
	}
	w.Sleep(time.Until(first) + afterExpiry)
	return true
}
