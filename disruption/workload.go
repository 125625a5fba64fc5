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

// Workload is what is known about the controller of pods: how many it wants, and how it recreates them.
type Workload struct {
	// Recreates: the controller is there, is not being deleted, and says how many pods it wants.
	Recreates bool
	// Replicas is how many pods it wants: a ReplicaSet what it says itself, whatever its Deployment does.
	Replicas int32
	// FirstOrdinal is that of the first pod of a StatefulSet. Parallel: it creates pods without waiting for others
	// (podManagementPolicy Parallel). A StatefulSet that was only looked up is taken for one that waits, with
	// ordinals from 0: a scale does not tell.
	FirstOrdinal int32
	Parallel     bool
	// MaxPods is how many pods name the controller at the most, whatever state they are in. The number may be too high by
	// pods that have changed, or name another controller of the same name.
	MaxPods int
	// Need is the lookup that would tell what the snapshot does not. Nil: there is nothing to look up.
	Need *purekube.Need
}

// WorkloadOf returns what is known about the controller that pods of the namespace name. A Job recreates no pods as far
// as a snapshot tells: it holds no Jobs, so that their completions and backoff limits are not known. Whoever simulates
// evictions needs it to know which pods come back: see package drain.
func (x *Index) WorkloadOf(namespace string, ref *metav1.OwnerReference) Workload {
	found := x.workloads.wants(namespace, ref)
	found.MaxPods = x.terms.Count(x.terms.Term(controllerTerm, namespace, ref.Name), math.MaxInt)
	for range x.pods.AmbiguousIn(namespace) {
		found.MaxPods++
	}
	return found
}

// wants is what the controller of that reference itself wants.
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
			if rs, err = objectOf[appsv1.ReplicaSet](answered); err != nil || rs == nil || rs.UID != ref.UID {
				return Workload{}
			}
		}
		if rs != nil && rs.UID == ref.UID {
			return wantedBy(rs, rs.Spec.Replicas)
		}
	}
	a := w.scaleOf(gv.Group, namespace, ref)
	return Workload{Recreates: a.found.kind != "", Replicas: a.found.scale, Need: a.need}
}

func wantedBy(o metav1.Object, replicas *int32) Workload {
	return Workload{Recreates: o.GetDeletionTimestamp() == nil, Replicas: ptr.Deref(replicas, 1)}
}
