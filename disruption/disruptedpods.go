package disruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// entry is what becomes of a pod's entry in status.disruptedPods, where the eviction handler
// notes each pod that it is about to delete.
type entry int

const (
	// noEntry: the pod is not in the list, or its entry says nothing any more.
	noEntry entry = iota
	// keptEntry: the pod is about to be deleted; the entry stays until it is, or is void.
	keptEntry
	// overdueEntry: the pod was about to be deleted and never was.
	overdueEntry
)

// entryOf looks at the entry of a pod that is there (BR-25-04; upstream: buildDisruptedPodMap).
// at is when it was evicted and until is when the entry is over.
func entryOf(pod *corev1.Pod, disrupted map[string]metav1.Time, now time.Time, o Options) (e entry, at metav1.Time, until time.Time) {
	at, listed := disrupted[pod.Name]
	if !listed || pod.DeletionTimestamp != nil {
		return noEntry, at, until
	}
	until = at.Add(o.deletionTimeout())
	if o.matchUpstream() {
		// D-19: at exactly two minutes upstream keeps the entry and counts the pod.
		if until.Before(now) {
			return overdueEntry, at, until
		}
		return keptEntry, at, until
	}
	// D-14: the pod that was evicted had this name before; this one is its successor. D-24: unless
	// the pod is from the future, since then the clock tells nothing about what was first.
	if pod.CreationTimestamp.After(at.Time) && !pod.CreationTimestamp.After(now) {
		return noEntry, at, until
	}
	if !until.After(now) {
		return overdueEntry, at, until
	}
	return keptEntry, at, until
}
