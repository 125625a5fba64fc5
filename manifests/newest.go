package manifests

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// Newest is the newest time that the objects of the set have, and not after the given one: about the time at which the
// input was taken from a cluster. It is zero for objects without times, as a chart has them.
//
// These count: when an object was created, when its deletion was asked for, when a field of it was last managed, and what the
// status of a node, a pod, a budget, a Deployment or a Job says of its conditions, heartbeats, starts and evictions.
func (s *Set) Newest(notAfter time.Time) time.Time {
	n := newest{notAfter: notAfter}
	for _, o := range s.Objects() {
		if KeyOf(o) != (purekube.Key{}) { // it is nil
			n.object(o)
		}
	}
	for _, w := range s.CustomWorkloads {
		if w != nil {
			n.object(w)
		}
	}
	for _, o := range s.Nodes {
		if o == nil {
			continue
		}
		for _, c := range o.Status.Conditions {
			n.take(c.LastHeartbeatTime, c.LastTransitionTime)
		}
	}
	for _, o := range s.Pods {
		if o == nil {
			continue
		}
		n.take(ptr.Deref(o.Status.StartTime, metav1.Time{}))
		for _, c := range o.Status.Conditions {
			n.take(c.LastProbeTime, c.LastTransitionTime)
		}
	}
	for _, o := range s.Budgets {
		if o == nil {
			continue
		}
		for _, evicted := range o.Status.DisruptedPods {
			n.take(evicted)
		}
		for _, c := range o.Status.Conditions {
			n.take(c.LastTransitionTime)
		}
	}
	for _, o := range s.Deployments {
		if o == nil {
			continue
		}
		for _, c := range o.Status.Conditions {
			n.take(c.LastUpdateTime, c.LastTransitionTime)
		}
	}
	for _, o := range s.Jobs {
		if o == nil {
			continue
		}
		n.take(ptr.Deref(o.Status.StartTime, metav1.Time{}), ptr.Deref(o.Status.CompletionTime, metav1.Time{}))
		for _, c := range o.Status.Conditions {
			n.take(c.LastProbeTime, c.LastTransitionTime)
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
