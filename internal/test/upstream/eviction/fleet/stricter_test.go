package fleet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
	nodedrain "github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/upstream/eviction"
)

// Where drain is stricter than Kubernetes on purpose. README.md has the reasons.
const (
	jobEnds  = "a Job that fails deletes its other pods"
	jobPods  = "pods of Jobs are recreated"
	missing  = "pods that a controller had too few of are made"
	starting = "new pods become ready"
	perhaps  = "pods of DaemonSets are recreated, and take room"
)

// stricter is why ours is stricter than Kubernetes, empty if it is not or for no reason that is known.
func stricter(s disruption.Snapshot, really, ours played) string {
	if ours.Outcome == nodedrain.NotStarted || really.Outcome == nodedrain.NotStarted ||
		!slices.Equal(ours.Skipped, really.Skipped) || len(really.Late) > 0 {
		return ""
	}
	ofJob, jobsCovered := map[types.NamespacedName]bool{}, false
	for _, pod := range s.Pods {
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.Kind == "Job" {
			ofJob[eviction.KeyOf(pod)] = true
			jobsCovered = jobsCovered || covered(s, pod)
		}
	}
	// Until the end of each round ours has evicted no pod that Kubernetes has not, and ours refuses what Kubernetes
	// refuses.
	var gone []types.NamespacedName
	jobEnded := false
	for i, r := range ours.Rounds {
		if i < len(really.Rounds) {
			gone = append(gone, really.Rounds[i]...)
		}
		for _, pod := range r {
			switch {
			case slices.Contains(gone, pod):
			case ofJob[pod] && !slices.Contains(really.Refused, pod):
				jobEnded = true
			default:
				return ""
			}
		}
	}
	for _, pod := range really.Refused {
		if !slices.Contains(ours.Refused, pod) {
			return ""
		}
	}
	switch {
	case jobEnded:
		return jobEnds
	case jobsCovered:
		return jobPods
	}
	for _, pod := range s.Pods {
		if pod.Spec.NodeName == "" && pod.Status.Phase == corev1.PodPending && covered(s, pod) {
			return starting
		}
	}
	if short(s) {
		return missing
	}
	return ""
}

// stricterRoom is why pods find a node with Kubernetes and not in ours.
func stricterRoom(s disruption.Snapshot) string {
	for _, pod := range s.Pods {
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.Kind == "DaemonSet" {
			return perhaps
		}
	}
	return ""
}

// covered reports whether a budget covers the pod.
func covered(s disruption.Snapshot, pod *corev1.Pod) bool {
	budgets, _ := disruption.NewIndex(s, disruption.Options{}).BudgetsFor(pod)
	return len(budgets) > 0
}

// short reports whether a workload has fewer pods than it wants.
func short(s disruption.Snapshot) bool {
	has := map[types.UID]int32{}
	for _, pod := range s.Pods {
		if ref := metav1.GetControllerOf(pod); ref != nil && pod.DeletionTimestamp == nil && !terminal(pod) {
			has[ref.UID]++
		}
	}
	for _, rs := range s.ReplicaSets {
		if has[rs.UID] < *rs.Spec.Replicas {
			return true
		}
	}
	for _, rc := range s.ReplicationControllers {
		if has[rc.UID] < *rc.Spec.Replicas {
			return true
		}
	}
	return false
}
