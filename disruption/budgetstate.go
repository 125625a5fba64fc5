package disruption

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
)

// budgetState is a budget and the counts of the pods that it selects. Pods whose name several pods have are not
// counted. A budgetState never changes: a pod event makes a copy with other counts, so Indexes of different times share
// all others. coveredBy recognizes the current version of a budget by the pointer filed, which a new selector replaces.
type budgetState struct {
	metav1.Object // the budget, so that the state is found by its name
	matcher
	broken *purekube.ObjectError // why the selector finds no pods, if it does not compile
	filed  *filedBudget          // in the index by labels; nil if it selects no pod

	podSums
	refs references
}

// podSums are counts that do not depend on the time. A pod event changes them by adding and subtracting, so they must
// be sums: nothing that needs a minimum or a set is in podSums.
type podSums struct {
	pods      int32
	ready     int32 // ready and not being deleted
	unmanaged int32 // without a controller
	// lasting pods run, or will: they have not ended and are not being deleted. Of these, added are there whatever the
	// scales are.
	lasting, added int32
}

// contribution is what one pod adds to the counts, and its controller, or nil. countsAlike must compare everything that
// contribution reads. ref points into the pod.
func contribution(pod *corev1.Pod) (s podSums, ref *metav1.OwnerReference) {
	s.pods = 1
	if pod.DeletionTimestamp == nil && podstate.Ready(pod) {
		s.ready = 1
	}
	if ref = metav1.GetControllerOfNoCopy(pod); ref == nil {
		s.unmanaged = 1
	}
	// A pod that has ended never becomes healthy again, and its controller makes another in its place.
	if pod.DeletionTimestamp == nil && !podstate.Terminal(pod) {
		s.lasting = 1
		// A Deployment gets the pods that it wants through its ReplicaSets. Pods that name the Deployment itself exist
		// in addition to these.
		if ref == nil || ref.Kind == deploymentKind && appsGroup(groupOf(ref.APIVersion)) {
			s.added = 1
		}
	}
	return s, ref
}

func (s podSums) plus(o podSums) podSums {
	return podSums{s.pods + o.pods, s.ready + o.ready, s.unmanaged + o.unmanaged, s.lasting + o.lasting, s.added + o.added}
}

func (s podSums) minus(o podSums) podSums {
	return podSums{s.pods - o.pods, s.ready - o.ready, s.unmanaged - o.unmanaged, s.lasting - o.lasting, s.added - o.added}
}

// podSummer makes the counts of a budgetState, one pod at a time. Its zero value is ready to use.
type podSummer struct {
	podSums
	refs referenceList
}

func (s *podSummer) add(pod *corev1.Pod) {
	own, ref := contribution(pod)
	s.podSums = s.podSums.plus(own)
	if ref != nil {
		s.refs.add(ref, pod.Name)
	}
}
