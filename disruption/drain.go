package disruption

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// DrainOptions are the flags of kubectl drain that decide about pods. The zero value is its
// default.
type DrainOptions struct {
	// IgnoreDaemonSets leaves pods of DaemonSets where they are (--ignore-daemonsets). Without
	// it they stop the drain.
	IgnoreDaemonSets bool
	// DeleteEmptyDirData evicts pods with an emptyDir volume (--delete-emptydir-data). Without
	// it they stop the drain.
	DeleteEmptyDirData bool
	// Force evicts pods without a controller (--force). Without it they stop the drain.
	Force bool
	// MaxRounds ends the drain after so many rounds. 0 or less: no limit.
	MaxRounds int
	// SkipPod names pods that the drain does not look at, as --pod-selector and
	// --skip-wait-for-delete-timeout do. It comes before everything else: such a pod needs no
	// flag. It must not write to the pod, and has to answer the same every time. Nil: none.
	SkipPod func(*corev1.Pod) bool
}

// DrainOutcome says how a drain ends.
type DrainOutcome int

// The zero value is no outcome: MaxRounds rounds were over, and pods are left.
const (
	// DrainsNow: all pods go in the first round, or there are none.
	DrainsNow DrainOutcome = iota + 1
	// DrainsInRounds: all pods go, but some of them have to wait for others to come back.
	DrainsInRounds
	// DrainsNever: some pods stay. The last round brought nothing, and no later one could
	// while the rest of the cluster stays as it is.
	DrainsNever
	// DrainNotStarted: a pod needs a flag that is not set, and kubectl drain evicts nothing.
	DrainNotStarted
	// DrainsUnknown: it cannot be said without the look-ups in Needs.
	DrainsUnknown
)

// String is the name of the constant.
func (o DrainOutcome) String() string {
	switch o {
	case DrainsNow:
		return "DrainsNow"
	case DrainsInRounds:
		return "DrainsInRounds"
	case DrainsNever:
		return "DrainsNever"
	case DrainNotStarted:
		return "DrainNotStarted"
	case DrainsUnknown:
		return "DrainsUnknown"
	}
	return "none"
}

// Drain is how the drain of a node goes.
type Drain struct {
	Outcome DrainOutcome
	// Rounds are the pods that are evicted in each round, sorted by namespace and name. In a
	// round without any, the drain waits for pods that were being deleted before, or for an
	// entry of status.disruptedPods to expire.
	Rounds [][]types.NamespacedName
	// Skipped are the pods that the drain leaves alone, sorted by namespace and name.
	Skipped []SkippedPod
	// Refused are the pods that stay, sorted by namespace and name: those that need a flag if
	// the drain does not start, and otherwise those whose eviction is refused.
	Refused []RefusedPod
	// Needs are look-ups to make before anything can be said. While there are any, Rounds and
	// Refused are empty: put the answers into the snapshot and ask again. An answer serves the plans
	// that asked for it. Drop it afterwards: nothing tells when it stops being true.
	Needs []purekube.Need
}

// DrainCode is why a drain skips a pod or leaves it. A later version may add codes.
type DrainCode string

// The codes of [SkippedPod] and [RefusedPod].
const (
	// DrainDaemonSetPod: a DaemonSet controls the pod, and it has not ended. Skipped with
	// IgnoreDaemonSets, refused without.
	DrainDaemonSetPod DrainCode = "DaemonSetPod"
	// DrainMirrorPod: skipped, since the kubelet runs the pod from a file.
	DrainMirrorPod DrainCode = "MirrorPod"
	// DrainSkipPod: skipped, since DrainOptions.SkipPod says so.
	DrainSkipPod DrainCode = "SkipPod"
	// DrainLocalStorage: refused without DeleteEmptyDirData. The pod has an emptyDir volume and
	// has not ended.
	DrainLocalStorage DrainCode = "LocalStorage"
	// DrainNoController: refused without Force. No controller makes the pod again, and it has
	// not ended.
	DrainNoController DrainCode = "NoController"
	// DrainEvictionRefused: the API server refuses the eviction; RefusedPod.Eviction says why.
	DrainEvictionRefused DrainCode = "EvictionRefused"
	// DrainDuplicatePod: refused, since the snapshot holds more than one pod of that name.
	DrainDuplicatePod DrainCode = "DuplicatePod"
)

// SkippedPod is a pod that a drain leaves alone on purpose.
type SkippedPod struct {
	Pod  types.NamespacedName
	Code DrainCode
	// Message is kubectl's text, where it has one.
	Message string
}

// RefusedPod is a pod that a drain cannot move.
type RefusedPod struct {
	Pod  types.NamespacedName
	Code DrainCode
	// Message is the text of kubectl or of the API server.
	Message string
	// Eviction is the last answer to the pod's eviction, with DrainEvictionRefused.
	Eviction Eviction
}
