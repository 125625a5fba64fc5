package disruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// entry says how a pod's entry in status.disruptedPods counts. The eviction handler adds an entry for each pod that it
// is about to delete.
type entry int

const (
	// noEntry: the pod is not in the list, or its entry no longer counts.
	noEntry entry = iota
	// keptEntry: the pod is about to be deleted; the entry stays until it is, or is void.
	keptEntry
	// overdueEntry: the pod was about to be deleted and never was.
	overdueEntry
)

// entryOf classifies the entry of a pod that is in the snapshot (BR-25-04; upstream: buildDisruptedPodMap). at is the
// time of the eviction, and until is the time from which the entry no longer counts. Both are zero for a pod without an
// entry.
//
//	eviction of s-0 at 12:00:00, deletion timeout 2 minutes
//	now 12:01:00, s-0 created at 11:00:00   keptEntry: about to be deleted
//	now 12:01:00, s-0 created at 12:00:30   noEntry: recreated since (D-14)
//	now 12:01:00, s-0 created at 12:01:30   keptEntry: the clocks differ (D-24)
//	now 12:02:00, s-0 created at 11:00:00   overdueEntry: it was not deleted (D-19)
func entryOf(pod *corev1.Pod, disrupted map[string]metav1.Time, now time.Time, o Options) (e entry, at metav1.Time, until time.Time) {
	at, listed := disrupted[pod.Name]
	// A deletion timestamp is what the entry waits for. From then on the timestamp keeps the pod from being healthy.
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
	// D-14: a pod with this name was evicted before, and this pod is its successor. D-24: a creation time in the future
	// proves nothing about the order, since the clocks disagree.
	if pod.CreationTimestamp.After(at.Time) && !pod.CreationTimestamp.After(now) {
		return noEntry, at, until
	}
	if !until.After(now) {
		return overdueEntry, at, until
	}
	return keptEntry, at, until
}
