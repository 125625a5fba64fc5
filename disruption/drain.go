package disruption

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
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
	// DrainDuplicatePod: refused, since the snapshot holds more than one pod of that name. Which of them
	// is the real one cannot be known.
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

// DrainNode plays kubectl drain of a node through, round after round.
//
//  1. The pods of the node are sorted into classes as kubectl drain does (upstream:
//     k8s.io/kubectl/pkg/drain/filters.go), with the meaning and the texts of its flags. Where a pod
//     needs a flag that is not set, nothing is evicted: DrainNotStarted.
//  2. A round evicts the pods that are left, sorted by namespace and name, one after the other. Each
//     is decided as by [CheckEviction] with Recompute, against what the ones before it left: the
//     disruption controller keeps up. An evicted pod is terminating until the round ends.
//  3. A round ends: the evicted pods are gone, and those that their controllers still want are back, Ready,
//     on another node, under a new UID. A controller wants a pod back while it has fewer pods than
//     replicas; pods that are being deleted or ended do not count. A pod without a controller does
//     not come back, and neither does one whose controller is gone or has no number of replicas. Pods that
//     were being deleted before the drain, on whatever node, go and come back in the same way if a budget of theirs
//     is waited for.
//  4. The next round tries again what was refused with 429. What was refused otherwise stays: kubectl
//     drain gives it up.
//  5. In a round that brings nothing, time passes to the next entry of status.disruptedPods that expires.
//     If there is none, the drain never ends: DrainsNever.
//
// Nothing else of the cluster changes: pods that are not ready stay so, and nobody scales.
//
// A controller whose replicas are not in the index is a Need where the drain depends on it: one
// that a budget computes with, or one whose pod has to come back before another may go.
//
// The Index returned is the cluster after the drain, with the budgets' statuses written. The node that a pod
// comes back on is not known, and neither is its name, unless it is a StatefulSet's: spec.nodeName is
// empty, and the name is the one that it had. With DrainNotStarted and DrainsUnknown it is x. To drain
// several nodes one after the other, drain each on the Index that the one before returned; to ask about each
// alone, ask x.
//
// If Options.MatchUpstream is not a release that this package knows, the drain is DrainsUnknown, without Needs, and
// Index.Err says so.
//
// A node that no pod names has nothing to drain. Two differences to kubectl: the DaemonSet that a pod
// names is taken to exist, and the drain of pods in a namespace that is being deleted is not covered.
func (x *Index) DrainNode(node string, o DrainOptions) (Drain, *Index) {
	if x.o.err() != nil {
		return Drain{Outcome: DrainsUnknown}, x
	}
	d, left := x.sortForDrain(node, o)
	if d.Outcome != 0 {
		return d, x
	}
	play := newDrainer(x, left)
	var waiting []RefusedPod
	stuck := false
	for len(left) > 0 && (o.MaxRounds <= 0 || len(d.Rounds) < o.MaxRounds) {
		r := play.round(left)
		left, waiting = r.left, r.waiting
		d.Refused = append(d.Refused, r.refused...)
		changed, needs := play.finish(waiting)
		if needs = append(needs, r.needs...); len(needs) > 0 {
			return Drain{Outcome: DrainsUnknown, Skipped: d.Skipped, Needs: sortedNeeds(needs)}, x
		}
		if !changed && !play.wait(waiting) {
			stuck = true
			break
		}
		d.Rounds = append(d.Rounds, r.evicted)
	}
	switch {
	case stuck || len(d.Refused) > 0:
		d.Outcome = DrainsNever
	case len(left) > 0:
		// MaxRounds rounds are over.
	case len(d.Rounds) <= 1:
		d.Outcome = DrainsNow
	default:
		d.Outcome = DrainsInRounds
	}
	d.Refused = append(d.Refused, waiting...)
	slices.SortFunc(d.Refused, func(a, b RefusedPod) int { return persistent.CompareNames(a.Pod, b.Pod) })
	return d, play.x
}

// sortedNeeds are the needs in order, each once.
func sortedNeeds(needs []purekube.Need) []purekube.Need {
	slices.SortFunc(needs, func(a, b purekube.Need) int {
		return cmp.Or(
			cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Subresource, b.Subresource),
		)
	})
	return slices.Compact(needs)
}
