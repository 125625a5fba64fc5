package disruption

import (
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// owner is a controller of pods.
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
	return &owner{pod.Namespace, referenceKey(ref)}
}

// drainOwner says which of its pods a controller recreates in the course of a drain.
type drainOwner struct {
	known bool // the rest has been found out
	// none: it is not known to recreate any. The need, if there is one, would tell.
	none bool
	need *purekube.Need
	// numbered: pods have ordinals, and those of first to last are recreated. Others recreate as many as are missing.
	numbered    bool
	name        string
	first, last int64
	// all: there are no more pods than replicas, whatever state they are in. Otherwise missing is how many more pods
	// than it has the controller wants.
	all     bool
	missing int
}

// drainOwner finds out how the controller recreates pods. These are going, whatever the index says of them.
func (x *Index) drainOwner(by owner, going []*corev1.Pod) *drainOwner {
	o := &drainOwner{known: true, name: by.ref.Name}
	wants := x.workloads.wants(by.namespace, &by.ref)
	if o.need = wants.need; !wants.known {
		o.none = true
		return o
	}
	if by.ref.Kind == statefulSetKind {
		o.numbered = true
		o.first, o.last = wants.first, wants.first+int64(wants.replicas)-1
		if !wants.parallel {
			o.last = min(o.last, o.barrier(x.podsOfController(by.namespace, &by.ref), going))
		}
		return o
	}
	// A name that more than one pod has is one pod that the controller has.
	doubles := 0
	for _, same := range x.pods.doubles(by.namespace) {
		if slices.ContainsFunc(same, func(p *corev1.Pod) bool { return sameController(metav1.GetControllerOfNoCopy(p), &by.ref) }) {
			doubles++
		}
	}
	if o.all = x.podsNaming(by.namespace, &by.ref)+doubles <= int(wants.replicas); o.all {
		return o
	}
	o.missing = int(wants.replicas) - doubles
	goes := make(map[types.NamespacedName]bool, len(going))
	for _, pod := range going {
		goes[snapshot.KeyOf(pod)] = true
		if active(pod) {
			o.missing--
		}
	}
	for _, pod := range x.podsOfController(by.namespace, &by.ref) {
		if active(pod) && !goes[snapshot.KeyOf(pod)] {
			o.missing--
		}
	}
	return o
}

// active reports whether a controller counts the pod among those that it has.
func active(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !podstate.Terminal(pod) }

// recreates are those of the pods that are gone, sorted by name, in whose place the controller makes others. Of pods
// without ordinals these are the first that were not ready, by name, and then the others: which of them come back is
// not known, and those are the ones that may keep others from going.
func (o *drainOwner) recreates(gone []*corev1.Pod) []*corev1.Pod {
	switch {
	case o.none:
		return nil
	case o.numbered:
		return slices.DeleteFunc(slices.Clone(gone), func(pod *corev1.Pod) bool {
			n, found := o.ordinal(pod)
			return !found || n < o.first || n > o.last
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
	slices.SortStableFunc(first, func(a, b *corev1.Pod) int {
		switch {
		case runs(a) == runs(b):
			return 0
		case runs(b):
			return -1
		}
		return 1
	})
	return first[:n]
}

// barrier is the ordinal beyond which no pod is recreated: that of the first pod that is missing, is not running and
// ready, or does not end. A StatefulSet creates a pod when all those before it are ready (upstream:
// pkg/controller/statefulset/stateful_set_control.go, processReplica). The pods that are going come back as they
// were, so that the barrier is the same all through a drain.
func (o *drainOwner) barrier(pods, going []*corev1.Pod) int64 {
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

// ordinal is the one in the name that the StatefulSet gives its pods.
func (o *drainOwner) ordinal(pod *corev1.Pod) (int64, bool) {
	text, found := strings.CutPrefix(pod.Name, o.name+"-")
	n, err := strconv.ParseInt(text, 10, 32)
	return n, found && err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

// wanted is what a controller wants, as far as it is known.
type wanted struct {
	known    bool
	replicas int32
	need     *purekube.Need
	// first is the first ordinal of a StatefulSet, and parallel whether it creates pods without waiting for others.
	first    int64
	parallel bool
}

// ordered reports whether the controller is a StatefulSet that creates a pod when those before it are ready. One that is
// not in the snapshot, or of another group, may be.
func (w *workloads) ordered(by *owner) bool {
	return by.ref.Kind == statefulSetKind && !w.wants(by.namespace, &by.ref).parallel
}

// wants is what the controller of that reference itself wants: a ReplicaSet what it says, whatever its Deployment does.
// One that is being deleted recreates no pods, and nor does a Job as far as a snapshot tells: it holds no Jobs, so that
// their completions and backoff limits are not known.
func (w *workloads) wants(namespace string, ref *metav1.OwnerReference) wanted {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return wanted{}
	}
	key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	switch {
	case ref.Kind == replicationControllerKind && gv.Group == "":
		if rc := w.replicationControllers.Find(key); rc != nil && rc.UID == ref.UID {
			return wantedBy(rc, rc.Spec.Replicas)
		}
	case ref.Kind == statefulSetKind && gv.Group == "apps":
		if ss := w.statefulSets.Find(key); ss != nil && ss.UID == ref.UID {
			n := wantedBy(ss, ss.Spec.Replicas)
			n.parallel = ss.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
			if ss.Spec.Ordinals != nil {
				n.first = int64(ss.Spec.Ordinals.Start)
			}
			return n
		}
	case ref.Kind == replicaSetKind && appsGroup(gv.Group):
		rs := w.replicaSets.Find(key)
		if (rs == nil || rs.UID != ref.UID) && !w.o.matchUpstream() {
			// The object is asked for, as where its Deployment matters (D-22).
			answer, asked := w.scales.Get(ScaleKey{Group: "apps", Kind: replicaSetKind, Namespace: namespace, Name: ref.Name})
			if !asked {
				return wanted{need: needed(purekube.Need{APIVersion: "apps/v1", Kind: replicaSetKind, Namespace: namespace, Name: ref.Name}).need}
			}
			rs = answer.ReplicaSet
		}
		if rs != nil && rs.UID == ref.UID {
			return wantedBy(rs, rs.Spec.Replicas)
		}
	}
	a := w.scaleOf(gv.Group, namespace, ref)
	return wanted{known: a.found.kind != "", replicas: a.found.scale, need: a.need}
}

func wantedBy(o metav1.Object, replicas *int32) wanted {
	return wanted{known: o.GetDeletionTimestamp() == nil, replicas: ptr.Deref(replicas, 1)}
}
