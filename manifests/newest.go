package manifests

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// Newest is the newest time, not after the given one, that an API server put into the objects of the set: about the
// time at which they were taken from a cluster, and never later. It is zero for objects that no API server returned, as
// a chart's.
//
// These times count: when an object was created, when its deletion was asked for, when a field of it was last managed,
// and what the status of a node, a pod, a budget, a Deployment or a Job says of its conditions, heartbeats, starts and
// evictions.
func (s *Set) Newest(notAfter time.Time) time.Time {
	n := newest{notAfter: notAfter}
	for _, o := range s.Objects() {
		if KeyOf(o) != (purekube.Key{}) && returned(o) { // a nil object has no key
			n.object(o)
			n.status(o)
		}
	}
	for _, w := range s.CustomWorkloads {
		if w != nil && returned(w) {
			n.object(w)
		}
	}
	for _, o := range s.ScaledObjects {
		if o != nil && returned(o) {
			n.object(o)
		}
	}
	return n.time
}

// newest is the newest of the times that it took.
type newest struct{ notAfter, time time.Time }

func (n *newest) take(times ...metav1.Time) {
	for _, t := range times {
		if t.After(n.time) && !t.After(n.notAfter) {
			n.time = t.Time
		}
	}
}

// object takes what every kind of object has. The deletion timestamp is when the grace period ends.
func (n *newest) object(o metav1.Object) {
	n.take(o.GetCreationTimestamp())
	if d := o.GetDeletionTimestamp(); d != nil {
		grace := time.Duration(ptr.Deref(o.GetDeletionGracePeriodSeconds(), 0)) * time.Second
		n.take(metav1.NewTime(d.Add(-grace)))
	}
	for _, m := range o.GetManagedFields() {
		n.take(ptr.Deref(m.Time, metav1.Time{}))
	}
}

// status takes what the status of some kinds has.
func (n *newest) status(o Object) {
	switch o := o.(type) {
	case *corev1.Node:
		for _, c := range o.Status.Conditions {
			n.take(c.LastHeartbeatTime, c.LastTransitionTime)
		}
	case *corev1.Pod:
		n.take(ptr.Deref(o.Status.StartTime, metav1.Time{}))
		for _, c := range o.Status.Conditions {
			n.take(c.LastProbeTime, c.LastTransitionTime)
		}
	case *policyv1.PodDisruptionBudget:
		for _, evicted := range o.Status.DisruptedPods {
			n.take(evicted)
		}
		for _, c := range o.Status.Conditions {
			n.take(c.LastTransitionTime)
		}
	case *appsv1.Deployment:
		for _, c := range o.Status.Conditions {
			n.take(c.LastUpdateTime, c.LastTransitionTime)
		}
	case *batchv1.Job:
		n.take(ptr.Deref(o.Status.StartTime, metav1.Time{}), ptr.Deref(o.Status.CompletionTime, metav1.Time{}))
		for _, c := range o.Status.Conditions {
			n.take(c.LastProbeTime, c.LastTransitionTime)
		}
	}
}
