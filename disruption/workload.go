package disruption

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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
	// Object is the workload as the snapshot or an answer has it, and Deployment the Deployment that controls a
	// ReplicaSet. They are nil if the snapshot does not have them. Do not write to them.
	Object     metav1.Object
	Deployment *appsv1.Deployment
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
	// The count is exact enough for a bound, and costs no visit of the pods. A name that several pods have counts if one
	// of them has the term.
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
	o, replicas, f, known := w.object(gv.Group, namespace, ref)
	if !known {
		f = w.scaleOf(gv.Group, namespace, ref)
	}
	if o == nil {
		return Workload{Recreates: f.found.kind != "", MayRecreate: f.problem != nil, Replicas: f.found.scale, Need: f.need}
	}
	// A controller that is being deleted creates no pods.
	found := Workload{Recreates: o.GetDeletionTimestamp() == nil, Replicas: replicasOf(replicas), Object: o}
	if rs, is := o.(*appsv1.ReplicaSet); is {
		d, _ := w.deployments.Lookup(types.NamespacedName{Namespace: namespace, Name: deploymentOf(rs)})
		if d != nil && d.UID == metav1.GetControllerOfNoCopy(rs).UID {
			found.Deployment = d
		}
	}
	// The object has what a Scale lacks: the order in which pods are created, and the first ordinal.
	if ss, is := o.(*appsv1.StatefulSet); is {
		found.Parallel = ss.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
		if ss.Spec.Ordinals != nil {
			found.FirstOrdinal = ss.Spec.Ordinals.Start
		}
	}
	return found
}
