package disruption

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// Workload describes the controller of pods: how many pods it wants, and how it recreates them.
type Workload struct {
	// Recreates: the controller exists, is not being deleted, and its replicas are known.
	Recreates bool
	// MayRecreate: it is not known how many pods the controller wants, if any, because its kind has no scale or the lookup
	// failed. A Job and a DaemonSet are of such a kind. Recreates is false.
	MayRecreate bool
	// Replicas is how many pods the controller wants. For a ReplicaSet it is its own spec.replicas, whatever its
	// Deployment wants.
	Replicas int32
	// FirstOrdinal is the ordinal of the first pod of a StatefulSet. Parallel: the StatefulSet creates pods without
	// waiting for others (podManagementPolicy Parallel). A StatefulSet that you only looked up is regarded as one that
	// waits, with ordinals from 0: a Scale has neither field.
	FirstOrdinal int32
	Parallel     bool
	// MaxPods is an upper bound for the number of pods that name the controller, in any state. It may also count pods
	// that have changed, or that name another controller with the same name.
	MaxPods int
	// Need is the lookup for what the snapshot lacks. It is nil if there is nothing to look up.
	Need *purekube.Need
}

// WorkloadOf returns the workload that is named by an owner reference of pods in the namespace. For a Job, Recreates is
// false: a snapshot has no Jobs, so their completions and backoff limits are unknown. Use it to simulate which evicted
// pods are recreated: see package drain. For a nil reference it returns the zero Workload.
func (x *Index) WorkloadOf(namespace string, ref *metav1.OwnerReference) Workload {
	if ref == nil {
		return Workload{}
	}
	found := x.workloads.wants(namespace, ref)
	// The count is exact enough for a bound, and costs no visit of the pods. A name that several pods have counts if one of
	// them has the term.
	found.MaxPods = x.terms.Count(x.terms.Term(controllerTerm, namespace, ref.Name), math.MaxInt)
	return found
}

// wants returns what the controller itself wants, whatever its own controller wants. controllerOf asks another
// question: for a pod of a ReplicaSet it answers with the Deployment, because the budget expects the Deployment's pods.
// A recreated pod, however, comes from the ReplicaSet and is limited by its replicas.
func (w *workloads) wants(namespace string, ref *metav1.OwnerReference) Workload {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return Workload{}
	}
	key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	switch {
	case ref.Kind == replicationControllerKind && gv.Group == "":
		if rc := w.replicationControllers.Find(key); rc != nil && rc.UID == ref.UID {
			return wantedBy(rc, rc.Spec.Replicas)
		}
	// The object has what a Scale lacks: the order in which pods are created, and the first ordinal.
	case ref.Kind == statefulSetKind && gv.Group == "apps":
		if ss := w.statefulSets.Find(key); ss != nil && ss.UID == ref.UID {
			found := wantedBy(ss, ss.Spec.Replicas)
			found.Parallel = ss.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
			if ss.Spec.Ordinals != nil {
				found.FirstOrdinal = ss.Spec.Ordinals.Start
			}
			return found
		}
	case ref.Kind == replicaSetKind && appsGroup(gv.Group):
		rs := w.replicaSets.Find(key)
		if (rs == nil || rs.UID != ref.UID) && !w.o.matchUpstream() {
			// The object is asked for, as where its Deployment matters (D-22).
			need := purekube.Need{APIVersion: "apps/v1", Kind: replicaSetKind, Namespace: namespace, Name: ref.Name}
			answered, asked := w.find(lookupOf(need))
			if !asked {
				return Workload{Need: needed(need).need}
			}
			// With an error there is no object.
			if rs, err = objectOf[appsv1.ReplicaSet](answered); rs == nil || rs.UID != ref.UID {
				return Workload{MayRecreate: err != nil}
			}
		}
		if rs != nil && rs.UID == ref.UID {
			return wantedBy(rs, rs.Spec.Replicas)
		}
	}
	a := w.scaleOf(gv.Group, namespace, ref)
	return Workload{Recreates: a.found.kind != "", MayRecreate: a.problem != nil, Replicas: a.found.scale, Need: a.need}
}

// wantedBy describes a controller whose object is known. A controller that is being deleted creates no pods.
func wantedBy(o metav1.Object, replicas *int32) Workload {
	return Workload{Recreates: o.GetDeletionTimestamp() == nil, Replicas: ptr.Deref(replicas, 1)}
}
