package fleet

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
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

// failedJobCounted reports whether ours differs only in pods that Kubernetes keeps, each for a budget that counted pods of a
// Job that has failed since: the Job controller has deleted them. README.md has more.
func (m *maker) failedJobCounted(s disruption.Snapshot, really, ours played) bool {
	kept := slices.DeleteFunc(slices.Clone(really.Refused), func(name types.NamespacedName) bool {
		return slices.Contains(ours.Refused, name)
	})
	isKept := func(name types.NamespacedName) bool { return slices.Contains(kept, name) }
	for i, round := range ours.Rounds {
		want := []types.NamespacedName(nil)
		if i < len(really.Rounds) {
			want = really.Rounds[i]
		}
		if !slices.Equal(slices.DeleteFunc(slices.Clone(round), isKept), want) {
			return false
		}
	}
	if len(kept) == 0 || len(really.Rounds) > len(ours.Rounds) || len(really.Late) > 0 ||
		!slices.Equal(really.NotStarted, ours.NotStarted) || !slices.Equal(really.Skipped, ours.Skipped) ||
		!slices.Equal(ours.Refused, slices.DeleteFunc(slices.Clone(really.Refused), isKept)) {
		return false
	}
	failed := map[types.UID]bool{}
	for _, j := range m.jobs {
		job, err := m.w.Client.BatchV1().Jobs(j.Namespace).Get(context.Background(), j.Name, metav1.GetOptions{})
		if err != nil {
			m.t.Fatal(err)
		}
		failed[j.UID] = slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue
		})
	}
	x := disruption.NewIndex(s, disruption.Options{})
	counts := map[types.NamespacedName]bool{}
	for _, pod := range s.Pods {
		if ref := metav1.GetControllerOf(pod); ref != nil && failed[ref.UID] {
			for _, b := range budgetsOf(x, pod) {
				counts[eviction.KeyOf(b)] = true
			}
		}
	}
	return !slices.ContainsFunc(kept, func(name types.NamespacedName) bool {
		pod := x.Pod(name)
		return pod == nil || !slices.ContainsFunc(budgetsOf(x, pod), func(b *policyv1.PodDisruptionBudget) bool {
			return counts[eviction.KeyOf(b)]
		})
	})
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
	return len(budgetsOf(disruption.NewIndex(s, disruption.Options{}), pod)) > 0
}

func budgetsOf(x *disruption.Index, pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	budgets, _ := x.BudgetsFor(pod) // the error is about budgets that select nothing
	return budgets
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
