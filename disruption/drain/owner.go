package drain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// owner is a controller of pods. The reference has only the fields that tell controllers apart.
type owner struct {
	namespace string
	ref       metav1.OwnerReference
}

// ownerOf is nil for a pod without a controller.
func ownerOf(pod *corev1.Pod) *owner {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return nil
	}
	return &owner{pod.Namespace,
		metav1.OwnerReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}}
}

// ownerState says which of its pods a controller recreates in the course of a drain.
type ownerState struct {
	known bool // the rest has been found out
	// none: as far as is known, it recreates no pod. If need is set, the answer may change that.
	none bool
	need *purekube.Need
	// perhaps: it may recreate any or none of them.
	perhaps bool
	// numbered: pods have ordinals, and the ordinals from first to last are recreated. Others recreate as many as are
	// missing.
	numbered    bool
	name        string
	first, last int64
	// parallel: a pod that is not ready keeps no other from being recreated.
	parallel bool
	// all: the number of pods, whatever state they are in, is at most the replicas. Otherwise missing is how many pods
	// the controller lacks.
	all     bool
	missing int
	// replicas is how many pods it wants.
	replicas int32
	// workload is the object, if it is known.
	workload metav1.Object
}

// stateOf finds out how the controller recreates pods. The pods in going are going, whatever the index says about them.
func stateOf(x *disruption.Index, by owner, going []*corev1.Pod) *ownerState {
	o := &ownerState{known: true, name: by.ref.Name}
	wants := x.WorkloadOf(by.namespace, &by.ref)
	o.workload = wants.Object
	if o.need = wants.Need; !wants.Recreates {
		o.none, o.perhaps = true, wants.MayRecreate
		return o
	}
	if by.ref.Kind == statefulSetKind {
		o.numbered = true
		o.first = int64(wants.FirstOrdinal)
		o.last = o.first + int64(wants.Replicas) - 1
		if o.parallel = wants.Parallel; !o.parallel {
			pods, _ := x.PodsOfController(by.namespace, &by.ref)
			o.last = min(o.last, o.barrier(pods, going))
		}
		return o
	}
	o.replicas = wants.Replicas
	if o.all = wants.MaxPods <= int(wants.Replicas); o.all {
		return o
	}
	// A name that more than one pod has is one pod that the controller has.
	pods, ambiguous := x.PodsOfController(by.namespace, &by.ref)
	o.missing = int(wants.Replicas) - len(ambiguous)
	goes := make(map[types.NamespacedName]bool, len(going))
	for _, pod := range going {
		goes[snapshot.KeyOf(pod)] = true
		if active(pod) {
			o.missing--
		}
	}
	for _, pod := range pods {
		if active(pod) && !goes[snapshot.KeyOf(pod)] {
			o.missing--
		}
	}
	return o
}

const statefulSetKind = "StatefulSet"

// ordered reports whether the controller is a StatefulSet that creates a pod when all pods with lower ordinals are
// ready. A StatefulSet that is not in the snapshot, or of another group, may be.
func (by *owner) ordered(x *disruption.Index) bool {
	return by.ref.Kind == statefulSetKind && !x.WorkloadOf(by.namespace, &by.ref).Parallel
}

// active reports whether a controller counts the pod among its pods.
func active(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !podstate.Terminal(pod) }

// recreates returns the pods that the controller recreates, of the pods that are gone, sorted by name. Of pods without
// ordinals the active ones come first, since the controller replaced the others as soon as they were being deleted or
// had ended. Which of the active pods are recreated is not known: pods that were not ready come first, since they may
// keep others from going.
func (o *ownerState) recreates(gone []*corev1.Pod) []*corev1.Pod {
	switch {
	case o.none:
		return nil
	case o.numbered:
		return slices.DeleteFunc(slices.Clone(gone), func(pod *corev1.Pod) bool {
			n, found := o.ordinal(pod)
			return !found || n < o.first // stopsBefore finds the pods after the last one
		})
	case o.all:
		return gone
	}
	for _, pod := range gone {
		if active(pod) {
			o.missing++
		}
	}
	n := min(max(o.missing, 0), len(gone))
	o.missing -= n
	first := slices.Clone(gone)
	place := func(pod *corev1.Pod) int {
		switch {
		case !active(pod):
			return 2
		case runs(pod):
			return 1
		}
		return 0
	}
	slices.SortStableFunc(first, func(a, b *corev1.Pod) int { return cmp.Compare(place(a), place(b)) })
	return first[:n]
}

// barrier is the ordinal beyond which no pod is recreated: the ordinal of the first pod that is missing, is not running
// and ready, or does not end. A StatefulSet creates a pod when all pods with lower ordinals are ready (upstream:
// pkg/controller/statefulset/stateful_set_control.go, processReplica). The pods that are going are recreated as they
// were, so that the barrier is the same all through a drain.
func (o *ownerState) barrier(pods, going []*corev1.Pod) int64 {
	passable := map[int64]bool{}
	for _, pod := range pods {
		if n, found := o.ordinal(pod); found && pod.DeletionTimestamp == nil {
			passable[n] = runs(pod)
		}
	}
	for _, pod := range going {
		if n, found := o.ordinal(pod); found {
			passable[n] = runs(pod)
		}
	}
	next := o.first
	for passable[next] {
		next++
	}
	return next
}

// waitsFor notes that a recreated pod does not become ready: a StatefulSet that creates its pods in order goes no
// further.
func (o *ownerState) waitsFor(pod *corev1.Pod) {
	if !o.parallel {
		n, _ := o.ordinal(pod)
		o.last = min(o.last, n)
	}
}

// stopsBefore reports whether the controller is a StatefulSet that does not get to the pod.
func (o *ownerState) stopsBefore(pod *corev1.Pod) bool {
	n, _ := o.ordinal(pod)
	return o.numbered && n > o.last
}

// ordinal is the ordinal in the name that the StatefulSet gives its pods.
func (o *ownerState) ordinal(pod *corev1.Pod) (int64, bool) {
	text, found := strings.CutPrefix(pod.Name, o.name+"-")
	n, err := strconv.ParseInt(text, 10, 32)
	return n, found && err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}
