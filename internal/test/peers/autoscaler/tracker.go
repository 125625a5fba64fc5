package autoscaler

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// BlockingPod and RemainingPdbTracker have the fields and methods of the types of cluster-autoscaler with these
// names. The Go module proxy does not serve its module (403), so they are declared here.
type BlockingPod struct {
	Pod    *corev1.Pod
	Reason int
}

// NotEnoughPdb is the reason of a pod that a budget holds.
const NotEnoughPdb = 8

// RemainingPdbTracker is what the planner, the actuator and the drain simulation of cluster-autoscaler call.
type RemainingPdbTracker interface {
	SetPdbs(pdbs []*policyv1.PodDisruptionBudget) error
	GetPdbs() []*policyv1.PodDisruptionBudget
	MatchingPdbs(pod *corev1.Pod) []*policyv1.PodDisruptionBudget
	CanRemovePods(pods []*corev1.Pod) (canRemove, inParallel bool, blockingPod *BlockingPod)
	RemovePods(pods []*corev1.Pod)
	Clear()
}

// Counting decides as cluster-autoscaler's own tracker does. It is written from the facts: selectors are compiled
// once, and each question tries every budget of the cluster on every pod of the list, comparing namespaces first
// (pkg/core/scaledown/pdb/basic.go of sigs.k8s.io/cluster-autoscaler, commit 33c3f97).
type Counting []*counted

type counted struct {
	namespace string
	selector  labels.Selector
	allowed   int32
}

// NewCounting returns a tracker that counts what the budgets allow. One selector that does not compile fails it.
func NewCounting(budgets []*policyv1.PodDisruptionBudget) (Counting, error) {
	var all Counting
	for _, b := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			return nil, err
		}
		all = append(all, &counted{b.Namespace, selector, b.Status.DisruptionsAllowed})
	}
	return all, nil
}

func (b *counted) selects(pod *corev1.Pod) bool {
	return b.namespace == pod.Namespace && b.selector.Matches(labels.Set(pod.Labels))
}

// CanRemovePods reports whether each pod may go alone, and whether all of them may go together.
func (all Counting) CanRemovePods(pods []*corev1.Pod) (canRemove, inParallel bool) {
	inParallel = true
	for _, b := range all {
		var selected int32
		for _, pod := range pods {
			if !b.selects(pod) {
				continue
			}
			if b.allowed < 1 {
				return false, false
			}
			selected++
			inParallel = inParallel && selected <= b.allowed
		}
	}
	return true, inParallel
}

// RemovePods takes the pods off their budgets.
func (all Counting) RemovePods(pods []*corev1.Pod) {
	for _, b := range all {
		for _, pod := range pods {
			if b.selects(pod) {
				b.allowed--
			}
		}
	}
}
