package autoscaler

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
)

// Tracker has the methods of cluster-autoscaler's RemainingPdbTracker.
type Tracker struct {
	// Cluster returns these budgets with the pods of the lister.
	Cluster func([]*policyv1.PodDisruptionBudget) disruption.Snapshot
	x       *disruption.Index
	pdbs    []*policyv1.PodDisruptionBudget
}

// SetPdbs replaces all budgets. A budget with an invalid selector selects no pod, as for the API server, and stops
// nothing.
func (t *Tracker) SetPdbs(pdbs []*policyv1.PodDisruptionBudget) error {
	t.x, t.pdbs = disruption.NewIndex(t.Cluster(pdbs), disruption.Options{}), pdbs
	return nil
}

// CanRemovePods reports whether each of the pods may go alone, and whether all of them may go before any is back.
func (t *Tracker) CanRemovePods(pods []*corev1.Pod) (canRemove, inParallel bool, blockingPod *BlockingPod) {
	together, _, _ := drain.Pods(t.x, names(pods), written)
	for i, name := range names(pods) {
		if alone, _ := t.x.CheckEviction(name, disruption.AsWritten); !alone.Verdict.Allowed() {
			return false, false, &BlockingPod{pods[i], NotEnoughPdb}
		}
		if !together[i].Verdict.Allowed() {
			blockingPod = &BlockingPod{pods[i], NotEnoughPdb}
		}
	}
	return true, blockingPod == nil, blockingPod
}

// RemovePods evicts the pods. None of them is back for the next question.
func (t *Tracker) RemovePods(pods []*corev1.Pod) { _, t.x, _ = drain.Pods(t.x, names(pods), written) }

// Clear removes all budgets.
func (t *Tracker) Clear() { _ = t.SetPdbs(nil) }

// MatchingPdbs returns the budgets of a pod, with what RemovePods left of them.
func (t *Tracker) MatchingPdbs(pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	all, _ := t.x.BudgetsFor(pod)
	return all
}

// GetPdbs returns all budgets, with what RemovePods left of them.
func (t *Tracker) GetPdbs() (all []*policyv1.PodDisruptionBudget) {
	for _, name := range names(t.pdbs) {
		all = append(all, t.x.Budget(name))
	}
	return all
}

var written = drain.Options{Budgets: drain.AsWritten}

func names[T metav1.Object](objects []T) (all []types.NamespacedName) {
	for _, o := range objects {
		all = append(all, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
	}
	return all
}
