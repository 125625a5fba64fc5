package disruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// drainState is the cluster at one moment of a drain. A change gives another one.
type drainState interface {
	// podsOn are the pods of a node, sorted by namespace and name.
	podsOn(node string) []*corev1.Pod
	// duplicate reports whether more than one pod has that name.
	duplicate(pod types.NamespacedName) bool
	// check is CheckEviction with Recompute.
	check(pod types.NamespacedName) Eviction
	// covering are the keys of the budgets that cover the pod, sorted by name.
	covering(pod *corev1.Pod) []types.NamespacedName
	// beingDeleted are the pods of a budget that have a deletion timestamp, sorted by name.
	beingDeleted(budget types.NamespacedName) []*corev1.Pod
	// missing is how many pods more the controller of that reference wants than it has. Pods that
	// are being deleted or ended do not count. A Need: its replicas have to be looked up.
	missing(namespace string, ref *metav1.OwnerReference) (int, *purekube.Need)
	// status is what the disruption controller does about a budget now.
	status(budget types.NamespacedName) budgetStatus
	// now is the moment.
	now() time.Time
	// with is the state with these objects, a time that is not zero, and without those of gone.
	with(changed, gone Snapshot) drainState
}

// budgetStatus is what the disruption controller does about a budget.
type budgetStatus struct {
	// budget is the one that it writes, nil if the status is right.
	budget *policyv1.PodDisruptionBudget
	// failed: the status is the fail-safe one, in which some figures stay as they were.
	failed bool
	// recheckAt is when it looks again although nothing changes.
	recheckAt time.Time
}
